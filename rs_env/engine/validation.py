"""Whether a state can be one of a game that goes on: checked before compiled code, which checks nothing, plays on from
it.

The checks: every field is in range for the rule set; the cards are there exactly once; sizes, leavers and places agree
with the hands; the trick agrees with its leader, the seats that have played and the seat to act; known, excluded and
held say the truth about the hands. A state that passes can be played on without harm. The checks do not ask whether
play from a deal leads to it.
"""

from __future__ import annotations

import numpy as np

from rs_env.cards import NUM_CARDS, NUM_RANKS, NUM_SUITS, PICKUP
from rs_env.engine.bits import ALL_CARDS, EMPTY, bit, left_of, popcount, suit_set
from rs_env.engine.jit import njit
from rs_env.engine.play import card_played, legal_actions
from rs_env.engine.state import LAST_DEALT, LAST_FIRST_DEAL, NO_CARD, NO_SUIT, NOBODY, RUNNING, compile_rules
from rs_env.engine.types import CompiledRules, Number, RulesArray, SeatSet, State, States
from rs_env.rules import MAX_PLAYERS, Rules

FAULTS = (
    "",
    "status: the game is over",
    "still_in, out: not a set of the seats that are not out for good, with the others in order of their places",
    "hand, trick, dead: not exactly the cards of the rule set, each once",
    "hand_size: not the number of cards in each hand",
    "known: a card that is not in that hand, or of a seat that does not exist",
    "excluded: a suit that the seat's unknown cards have, or that does not exist",
    "held: a suit that the seat's unknown cards lack, or held without trumps at any time",
    "dealer, leader, turn: not seats of this game",
    "played, trick: not the same cards",
    "led, barred, trump, leader: not as they can be at this moment",
    "pending, turn: not the seats that have yet to play, clockwise from the leader",
    "leavers: not the seats in the game that have no card left",
    "actions, deals_done, deal: not numbers that the limits of the rules allow",
    "totals: not numbers below the target",
    "num_dead, dead_order: not the dead cards in order, which are kept under the silent rule only",
    "deck: not the cards of the rule set in an order, the last of the suit of a trump that is shown, nor unknown",
    "legal actions: there are none",
)
(
    _FINE, _STATUS, _STILL_IN, _CARDS, _HAND_SIZE, _KNOWN, _EXCLUDED, _HELD, _SEATS, _PLAYED, _SUITS, _PENDING,
    _LEAVERS, _COUNTS, _TOTALS, _DEAD_ORDER, _DECK, _LEGAL,
) = range(len(FAULTS))  # fmt: skip


def check_states(rules: Rules, states: np.ndarray) -> None:
    """Raise ValueError, naming the first wrong state and what is wrong with it, unless all are of running games of this
    rule set.

    states: array of dtype `rs_env.engine.state.STATE`, shape (B,).
    """
    i, fault = first_fault(compile_rules(rules), np.require(states, requirements=("C", "A", "W")))
    if fault != _FINE:
        raise ValueError(f"states[{i}] is no state of a running game of this rule set: {FAULTS[fault]}")


@njit(cache=True, nogil=True)
def first_fault(rules_array: RulesArray, states: States) -> tuple[Number, Number]:
    """Index of the first wrong state and the number of its fault in `FAULTS`; (-1, 0) where there is none."""
    for i in range(states.shape[0]):
        fault = _fault(rules_array[0], states[i])
        if fault != _FINE:
            return i, fault
    return -1, _FINE


@njit
def _fault(rules: CompiledRules, s: State) -> Number:
    """The first fault of a state; later checks rely on earlier ones."""
    if s.status != RUNNING:
        return _STATUS
    n = np.int64(rules.num_players)
    if s.dealer >= n or s.leader >= n or s.turn >= n:
        return _SEATS
    if not _places_agree(rules, s, n):
        return _STILL_IN
    fault = _fault_of_hands(rules, s, n)
    if fault != _FINE:
        return fault
    fault = _fault_of_trick(rules, s, n)
    if fault != _FINE:
        return fault
    deals = rules.max_deals if rules.target > 0.0 else 1
    if not (0 <= s.actions < rules.max_actions and 0 <= s.deal <= LAST_FIRST_DEAL and 0 <= s.deals_done < deals):
        return _COUNTS
    for seat in range(MAX_PLAYERS):
        bound = rules.target if rules.target > 0.0 and seat < n else 0.0
        if not (s.totals[seat] == 0.0 or 0.0 <= s.totals[seat] < bound):
            return _TOTALS
    if not _dead_order_agrees(rules, s):
        return _DEAD_ORDER
    if not _deck_agrees(rules, s):
        return _DECK
    return _FINE if legal_actions(rules, s) != EMPTY else _LEGAL


@njit
def _places_agree(rules: CompiledRules, s: State, n: Number) -> bool:
    everybody = (1 << n) - 1
    gone: SeatSet = 0
    if not 0 <= s.num_out <= n:
        return False
    for place in range(MAX_PLAYERS):
        seat = np.int64(s.out[place])
        if place >= s.num_out:
            if seat != NOBODY:
                return False
        elif not 0 <= seat < n or gone >> seat & 1:
            return False
        else:
            gone |= 1 << seat
    if np.int64(s.still_in) != everybody & ~gone:
        return False
    return s.num_out == 0 or (rules.play_on and popcount(np.uint64(s.still_in)) >= 2)


