"""The rules, written once: deal, legal actions, step, scores.

A game is one record of dtype `STATE`, a batch is an array of them, and every function here is scalar code on one record,
compiled by Numba. Nothing allocates, nothing knows about Python objects, and all chance comes from the record itself.
`RULES` is the compiled form of `rs_env.rules.Rules`; ``docs/rules.md`` is the text that this code follows, section by section.

Words: a player is *in* until out for good; *pending* are the seats that have yet to play to the trick; a *leaver* has
played the last card to a trick that is not yet complete.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numba import njit

from rs_env.bits import ALL_CARDS, EMPTY, PICKUP_BIT, SUIT_SETS, bit, highest, lowest, next_seat, popcount, suit_set
from rs_env.cards import NUM_CARDS, NUM_RANKS, PICKUP, SUIT_NAMES, set_of, suit_of
from rs_env.rng import CHANCE, DEALER, DECK, advance, below, deal_stream, game_key, unit
from rs_env.rules import MAX_PLAYERS, SCORING, Rules

RUNNING, TERMINATED, TRUNCATED = 0, 1, 2
WIN, PLACES, CARDS, FACE, PARLETT = range(len(SCORING))
NO_TRUMP, LAST_DEALT = -1, 4
NOBODY = NO_CARD = NO_SUIT = -1
NOTHING_PLAYED = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
_EACH_BYTE = np.uint64(0x0101_0101_0101_0101)
_HIGH_BITS = np.uint64(0x8080_8080_8080_8080)

RULES = np.dtype(
    [
        ("deck", np.uint64),  # the cards in play, as a set
        ("cards", np.int8, (NUM_CARDS,)),  # the same in order, then NO_CARD
        ("silent_catch", np.float64),  # -1: no silent plays
        ("target", np.float64),  # 0: a single deal
        ("percent_per_action", np.float64),  # 100 / max_actions
        ("max_actions", np.int32),
        ("max_deals", np.int32),
        ("num_players", np.int8),
        ("num_cards", np.int8),
        ("trump", np.int8),  # a suit, NO_TRUMP or LAST_DEALT
        ("scoring", np.int8),  # index in SCORING
        ("immediate", np.bool_),  # going_out
        ("void_takes", np.bool_),  # broken_exit
        ("play_on", np.bool_),
        ("bar_suit", np.bool_),  # lead_after_pickup
        ("ruff", np.bool_),  # void players may trump
        ("anytime", np.bool_),  # players who could follow may trump
        ("plain", np.bool_),  # no trumps and no silent plays: what is played to a lead follows it
    ],
    align=True,
)

# What everybody knows; part of every state and of every view.
PUBLIC_FIELDS = [
    ("trick", np.uint64),
    ("dead", np.uint64),
    ("played", np.uint64),  # each seat's card in the trick, a byte each, or NO_CARD; see card_played
    ("excluded", np.uint8, (MAX_PLAYERS,)),  # suits in which the seat has once been void, as a set
    ("hand_size", np.int8, (MAX_PLAYERS,)),
    ("actions", np.int32),  # of this deal
    ("deals_done", np.int32),  # of this match
    ("turn", np.uint8),  # the seat to act
    ("leader", np.uint8),
    ("led", np.int8),  # suit, or NO_SUIT before the lead
    ("barred", np.int8),  # suit that may not be led now, or NO_SUIT
    ("trump", np.int8),  # suit of this deal, or NO_SUIT
    ("pending", np.uint8),  # seats that have yet to play to the trick, as a set
    ("still_in", np.uint8),  # seats not out for good, as a set
    ("leavers", np.uint8),  # seats whose last card lies in the trick, with going_out="completed_trick", as a set
    ("num_out", np.int8),
    ("status", np.int8),  # RUNNING, TERMINATED or TRUNCATED
    ("dealer", np.uint8),
    ("num_dead", np.int8),  # length of dead_order
    ("known", np.uint64, (MAX_PLAYERS,)),  # cards in hand that everybody has seen there
    ("out", np.int8, (MAX_PLAYERS,)),  # seats out for good, best place first, then NOBODY
    ("totals", np.float64, (MAX_PLAYERS,)),  # of this match
    ("dead_order", np.int8, (NUM_CARDS,)),  # oldest first; kept under the silent rule only
]

STATE = np.dtype(
    [
        # First what most steps touch: one cache line of 64 bytes, one of known cards, one of hands. All in all there are six.
        *PUBLIC_FIELDS[:-4],
        ("deal", np.int32),  # number of the deck: 0, 1, ... over all episodes of the game
        PUBLIC_FIELDS[-4],
        ("hand", np.uint64, (MAX_PLAYERS,)),
        ("key", np.uint64),  # names the game's decks, see rs_env.rng
        ("chance", np.uint64),  # stream of noticed silent plays
        *PUBLIC_FIELDS[-3:],
        ("deck", np.int8, (NUM_CARDS,)),  # in dealing order, then NO_CARD
    ],
    align=True,
)

# By suit + 1: the cards that a led suit lets follow, and those that a barred suit keeps from being led.
_FOLLOWS = np.array([ALL_CARDS, *SUIT_SETS], dtype=np.uint64)
_BARRED = np.array([EMPTY, *SUIT_SETS], dtype=np.uint64)

_SUITS = np.array([suit_of(card) for card in range(NUM_CARDS)], dtype=np.int8)

_FACE_VALUES = np.array([2, 3, 4, 5, 6, 7, 8, 9, 10, 2, 3, 4, 11], dtype=np.int64)
_PARLETT_VALUES = np.array([2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10, 1], dtype=np.int64)


@cache
def compile_rules(rules: Rules) -> np.ndarray:
    """The rule set as a read-only array of one `RULES` record, as the compiled functions take it."""
    record = np.zeros(1, RULES)
    trumps = {"none": NO_TRUMP, "last_dealt": LAST_DEALT, **{name: suit for suit, name in enumerate(SUIT_NAMES)}}
    with_trump = rules.trump != "none"
    record["deck"] = set_of(rules.deck)
    record["cards"] = NO_CARD
    record["cards"][0, : len(rules.deck)] = rules.deck
    record["silent_catch"] = -1.0 if rules.silent_catch is None else rules.silent_catch
    record["target"] = rules.target or 0.0
    record["max_actions"] = rules.action_limit
    record["percent_per_action"] = 100 / rules.action_limit
    record["max_deals"] = rules.max_deals
    record["num_players"] = rules.num_players
    record["num_cards"] = len(rules.deck)
    record["trump"] = trumps[rules.trump]
    record["scoring"] = SCORING.index(rules.scoring)
    record["immediate"] = rules.going_out == "immediate"
    record["void_takes"] = rules.broken_exit == "void"
    record["play_on"] = rules.play_on
    record["bar_suit"] = rules.lead_after_pickup == "other_suit"
    record["ruff"] = with_trump and rules.trump_play == "ruff"
    record["anytime"] = with_trump and rules.trump_play == "anytime"
    record["plain"] = not with_trump and rules.silent_catch is None
    record.flags.writeable = False
    return record


# Deal


@njit(cache=True, nogil=True)
def begin_game(s, seed, index):
    """Make `s` game number `index` of a batch with this seed, before its first deal."""
    s.key = game_key(seed, index)
    s.deal = 0


@njit(cache=True, nogil=True)
def begin_episode(rules, s, dealer):
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


@njit(cache=True, nogil=True)
def shuffle(rules, s):
    """Fill ``s.deck`` with deck number ``s.deal``, by Fisher and Yates inside out: each card goes to a random place among those before."""
    stream = deal_stream(s.key, s.deal, DECK)
    for i in range(rules.num_cards):
        stream = advance(stream)
        j = np.uint64(below(stream, i + 1))
        s.deck[i] = s.deck[j]
        s.deck[j] = rules.cards[i]
    for i in range(rules.num_cards, NUM_CARDS):
        s.deck[i] = NO_CARD


@njit(cache=True, nogil=True)
def deal_out(rules, s):
    """Deal ``s.deck`` round the table from the seat after ``s.dealer``, who leads the first trick."""
    n = np.int64(rules.num_players)
    for seat in range(MAX_PLAYERS):
        s.hand[seat] = EMPTY
        s.hand_size[seat] = 0
        s.known[seat] = EMPTY
        s.excluded[seat] = 0
        s.out[seat] = NOBODY
    seat = np.int64(s.dealer)
    for i in range(rules.num_cards):
        seat = seat + 1 if seat + 1 < n else 0
        s.hand[seat] |= bit(s.deck[i])
        s.hand_size[seat] += 1
    s.trump = rules.trump
    if rules.trump == LAST_DEALT:
        shown = s.deck[rules.num_cards - 1]
        s.trump = shown // NUM_RANKS
        s.known[seat] = bit(shown)
    s.chance = deal_stream(s.key, s.deal, CHANCE)
    s.dead = EMPTY
    s.num_dead = 0
    s.num_out = 0
    s.actions = 0
    s.still_in = (1 << n) - 1
    start_trick(s, next_seat(s.still_in, s.dealer, n), NO_SUIT)


@njit(inline="always")
def start_trick(s, leader, barred):
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
def card_played(played, seat):
    """The seat's card in the trick, or NO_CARD, from the field `played`."""
    return np.int64(np.int8(played >> np.uint64(8 * seat)))


