"""Flat Monte Carlo guided by a network ("search").

As in `rs_env.baselines.search`, worlds are deals of the hidden cards that agree with the view, all actions meet the
same worlds and the same random numbers, and what counts is the mean utility of an action. But every seat plays out by
the policy of the network, from what it would observe in that world, and a play-out ends early: at the first decision of
the searching seat after `horizon` actions, where the network says what the position is worth to that seat. Only own
decisions are asked for, since no others were learnt from.

The policy of the network in the view itself is the prior: an action that it hardly ever takes is not tried, and the
logarithm of its probability is added to the mean utility, times `prior`. This is the policy that does best under a
penalty for moving away from the prior (J.-B. Grill et al., "Monte-Carlo Tree Search as Regularized Policy
Optimization", ICML 2020), at its likeliest action.

Play-outs go on side by side: compiled code plays all of them on to where somebody has a choice, and the network is
asked for all at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rs_env.agent import Agent, own, seeds_for
from rs_env.baselines.network_players import Networks, OneNetwork, Pretrained
from rs_env.baselines.networks import probabilities
from rs_env.baselines.search import utility
from rs_env.cards import NUM_CARDS
from rs_env.checks import check_seed, check_whole
from rs_env.encoding import observations
from rs_env.engine import play
from rs_env.engine.belief import draw, new_belief, prepare
from rs_env.engine.bits import EMPTY, address_of, bit, lowest, without_lowest
from rs_env.engine.jit import njit
from rs_env.engine.observation import encode, observation_spec
from rs_env.engine.rng import advance, mix, unit
from rs_env.engine.state import RULES, RUNNING, STATE
from rs_env.engine.types import ActionSet, Array, Number, RulesArray, Seat, States, Views
from rs_env.engine.view import as_views, view_key

LONGEST = 64  # actions beyond the horizon after which a play-out ends, whoever is to act
_CHOOSING, _ENDING, _OVER = 0, 1, 2  # a play-out needs a choice, the value of its last position, or nothing


class PlayOuts(NamedTuple):
    """Play-outs of one search, side by side; number ``w * actions + k`` begins with the k-th action in world w."""

    rules_array: RulesArray
    """The rules of the deal, less the match: one record of dtype `RULES`."""

    states: States
    """Of dtype `STATE`, (P,)."""

    streams: Array
    """Uint64 (P,): what to draw from, the same for all actions of a world."""

    taken: Array
    """Int64 (P,): actions taken so far."""

    worth: Array
    """Float64 (P,): the utility for the searching seat of a play-out that is over."""

    stage: Array
    """Int8 (P,): see `_CHOOSING`."""

    shown: Array
    """Int64 (P,): the play-out of each row that is shown to the network."""


def new_play_outs(count: int) -> PlayOuts:
    """Memory for so many play-outs."""
    return PlayOuts(
        rules_array=np.zeros(1, RULES),
        states=np.zeros(count, STATE),
        streams=np.zeros(count, np.uint64),
        taken=np.zeros(count, np.int64),
        worth=np.zeros(count),
        stage=np.zeros(count, np.int8),
        shown=np.zeros(count, np.int64),
    )


@njit(cache=True, nogil=True)
def begin(views: Views, stream: Array, actions: Array, worlds: Number, beliefs: Array, outs: PlayOuts) -> bool:
    """Take each of the actions in so many worlds; False where no deal agrees with the view, ``views[0]``."""
    view = views[0]
    outs.rules_array[0] = view.rules
    outs.rules_array[0].target = 0.0
    if not prepare(view, beliefs[0]) > 0.0:
        return False
    rules = outs.rules_array[0]
    for w in range(worlds):
        first = w * actions.shape[0]
        stream[0] = draw(view, beliefs[0], stream[0], outs.states[first])
        for k in range(actions.shape[0] - 1, -1, -1):
            outs.states[first + k] = outs.states[first]
            play.step(rules, outs.states[first + k], actions[k])
            outs.streams[first + k] = mix(stream[0])
            outs.taken[first + k] = 1
            outs.stage[first + k] = _CHOOSING
    return True


@njit(cache=True, nogil=True)
def show(outs: PlayOuts, count: Number, seat: Seat, horizon: Number, observation: Array) -> Number:
    """Play all play-outs on to where somebody has a choice; write what that seat observes there, or what the searching
    seat does where the play-out ends, to the first rows. Returns their number.
    """
    rules, rows = outs.rules_array[0], 0
    n = np.int64(rules.num_players)
    address, width = address_of(observation), observation.shape[1]
    for i in range(count):
        if outs.stage[i] == _OVER:
            continue
        s = outs.states[i]
        legal = play.legal_actions(rules, s)
        while s.status == RUNNING and without_lowest(legal) == EMPTY:
            play.step(rules, s, lowest(legal))
            outs.taken[i] += 1
            legal = play.legal_actions(rules, s)
        if s.status != RUNNING:
            outs.worth[i] = utility(rules, s, seat, outs.taken[i])
            outs.stage[i] = _OVER
            continue
        beyond = outs.taken[i] - horizon
        viewer = np.int64(s.turn)
        if (viewer == seat and beyond >= 0) or beyond >= LONGEST:
            outs.stage[i] = _ENDING
            viewer = seat
        encode(rules, s, n, viewer, s.hand[viewer], address, rows * width)
        outs.shown[rows] = i
        rows += 1
    return rows


@njit(cache=True, nogil=True)
def go_on(outs: PlayOuts, rows: Number, logits: Array, values: Array, temperature: float) -> None:
    """Take an action, or the value, in each of the play-outs that were shown."""
    rules = outs.rules_array[0]
    for row in range(rows):
        i = outs.shown[row]
        s = outs.states[i]
        if outs.stage[i] == _ENDING:
            outs.worth[i] = min(max(values[row], 0.0), 1.0)
            outs.stage[i] = _OVER
            continue
        outs.streams[i] = advance(outs.streams[i])
        play.step(rules, s, _drawn(play.options(rules, s), logits[row], unit(outs.streams[i]), temperature))
        outs.taken[i] += 1


@njit
def _drawn(legal: ActionSet, logits: Array, mark: float, temperature: float) -> Number:
    """The action on which a mark in [0, 1) falls."""
    top, rest = -np.inf, legal
    while rest != EMPTY:
        top = max(top, logits[lowest(rest)])
        rest = without_lowest(rest)
    total, rest = 0.0, legal
    while rest != EMPTY:
        total += np.exp((logits[lowest(rest)] - top) / temperature)
        rest = without_lowest(rest)
    mark *= total
    while without_lowest(legal) != EMPTY:
        mark -= np.exp((logits[lowest(legal)] - top) / temperature)
        if mark < 0.0:
            break
        legal = without_lowest(legal)
    return lowest(legal)


@own
class Guided:
    """Flat Monte Carlo guided by networks.

    worlds: sampled for each decision. horizon: actions after which a play-out ends at the seat's next decision.
    temperature: of play-outs. prior: weight of the logarithm of the policy. least: probability of an action, as a share
    of the likeliest one's, below which it is not tried.
    """

    def __init__(
        self,
        name: str,
        networks: Networks,
        *,
        worlds: int,
        horizon: int,
        temperature: float,
        prior: float,
        least: float,
    ) -> None:
        self.name = name
        self._networks = networks
        self._worlds = check_whole("worlds", worlds, 1, 1 << 16)
        self._horizon = check_whole("horizon", horizon, 0, 1 << 24)
        self._temperature = temperature
        self._prior, self._least = prior, least
        self._beliefs, self._outs = new_belief(), new_play_outs(worlds * NUM_CARDS)
        self.reset(0)

    def reset(self, seed: int | None) -> None:
        """Draw from this seed from now on."""
        self._seed = np.uint64(check_seed(seed))

    def act(self, views: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
        """One legal action for each view."""
        views = as_views(views)
        actions, seeds = np.zeros(len(views), np.int64), seeds_for(views, self._seed, seeds)
        for network, indices in self._networks.groups(views) if len(views) else []:
            observation, mask = observations(views[indices])
            log_prior = np.log(probabilities(network.evaluate(observation)[0], mask, 1.0).clip(1e-30))
            for i, row in zip(indices, log_prior):
                tried = np.flatnonzero(mask_of(views[i]) & (row >= row.max() + np.log(self._least)))
                actions[i] = (
                    tried[0] if len(tried) == 1 else self._search(network, views[i : i + 1], seeds[i], tried, row)
                )
        return actions

    def _search(self, network, view, seed, tried, log_prior) -> int:
        stream = np.array([key_of(view, seed)], np.uint64)
        if not begin(view, stream, tried, self._worlds, self._beliefs, self._outs):
            raise ValueError("no deal of the hidden cards agrees with it")
        count, seat = self._worlds * len(tried), int(view["seat"][0])
        rows = np.empty((count, observation_spec(network.num_players).size), np.int8)
        self._outs.stage[:count] = 0
        while (shown := show(self._outs, count, seat, self._horizon, rows)) > 0:
            logits, values = network.evaluate(rows[:shown])
            go_on(self._outs, shown, logits, values, self._temperature)
        means = self._outs.worth[:count].reshape(self._worlds, -1).mean(0)
        return int(tried[(means + self._prior * log_prior[tried]).argmax()])


def mask_of(view):
    return (int(view["legal"]) >> np.arange(53)) & 1 == 1


@njit(cache=True, nogil=True)
def first_key(views, seed):
    return view_key(views[0], seed)


def key_of(view, seed):
    return first_key(view, np.uint64(seed))


def search(
    *,
    checkpoint: str = "",
    worlds: int = 32,
    horizon: int = 8,
    temperature: float = 1.0,
    prior: float = 0.05,
    least: float = 0.01,
) -> Agent:
    """The search guided by the network of a checkpoint, or by those of the package."""
    networks = OneNetwork(checkpoint) if checkpoint else Pretrained()
    return Guided("search", networks, worlds=worlds, horizon=horizon, temperature=temperature, prior=prior, least=least)
