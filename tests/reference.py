"""A second implementation of the rules, to check the engine against: plain lists, one small function for each rule.

It is slow on purpose. Nothing is kept up step by step that can be worked out anew, least of all what everybody knows,
and it shares no code with the engine but the numbering of the cards. Totals and places are exact fractions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

from rs_env.cards import NUM_RANKS, PICKUP, RANKS, SUIT_NAMES, cards_text, rank_of, suit_of
from rs_env.rules import Rules

FACE_VALUES = {"J": 2, "Q": 3, "K": 4, "A": 11}
PARLETT_VALUES = {"T": 10, "J": 10, "Q": 10, "K": 10, "A": 1}
LOW_IS_GOOD = ("cards", "face")


class Event(NamedTuple):
    """Something that everybody sees.

    kind: ``"shown"`` (the last card dealt, for trump), ``"played"``, ``"picked_up"``, ``"noticed"`` (a silent play went
        back to the hand), ``"took"`` (cards of the trick to a hand), ``"drew"`` (dead cards to a hand) or
        ``"trick_over"``.
    """

    kind: str
    seat: int
    cards: tuple[int, ...] = ()


class ReferenceGame:
    """One deal, or with ``rules.target`` one match.

    decks: the deck of each deal, card ids in dealing order.
    dealer: seat of the first dealer.
    more_decks: gives the deck of deal 0, 1, 2, ... where `decks` has none for it.

    hands: sorted cards of each seat. trick: (seat, card) in order of play. dead: cards of completed tricks in order of
    play. turn: seat to act, None when the game is over. out: seats out for good in this deal, best place first. trump:
    its suit or None. barred: the suit that may not be led now, or None. num_actions: of this deal. finished: (out,
    whether truncated) of each deal that is over.
    totals: each seat's sum of their scores, in a match.
    """

    def __init__(
        self,
        rules: Rules,
        decks: Sequence[Sequence[int]],
        dealer: int,
        more_decks: Callable[[int], Sequence[int]] | None = None,
    ) -> None:
        self.rules = rules
        self.num_players = rules.num_players
        self.decks = [list(deck) for deck in decks]
        self.more_decks = more_decks
        self.finished: list[tuple[list[int], bool]] = []
        self.totals = [Fraction(0)] * self.num_players
        self.is_over = self.truncated = False
        self._deal(dealer)

    @property
    def deals_done(self) -> int:
        """Deals that are over."""
        return len(self.finished)

    # Deal

    def _deal(self, dealer: int) -> None:
        """``deck[i]`` goes to seat ``dealer + 1 + i``; the seat left of the dealer leads."""
        deck = self._next_deck()
        if sorted(deck) != expected_deck(self.rules):
            raise ValueError(f"not a deck of these rules: {cards_text(deck)}")
        self.dealer = dealer
        self.hands: list[list[int]] = [[] for _ in range(self.num_players)]
        for i, card in enumerate(deck):
            self.hands[(dealer + 1 + i) % self.num_players].append(card)
        for hand in self.hands:
            hand.sort()
        self.dead: list[int] = []
        self.out: list[int] = []
        self.num_actions = 0
        self.trump = trump_of(self.rules, deck)
        self.barred: int | None = None
        self.events: list[Event] = []
        if self.rules.trump == "last_dealt":
            self.events.append(Event("shown", (dealer + len(deck)) % self.num_players, (deck[-1],)))
        self._open_trick((dealer + 1) % self.num_players)

    def _next_deck(self) -> list[int]:
        if self.more_decks is None or self.deals_done < len(self.decks):
            return self.decks[self.deals_done]
        return list(self.more_decks(self.deals_done))

    def _open_trick(self, leader: int) -> None:
        """The trick is played clockwise from its leader by those who are in at its start."""
        self.trick: list[tuple[int, int]] = []
        self.trick_order = [seat for seat in self._clockwise_from(leader) if seat not in self.out]
        self.turn: int | None = leader

    def _clockwise_from(self, seat: int) -> list[int]:
        return [(seat + k) % self.num_players for k in range(self.num_players)]

    # Legal actions

    def legal_actions(self) -> list[int]:
        """Sorted legal actions of the seat to act."""
        if self.turn is None:
            return []
        hand = self.hands[self.turn]
        if not self.trick:
            return [card for card in hand if suit_of(card) != self.barred]
        if all(suit_of(card) != self.led_suit for card in hand):
            return self._legal_when_void(hand)
        anytime_trump = self.trump if self.rules.trump_play == "anytime" else None
        return [card for card in hand if suit_of(card) in (self.led_suit, anytime_trump)]

    def _legal_when_void(self, hand: list[int]) -> list[int]:
        """The pickup, a ruff, and under the silent rule every card."""
        if self.rules.silent_catch is not None:
            return [*hand, PICKUP]
        ruffs = [card for card in hand if suit_of(card) == self.trump and self.rules.trump_play == "ruff"]
        return [*ruffs, PICKUP]

    @property
    def led_suit(self) -> int | None:
        """Suit of the first card of the trick."""
        return suit_of(self.trick[0][1]) if self.trick else None

    def is_silent(self, action: int) -> bool:
        """Whether the seat to act would silently not follow with this action; a ruff is never silent."""
        return action != PICKUP and bool(self.trick) and suit_of(action) not in (self.led_suit, self.trump)

    # Play

    def play(self, action: int, noticed: bool | None = None) -> None:
        """Take an action; `noticed`: whether a silent play is noticed, needed where the rules leave it to chance."""
        if self.turn is None or action not in self.legal_actions():
            raise ValueError(f"seat {self.turn}: {action} is not one of {self.legal_actions()}")
        self.num_actions += 1
        deal = self.deals_done
        if action == PICKUP:
            self._pick_up(self.turn)
        elif self.is_silent(action) and self._is_noticed(noticed):
            self._be_noticed(self.turn, action)
        else:
            self._lay(self.turn, action)
        # The last allowed action may also have ended the deal, which is then terminated.
        if self.turn is not None and self.deals_done == deal and self.num_actions == action_limit(self.rules):
            self._end_deal(truncated=True)

    def _is_noticed(self, noticed: bool | None) -> bool:
        if self.rules.silent_catch in (0, 1):
            return self.rules.silent_catch == 1
        if noticed is None:
            raise ValueError("whether this silent play is noticed is left to chance: say which")
        return noticed

    def _pick_up(self, seat: int) -> None:
        """A void player breaks the trick, and leads the next one also when a leaver takes the cards."""
        self.events.append(Event("picked_up", seat))
        leavers = self._leavers()
        taker = leavers[0] if leavers and self.rules.broken_exit == "leaver" else seat
        self._break_trick(taker, leavers)
        self._lead_after_break(seat)

    def _be_noticed(self, seat: int, card: int) -> None:
        """The card stays in the hand; its player takes the trick and as many dead cards as the trick has, and leads."""
        self.events.append(Event("noticed", seat, (card,)))
        penalty = len(self.trick)
        self._break_trick(seat, self._leavers())
        drawn = self.dead[::-1][:penalty]  # the last dead first
        self.dead = self.dead[: len(self.dead) - len(drawn)]
        self._give(seat, drawn, "drew")
        self._lead_after_break(seat)

    def _break_trick(self, taker: int, leavers: list[int]) -> None:
        """Each leaver takes back the own last card, `taker` (who may be one of them) takes all others."""
        for player, card in self.trick:
            self._give(player if player in leavers else taker, [card], "took")

    def _give(self, seat: int, cards: list[int], how: str) -> None:
        self.hands[seat] = sorted(self.hands[seat] + cards)
        self.events.append(Event(how, seat, tuple(cards)))

    def _lead_after_break(self, void: int) -> None:
        self.barred = self.led_suit if self.rules.lead_after_pickup == "other_suit" else None
        self.events.append(Event("trick_over", void))
        self._open_trick(void)

    def _leavers(self) -> list[int]:
        """Players still in who have just played their last card, in order of play: none where going out is
        immediate."""
        return [seat for seat, _ in self.trick if not self.hands[seat] and seat not in self.out]

    def _lay(self, seat: int, card: int) -> None:
        """A card goes to the trick and stays there."""
        self.hands[seat] = [other for other in self.hands[seat] if other != card]
        self.trick.append((seat, card))
        self.events.append(Event("played", seat, (card,)))
        self.barred = None
        if self.rules.going_out == "immediate" and not self.hands[seat]:
            self.out.append(seat)
        if self._deal_is_decided():  # at once: also a trick that everybody has played to stays on the table
            self._end_deal(truncated=False)
        elif len(self.trick) < len(self.trick_order):
            self.turn = self.trick_order[len(self.trick)]
        else:
            self._complete_trick()

    def _complete_trick(self) -> None:
        """Its cards are dead, its leavers out, and the winner leads, or the next player still in."""
        winner = self._trick_winner()
        self.dead = self.dead + [card for _, card in self.trick]
        self.out = self.out + self._leavers()
        self.events.append(Event("trick_over", winner))
        self.trick = []
        if self._deal_is_decided():
            self._end_deal(truncated=False)
        else:
            self._open_trick(next(seat for seat in self._clockwise_from(winner) if seat not in self.out))

    def _trick_winner(self) -> int:
        """The highest trump, else the highest card of the led suit."""
        trumps = [(rank_of(card), seat) for seat, card in self.trick if suit_of(card) == self.trump]
        following = [(rank_of(card), seat) for seat, card in self.trick if suit_of(card) == self.led_suit]
        return max(trumps or following)[1]

    def _deal_is_decided(self) -> bool:
        """With the first player out, or where play goes on when at most one is in."""
        return self.num_players - len(self.out) <= 1 if self.rules.play_on else bool(self.out)

    # End

    def _end_deal(self, truncated: bool) -> None:
        self.finished.append((self.out, truncated))
        if self.rules.target is None:
            self.is_over, self.truncated = True, truncated
        else:
            self.totals = [total + score for total, score in zip(self.totals, deal_scores(self), strict=True)]
            won = float(max(self.totals)) >= self.rules.target
            self.is_over = won or self.deals_done == self.rules.max_deals
            self.truncated = self.is_over and not won
        if self.is_over:
            self.turn = None
        else:
            self._deal((self.dealer + 1) % self.num_players)

    def scores(self) -> list[float]:
        """Zeros until a deal is over; of a match the totals so far."""
        if self.rules.target is not None:
            return [float(total) for total in self.totals]
        return [float(score) for score in deal_scores(self)] if self.is_over else [0.0] * self.num_players

    def rewards(self) -> list[float]:
        """Zeros until the game is over: the score, minus a penalty score, or a share of having won the match."""
        if not self.is_over or (self.rules.target is not None and self.truncated):
            return [0.0] * self.num_players
        sign = -1 if self.rules.scoring in LOW_IS_GOOD else 1
        if self.rules.target is None:
            return [sign * score for score in self.scores()]
        best = max(sign * total for total in self.totals)
        return [
            1 / sum(sign * other == best for other in self.totals) if sign * total == best else 0.0
            for total in self.totals
        ]

    # What everybody knows

    @property
    def known(self) -> list[list[int]]:
        """Each seat's cards in hand that everybody has seen there."""
        return known_cards(self.events, self.num_players)

    @property
    def excluded(self) -> list[list[int]]:
        """Each seat's suits in which it has once been seen void."""
        return excluded_suits(self.events, self.num_players, self.trump if self.rules.trump_play == "anytime" else None)

    @property
    def held(self) -> list[list[int]]:
        """Each seat's suits of which one of the cards that nobody has seen must be, since a trump was played."""
        anytime = self.rules.trump_play == "anytime" and self.trump is not None
        return held_suits(self.events, self.num_players) if anytime else [[] for _ in range(self.num_players)]


