"""Any network of any library as a player, by the logits that it gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rs_env.agent import Shown, seeds_for
from rs_env.baselines.networks import check_temperature, probabilities
from rs_env.cards import NUM_ACTIONS
from rs_env.checks import check_seed
from rs_env.encoding import draws, observations, pick
from rs_env.engine.layout import ObservationDtype, check_observation_dtype


class LogitsAgent(Shown):
    """Draws from a policy of which a function gives the logits.

    logits: called with observations (B, D), of which the dtype is `observation_dtype`, and masks, int8 (B, 53), both
    NumPy arrays; it gives (B, 53) numbers that NumPy can read, of which those of illegal actions do not matter: those
    may be minus infinity. One sequence of views, of one number of players, is one call. temperature: 1 samples from the
    policy as it is, below 1 prefers its likelier actions more, 0 takes the likeliest. Deterministic players loop for
    ever in many deals, so 0 is best kept for single moves.

    Draws depend on the seed and the view alone, as those of the baselines do. `act` raises ValueError for logits of
    another shape, or that are not finite where an action is legal.
    """

    needs = ("the function that gives logits",)

    def __init__(
        self,
        logits: Callable[[np.ndarray, np.ndarray], Any],
        name: str = "network",
        temperature: float = 1.0,
        observation_dtype: ObservationDtype = "float32",
    ) -> None:
        self.name = name
        self._logits, self._temperature = logits, check_temperature(temperature)
        self._dtype = check_observation_dtype(observation_dtype)
        self.settings = {"temperature": temperature, "observation_dtype": observation_dtype}
        self.reset(0)

    def reset(self, seed: int | None) -> None:
        """Draw from this seed from now on."""
        self._seed = np.uint64(check_seed(seed))

    def act(self, views: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
        """One legal action for each view, int64 (B,)."""
        if not len(views):
            return np.zeros(0, np.int64)
        rows, masks = observations(views, self._dtype)
        logits = np.asarray(self._logits(rows, masks))
        is_real, shape = logits.dtype.kind in "fiu", (len(rows), NUM_ACTIONS)
        if not is_real or logits.shape != shape or not np.isfinite(logits[masks == 1]).all():
            raise ValueError(
                f"agent {self.name!r} gave logits {logits.dtype} of shape {logits.shape}: they must be finite numbers"
                f" of shape {(len(rows), NUM_ACTIONS)} where actions are legal"
            )
        legal = np.where(masks == 1, logits.astype(np.float64), -np.inf)
        if self._temperature == 0:
            return legal.argmax(-1)
        with np.errstate(over="ignore"):  # what is so much less likely than the likeliest action is never taken
            below_best = legal - legal.max(-1, keepdims=True)  # as float32 the logits themselves may be infinite
            cumulated = probabilities(below_best, masks, self._temperature).astype(np.float64).cumsum(-1)
        return pick(cumulated, draws(views, seeds_for(views, self._seed, seeds)))