@njit(inline="always")
def seat_of_card(played, card):
    """The seat whose card in the trick this is.

    Finds the zero byte of a word without a loop; exact for the lowest one, and there is no other.
    (H. S. Warren, Hacker's Delight, chapter 6.)
    """
    differences = played ^ (_EACH_BYTE * np.uint64(card))
    return lowest((differences - _EACH_BYTE) & ~differences & _HIGH_BITS) >> 3


@njit(inline="always")
def trumps(s):
    """The set of all trumps, empty where there are none."""
    return suit_set(s.trump) if s.trump >= 0 else EMPTY


@njit(cache=True, nogil=True)
def legal_actions(rules, s):
    """The set of legal actions of the seat to act, bit `PICKUP` for the pickup; empty when the game is over."""
    return options(rules, s) if s.status == RUNNING else EMPTY


@njit(inline="always")
def options(rules, s):
    """The same for a game that is known to go on."""
    hand = s.hand[s.turn]
    playable = hand & _FOLLOWS[np.uint8(s.led + 1)] & ~_BARRED[np.uint8(s.barred + 1)]
    if rules.plain:
        return playable if playable else PICKUP_BIT
    if playable:
        return playable | (hand & trumps(s)) if rules.anytime and s.led != NO_SUIT else playable
    if rules.silent_catch >= 0.0:
        return PICKUP_BIT | hand
    return PICKUP_BIT | (hand & trumps(s)) if rules.ruff else PICKUP_BIT


