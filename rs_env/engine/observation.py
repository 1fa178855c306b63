"""The observation: its sections in order, and for each one the piece of compiled code that says what it holds.

Observations are egocentric: relative seat 0 is the observer, then clockwise. The size depends on the number of players
only, and every entry lies in 0..``spec.high``, so ``observation / spec.high`` lies in 0..1. A new section is one more
entry in `SECTIONS`, with its piece: everything else is derived (see `rs_env.engine.layout`). `OBSERVATION_VERSION`
changes whenever the meaning of an entry does; checkpoints carry it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from rs_env.cards import NUM_ACTIONS, NUM_CARDS
from rs_env.engine.bits import EMPTY
from rs_env.engine.encoder import encoder_of
from rs_env.engine.jit import njit
from rs_env.engine.layout import About, Kind, Layout, Section, table_of
from rs_env.engine.play import card_played
from rs_env.engine.state import RUNNING

OBSERVATION_VERSION = 2
PERCENT = 100
_ROUNDING = 1e-9  # more than the error of a product, less than the distance of 1 percent / (2**31 - 1) to the next one


def _percent_of_limit(rules, public, hand, seat):
    return public.actions * rules.percent_per_action + _ROUNDING


def _percent_of_target(rules, public, hand, seat):
    return min(np.float64(PERCENT), PERCENT * public.totals[seat] / rules.target)


SECTIONS = (
    Section("hand", Kind.CARDS, About.SELF, "own cards", lambda rules, public, hand, seat: hand),
    Section(
        "trick",
        Kind.CARD,
        About.EACH,
        "the card that each seat has in the trick",
        lambda rules, public, hand, seat: card_played(public.played, seat),
    ),
    Section(
        "dead", Kind.CARDS, About.TABLE, "cards of completed tricks", lambda rules, public, hand, seat: public.dead
    ),
    Section(
        "known",
        Kind.CARDS,
        About.OTHERS,
        "cards in each other seat's hand that everybody has seen there",
        lambda rules, public, hand, seat: public.known[seat],
    ),
    Section(
        "excluded",
        Kind.SUITS,
        About.OTHERS,
        "suits that each other seat's unseen cards cannot have",
        lambda rules, public, hand, seat: public.excluded[seat],
    ),
    Section(
        "held",
        Kind.SUITS,
        About.OTHERS,
        "suits of which each other seat is sure to have an unseen card",
        lambda rules, public, hand, seat: public.held[seat],
        only_if=lambda rules: rules.anytime,
    ),
    Section(
        "hand_sizes",
        Kind.COUNT,
        About.EACH,
        "number of cards in each hand",
        lambda rules, public, hand, seat: public.hand_size[seat],
        high=NUM_CARDS,
    ),
    Section(
        "still_in",
        Kind.SEATS,
        About.TABLE,
        "seats not yet out for good",
        lambda rules, public, hand, seat: public.still_in,
    ),
    Section(
        "leader",
        Kind.SEAT,
        About.TABLE,
        "the seat that leads or has led the trick",
        lambda rules, public, hand, seat: public.leader,
    ),
    Section(
        "led_suit",
        Kind.SUIT,
        About.TABLE,
        "suit led; all zero before the lead",
        lambda rules, public, hand, seat: public.led,
    ),
    Section(
        "trump",
        Kind.SUIT,
        About.TABLE,
        "trump suit; all zero without one",
        lambda rules, public, hand, seat: public.trump,
    ),
    Section(
        "barred_suit",
        Kind.SUIT,
        About.TABLE,
        "suit that may not be led now; all zero without one",
        lambda rules, public, hand, seat: public.barred,
    ),
    Section(
        "progress",
        Kind.COUNT,
        About.TABLE,
        "actions taken, in percent of the deal's limit, rounded down",
        _percent_of_limit,
        high=PERCENT,
    ),
    Section(
        "totals",
        Kind.COUNT,
        About.EACH,
        "totals of a match, in percent of the target, rounded down, at most 100",
        _percent_of_target,
        high=PERCENT,
        only_if=lambda rules: rules.target > 0.0,
    ),
)

STATE_SECTIONS = (
    Section(
        "turn",
        Kind.SEAT,
        About.TABLE,
        "the seat that is to act; all zero at the end",
        lambda rules, s, hand, seat: np.int64(s.turn) if s.status == RUNNING else -1,
    ),
    Section("hands", Kind.CARDS, About.EACH, "cards of each seat", lambda rules, s, hand, seat: s.hand[seat]),
    *(replace(s, about=About.EACH) if s.about is About.OTHERS else s for s in SECTIONS if s.about is not About.SELF),
)
"""Of the global state: who is to act, all hands, and the public sections with all seats in them."""


class ObservationSpec(Layout):
    """The observation of a game with this number of players (2..8); see `Layout`."""

    version = OBSERVATION_VERSION
    listed = SECTIONS


class StateSpec(Layout):
    """The global state of ``env.state()``, for a central critic: all hands and all that is public, by absolute seat."""

    listed = STATE_SECTIONS


@cache
def observation_spec(num_players: int) -> ObservationSpec:
    """The one shared `ObservationSpec` for this number of players."""
    return ObservationSpec(num_players)


@cache
def state_spec(num_players: int) -> StateSpec:
    """The one shared `StateSpec` for this number of players."""
    return StateSpec(num_players)


def table() -> str:
    """The sections as a Markdown table, n being the number of players."""
    return table_of(ObservationSpec)


_encode = encoder_of(SECTIONS)
_encode_state = encoder_of(STATE_SECTIONS)


@njit(inline="always")
def encode(rules, public, n, seat, hand, row, offset):
    """Write a seat's observation from entry `offset` of a row of int8 on.

    public: a state or a view, of which only public fields are read, so that batches need not copy a view first. n:
    number of players. hand: the seat's cards.
    """
    _encode(rules, public, hand, n, np.int64(seat), row, np.int64(offset))


@njit(inline="always")
def encode_view(view, row, offset):
    """Write the observation of a view; `rs_env.encoding.observations` does it from Python."""
    encode(view.rules, view, np.int64(view.rules.num_players), view.seat, view.hand, row, offset)


@njit(inline="always")
def encode_state(rules, s, row, offset):
    """Write the global state."""
    _encode_state(rules, s, EMPTY, np.int64(rules.num_players), np.int64(0), row, np.int64(offset))


def new_mask() -> np.ndarray:
    """An action mask that allows nothing: int8, shape (53,)."""
    return np.zeros(NUM_ACTIONS, np.int8)
