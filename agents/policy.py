"""A trained network as an agent that plays from views."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from agents.checkpoint import load_checkpoint
from agents.config import TEMPERATURES, is_temperature
from agents.networks import PolicyValueNet
from rs_env.baselines.agent import as_views, seeds_for
from rs_env.bits import address_of, unpack_actions
from rs_env.cards import NUM_ACTIONS
from rs_env.jit import njit
from rs_env.observation import encode_view, observation_spec
from rs_env.rng import check_seed, unit
from rs_env.view import view_key


class PolicyAgent:
    """Plays by a network's policy.

    temperature: 1 samples from the policy as it was learnt, below 1 prefers its likelier actions more, 0 takes the likeliest. Deterministic
    players loop for ever in many deals, so 0 is best kept for single moves.
    """

    def __init__(self, network: PolicyValueNet, num_players: int, name: str = "policy", temperature: float = 0.5) -> None:
        if not is_temperature(temperature):
            raise ValueError(f"temperature={temperature!r} is not allowed: it must be {TEMPERATURES}")
        self.name = name
        self.network = network
        self.temperature = temperature
        self._players = num_players
        self.reset(0)

    @classmethod
    def load(cls, path: str | Path, temperature: float = 0.5) -> PolicyAgent:
        """The agent of a checkpoint file or run folder. Raises ValueError for one that does not fit."""
        config, network, _, _ = load_checkpoint(path)
        return cls(network, config.rules.num_players, Path(path).name, temperature)

    def reset(self, seed: int | None) -> None:
        """Draw from this seed from now on; draws depend on it and the view alone, as those of the baselines do."""
        self._seed = np.uint64(check_seed(seed))

    def act(self, views: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
        """One legal action, int64 (B,), for each view; `seeds` as in `rs_env.baselines.agent.Agent`.

        Raises ValueError for views of another number of players.
        """
        views = as_views(views)
        if np.any(views["rules"]["num_players"] != self._players):
            raise ValueError(f"views: agent {self.name!r} plays with {self._players} players only")
        observation = np.empty((len(views), observation_spec(self._players).size), np.int8)
        mask = np.empty((len(views), NUM_ACTIONS), np.int8)
        encode_views(views, observation.reshape(-1), mask.reshape(-1))
        with torch.inference_mode():
            log_probs, _ = self.network(torch.from_numpy(observation), torch.from_numpy(mask))
            if self.temperature == 0:
                return log_probs.argmax(-1).numpy()
            cumulated = (log_probs / self.temperature).softmax(-1).double().cumsum(-1)
        draws = np.empty((len(views), 1))
        draw_for_views(views, seeds_for(views, self._seed, seeds), draws)
        # The first action whose cumulated probability is above the draw: one that is possible, for the sum rises only there.
        return (cumulated.numpy() <= draws * cumulated[:, -1:].numpy()).sum(-1)


@njit(cache=True, nogil=True)
def draw_for_views(views, seeds, draws):
    """Write a number in [0, 1) for each view, float64 (B, 1), from the seed beside it and the view alone."""
    for i in range(views.shape[0]):
        draws[i, 0] = unit(view_key(views[i], seeds[i]))


@njit(cache=True, nogil=True)
def encode_views(views, observation, mask):
    """Write the observations and masks of views to flat int8 arrays, row after row."""
    size = observation.shape[0] // views.shape[0]
    for i in range(views.shape[0]):
        encode_view(views[i], address_of(observation), i * size)
        unpack_actions(address_of(mask), i * NUM_ACTIONS, views[i].legal)