@njit(cache=True, nogil=True)
def step(rules, s, action):
    """Take a legal action (unchecked) for the seat to act, and go on to the next decision or the end."""
    if action == PICKUP:
        step_pickup(rules, s)
    else:
        step_card(rules, s, action)


@njit(inline="always")
def step_pickup(rules, s):
    """Pick up the trick."""
    s.actions += 1
    s.excluded[s.turn] |= 1 << s.led
    break_trick(rules, s, not rules.void_takes)
    truncate_at_limit(rules, s)


@njit(inline="always")
def step_card(rules, s, card):
    """Play a card."""
    s.actions += 1
    play_card(rules, s, card)
    truncate_at_limit(rules, s)


@njit(inline="always")
def truncate_at_limit(rules, s):
    if s.actions >= rules.max_actions and s.status == RUNNING:
        end_deal(rules, s, TRUNCATED)


@njit(inline="always")
def play_card(rules, s, card):
    seat = s.turn
    suit = _SUITS[np.uint8(card)]
    this = bit(card)
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
    s.played ^= np.uint64(card ^ 0xFF) << np.uint64(seat << 3)
    s.pending &= ~(1 << seat)
    if hand == EMPTY:
        if not rules.immediate:
            s.leavers |= 1 << seat
        else:
            leave(s, seat)
            if deal_is_decided(rules, s):
                end_deal(rules, s, TERMINATED)
                return
    if s.pending == 0:
        complete_trick(rules, s)
    else:
        s.turn = next_seat(s.pending, seat, rules.num_players)


@njit(inline="always")
def leave(s, seat):
    """Out for good, with the next place."""
    s.still_in &= ~(1 << seat)
    s.out[s.num_out] = seat
    s.num_out += 1


@njit(inline="always")
def deal_is_decided(rules, s):
    return s.num_out > 0 if not rules.play_on else popcount(np.uint64(s.still_in)) <= 1


@njit(inline="always")
def complete_trick(rules, s):
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
            seat = seat + 1 if seat + 1 < n else 0
        start_trick(s, winner, NO_SUIT)  # so that nothing lies on the table when the deal ends here
        if deal_is_decided(rules, s):
            end_deal(rules, s, TERMINATED)
            return
    if not s.still_in >> winner & 1:
        winner = next_seat(s.still_in, winner, n)
    start_trick(s, winner, NO_SUIT)


@njit
def bury_in_order(rules, s):
    """Add the trick to the ordered pile of dead cards, which a noticed player draws from."""
    n = np.int64(rules.num_players)
    seat = np.int64(s.leader)
    for _ in range(n):
        card = card_played(s.played, seat)
        if card != NO_CARD:
            s.dead_order[s.num_dead] = card
            s.num_dead += 1
        seat = seat + 1 if seat + 1 < n else 0


@njit(inline="always")
def take(s, seat, cards):
    """Everybody sees these cards go to the seat's hand."""
    s.hand[seat] |= cards
    s.known[seat] |= cards
    s.hand_size[seat] += popcount(cards)


