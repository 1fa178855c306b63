"""Masked PPO by self-play with one network for all seats.

After CleanRL's single-file PPO in spirit and in the names of the metrics (Huang et al. 2022, JMLR 23:274), with two
differences: experience is chained by seat (`agents.chain`), and illegal actions are masked out of the policy
(Huang and Ontanon 2020, arXiv:2006.14171).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from agents.chain import advantages_by_seat
from agents.checkpoint import (
    is_finite,
    load_network,
    load_optimizer_tensors,
    network_tensors,
    optimizer_tensors,
    tensor_like,
)
from agents.collector import Collector
from agents.company import Company
from agents.distributed import ranks
from agents.learner import LearnerConfig
from agents.networks import entropy, sample
from agents.policy import PolicyAgent
from agents.settings import MOST, check

LOWEST_LEARNING_RATE = 0.1  # of the first


@dataclass(frozen=True)
class PPOConfig:
    """Proximal policy optimisation (Schulman et al. 2017, arXiv:1707.06347)."""

    num_envs: int = 256
    """Games side by side."""
    steps: int = 64
    """Decisions of each game in one iteration."""
    epochs: int = 2
    """Passes over the data of an iteration."""
    minibatch: int = 1024
    """Decisions in one gradient step."""
    learning_rate: float = 1e-3
    """Adam's step size at the start; it falls linearly to a tenth."""
    gamma: float = 0.98
    """Discount per own decision; below 1 an early win is worth more than a late one."""
    gae_lambda: float = 0.85
    """Decay of generalised advantage estimation (Schulman et al. 2015, arXiv:1506.02438)."""
    clip: float = 0.2
    """The policy ratio is clipped to 1 - clip .. 1 + clip."""
    value_weight: float = 0.5
    """Weight of the value loss."""
    entropy_start: float = 0.07
    """Weight of the entropy bonus at the start."""
    entropy_end: float = 0.02
    """Weight of the entropy bonus at the end; in between it falls linearly."""
    max_grad_norm: float = 0.5
    """Gradients are scaled down to this norm."""

    def __post_init__(self) -> None:
        for name in ("num_envs", "steps", "epochs", "minibatch"):
            check(f"ppo.{name}", getattr(self, name), 1 <= getattr(self, name) <= MOST, f"from 1 to {MOST}")
        at_least_two = "at least 2, since advantages are normalised within it"
        check("ppo.minibatch", self.minibatch, self.minibatch >= 2, at_least_two)
        enough = self.num_envs * self.steps >= 2
        check("ppo.steps", self.steps, enough, "such that an iteration has at least 2 decisions")
        for name in ("learning_rate", "clip", "max_grad_norm"):
            check(f"ppo.{name}", getattr(self, name), 0 < getattr(self, name) < math.inf, "above 0 and finite")
        for name in ("gamma", "gae_lambda"):
            check(f"ppo.{name}", getattr(self, name), 0 <= getattr(self, name) <= 1, "from 0 to 1")
        for name in ("value_weight", "entropy_start", "entropy_end"):
            check(f"ppo.{name}", getattr(self, name), 0 <= getattr(self, name) < math.inf, "at least 0 and finite")