def known_cards(events: list[Event], num_players: int) -> list[list[int]]:
    """Of each seat the cards that came to the hand, or were shown in it, in public and have not been played since."""
    known: list[set[int]] = [set() for _ in range(num_players)]
    for kind, seat, cards in events:
        if kind == "played":
            known[seat].difference_update(cards)
        elif kind in ("shown", "noticed", "took", "drew"):
            known[seat].update(cards)
    return [sorted(cards) for cards in known]


def excluded_suits(events: list[Event], num_players: int, anytime_trump: int | None) -> list[list[int]]:
    """Of each seat the suits led when it did not follow. A trump that may be played at any time shows no void."""
    excluded: list[set[int]] = [set() for _ in range(num_players)]
    for led, (kind, seat, cards) in zip(led_suits(events), events, strict=True):
        if led is not None and (
            kind == "picked_up" or (kind in ("played", "noticed") and suit_of(cards[0]) not in (led, anytime_trump))
        ):
            excluded[seat].add(led)
    return [sorted(suits) for suits in excluded]


def held_suits(events: list[Event], num_players: int) -> list[list[int]]:
    """Of each seat the suits that it could have followed when it played another, which only a trump may be, with a card
    not known then that has not been played since."""
    held: list[set[int]] = [set() for _ in range(num_players)]
    for time, (led, (kind, seat, cards)) in enumerate(zip(led_suits(events), events, strict=True)):
        if kind != "played" or led is None or suit_of(cards[0]) == led:
            continue
        could_follow = [card for card in known_at(events, time, seat) if suit_of(card) == led]
        if not could_follow and not any(plays_unknown(events, later, seat, led) for later in range(time, len(events))):
            held[seat].add(led)
    return [sorted(suits) for suits in held]


