"""A trained network as an agent that plays from views."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import nn

from agents.checkpoint import load_checkpoint
from rs_env.agent import seeds_for
from rs_env.baselines.general import general_observations
from rs_env.baselines.networks import check_temperature
from rs_env.baselines.suspicion import Suspicion
from rs_env.cards import NUM_ACTIONS
from rs_env.checks import check_seed
from rs_env.encoding import draws, observations, pick
from rs_env.engine.view import as_views
from rs_env.history import Histories


class PolicyAgent:
    """Plays by a network's policy, on the device of its weights.

    network: of `agents.architectures.NETWORKS`, or any other that gives log-probabilities and something else.
    num_players: of the games that it plays; None: any, by a network that reads the rules (`rs_env.baselines.general`).
    temperature: 1 samples from the policy as it was learnt, below 1 prefers its likelier actions more, 0 takes the
    likeliest. Deterministic players loop for ever in many deals, so 0 is best kept for single moves.
    """

    def __init__(
        self, network: nn.Module, num_players: int | None, name: str = "policy", temperature: float = 0.5
    ) -> None:
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
        views = as_views(views)
        return self._act(views, seeds, self._probabilities(views, None))

    def policy(self, views: np.ndarray) -> np.ndarray:
        """Probability of each action over all seeds, float64 (B, 53). Raises ValueError as `act` does."""
        return self._probabilities(as_views(views), None)

    def _act(self, views: np.ndarray, seeds: np.ndarray | None, probabilities: np.ndarray) -> np.ndarray:
        return pick(probabilities.cumsum(-1), draws(views, seeds_for(views, self._seed, seeds)))

    def _probabilities(self, views: np.ndarray, suspicion: np.ndarray | None) -> np.ndarray:
        """Of each action, float64 (B, 53). suspicion: what the network reads beside the observations."""
        if self.num_players is not None and np.any(views["rules"]["num_players"] != self.num_players):
            raise ValueError(f"views: agent {self.name!r} plays with {self.num_players} players only")
        if not len(views):
            return np.zeros((0, NUM_ACTIONS))
        observation, mask = (general_observations if self.num_players is None else observations)(views)
        if suspicion is not None:
            observation = np.concatenate([observation, suspicion], 1)
        with torch.inference_mode():
            device = next(self.network.parameters()).device
            log_probs, _ = self.network(torch.from_numpy(observation).to(device), torch.from_numpy(mask).to(device))
            log_probs = log_probs.cpu()
            if self.temperature == 0:
                return np.eye(NUM_ACTIONS)[log_probs.argmax(-1).numpy()]
            return (log_probs / self.temperature).softmax(-1).double().numpy()


class SuspectsAgent(PolicyAgent):
    """The same with a network that reads who sits there: it asks for histories. Without them nobody is suspected."""

    def __init__(self, network: nn.Module, num_players: int, name: str = "policy", temperature: float = 0.5) -> None:
        super().__init__(network, num_players, name, temperature)
        self._suspicion = Suspicion()

    def act(self, views: np.ndarray, seeds: np.ndarray | None = None, histories: Histories | None = None) -> np.ndarray:
        """As `PolicyAgent.act`. Raises ValueError for histories that do not lead to their views, too."""
        views = as_views(views)
        return self._act(views, seeds, self._suspecting(views, histories))

    def policy(self, views: np.ndarray, histories: Histories | None = None) -> np.ndarray:
        """As `PolicyAgent.policy`. Raises ValueError for histories that do not lead to their views, too."""
        return self._suspecting(as_views(views), histories)

    def _suspecting(self, views: np.ndarray, histories: Histories | None) -> np.ndarray:
        return self._probabilities(views, self._suspicion.of(views, histories) if len(views) else None)


def policy_agent(network: nn.Module, num_players: int, name: str = "policy", temperature: float = 0.5) -> PolicyAgent:
    """The agent that gives this network what it reads."""
    if getattr(network, "general", False):
        return PolicyAgent(network, None, name, temperature)
    kind = SuspectsAgent if getattr(network, "suspects", False) else PolicyAgent
    return kind(network, num_players, name, temperature)