@njit
def break_trick(rules, s, leaver_takes):
    """The seat to act ends the trick and leads the next one.

    Leavers take back their own last cards; the rest goes to the first of them if `leaver_takes`, else to the seat to act.
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
            other = other + 1 if other + 1 < n else 0
    take(s, taker, rest)
    start_trick(s, seat, s.led if rules.bar_suit else NO_SUIT)


@njit
def notice_silent_play(rules, s, card):
    """The card goes back, its player takes the trick and draws as many dead cards, the last dead first."""
    seat = np.int64(s.turn)
    draws = min(popcount(s.trick), np.int64(s.num_dead))
    s.known[seat] |= card
    break_trick(rules, s, False)
    for _ in range(draws):
        s.num_dead -= 1
        drawn = bit(s.dead_order[s.num_dead])
        s.dead ^= drawn
        take(s, seat, drawn)


# End and scores


@njit
def end_deal(rules, s, status):
    """End the episode with this status, or in a match add up the scores and deal again."""
    if rules.target == 0.0:
        s.status = status
        return
    s.deals_done += 1
    highest_total = 0.0
    for seat in range(rules.num_players):
        s.totals[seat] = exact(rules, s.totals[seat] + deal_score(rules, s, seat))
        highest_total = max(highest_total, s.totals[seat])
    if highest_total >= rules.target:
        s.status = TERMINATED
    elif s.deals_done >= rules.max_deals:
        s.status = TRUNCATED
    else:
        next_deck(rules, s)
        s.dealer = s.dealer + 1 if s.dealer + 1 < rules.num_players else 0
        shuffle(rules, s)
        deal_out(rules, s)


@njit
def exact(rules, total):
    """The float nearest to a total that is a sum of scores.

    Scores for places are multiples of 1 / 2(n - 1); added up in floating point, equal totals could differ in the last bit, and
    a total at the target could lie below it.
    """
    unit = 2.0 * (rules.num_players - 1)
    return np.round(total * unit) / unit if rules.scoring == PLACES else total


@njit(inline="always")
def next_deck(rules, s):
    """Go on to the game's next deck."""
    s.deal += 1


@njit(inline="always")
def low_is_good(rules):
    return rules.scoring == CARDS or rules.scoring == FACE


@njit
def deal_score(rules, s, seat):
    """Score of a seat by the hands as they are, as at the end of a deal."""
    scoring = rules.scoring
    if scoring == CARDS:
        return float(s.hand_size[seat])
    if scoring == FACE:
        return card_values(s.hand[seat], _FACE_VALUES)
    if scoring == PLACES:
        return (rules.num_players - place(rules, s, seat)) / (rules.num_players - 1)
    if s.num_out == 0 or s.out[0] != seat:
        return 0.0
    if scoring == WIN:
        return 1.0
    total = 0.0
    for other in range(rules.num_players):
        total += card_values(s.hand[other], _PARLETT_VALUES)
    return total


@njit
def card_values(cards, values):
    total = 0.0
    for card in range(NUM_CARDS):
        if cards & bit(card):
            total += values[card % NUM_RANKS]
    return total


@njit
def place(rules, s, seat):
    """Place of a seat, 1 being best; who is not out ranks by cards in hand, equals sharing their places."""
    for i in range(s.num_out):
        if s.out[i] == seat:
            return i + 1.0
    count = s.hand_size[seat]
    ahead, equal = np.int64(s.num_out), np.int64(0)
    for other in range(rules.num_players):
        if s.still_in >> other & 1:
            ahead += s.hand_size[other] < count
            equal += s.hand_size[other] == count
    return ahead + (equal + 1) / 2


@njit(cache=True, nogil=True)
def score(rules, s, seat):
    """Score of a seat: of the deal once it is over (before that 0), or the running total of a match."""
    if rules.target > 0.0:
        return s.totals[seat]
    return deal_score(rules, s, seat) if s.status != RUNNING else 0.0


@njit(cache=True, nogil=True)
def reward(rules, s, seat):
    """Reward of a seat: 0 while the game runs; then its score, negative where low is good, or its share of the match."""
    if s.status == RUNNING:
        return 0.0
    if rules.target == 0.0:
        value = deal_score(rules, s, seat)
        return 0.0 - value if low_is_good(rules) else value
    if s.status == TRUNCATED:
        return 0.0
    sign = -1.0 if low_is_good(rules) else 1.0
    equals = 0
    for other in range(rules.num_players):
        if sign * s.totals[other] > sign * s.totals[seat]:
            return 0.0
        equals += s.totals[other] == s.totals[seat]
    return 1.0 / equals
