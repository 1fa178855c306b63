"""The public history of a deal, one byte an event; what each action of it did, and what a seat could know at each
decision.

An event is an action (0..52), with `NOTICED` added where it was a silent play that the table noticed; `SHOWN` plus a
card is the card shown as trump, which comes first in such a deal; `NEXT_DEAL` begins the next deal of a match. Whose
action it was follows from the rules.

All movements of cards are public but for the deal: a card that nobody has seen lies where it was dealt. So at the end
of a history the hand that a seat had at an earlier decision is what has been seen since, which is the same in all
worlds, and its cards that are unseen to this day, which are those of its hand in a world (`hand_at`).

The log of B games is a tuple (events, told, lengths). Row i of `events` (uint8, (B, L)) holds the ``lengths[i]`` events
of game i. `told` (uint8, (B, L)) says beside each action who took it (its lowest bits, `SEAT`) and, `WHAT` bits higher,
what it did: `LED` .. `PICKED_UP`, plus `COMPLETED` where the card completed its trick.
"""

from __future__ import annotations

import numpy as np

from rs_env.cards import NUM_CARDS, NUM_RANKS, PICKUP
from rs_env.engine import play
from rs_env.engine.bits import EMPTY, bit, popcount
from rs_env.engine.jit import njit
from rs_env.engine.state import LAST_DEALT, NO_SUIT, PUBLIC_FIELDS, RULES, RUNNING, STATE
from rs_env.engine.types import Action, Array, CardSet, CompiledRules, Number, Seat, State, Suit, View, Views
from rs_env.engine.view import copy_public
from rs_env.rules import MAX_PLAYERS

NOTICED, SHOWN, NEXT_DEAL = 64, 128, 255
MOST_EVENTS = 3  # of one action: itself, the beginning of the next deal, and its trump
ACTION = 63  # the bits of an event that are the action
LED, FOLLOWED, RUFFED, SILENT, CAUGHT, PICKED_UP = range(1, 7)  # what an action did; CAUGHT: a silent play was noticed
COMPLETED = 8  # added: the card completed its trick
SEAT, WHAT = 7, 3  # the bits that are the seat, and how many they are
_UNSEEN = bit.py_func(63)  # instead of all cards of a hand that are unseen to the end

# Writing


@njit
def log_trump(rules: CompiledRules, s: State, events: Array, i: Number, length: Number) -> Number:
    """Write what everybody sees of a deal as it begins, as `step_and_log` does; returns the number of events."""
    if rules.trump == LAST_DEALT:
        events[i, length] = SHOWN + s.deck[rules.num_cards - 1]
        length += 1
    return length


@njit
def step_and_log(rules: CompiledRules, s: State, action: Action, events: Array, i: Number, length: Number) -> Number:
    """Take a legal action and write its events, `MOST_EVENTS` at the most, to row i of the events (uint8) from place
    `length` on; returns their number in that row.
    """
    seat, deals = np.int64(s.turn), s.deals_done
    play.step(rules, s, action)
    events[i, length] = action
    if rules.silent_catch >= 0.0 and action != PICKUP and s.deals_done == deals and s.hand[seat] & bit(action):
        events[i, length] = action | NOTICED  # the card is back in the hand
    length += 1
    if s.deals_done > deals and s.status == RUNNING:
        events[i, length] = NEXT_DEAL
        length = log_trump(rules, s, events, i, length + 1)
    return length


@njit
def begin_log(rules: CompiledRules, s: State, log: tuple | None, i: Number) -> None:
    """Begin the log of game i, whose deal or match `s` has just begun; without a log do nothing."""
    if log is not None:
        events, _, lengths = log
        lengths[i] = log_trump(rules, s, events, i, 0)


@njit
def step_in_log(rules: CompiledRules, s: State, action: Action, log: tuple | None, i: Number) -> tuple | None:
    """Take a legal action in game i and write it to the log, if there is one; returns the log, or a longer one if it
    was too short.
    """
    if log is None:  # known when this compiles
        play.step(rules, s, action)
        return log
    if log[2][i] + MOST_EVENTS > log[0].shape[1]:
        log = _longer(log)
    events, told, lengths = log
    at, seat, led, trump = lengths[i], np.int64(s.turn), s.led, s.trump
    lengths[i] = step_and_log(rules, s, action, events, i, at)
    told[i, at] = _told(events[i, at], seat, led, trump, s.trick == EMPTY)
    return log


