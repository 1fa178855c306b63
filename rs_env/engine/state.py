"""The records that a game consists of: the compiled rule set, and the state of a game.

A game is one record of dtype `STATE`, a batch is an array of them. Copies, comparisons, pickles and restores are then
those of NumPy arrays. Sets of cards are 64-bit integers (`rs_env.engine.bits`), sets of seats and suits are bytes.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from rs_env.cards import NUM_CARDS, NUM_RANKS, SUIT_NAMES, rank_of, set_of
from rs_env.rules import MAX_PLAYERS, Rules, Trump
from rs_env.scorings import SCORINGS

RUNNING, TERMINATED, TRUNCATED = 0, 1, 2
NO_TRUMP, LAST_DEALT = -1, 4
NOBODY = NO_CARD = NO_SUIT = -1
LAST_FIRST_DEAL = (1 << 31) - 2 - (1 << 20)
"""The highest number of a deck to begin with: then no game runs out of numbers for its deals, which are int32."""

NOTHING_PLAYED = np.uint64(0xFFFF_FFFF_FFFF_FFFF)

RULES = np.dtype(
    [
        ("deck", np.uint64),  # the cards in play, as a set
        ("cards", np.int8, (NUM_CARDS,)),  # the same in order, then NO_CARD
        ("silent_catch", np.float64),  # -1: no silent plays
        ("target", np.float64),  # 0: a single deal
        ("percent_per_action", np.float64),  # 100 / max_actions
        ("deck_value", np.float64),  # of all cards in play, by card_values
        ("max_actions", np.int32),
        ("max_deals", np.int32),
        ("num_players", np.int8),
        ("num_cards", np.int8),
        ("trump", np.int8),  # a suit, NO_TRUMP or LAST_DEALT
        ("basis", np.int8),  # of scores, see rs_env.scorings.Basis
        ("low_is_good", np.bool_),  # scores are penalty points
        ("immediate", np.bool_),  # going_out
        ("void_takes", np.bool_),  # broken_exit
        ("play_on", np.bool_),
        ("bar_suit", np.bool_),  # lead_after_pickup
        ("ruff", np.bool_),  # void players may trump
        ("anytime", np.bool_),  # players who could follow may trump
        ("card_values", np.int8, (NUM_RANKS,)),  # what a card counts in scores that look at hands
        ("plain", np.bool_),  # no trumps and no silent plays: what is played to a lead follows it
    ],
    align=True,
)

# The fields of a state in the order in which they lie in memory: first what most steps touch, as much as one cache
# line of 64 bytes holds, then one of known cards and one of hands. Every player knows all but `HIDDEN`.
_FIELDS = [
    ("trick", np.uint64),  # cards on the table, as a set
    ("dead", np.uint64),  # cards of completed tricks, as a set
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
    ("deal", np.int32),  # number of the deck: 0, 1, ... over all episodes of the game
    ("known", np.uint64, (MAX_PLAYERS,)),  # cards in hand that everybody has seen there
    ("hand", np.uint64, (MAX_PLAYERS,)),
    ("key", np.uint64),  # names the game's decks, see rs_env.engine.rng
    ("chance", np.uint64),  # stream of noticed silent plays
    ("held", np.uint8, (MAX_PLAYERS,)),  # suits of which the seat's unknown cards have one, as a set; see note_held
    ("out", np.int8, (MAX_PLAYERS,)),  # seats out for good, best place first, then NOBODY
    ("totals", np.float64, (MAX_PLAYERS,)),  # of this match
    ("dead_order", np.int8, (NUM_CARDS,)),  # oldest first; kept under the silent rule only
    ("deck", np.int8, (NUM_CARDS,)),  # in dealing order, then NO_CARD
]

HIDDEN = ("deal", "hand", "key", "chance", "deck")
"""Fields of a state that no view shows."""

PUBLIC_FIELDS = [field for field in _FIELDS if field[0] not in HIDDEN]
"""What everybody knows: part of every state and of every view."""

STATE = np.dtype(_FIELDS, align=True)


@cache
def compile_rules(rules: Rules) -> np.ndarray:
    """The rule set as a read-only array of one `RULES` record, as the compiled functions take it."""
    record = np.zeros(1, RULES)
    trumps: dict[Trump, int] = {
        "none": NO_TRUMP,
        "last_dealt": LAST_DEALT,
        **{name: suit for suit, name in enumerate(SUIT_NAMES)},
    }
    with_trump, scoring = rules.trump != "none", SCORINGS[rules.scoring]
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
    record["basis"] = scoring.basis
    record["low_is_good"] = scoring.low_is_good
    record["card_values"] = scoring.card_values
    record["deck_value"] = sum(scoring.card_values[rank_of(card)] for card in rules.deck)
    record["immediate"] = rules.going_out == "immediate"
    record["void_takes"] = rules.broken_exit == "void"
    record["play_on"] = rules.play_on
    record["bar_suit"] = rules.lead_after_pickup == "other_suit"
    record["ruff"] = with_trump and rules.trump_play == "ruff"
    record["anytime"] = with_trump and rules.trump_play == "anytime"
    record["plain"] = not with_trump and rules.silent_catch is None
    record.flags.writeable = False
    return record
