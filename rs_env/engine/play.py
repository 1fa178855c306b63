"""The rules, written once: deal, legal actions, step. What a deal is worth is in `rs_env.engine.scoring`.

Every function here is scalar code on one record of `rs_env.engine.state`, compiled by Numba. Nothing allocates, nothing
knows about Python objects, and all chance comes from the record itself. ``docs/rules.md`` is the text that this code
follows, section by section.

Words: a player is *in* until out for good; *pending* are the seats that have yet to play to the trick; a *leaver* has
played the last card to a trick that is not yet complete.
"""

from __future__ import annotations

import numpy as np

from rs_env.cards import NUM_CARDS, NUM_RANKS, PICKUP, suit_of
from rs_env.engine.bits import (
    ALL_CARDS,
    EMPTY,
    PICKUP_BIT,
    SUIT_SETS,
    bit,
    highest,
    left_of,
    lowest,
    next_seat,
    popcount,
    suit_set,
)
from rs_env.engine.jit import njit
from rs_env.engine.rng import CHANCE, DEALER, DECK, LEARNER, advance, below, deal_stream, game_key, unit
from rs_env.engine.scoring import add_scores
from rs_env.engine.state import LAST_DEALT, NO_CARD, NO_SUIT, NOBODY, NOTHING_PLAYED, RUNNING, TERMINATED, TRUNCATED
from rs_env.engine.types import (
    Action,
    ActionSet,
    Card,
    CardSet,
    CompiledRules,
    Key,
    Number,
    PlayedCards,
    Public,
    Seat,
    State,
    Suit,
)
from rs_env.rules import MAX_PLAYERS

_EACH_BYTE = np.uint64(0x0101_0101_0101_0101)
_HIGH_BITS = np.uint64(0x8080_8080_8080_8080)
# By suit + 1: the cards that a led suit lets follow, and those that a barred suit keeps from being led.
_FOLLOWS = np.array([ALL_CARDS, *SUIT_SETS], dtype=np.uint64)
_BARRED = np.array([EMPTY, *SUIT_SETS], dtype=np.uint64)

_SUITS = np.array([suit_of(card) for card in range(NUM_CARDS)], dtype=np.int8)


# Deal


@njit(inline="always")
def begin_game(s: State, seed: Key, index: Number) -> None:
    """Make `s` game number `index` of a batch with this seed, before its first deal."""
    s.key = game_key(seed, index)
    s.deal = 0


@njit(inline="always")
def begin_episode(rules: CompiledRules, s: State, dealer: Seat) -> None:
    """Start a deal or match with deck number ``s.deal``; the dealer is drawn by lot where `dealer` is NOBODY."""
    if dealer == NOBODY:
        dealer = below(deal_stream(s.key, s.deal, DEALER), rules.num_players)
    s.dealer = dealer
    s.deals_done = 0
    s.status = RUNNING
    for seat in range(MAX_PLAYERS):
        s.totals[seat] = 0.0
    shuffle(rules, s)
    deal_out(rules, s)


@njit(inline="always")
def seat_of_learner(rules: CompiledRules, s: State) -> Seat:
    """The seat of a learner that wants a random one, drawn by the number of the running deal's deck alone."""
    return below(deal_stream(s.key, s.deal, LEARNER), rules.num_players)


@njit(cache=True, nogil=True)
def shuffle(rules: CompiledRules, s: State) -> None:
    """Fill ``s.deck`` with deck number ``s.deal``, by Fisher and Yates inside out: each card goes to a random place
    among those before.
    """
    stream = deal_stream(s.key, s.deal, DECK)
    for i in range(rules.num_cards):
        stream = advance(stream)
        j = np.uint64(below(stream, i + 1))
        s.deck[i] = s.deck[j]
        s.deck[j] = rules.cards[i]
    for i in range(rules.num_cards, NUM_CARDS):
        s.deck[i] = NO_CARD


@njit(cache=True, nogil=True)
def deal_out(rules: CompiledRules, s: State) -> None:
    """Deal ``s.deck`` round the table from the seat after ``s.dealer``, who leads the first trick."""
    n = np.int64(rules.num_players)
    for k in range(MAX_PLAYERS):
        s.hand[k] = EMPTY
        s.hand_size[k] = 0
        s.known[k] = EMPTY
        s.excluded[k] = 0
        s.held[k] = 0
        s.out[k] = NOBODY
    seat = np.int64(s.dealer)
    for first in range(n):
        seat = left_of(seat, n)
        hand = EMPTY
        for i in range(first, rules.num_cards, n):
            hand |= bit(s.deck[i])
        s.hand[seat] = hand
        s.hand_size[seat] = popcount(hand)
    s.trump = rules.trump
    if rules.trump == LAST_DEALT:
        shown = s.deck[rules.num_cards - 1]
        s.trump = shown // NUM_RANKS
        s.known[(s.dealer + rules.num_cards) % n] = bit(shown)
    s.chance = deal_stream(s.key, s.deal, CHANCE)
    s.dead = EMPTY
    s.num_dead = 0
    s.num_out = 0
    s.actions = 0
    s.still_in = (1 << n) - 1
    start_trick(s, next_seat(s.still_in, s.dealer, n), NO_SUIT)