class PPO:
    """A `Learner`: ``iterate()`` plays ``settings.steps`` decisions in each game and learns from them.

    Draws come from one generator on the CPU, whatever the device: first those of the actions, then the order of
    minibatches. Several ranks make the same draws, for all games; each plays and learns from its own.
    """

    works_in_ranks = True

    def __init__(self, config: LearnerConfig, settings: PPOConfig, company: Company | None = None) -> None:
        self.config, self.settings = config, settings
        self.iteration, self.ranks = 0, ranks()
        self.generator = torch.Generator().manual_seed(config.seed)
        self.network = config.new_network()
        self._parallel = self.ranks.parallel(self.network)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=settings.learning_rate, eps=1e-5)
        self.collector = Collector(config, settings.num_envs, settings.steps, company, notes=2)
        self.rollout = self.collector.rollout
        # Of the rollout's decisions: the action's log-probability, and the value, which those that come next have too.
        self.log_prob, self.value = self.rollout.notes[:-1, :, 0], self.rollout.notes[:, :, 1]

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
        return PolicyAgent(self.network, self.config.rules.num_players, name, temperature)

    def is_finite(self) -> bool:
        """Whether all weights are finite."""
        return is_finite(self.network)

    def tensors(self) -> dict[str, Tensor]:
        """Network, optimiser, generator and games."""
        own = network_tensors(self.network) | optimizer_tensors(self.optimizer)
        return {**own, **self.collector.tensors(), "generator": self.generator.get_state()}

    def restore(self, tensors: dict[str, Tensor], iteration: int) -> None:
        """Go on after `iteration` iterations of the run that these were saved from."""
        self.generator.set_state(tensor_like("generator", tensors, self.generator.get_state()))
        self.collector.restore(tensors)
        load_network(self.network, tensors)
        load_optimizer_tensors(self.optimizer, tensors, stepped=iteration > 0)
        self.iteration = iteration

    # One iteration

    def iterate(self) -> dict[str, float]:
        """Collect a rollout, learn from it, and return the metrics of both."""
        progress = self.iteration / self.iterations
        metrics = self.collect()
        metrics |= self._learn(progress)
        self.iteration += 1
        return metrics

    def collect(self) -> dict[str, float]:
        """Play a rollout, with the network's values beside it, and return its metrics."""
        metrics = self.collector.collect(self._decide, self.iteration)
        _, self.value[-1] = self._look(self.rollout.observation[-1], self.rollout.action_mask[-1])
        return metrics

    def _decide(self, t: int, games: np.ndarray) -> np.ndarray:
        log_probs, self.value[t, games] = self._look(
            self.rollout.observation[t, games], self.rollout.action_mask[t, games]
        )
        action = self._sample(log_probs)
        self.log_prob[t, games] = log_probs.gather(1, action[:, None]).squeeze(1).numpy()
        return action.numpy()

    def _sample(self, log_probs: Tensor) -> Tensor:
        """Actions (G,), of draws for the games of all ranks."""
        if self.ranks.size == 1:
            return sample(log_probs, self.generator)
        own = len(log_probs)
        counts = [own] * self.ranks.size if self.collector.everywhere else self.ranks.of_each(own)
        begin = sum(counts[: self.ranks.number])
        everyone = torch.zeros(sum(counts), log_probs.shape[1])  # of others any policy: what they draw is theirs
        everyone[begin : begin + own] = log_probs
        return sample(everyone, self.generator)[begin : begin + own] if len(everyone) else everyone[:, 0].long()

    @torch.inference_mode()
    def _look(self, observation: np.ndarray, action_mask: np.ndarray) -> tuple[Tensor, np.ndarray]:
        """Log-probabilities and values of the network, on the CPU."""
        if not len(observation):  # of a rank, where the learner has no seat to move
            return torch.zeros(action_mask.shape), np.zeros(0, np.float32)
        log_probs, value = self.network(self._on_device(observation), self._on_device(action_mask))
        return log_probs.cpu(), value.cpu().numpy()

    def _on_device(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(array).to(self.config.device)

    def advantages(self) -> tuple[np.ndarray, np.ndarray]:
        """Advantages of all decisions of the rollout, and which of them to learn from."""
        advantage, valid = advantages_by_seat(self.rollout, self.value, self.settings.gamma, self.settings.gae_lambda)
        return advantage, valid & self.rollout.learns

    def _learn(self, progress: float) -> dict[str, float]:
        settings, rollout = self.settings, self.rollout
        advantage, valid = (self.ranks.joined(array, 1) for array in self.advantages())  # of the games of all ranks
        value = self.ranks.joined(self.value[:-1], 1)
        returns = advantage + value
        learning_rate = settings.learning_rate * (1 - (1 - LOWEST_LEARNING_RATE) * progress)
        entropy_weight = settings.entropy_start + (settings.entropy_end - settings.entropy_start) * progress
        self.optimizer.param_groups[0]["lr"] = learning_rate
        own = [rollout.observation[:-1], rollout.action_mask[:-1], rollout.action, self.log_prob]
        columns = [self._on_device(column.reshape(-1, *column.shape[2:])) for column in (*own, advantage, returns)]
        sums: dict[str, list[float]] = {}
        for part in self._minibatches(torch.from_numpy(np.flatnonzero(valid))):
            for name, number in self._gradient_step(part, columns, entropy_weight).items():
                sums.setdefault(name, []).append(number)
        means = self.ranks.sums(*(float(np.mean(values)) for values in sums.values()))
        variance = float(np.var(returns[valid]))
        unexplained = float(np.var((returns - value)[valid]))
        return {
            **{name: mean / self.ranks.size for name, mean in zip(sums, means, strict=True)},
            "losses/explained_variance": 1 - unexplained / variance if variance > 0 else 0.0,
            "charts/learning_rate": learning_rate,
            "charts/entropy_weight": entropy_weight,
        }

    def _minibatches(self, rows: Tensor) -> Iterator[Tensor]:
        """Parts of these rows in random order, in each epoch anew."""
        for _ in range(self.settings.epochs):
            order = rows[torch.randperm(len(rows), generator=self.generator)]
            for part in order.split(self.settings.minibatch):
                if len(part) > 1:  # an advantage cannot be normalised alone
                    yield part.to(self.config.device)

    def _own(self, part: Tensor) -> tuple[Tensor, Tensor]:
        """Which of these rows of all games are this rank's, and their numbers among its own."""
        games = self.collector.env.num_envs
        t, b = part // self.settings.num_envs, part % self.settings.num_envs - self.ranks.number * games
        places = torch.nonzero((b >= 0) & (b < games)).squeeze(1)
        return places, t[places] * games + b[places]

    def _gradient_step(self, part: Tensor, columns: list[Tensor], entropy_weight: float) -> dict[str, float]:
        """One step on these rows of all games. columns: of this rank's games, then of all games."""
        settings = self.settings
        advantage, returns = columns[4][part], columns[5][part]
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        rows = part
        if self.ranks.size > 1:
            places, rows = self._own(part)
            advantage, returns = advantage[places], returns[places]
        mine = len(rows)
        if not mine:  # some row, of which nothing is learnt: every rank has to take part
            rows, advantage, returns = part.new_zeros(1), advantage.new_zeros(1), returns.new_zeros(1)

        def mean(values: Tensor) -> Tensor:
            return self.ranks.mean(values if mine else values[:0], len(part))

        observation, mask, action, old_log_prob = (column[rows] for column in columns[:4])
        log_probs, value = self._parallel(observation, mask)
        log_ratio = log_probs.gather(1, action[:, None]).squeeze(1) - old_log_prob
        ratio = log_ratio.exp()
        clipped = ratio.clamp(1 - settings.clip, 1 + settings.clip)
        policy_loss = -mean(torch.min(advantage * ratio, advantage * clipped))
        value_loss = 0.5 * mean((value - returns).square())
        mean_entropy = mean(entropy(log_probs))
        loss = policy_loss + settings.value_weight * value_loss - entropy_weight * mean_entropy
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), settings.max_grad_norm)
        self.optimizer.step()
        with torch.no_grad():
            return {
                "losses/policy_loss": policy_loss.item(),
                "losses/value_loss": value_loss.item(),
                "losses/entropy": mean_entropy.item(),
                "losses/approx_kl": mean((ratio - 1) - log_ratio).item(),
                "losses/clipfrac": mean(((ratio - 1).abs() > settings.clip).float()).item(),
            }
