"""A type of player fitted to what an agent does, so that others can expect it (`rs_env.baselines.models`).

The agent plays, and what it chose among which actions is explained by weights of tips: a conditional logit (D.
McFadden, "Conditional logit analysis of qualitative choice behavior", 1974), whose likelihood has one maximum. The type
takes the action with the highest weighed sum, so its noise is the share of random actions that makes the agent's own
likeliest.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rs_env.agent import Agent, ask, wants_histories
from rs_env.arena.play import play_games
from rs_env.baselines import as_agent
from rs_env.baselines.models import PlayerType
from rs_env.baselines.tips import NUM_CHANCES, TIE_BREAK, TIPS, chances_of, score_of
from rs_env.cards import NUM_ACTIONS
from rs_env.checks import check_whole
from rs_env.engine.bits import EMPTY, lowest, without_lowest
from rs_env.engine.jit import njit
from rs_env.engine.types import Array, Views
from rs_env.history import Histories
from rs_env.rules import Rules, as_rules

_STEPS = 50  # of Newton's method, which takes about ten
_RIDGE = 1e-3  # a decision's worth of pull to 0 per unit squared: tips that never mattered get no weight
_LEAST_NOISE, _MOST_NOISE = 0.01, 1.0


def fit_type(
    agent: str | Agent,
    opponents: Sequence[str | Agent] = ("heuristic", "random"),
    rules: Rules | str = "rolling_stone",
    deals: int = 100,
    seed: int = 0,
    *,
    play_outs: PlayerType | None = None,
    common: float = 1.0,
) -> PlayerType:
    """The type that explains best what an agent does: a rule-based player with tips weighed as the agent seems to.

    agent: any, also a searching or a trained one. opponents: on the other seats, one after the other, `deals` deals
    each, the agent on every seat in turn. play_outs: for an agent that looks ahead, how it plays in play-outs; in a
    tree it then looks after itself. common: see `PlayerType`. Raises ValueError for what `rs_env.arena.duel` refuses,
    and where the agent had no decision.

    Put the result in `rs_env.baselines.models.TYPES` under a name, and models made from then on know it.
    """
    check_whole("deals", deals, 1, 1 << 20)
    check_whole("seed", seed, 0, (1 << 64) - 1)
    if isinstance(opponents, str) or not opponents:
        raise ValueError(f"opponents={opponents!r} is not allowed: it must be a list of at least one agent")
    rules, watched = as_rules(rules), _Watched(as_agent(agent))
    n = rules.num_players
    seating = np.tile(1 - np.eye(n, dtype=np.int64), (deals, 1))
    for opponent in opponents:
        table = [watched, as_agent(opponent)]
        for number, player in enumerate(table):
            player.reset((seed + number) % (1 << 64))
        play_games(rules, table, seating, seed, np.repeat(np.arange(deals), n))
    views, actions = watched.seen()
    scores, legal = np.zeros((len(views), NUM_ACTIONS, len(TIPS))), np.zeros((len(views), NUM_ACTIONS), np.bool_)
    _scores_of_each(views, np.eye(len(TIPS)), scores, legal)
    weights = _logit(scores, legal, actions)
    told = tuple((tip, float(weight)) for tip, weight in zip(TIPS, weights, strict=True) if weight != 0.0)
    return PlayerType(told, _noise(scores @ weights, legal, actions), play_outs, common)


class _Watched:
    """An agent whose choices are written down, where it had any."""

    def __init__(self, agent: Agent) -> None:
        self.name, self._agent = agent.name, agent
        self._views: list[np.ndarray] = []
        self._actions: list[np.ndarray] = []

    def reset(self, seed: int | None) -> None:
        self._agent.reset(seed)

    def act(self, views: np.ndarray, histories: Histories | None = None) -> np.ndarray:
        actions = ask(self._agent, views, histories=histories if wants_histories(self._agent) else None)
        self._views.append(views.copy())
        self._actions.append(actions.copy())
        return actions

    def seen(self) -> tuple[np.ndarray, np.ndarray]:
        """All views, and what was chosen in each."""
        if not self._views:
            raise ValueError(f"{self.name} had no decision to learn from: play more deals")
        return np.concatenate(self._views), np.concatenate(self._actions)


@njit(cache=True, nogil=True)
def _scores_of_each(views: Views, tips: Array, scores: Array, legal: Array) -> None:
    """Write what each tip alone, a row of `tips`, says of each legal action: float64 (B, 53, T); and which are legal,
    bool (B, 53).
    """
    chances = np.empty(NUM_CHANCES)
    for i in range(views.shape[0]):
        view = views[i]
        chances_of(view.rules, view, view.seat, view.hand, chances)
        left = view.legal
        while left != EMPTY:
            action = lowest(left)
            left = without_lowest(left)
            legal[i, action] = True
            for tip in range(tips.shape[0]):
                scores[i, action, tip] = score_of(tips[tip], view.rules, view, view.seat, view.hand, action, chances)


def _logit(scores: np.ndarray, legal: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """The weights (T,) under which a conditional logit makes these actions likeliest, by Newton's method."""
    weights, spread = np.zeros(scores.shape[2]), scores[legal].std(0)
    scaled = scores / np.where(spread > 0.0, spread, 1.0)  # so that the ridge is the same for all tips
    taken = scaled[np.arange(len(actions)), actions]

    def log_likelihood(at: np.ndarray) -> tuple[float, np.ndarray]:
        logits = np.where(legal, scaled @ at, -np.inf)
        top = logits.max(1, keepdims=True)
        odds = np.exp(logits - top)
        total = odds.sum(1, keepdims=True)
        value = float((taken @ at - top[:, 0] - np.log(total[:, 0])).mean() - _RIDGE * at @ at / 2)
        return value, odds / total

    value, chances = log_likelihood(weights)
    for _ in range(_STEPS):
        mean = np.einsum("ba,bat->bt", chances, scaled)
        gradient = (taken - mean).mean(0) - _RIDGE * weights
        square = np.einsum("ba,bat,bau->tu", chances, scaled, scaled, optimize=True) / len(actions)
        curvature = square - mean.T @ mean / len(actions) + _RIDGE * np.eye(len(weights))
        step = np.linalg.solve(curvature, gradient)
        size = 1.0
        while (better := log_likelihood(weights + size * step))[0] < value and size > 1e-6:
            size /= 2.0
        if better[0] - value < 1e-9:
            break
        weights, (value, chances) = weights + size * step, better
    return np.where(spread > 0.0, weights / np.where(spread > 0.0, spread, 1.0), 0.0)


def _noise(totals: np.ndarray, legal: np.ndarray, actions: np.ndarray) -> float:
    """The share of random actions under which a player that else takes the action with the highest total is likeliest
    to have taken these: the maximum over it of a concave function, by halving.
    """
    totals = np.where(legal, totals, -np.inf)
    best = totals > totals.max(1, keepdims=True) - TIE_BREAK
    by_rule = best[np.arange(len(actions)), actions] / best.sum(1)
    at_random = 1.0 / legal.sum(1)
    low, high = _LEAST_NOISE, _MOST_NOISE
    for _ in range(40):
        middle = (low + high) / 2.0
        slope = ((at_random - by_rule) / (middle * at_random + (1.0 - middle) * by_rule)).sum()
        low, high = (middle, high) if slope > 0.0 else (low, middle)
    return (low + high) / 2.0
