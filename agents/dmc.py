"""Deep Monte Carlo by self-play: the value of every action, learnt from what came of it in the end.

No value is estimated from another one: an action's target is the return of its episode (D. Zha et al., "DouZero:
Mastering DouDizhu with Self-Play Deep Reinforcement Learning", ICML 2021, arXiv:2106.06135). There the best action is
taken but for a share of random ones; here actions are drawn by a softmax of the values, for in this game players who
never vary go round in circles.

The network is that of the other learners. With policy ``pi`` and value ``v`` an action is worth
``q = v + temperature * log pi``, that is ``pi = softmax(q / temperature)`` and v the soft maximum of q (T. Haarnoja et
al. 2017, arXiv:1702.08165), so a network plays by its values as any other plays by its policy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from agents.checkpoint import (
    is_finite,
    load_network,
    load_optimizer_tensors,
    network_tensors,
    optimizer_tensors,
    tensor_like,
)
from agents.company import Company
from agents.episodes import RunningEpisodes
from agents.learner import LearnerConfig
from agents.networks import sample
from agents.policy import PolicyAgent, policy_agent
from agents.settings import MOST, check
from agents.tables import collector_of

LOWEST_LEARNING_RATE = 0.1  # of the first


@dataclass(frozen=True)
class DMCConfig:
    """Deep Monte Carlo."""

    num_envs: int = 512
    """Games side by side."""
    steps: int = 32
    """Decisions of each game in one iteration."""
    epochs: int = 2
    """Passes over the decisions whose episodes have ended."""
    minibatch: int = 1024
    """Decisions in one gradient step."""
    learning_rate: float = 3e-3
    """Adam's step size at the start; it falls linearly to a tenth."""
    gamma: float = 0.98
    """Discount per own decision; below 1 an early win is worth more than a late one."""
    temperature: float = 0.004
    """An action that is worth this much more is e times as likely."""
    explore_start: float = 0.1
    """Share of random actions at the start."""
    explore_end: float = 0.02
    """Share of random actions at the end; in between it falls linearly."""
    max_grad_norm: float = 1.0
    """Gradients are scaled down to this norm."""

    def __post_init__(self) -> None:
        for name in ("num_envs", "steps", "epochs", "minibatch"):
            check(f"dmc.{name}", getattr(self, name), 1 <= getattr(self, name) <= MOST, f"from 1 to {MOST}")
        for name in ("learning_rate", "temperature", "max_grad_norm"):
            check(f"dmc.{name}", getattr(self, name), 0 < getattr(self, name) < math.inf, "above 0 and finite")
        for name in ("gamma", "explore_start", "explore_end"):
            check(f"dmc.{name}", getattr(self, name), 0 <= getattr(self, name) <= 1, "from 0 to 1")


class DMC:
    """A `Learner`: ``iterate()`` plays ``settings.steps`` decisions in each game, and learns from all decisions of the
    episodes that have ended meanwhile.

    Draws come from one generator on the CPU, whatever the device.
    """

    plays_tables = True

    def __init__(self, config: LearnerConfig, settings: DMCConfig, company: Company | None = None) -> None:
        self.config, self.settings = config, settings
        self.iteration = 0
        self.generator = torch.Generator().manual_seed(config.seed)
        self.network = config.new_network()
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=settings.learning_rate, eps=1e-5)
        self.collector = collector_of(config, settings.num_envs, settings.steps, company)
        self.rollout = self.collector.rollout
        self.episodes = RunningEpisodes(self.rollout, first=self.collector.first)

    @property
    def iterations(self) -> int:
        """Iterations of the whole run."""
        return self.config.iterations_of(self.settings.num_envs * self.settings.steps)

    @property
    def decisions(self) -> int:
        """Decisions of all seats in the iterations done."""
        return self.iteration * self.settings.num_envs * self.settings.steps

    def agent(self, name: str, temperature: float) -> PolicyAgent:
        """The network as it is now, as a player."""
        return policy_agent(self.network, self.config.rules.num_players, name, temperature)

    def is_finite(self) -> bool:
        """Whether all weights are finite."""
        return is_finite(self.network)

    def tensors(self) -> dict[str, Tensor]:
        """Network, optimiser, generator, games, and decisions of episodes that go on."""
        own = network_tensors(self.network) | optimizer_tensors(self.optimizer)
        played = self.collector.tensors() | self.episodes.tensors()
        return {**own, **played, "generator": self.generator.get_state()}

    def restore(self, tensors: dict[str, Tensor], iteration: int) -> None:
        """Go on after `iteration` iterations of the run that these were saved from."""
        self.generator.set_state(tensor_like("generator", tensors, self.generator.get_state()))
        self.collector.restore(tensors)
        self.episodes.restore(tensors)
        load_network(self.network, tensors)
        load_optimizer_tensors(self.optimizer, tensors, stepped="optimizer.0.step" in tensors)
        self.iteration = iteration

    # One iteration

    def iterate(self) -> dict[str, float]:
        """Play on, learn from the episodes that have ended, and return the metrics of both."""
        settings, progress = self.settings, self.iteration / self.iterations
        explore = settings.explore_start + (settings.explore_end - settings.explore_start) * progress
        learning_rate = settings.learning_rate * (1 - (1 - LOWEST_LEARNING_RATE) * progress)
        self.optimizer.param_groups[0]["lr"] = learning_rate
        metrics = self.collector.collect(lambda t, games: self._decide(t, games, explore), self.iteration)
        metrics |= self._learn()
        self.iteration += 1
        return {**metrics, "charts/learning_rate": learning_rate, "charts/explore": explore}

    @torch.inference_mode()
    def _decide(self, t: int, games: np.ndarray, explore: float) -> np.ndarray:
        observation, mask = (
            self._on_device(column[t, games]) for column in (self.rollout.observation, self.rollout.action_mask)
        )
        with self.config.computing():
            log_probs, _ = self.network(observation, mask)
        policy, mask = log_probs.cpu().exp(), mask.cpu()
        policy = (1 - explore) * policy + explore * mask / mask.sum(-1, keepdim=True)
        return sample(policy.log(), self.generator).numpy()

    def _on_device(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(array).to(self.config.device)

    def _learn(self) -> dict[str, float]:
        settings = self.settings
        decisions, returns = self.episodes.finished(settings.gamma)
        columns = [
            self._on_device(column)
            for column in (decisions.observation, decisions.action_mask, decisions.action, returns)
        ]
        losses = []
        for _ in range(settings.epochs):
            order = torch.randperm(len(decisions), generator=self.generator).to(self.config.device)
            for part in order.split(settings.minibatch):
                if len(part):
                    losses.append(self._gradient_step([column[part] for column in columns]))
        variance = float(np.var(returns)) if len(returns) else 0.0
        loss = float(np.mean(losses)) if losses else 0.0
        return {
            "losses/value_loss": loss,
            "losses/explained_variance": 1 - 2 * loss / variance if variance > 0 else 0.0,
            "charts/learnt_from": float(len(decisions)),
        }

    def _gradient_step(self, columns: list[Tensor]) -> float:
        """One step of least squares; half the mean squared error before it."""
        observation, mask, action, returns = columns
        with self.config.computing():
            log_probs, value = self.network(observation, mask)
        worth = value + self.settings.temperature * log_probs.gather(1, action[:, None]).squeeze(1)
        loss = 0.5 * (worth - returns).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.settings.max_grad_norm)
        self.optimizer.step()
        return float(loss.item())
