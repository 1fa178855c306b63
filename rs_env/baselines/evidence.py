"""What the public history tells of the hidden cards and of who plays: the actions of a deal scored by types of players.

A *type* is a rule-based player that now and then plays at random. In a sampled world every hand of the past is known
(`rs_env.engine.history`), so each decision of another seat has a probability under each type. A world is as likely as
the product over seats of the sum over types of the prior times the probabilities of the seat's decisions; and in that
world a seat's type is as likely as its term of that sum. (Policy based inference: D. Rebstock, C. Solinas, M. Buro,
N. Sturtevant, "Policy Based Inference in Trick-Taking Card Games", arXiv:1905.10911; there with one policy for all.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rs_env.baselines.tips import DUMP, NUM_CHANCES, TIE_BREAK, chances_of, score_of
from rs_env.engine import play
from rs_env.engine.bits import EMPTY, lowest, popcount, without_lowest
from rs_env.engine.history import hand_at
from rs_env.engine.jit import njit
from rs_env.engine.state import NO_SUIT
from rs_env.engine.types import Array, CardSet, CompiledRules, Number, Real, Seat, States, View

_SMALL, _LARGE = 1e-100, 1e100


class Rating(NamedTuple):
    """What decisions are rated by, and memory for that."""

    weights: Array
    """Float64 (T, TIPS), of each type."""

    noise: Array
    """Float64 (T,), share of random actions of each type."""

    prior: Array
    """Float64 (seats, T), how likely each seat is of each type before the deal."""

    decisions: Array
    """Of dtype `rs_env.engine.history.DECISION`."""

    chances: Array
    """Float64 (NUM_CHANCES,)."""

    probabilities: Array
    """Float64 (T,)."""


def new_rating(weights: np.ndarray, noise: np.ndarray, prior: np.ndarray, decisions: np.ndarray) -> Rating:
    """A `Rating` with memory of its own."""
    return Rating(weights, noise, prior, decisions, np.zeros(NUM_CHANCES), np.zeros(len(noise)))


@njit
def _rate(rules: CompiledRules, d: Array, hand: CardSet, r: Rating) -> bool:
    """Write the probability of a decision under each type to ``r.probabilities``, for a seat with this hand; False
    where the hand left no choice, so that the decision tells nothing.
    """
    legal = play.options_with(rules, d, hand)
    if without_lowest(legal) == EMPTY:
        return False
    number = popcount(legal)
    if d.led == NO_SUIT:
        chances_of(rules, d, d.turn, hand, r.chances)
    for kind in range(r.noise.shape[0]):
        noise = r.noise[kind]
        r.probabilities[kind] = noise / number
        if noise < 1.0:
            w = r.weights[kind]
            if d.led != NO_SUIT and w[DUMP] != 0.0:
                chances_of(rules, d, d.turn, hand, r.chances)
            mine = score_of(w, rules, d, d.turn, hand, np.int64(d.action), r.chances)
            equals, left = 0, legal
            while left != EMPTY:
                score = score_of(w, rules, d, d.turn, hand, lowest(left), r.chances)
                left = without_lowest(left)
                if score > mine + TIE_BREAK:
                    equals = 0
                    break
                equals += score > mine - TIE_BREAK
            if equals > 0:
                r.probabilities[kind] += (1.0 - noise) / equals
    return True


@njit
def rate_seat(rules: CompiledRules, count: Number, seat: Seat, unseen: CardSet, r: Rating, likelihoods: Array) -> Real:
    """Write how likely a seat's decisions are under each type if these are its unseen cards: float64 (T,), but for a
    factor, whose logarithm is returned.
    """
    scale = 0.0
    likelihoods[:] = 1.0
    for i in range(min(count, r.decisions.shape[0])):
        d = r.decisions[i]
        if d.turn != seat or not _rate(rules, d, hand_at(d, unseen), r):
            continue
        top = 0.0
        for kind in range(likelihoods.shape[0]):
            likelihoods[kind] *= r.probabilities[kind]
            top = max(top, likelihoods[kind])
        if top < _SMALL:
            for kind in range(likelihoods.shape[0]):
                likelihoods[kind] *= _LARGE
            scale -= 1.0
    return scale * np.log(_LARGE)


@njit
def weigh_worlds(view: View, count: Number, worlds: States, r: Rating, log_weights: Array, posterior: Array) -> None:
    """Write the logarithm of each world's weight, float64 (M,), and how likely each seat is of each type in it, float64
    (M, seats, T). count: decisions that `rs_env.engine.history.trace` has found.
    """
    rules, types = view.rules, r.noise.shape[0]
    log_weights[:] = 0.0
    for seat in range(rules.num_players):
        if seat == view.seat:
            continue
        is_open = view.hand_size[seat] == popcount(view.known[seat])  # then its past hands are the same in all worlds
        for m in range(worlds.shape[0]):
            likelihoods = posterior[m, seat]
            if is_open and m > 0:
                likelihoods[:] = posterior[0, seat]
                continue
            unseen = worlds[m].hand[seat] & ~view.known[seat]
            scale = rate_seat(rules, count, seat, unseen, r, likelihoods)
            total = 0.0
            for kind in range(types):
                likelihoods[kind] *= r.prior[seat, kind]
                total += likelihoods[kind]
            for kind in range(types):
                likelihoods[kind] /= total
            log_weights[m] += scale + np.log(total) if not is_open else 0.0