@njit(inline="always")
def start_trick(s: State, leader: Seat, barred: Suit) -> None:
    s.trick = EMPTY
    s.played = NOTHING_PLAYED
    s.leavers = 0
    s.pending = s.still_in
    s.leader = leader
    s.turn = leader
    s.led = NO_SUIT
    s.barred = barred


# Play


@njit(inline="always")
def card_played(played: PlayedCards, seat: Seat) -> Card:
    """The seat's card in the trick, or NO_CARD, from the field `played`."""
    return np.int64(np.int8(played >> np.uint64(8 * seat)))


@njit(inline="always")
def seat_of_card(played: PlayedCards, card: Card) -> Seat:
    """The seat whose card in the trick this is.

    Finds the zero byte of a word without a loop; exact for the lowest one, and there is no other.
    (H. S. Warren, Hacker's Delight, chapter 6.)
    """
    differences = played ^ (_EACH_BYTE * np.uint64(card))
    return lowest((differences - _EACH_BYTE) & ~differences & _HIGH_BITS) >> 3


@njit(inline="always")
def trumps(s: State) -> CardSet:
    """The set of all trumps, empty where there are none."""
    return suit_set(s.trump) if s.trump >= 0 else EMPTY


@njit(cache=True, nogil=True)
def legal_actions(rules: CompiledRules, s: State) -> ActionSet:
    """The set of legal actions of the seat to act, bit `PICKUP` for the pickup; empty when the game is over."""
    return options(rules, s) if s.status == RUNNING else EMPTY


@njit(inline="always")
def options(rules: CompiledRules, s: State) -> ActionSet:
    """The same for a game that is known to go on."""
    return options_with(rules, s, s.hand[s.turn])


@njit(inline="always")
def options_with(rules: CompiledRules, p: Public, hand: CardSet) -> ActionSet:
    """The same if the seat to act has this hand; p: a state or a view."""
    playable = hand & _FOLLOWS[np.uint8(p.led + 1)] & ~_BARRED[np.uint8(p.barred + 1)]
    if rules.plain:
        return playable if playable else PICKUP_BIT
    if playable:
        return playable | (hand & trumps(p)) if rules.anytime and p.led != NO_SUIT else playable
    if rules.silent_catch >= 0.0:
        return PICKUP_BIT | hand
    return PICKUP_BIT | (hand & trumps(p)) if rules.ruff else PICKUP_BIT


@njit(cache=True, nogil=True)
def step(rules: CompiledRules, s: State, action: Action) -> None:
    """Take a legal action (unchecked) for the seat to act, and go on to the next decision or the end."""
    if action == PICKUP:
        step_pickup(rules, s)
    else:
        step_card(rules, s, action)


@njit(inline="always")
def step_pickup(rules: CompiledRules, s: State) -> None:
    """Pick up the trick."""
    s.actions += 1
    s.excluded[s.turn] |= 1 << s.led
    break_trick(rules, s, not rules.void_takes)
    truncate_at_limit(rules, s)


@njit(inline="always")
def step_card(rules: CompiledRules, s: State, card: Card) -> None:
    """Play a card."""
    s.actions += 1
    play_card(rules, s, card)
    truncate_at_limit(rules, s)


@njit(inline="always")
def truncate_at_limit(rules: CompiledRules, s: State) -> None:
    if s.actions >= rules.max_actions and s.status == RUNNING:
        end_deal(rules, s, np.int8(TRUNCATED))


@njit(inline="always")
def play_card(rules: CompiledRules, s: State, card: Card) -> None:
    seat = s.turn
    suit = _SUITS[np.uint8(card)]
    this = bit(card)
    if rules.anytime:
        note_held(s, suit, this)
    if rules.plain or s.led == NO_SUIT or suit == s.led:  # a lead or a follow
        s.led = suit
        s.barred = NO_SUIT
    elif not rules.anytime:  # a ruff or a silent play, either shows a void
        s.excluded[seat] |= 1 << s.led
        if suit != s.trump:
            s.chance = advance(s.chance)
            if unit(s.chance) < rules.silent_catch:
                notice_silent_play(rules, s, this)
                return
    hand = s.hand[seat] & ~this
    s.hand[seat] = hand
    s.hand_size[seat] -= 1
    s.known[seat] &= ~this
    s.trick |= this
    # The seat's byte is NO_CARD, all ones: flipping those that the card lacks leaves the card.
    s.played ^= np.uint64(card ^ 0xFF) << np.uint64(8 * seat)
    s.pending &= ~(1 << seat)
    if hand == EMPTY:
        if not rules.immediate:
            s.leavers |= 1 << seat
        else:
            leave(s, seat)
            if deal_is_decided(rules, s):
                end_deal(rules, s, np.int8(TERMINATED))
                return
    if s.pending == 0:
        complete_trick(rules, s)
    else:
        s.turn = next_seat(s.pending, seat, rules.num_players)