@njit
def _longer(log: tuple) -> tuple:
    """A copy of the log with twice the room."""
    events, told, lengths = log
    games, length = events.shape
    longer_events, longer_told = np.zeros((games, 2 * length), np.uint8), np.zeros((games, 2 * length), np.uint8)
    longer_events[:, :length] = events
    longer_told[:, :length] = told
    return longer_events, longer_told, lengths


@njit
def _told(event: Number, seat: Seat, led: Suit, trump: Suit, trick_is_over: bool) -> Number:
    """What an action, of which `event` tells, did to a trick with this led suit; an entry of `told`."""
    action = np.int64(event) & ACTION
    if action == PICKUP:
        what = PICKED_UP
    elif event & NOTICED:
        what = CAUGHT
    else:
        suit = action // NUM_RANKS
        if led == NO_SUIT:
            what = LED
        elif suit == led:
            what = FOLLOWED
        else:
            what = RUFFED if suit == trump else SILENT
        if trick_is_over:
            what += COMPLETED
    return seat | what << WHAT


@njit(cache=True, nogil=True)
def show_recent(log: tuple, seats: Array, num_players: Number, out: Array) -> None:
    """Write the newest actions of the running deal of each game, as a seat of it (int8, (B,)) sees them, to an int8
    array (B, K, 3): relative seat, action, what it did; oldest first, with zeros before them.
    """
    events, told, lengths = log
    for i in range(out.shape[0]):
        place, at = out.shape[1], lengths[i]
        while place > 0 and at > 0 and events[i, at - 1] < SHOWN:
            place -= 1
            at -= 1
            seat = np.int64(told[i, at] & SEAT) - seats[i]
            out[i, place, 0] = seat + num_players if seat < 0 else seat
            out[i, place, 1] = events[i, at] & ACTION
            out[i, place, 2] = told[i, at] >> WHAT
        for before in range(place):
            out[i, before, 0] = out[i, before, 1] = out[i, before, 2] = 0


# Reading


@njit(cache=True, nogil=True)
def tell(views: Views, log: tuple, memory: tuple[Array, Array, Array, Array]) -> Number:
    """Fill in what a log tells beside the events of each game's running deal, of which there is a view; from public
    knowledge alone. Returns the number of the first game whose events do not lead to its view, or -1.

    memory: of `new_trace`.
    """
    events, told, lengths = log
    for i in range(views.shape[0]):
        if not _tell_deal(views[i], events[i, : lengths[i]], told[i], memory):
            return i
    return -1


@njit
def _tell_deal(view: View, events: Array, told: Array, memory: tuple[Array, Array, Array, Array]) -> bool:
    if not _go_through(view, events, told, memory):
        return False
    return view.status != RUNNING or _leads_to(memory[1][0], view)  # a match ends with another status than its deal


@njit
def _go_through(view: View, events: Array, told: Array | None, memory: tuple[Array, Array, Array, Array]) -> bool:
    """Play the running deal to the end of its events, in ``memory[1]``, and note for each seat the cards that were
    first seen there; write to `told`, if there is one, what each action did. False where an event could not be.
    """
    rules_array, states, first_seen, _ = memory
    rules_array[0] = view.rules
    rules_array[0].target = 0.0
    s = states[0]
    begin = _beginning(events)
    first_seen[:] = EMPTY
    if not _begin_deal(rules_array, s, view, events, begin, first_seen):
        return False
    for i in range(begin, events.shape[0]):
        if not _reveal(rules_array[0], s, events[i], first_seen):
            return False
        seat, led, trump = np.int64(s.turn), s.led, s.trump
        if not _follow(rules_array, s, events[i]):
            return False
        if told is not None and events[i] < SHOWN:
            told[i] = _told(events[i], seat, led, trump, s.trick == EMPTY)
    return True


@njit
def _beginning(events: Array) -> Number:
    """Where the events of the running deal begin."""
    begin = events.shape[0]
    while begin > 0 and events[begin - 1] != NEXT_DEAL:
        begin -= 1
    return begin


DECISION = np.dtype(
    [
        ("seen", np.uint64),  # of the hand of the seat to act, the cards that have been seen by the end of the history
        ("action", np.int8),
        *PUBLIC_FIELDS,  # when it was taken
    ],
    align=True,
)