def led_suits(events: list[Event]) -> list[int | None]:
    """The suit led when each event happens, None where there is none yet."""
    suits: list[int | None] = []
    led: int | None = None
    for kind, _, cards in events:
        suits.append(led)
        if kind == "trick_over":
            led = None
        elif led is None and kind == "played":
            led = suit_of(cards[0])
    return suits


def known_at(events: list[Event], time: int, seat: int) -> list[int]:
    """The seat's known cards before event number `time`."""
    return known_cards([event for event in events[:time] if event.seat == seat], seat + 1)[seat]


def plays_unknown(events: list[Event], time: int, seat: int, suit: int) -> bool:
    """Whether in event number `time` the seat plays a card of the suit that was not known."""
    kind, player, cards = events[time]
    is_played = (kind, player) == ("played", seat) and suit_of(cards[0]) == suit
    return is_played and cards[0] not in known_at(events, time, seat)


def deal_scores(game: ReferenceGame) -> list[Fraction]:
    """Score of each seat for the deal as it stands."""
    winner = game.out[0] if game.out else None
    scoring = game.rules.scoring
    if scoring == "places":
        return place_scores(game.out, [len(hand) for hand in game.hands])
    if scoring == "cards":
        return [Fraction(len(hand)) for hand in game.hands]
    if scoring == "face":
        return [value_of(hand, FACE_VALUES) for hand in game.hands]
    prize = (
        Fraction(1) if scoring == "win" else sum((value_of(hand, PARLETT_VALUES) for hand in game.hands), Fraction(0))
    )
    return [prize if seat == winner else Fraction(0) for seat in range(game.num_players)]


