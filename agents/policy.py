"""A trained network as an agent that plays from views."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import nn

from agents.checkpoint import load_checkpoint
from rs_env.agent import seeds_for
from rs_env.baselines.networks import check_temperature
from rs_env.baselines.suspicion import Suspicion
from rs_env.checks import check_seed
from rs_env.encoding import draws, observations, pick
from rs_env.engine.view import as_views
from rs_env.history import Histories


class PolicyAgent:
    """Plays by a network's policy, on the device of its weights.

    network: of `agents.architectures.NETWORKS`, or any other that gives log-probabilities and something else.
    temperature: 1 samples from the policy as it was learnt, below 1 prefers its likelier actions more, 0 takes the
    likeliest. Deterministic players loop for ever in many deals, so 0 is best kept for single moves.
    """

    def __init__(self, network: nn.Module, num_players: int, name: str = "policy", temperature: float = 0.5) -> None:
        self.name = name
        self.network = network
        self.temperature = check_temperature(temperature)
        self.num_players = num_players
        self.reset(0)

    @classmethod
    def load(cls, path: str | Path, temperature: float | None = None) -> PolicyAgent:
        """The agent of a checkpoint file or run folder, whichever learner it is of. temperature: None: as its run has
        chosen. Raises ValueError for one that does not fit, or has no policy network.
        """
        checkpoint = load_checkpoint(path)
        temperature = checkpoint.temperature if temperature is None else temperature
        return policy_agent(checkpoint.policy, checkpoint.rules.num_players, Path(path).name, temperature)

    def reset(self, seed: int | None) -> None:
        """Draw from this seed from now on; draws depend on it and the view alone, as those of the baselines do."""
        self._seed = np.uint64(check_seed(seed))

    def act(self, views: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
        """One legal action, int64 (B,), for each view; `seeds` as in `rs_env.agent.Agent`.

        Raises ValueError for views of another number of players.
        """
        return self._act(as_views(views), seeds, lambda observation: observation)

    def _act(
        self, views: np.ndarray, seeds: np.ndarray | None, complete: Callable[[np.ndarray], np.ndarray]
    ) -> np.ndarray:
        """The same; `complete` adds to observations what else the network reads."""
        if np.any(views["rules"]["num_players"] != self.num_players):
            raise ValueError(f"views: agent {self.name!r} plays with {self.num_players} players only")
        if not len(views):
            return np.zeros(0, np.int64)
        observation, mask = observations(views)
        with torch.inference_mode():
            device = next(self.network.parameters()).device
            log_probs, _ = self.network(
                torch.from_numpy(complete(observation)).to(device), torch.from_numpy(mask).to(device)
            )
            log_probs = log_probs.cpu()
            if self.temperature == 0:
                return log_probs.argmax(-1).numpy()
            cumulated = (log_probs / self.temperature).softmax(-1).double().cumsum(-1)
        return pick(cumulated.numpy(), draws(views, seeds_for(views, self._seed, seeds)))


class SuspectsAgent(PolicyAgent):
    """The same with a network that reads who sits there: it asks for histories. Without them nobody is suspected."""

    def __init__(self, network: nn.Module, num_players: int, name: str = "policy", temperature: float = 0.5) -> None:
        super().__init__(network, num_players, name, temperature)
        self._suspicion = Suspicion()

    def act(self, views: np.ndarray, seeds: np.ndarray | None = None, histories: Histories | None = None) -> np.ndarray:
        """As `PolicyAgent.act`. Raises ValueError for histories that do not lead to their views, too."""
        views = as_views(views)
        return self._act(
            views, seeds, lambda observation: np.concatenate([observation, self._suspicion.of(views, histories)], 1)
        )


def policy_agent(network: nn.Module, num_players: int, name: str = "policy", temperature: float = 0.5) -> PolicyAgent:
    """The agent that gives this network what it reads."""
    kind = SuspectsAgent if getattr(network, "suspects", False) else PolicyAgent
    return kind(network, num_players, name, temperature)
