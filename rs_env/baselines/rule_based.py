"""The rule-based players as agents."""

from __future__ import annotations

import numpy as np

from rs_env.agent import Shown, own, seeds_for
from rs_env.baselines.tips import LADDER, TIPS, act_all, policy_all, shares_all, weights_of
from rs_env.cards import NUM_ACTIONS
from rs_env.checks import check_seed
from rs_env.engine.view import as_views


@own
class RuleBasedAgent(Shown):
    """A player of `rs_env.baselines.tips`, given by its weights (float64, in the order of `TIPS`)."""

    def __init__(self, name: str, weights: np.ndarray) -> None:
        self.name = name
        self.weights = weights
        self.reset(0)

    def reset(self, seed: int | None) -> None:
        """Draw from this seed from now on."""
        self.seed = np.uint64(check_seed(seed))

    def act(self, views: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
        """One legal action for each view."""
        views = as_views(views)
        actions = np.empty(len(views), np.int64)
        act_all(self.weights, views, seeds_for(views, self.seed, seeds), actions)
        return actions

    def policy(self, views: np.ndarray) -> np.ndarray:
        """Probability of each action over all seeds, float64 (B, 53)."""
        views = as_views(views)
        probabilities = np.zeros((len(views), NUM_ACTIONS))
        policy_all(self.weights, views, probabilities)
        return probabilities

    def tip_values(self, views: np.ndarray) -> np.ndarray:
        """What each tip, in the order of `TIPS`, adds to the score of each action, float64 (B, tips, 53), -inf where it
        is not legal: an action with the highest sum is played.
        """
        views = as_views(views)
        shares = np.empty((len(views), len(TIPS), NUM_ACTIONS))
        shares_all(self.weights, views, shares)
        return shares


_USED, _REVERSED = 0.7, 0.1  # chances that a stranger minds a tip, and that it does the contrary
_DEFAULTS = LADDER["heuristic"] | {"low": 0.02, "dump": 0.3}


def stranger(*, seed: int = 0) -> RuleBasedAgent:
    """A rule-based player as nobody has met it: each tip weighs what it does with the heuristic times a log-normal
    number, or nothing, by this seed. Players of all seeds are company for learners that are to meet anybody.
    """
    rng = np.random.default_rng([check_seed(seed), len(TIPS)])
    scale = np.exp(rng.normal(size=len(TIPS)))
    sign = np.where(rng.random(len(TIPS)) < _REVERSED, -1.0, 1.0) * (rng.random(len(TIPS)) < _USED)
    return RuleBasedAgent(f"stranger {seed}", weights_of(**{tip: _DEFAULTS[tip] for tip in TIPS}) * scale * sign)