def place_scores(out: list[int], hand_sizes: list[int]) -> list[Fraction]:
    """(n - place)/(n - 1): those out by their order, then the others by cards in hand, equal counts averaging their
    places."""
    n = len(hand_sizes)
    places: dict[int, Fraction] = {seat: Fraction(place) for place, seat in enumerate(out, 1)}
    inside = [seat for seat in range(n) if seat not in out]
    for seat in inside:
        before = len(out) + sum(hand_sizes[other] < hand_sizes[seat] for other in inside)
        equal = sum(hand_sizes[other] == hand_sizes[seat] for other in inside)
        shared = range(before + 1, before + equal + 1)
        places[seat] = Fraction(sum(shared), len(shared))
    return [(n - places[seat]) / (n - 1) for seat in range(n)]


def value_of(cards: list[int], values: dict[str, int]) -> Fraction:
    """Sum of the cards' values; the pips of a rank that is not in the table."""
    ranks = [RANKS[rank_of(card)] for card in cards]
    return Fraction(sum(values[rank] if rank in values else RANKS.index(rank) + 2 for rank in ranks))


def trump_of(rules: Rules, deck: Sequence[int]) -> int | None:
    """The trump suit of a deal."""
    if rules.trump == "none":
        return None
    return suit_of(deck[-1]) if rules.trump == "last_dealt" else SUIT_NAMES.index(rules.trump)


def action_limit(rules: Rules) -> int:
    """Actions after which a deal is truncated."""
    return 250 * rules.num_players if rules.max_actions is None else rules.max_actions


def expected_deck(rules: Rules) -> list[int]:
    """The cards of a rule set, sorted by id."""
    n = rules.num_players
    by_players = {2: 4, 3: 6, 4: 8, 5: 10, 6: 12, 7: 13, 8: 12}
    ranks = by_players[n] if rules.ranks is None else rules.ranks
    # By rank and then by suit, so that the lowest cards come first.
    cards = [NUM_RANKS * suit + rank for rank in range(NUM_RANKS - ranks, NUM_RANKS) for suit in range(rules.suits)]
    if rules.hand_size is not None:
        cards = cards[len(cards) - rules.hand_size * n :]
    elif n == 7 and rules.ranks is None and rules.suits == 4:
        cards = cards[3:]
    return sorted(cards)