@njit
def note_held(s: State, suit: Suit, card: CardSet) -> None:
    """Keep up, before a card is played under ``trump_play="anytime"``, of which suits the seat is known to hold one
    that nobody has seen.

    A trump on another suit's lead shows that the seat could have followed. Only a known card of the led suit leaves
    open whether it has others.
    """
    seat = s.turn
    if s.led != NO_SUIT and suit != s.led and s.known[seat] & suit_set(s.led) == EMPTY:
        s.held[seat] |= 1 << s.led
    if s.known[seat] & card == EMPTY:  # it may have been the one
        s.held[seat] &= ~(1 << suit)


@njit(inline="always")
def leave(s: State, seat: Seat) -> None:
    """Out for good, with the next place."""
    s.still_in &= ~(1 << seat)
    s.out[s.num_out] = seat
    s.num_out += 1


@njit(inline="always")
def deal_is_decided(rules: CompiledRules, s: State) -> bool:
    return s.num_out > 0 if not rules.play_on else popcount(np.uint64(s.still_in)) <= 1


@njit(inline="always")
def complete_trick(rules: CompiledRules, s: State) -> None:
    """Everybody has played: the cards are dead, leavers are out, the winner leads."""
    n = np.int64(rules.num_players)
    best = s.trick & trumps(s)
    if best == EMPTY:
        best = s.trick & _FOLLOWS[np.uint8(s.led + 1)]
    winner = seat_of_card(s.played, highest(best))
    s.dead |= s.trick
    if rules.silent_catch >= 0.0:
        bury_in_order(rules, s)
    if s.leavers:
        seat = np.int64(s.leader)
        for _ in range(n):
            if s.leavers >> seat & 1:
                leave(s, seat)
            seat = left_of(seat, n)
        start_trick(s, winner, NO_SUIT)  # so that nothing lies on the table when the deal ends here
        if deal_is_decided(rules, s):
            end_deal(rules, s, np.int8(TERMINATED))
            return
    if not s.still_in >> winner & 1:
        winner = next_seat(s.still_in, winner, n)
    start_trick(s, winner, NO_SUIT)


@njit
def bury_in_order(rules: CompiledRules, s: State) -> None:
    """Add the trick to the ordered pile of dead cards, which a noticed player draws from."""
    n = np.int64(rules.num_players)
    seat = np.int64(s.leader)
    for _ in range(n):
        card = card_played(s.played, seat)
        if card != NO_CARD:
            s.dead_order[s.num_dead] = card
            s.num_dead += 1
        seat = left_of(seat, n)


@njit(inline="always")
def take(s: State, seat: Seat, cards: CardSet) -> None:
    """Everybody sees these cards go to the seat's hand."""
    s.hand[seat] |= cards
    s.known[seat] |= cards
    s.hand_size[seat] += popcount(cards)


@njit
def break_trick(rules: CompiledRules, s: State, leaver_takes: bool) -> None:
    """The seat to act ends the trick and leads the next one.

    Leavers take back their own last cards; the rest goes to the first of them if `leaver_takes`, else to the seat to
    act.
    """
    n = np.int64(rules.num_players)
    seat = np.int64(s.turn)
    taker = seat
    rest = s.trick
    if s.leavers:
        other = np.int64(s.leader)
        for _ in range(n):
            if s.leavers >> other & 1:
                own = bit(card_played(s.played, other))
                take(s, other, own)
                rest ^= own
                if leaver_takes and taker == seat:
                    taker = other
            other = left_of(other, n)
    take(s, taker, rest)
    start_trick(s, seat, s.led if rules.bar_suit else NO_SUIT)


@njit
def notice_silent_play(rules: CompiledRules, s: State, card: CardSet) -> None:
    """The card goes back, its player takes the trick and draws as many dead cards, the last dead first."""
    seat = np.int64(s.turn)
    draws = min(popcount(s.trick), np.int64(s.num_dead))
    s.known[seat] |= card
    break_trick(rules, s, np.bool_(False))
    for _ in range(draws):
        s.num_dead -= 1
        drawn = bit(s.dead_order[s.num_dead])
        s.dead ^= drawn
        take(s, seat, drawn)


# End


@njit
def end_deal(rules: CompiledRules, s: State, status: Number) -> None:
    """End the episode with this status, or in a match add up the scores and deal again."""
    if rules.target == 0.0:
        s.status = status
        return
    s.deals_done += 1
    if add_scores(rules, s) >= rules.target:
        s.status = TERMINATED
    elif s.deals_done >= rules.max_deals:
        s.status = TRUNCATED
    else:
        next_deck(rules, s)
        s.dealer = left_of(s.dealer, rules.num_players)
        shuffle(rules, s)
        deal_out(rules, s)


@njit(inline="always")
def next_deck(rules: CompiledRules, s: State) -> None:
    """Go on to the game's next deck."""
    s.deal += 1