def new_trace(decisions: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Memory for `trace`: one record of rules, one state, sets of first seen cards by seat, and so many decisions."""
    return np.zeros(1, RULES), np.zeros(1, STATE), np.zeros(MAX_PLAYERS, np.uint64), np.zeros(decisions, DECISION)


@njit
def trace(view: View, events: Array, memory: tuple[Array, Array, Array, Array]) -> Number:
    """Write the decisions of all seats but the viewer's in the running deal, those of the past that were a choice in
    some world, to ``memory[3]``: the newest ones, in a ring. Returns how many there were, or -1 where the events do not
    lead to the view.

    events: uint8, of the deal or match up to now.
    """
    rules_array, states, first_seen, decisions = memory
    s = states[0]
    if not _go_through(view, events, None, memory) or not _leads_to(s, view):
        return -1
    begin, count = _beginning(events), 0
    _begin_deal(rules_array, s, view, events, begin, first_seen)  # again, now with all that was seen in the hands
    for i in range(begin, events.shape[0]):
        action = np.int64(events[i]) & ACTION
        if events[i] < SHOWN:
            if s.turn != view.seat and not (action == PICKUP and (view.rules.plain or view.rules.anytime)):
                d = decisions[count % decisions.shape[0]]
                copy_public(s, d)
                d.seen = s.hand[s.turn] & ~_UNSEEN
                d.action = action
                count += 1
        _follow(rules_array, s, events[i])
    return count


@njit
def _begin_deal(rules_array: Array, s: State, view: View, events: Array, begin: Number, first_seen: Array) -> bool:
    """The state after the deal, with the cards that will be seen in the hands, and the others hidden."""
    if view.status == RUNNING and (begin > 0) != (view.deals_done > 0):
        return False
    rules = rules_array[0]
    s.dealer = view.dealer
    s.status = RUNNING
    for i in range(NUM_CARDS):
        s.deck[i] = rules.cards[i]
    if begin < events.shape[0] and SHOWN <= events[begin] < SHOWN + NUM_CARDS:
        shown, last = np.int8(events[begin] - SHOWN), rules.num_cards - 1
        for i in range(rules.num_cards):
            if s.deck[i] == shown:
                s.deck[i] = s.deck[last]
                s.deck[last] = shown
    play.deal_out(rules, s)
    for seat in range(rules.num_players):
        s.hand[seat] = s.known[seat] | first_seen[seat]
        if s.hand_size[seat] < popcount(s.hand[seat]):
            return False
        if s.hand_size[seat] > popcount(s.hand[seat]):
            s.hand[seat] |= _UNSEEN
    return True


@njit(inline="always")
def _reveal(rules: CompiledRules, s: State, event: Number, first_seen: Array) -> bool:
    """Put a card that is about to be seen for the first time into the hand that it comes from."""
    action = np.int64(event) & ACTION
    if event >= SHOWN or action == PICKUP or s.hand[s.turn] & bit(action):
        return True
    seen = s.dead | s.trick | ~rules.deck
    for other in range(rules.num_players):
        seen |= s.known[other]
    if seen & bit(action):
        return False
    seat = np.int64(s.turn)
    first_seen[seat] |= bit(action)
    s.hand[seat] |= bit(action)
    if s.hand_size[seat] - popcount(s.known[seat]) <= 1:
        s.hand[seat] &= ~_UNSEEN
    return True


@njit
def _follow(rules_array: Array, s: State, event: Number) -> bool:
    """Take the action of an event, with the chance that it tells of; False for an event that could not be."""
    rules = rules_array[0]
    if event >= SHOWN:
        begins = s.actions == 0 and rules.trump == LAST_DEALT
        return begins and event - SHOWN == s.deck[rules.num_cards - 1]
    action, seat = np.int64(event) & ACTION, np.int64(s.turn)
    if s.status != RUNNING or action > PICKUP or (action < PICKUP and not s.hand[s.turn] & bit(action)):
        return False
    if action == PICKUP and s.trick == EMPTY:
        return False
    if rules.silent_catch >= 0.0:
        rules.silent_catch = 1.0 if event & NOTICED else 0.0
    play.step(rules, s, action)
    went_back = action < PICKUP and s.hand[seat] & bit(action)
    return not event & NOTICED or bool(went_back)


@njit
def _leads_to(s: State, view: View) -> bool:
    """Whether the public state is that of the view."""
    same = (
        s.trump == view.trump
        and s.trick == view.trick
        and s.dead == view.dead
        and s.played == view.played
        and s.turn == view.turn
    )
    for seat in range(MAX_PLAYERS):
        same = same and s.known[seat] == view.known[seat] and s.hand_size[seat] == view.hand_size[seat]
    return same and s.actions == view.actions and s.status == view.status


@njit(inline="always")
def hand_at(decision: Array, unseen: CardSet) -> CardSet:
    """The hand of the seat that decided, if it holds these unseen cards now."""
    return decision.seen | unseen