@njit
def _fault_of_hands(rules: CompiledRules, s: State, n: Number) -> Number:
    seen = s.trick
    if s.trick & s.dead:
        return _CARDS
    seen |= s.dead
    for seat in range(MAX_PLAYERS):
        hand = s.hand[seat]
        if hand & seen or (seat >= n and hand != EMPTY):
            return _CARDS
        seen |= hand
        if s.hand_size[seat] != popcount(hand):
            return _HAND_SIZE
        if s.known[seat] & ~hand:
            return _KNOWN
        if s.excluded[seat] >> NUM_SUITS or (seat >= n and s.excluded[seat]):
            return _EXCLUDED
        for suit in range(NUM_SUITS):
            if s.excluded[seat] >> suit & 1 and hand & ~s.known[seat] & suit_set(suit):
                return _EXCLUDED
        if not _held_agrees(rules, s, seat):
            return _HELD
        if seat < n and not s.still_in >> seat & 1 and hand != EMPTY:
            return _STILL_IN
    return _FINE if seen == rules.deck else _CARDS


@njit
def _held_agrees(rules: CompiledRules, s: State, seat: Number) -> bool:
    has = 0  # suits of the unknown cards; none where there is no such seat
    for suit in range(NUM_SUITS):
        if s.hand[seat] & ~s.known[seat] & suit_set(suit):
            has |= 1 << suit
    return s.held[seat] & ~has == 0 and (rules.anytime or s.held[seat] == 0)


@njit
def _fault_of_trick(rules: CompiledRules, s: State, n: Number) -> Number:
    played, have_played = EMPTY, 0
    for k in range(MAX_PLAYERS):
        card = card_played(s.played, k)
        if card == NO_CARD:
            continue
        if not 0 <= card < NUM_CARDS or k >= n or played & bit(card):
            return _PLAYED
        played |= bit(card)
        have_played |= 1 << k
    if played != s.trick:
        return _PLAYED
    if not _suits_agree(rules, s):
        return _SUITS
    if not s.pending >> s.turn & 1 or np.int64(s.pending) != s.still_in & ~have_played:
        return _PENDING
    seat = np.int64(s.leader)
    reached = False  # the seat to act, going round from the leader
    for _ in range(n):
        reached = reached or seat == s.turn
        has_played = have_played >> seat & 1 != 0
        takes_part = has_played or s.still_in >> seat & 1 != 0
        if takes_part and has_played == reached:  # all before the seat to act have played, it and all after it have not
            return _PENDING
        seat = left_of(seat, n)
    empty_handed = 0
    for k in range(n):
        if s.still_in >> k & 1 and s.hand_size[k] == 0:
            empty_handed |= 1 << k
    if np.int64(s.leavers) != empty_handed or (empty_handed and (rules.immediate or empty_handed & ~have_played)):
        return _LEAVERS
    return _FINE


@njit
def _suits_agree(rules: CompiledRules, s: State) -> bool:
    if not NO_SUIT <= s.led < NUM_SUITS or not NO_SUIT <= s.barred < NUM_SUITS or not NO_SUIT <= s.trump < NUM_SUITS:
        return False
    if s.trump != rules.trump and not (rules.trump == LAST_DEALT and s.trump != NO_SUIT):
        return False
    if s.trick == EMPTY:
        return s.leader == s.turn and s.led == NO_SUIT and (s.barred == NO_SUIT or rules.bar_suit)
    card = card_played(s.played, s.leader)
    if s.barred != NO_SUIT or s.led == NO_SUIT or card == NO_CARD or not bit(card) & suit_set(s.led):
        return False
    others = suit_set(s.trump) if s.trump != NO_SUIT else EMPTY
    if rules.silent_catch >= 0.0:
        others = ALL_CARDS
    return s.trick & ~(suit_set(s.led) | others) == EMPTY


@njit
def _dead_order_agrees(rules: CompiledRules, s: State) -> bool:
    if rules.silent_catch < 0.0:
        return s.num_dead == 0
    if not 0 <= s.num_dead <= NUM_CARDS:
        return False
    dead = EMPTY
    for k in range(s.num_dead):
        card = np.int64(s.dead_order[k])
        if not 0 <= card < PICKUP or dead & bit(card):
            return False
        dead |= bit(card)
    return dead == s.dead


@njit
def _deck_agrees(rules: CompiledRules, s: State) -> bool:
    cards = EMPTY
    unknown = s.deck[0] == NO_CARD  # as in states that `rs_env.belief` samples
    for k in range(NUM_CARDS):
        card = np.int64(s.deck[k])
        if k >= rules.num_cards or unknown:
            if card != NO_CARD:
                return False
        elif not 0 <= card < NUM_CARDS or cards & bit(card):
            return False
        else:
            cards |= bit(card)
    if unknown:
        return True
    shown = s.trump if rules.trump != LAST_DEALT else s.deck[rules.num_cards - 1] // NUM_RANKS
    return cards == rules.deck and s.trump == shown
