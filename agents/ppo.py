"""Masked PPO by self-play with one network for all seats.

After CleanRL's single-file PPO in spirit and in the names of the metrics (Huang et al. 2022, JMLR 23:274), with two
differences: experience is chained by seat (`agents.chain`), and illegal actions are masked out of the policy
(Huang and Ontanon 2020, arXiv:2006.14171).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from agents.chain import advantages_by_seat
from agents.checkpoint import (
    is_finite,
    load_network,
    load_optimizer_tensors,
    network_tensors,
    optimizer_tensors,
    tensor_like,
)
from agents.company import Company
from agents.distributed import ranks
from agents.learner import LearnerConfig
from agents.networks import entropy
from agents.policy import PolicyAgent, policy_agent
from agents.settings import MOST, check
from agents.tables import collector_of
from rs_env.encoding import draws_of_games, pick

LOWEST_LEARNING_RATE = 0.1  # of the first
CRITICS = ("own", "central")
CRITIC = "critic"
"""Name of the central critic among the tensors of a checkpoint."""


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
    critic: str = "own"
    """Whose values advantages are measured by: own, the policy network's, from what the seat may know; or central, of a
    network that sees all hands, while training alone.
    """
    kl_weight: float = 0.0
    """Weight of the Kullback-Leibler divergence of the new policy from the one that played; 0: clipping alone."""
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
        check("ppo.critic", self.critic, self.critic in CRITICS, f"one of {', '.join(map(repr, CRITICS))}")
        for name in ("value_weight", "entropy_start", "entropy_end", "kl_weight"):
            check(f"ppo.{name}", getattr(self, name), 0 <= getattr(self, name) < math.inf, "at least 0 and finite")


class PPO:
    """A `Learner`: ``iterate()`` plays ``settings.steps`` decisions in each game and learns from them.

    Actions are drawn by the seed, the number of the game and that of its decision, whatever the device and whichever
    rank plays the game. The order of minibatches comes from one generator, the same on every rank.
    """

    works_in_ranks = plays_tables = True

    def __init__(self, config: LearnerConfig, settings: PPOConfig, company: Company | None = None) -> None:
        self.config, self.settings = config, settings
        self.iteration, self.ranks = 0, ranks()
        self.generator = torch.Generator().manual_seed(config.seed)
        self.network = config.new_network()
        self._parallel = self.ranks.parallel(self.network)
        self.critic = config.new_critic() if settings.critic == "central" else None
        self._parallel_critic = None if self.critic is None else self.ranks.parallel(self.critic)
        self.optimizer = torch.optim.Adam(self._parameters(), lr=settings.learning_rate, eps=1e-5)
        self.collector = collector_of(
            config, settings.num_envs, settings.steps, company, states=self.critic is not None, notes=2
        )
        self.rollout = self.collector.rollout
        # Of the rollout's decisions: the action's log-probability, and the value, which those that come next have too.
        self.log_prob, self.value = self.rollout.notes[:-1, :, 0], self.rollout.notes[:, :, 1]

    def _parameters(self) -> list[nn.Parameter]:
        return [*self.network.parameters(), *(self.critic.parameters() if self.critic is not None else ())]

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
        return is_finite(self.network) and (self.critic is None or is_finite(self.critic))

    def tensors(self) -> dict[str, Tensor]:
        """Network, optimiser, generator and games."""
        own = network_tensors(self.network) | optimizer_tensors(self.optimizer)
        own |= {} if self.critic is None else network_tensors(self.critic, CRITIC)
        return {**own, **self.collector.tensors(), "generator": self.generator.get_state()}

    def restore(self, tensors: dict[str, Tensor], iteration: int) -> None:
        """Go on after `iteration` iterations of the run that these were saved from."""
        self.generator.set_state(tensor_like("generator", tensors, self.generator.get_state()))
        self.collector.restore(tensors)
        load_network(self.network, tensors)
        if self.critic is not None:
            load_network(self.critic, tensors, CRITIC)
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
        last = len(self.rollout.action)
        _, self.value[last] = self._look(last, np.arange(self.collector.games))
        return metrics

    def _decide(self, t: int, games: np.ndarray) -> np.ndarray:
        log_probs, self.value[t, games] = self._look(t, games)
        decision = self.iteration * self.settings.steps + t
        marks = draws_of_games(self.config.seed, self.collector.first_game + games, decision)
        action = pick(log_probs.double().exp().cumsum(1).numpy(), marks)
        self.log_prob[t, games] = log_probs.numpy()[np.arange(len(games)), action]
        return action

    @torch.inference_mode()
    def _look(self, t: int, games: np.ndarray) -> tuple[Tensor, np.ndarray]:
        """Log-probabilities of the policy and values of the critic, on the CPU."""
        rollout = self.rollout
        with self.config.computing():
            log_probs, value = self.network(
                self._on_device(rollout.observation[t, games]), self._on_device(rollout.action_mask[t, games])
            )
            if self.critic is not None:
                seat = self._on_device(rollout.seat[t, games].astype(np.int64))
                value = self.critic(self._on_device(rollout.state[t, games]), seat)
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
        own = (
            rollout.observation[:-1],
            rollout.action_mask[:-1],
            rollout.action,
            self.log_prob,
            rollout.state[:-1],
            rollout.seat[:-1].astype(np.int64),
        )
        rows = rollout.action.size
        columns = [self._on_device(column.reshape(rows, *column.shape[2:])) for column in own]
        targets = [self._on_device(column.reshape(-1)) for column in (advantage, returns)]
        before = copy.deepcopy(self.network) if settings.kl_weight > 0 else None
        sums: dict[str, list[float]] = {}
        for part in self._minibatches(torch.from_numpy(np.flatnonzero(valid))):
            for name, number in self._gradient_step(part, columns, targets, entropy_weight, before).items():
                sums.setdefault(name, []).append(number)
        means = self.ranks.sums(*(float(np.mean(values)) for values in sums.values()))
        variance = float(np.var(returns[valid])) if valid.any() else 0.0
        unexplained = float(np.var((returns - value)[valid])) if valid.any() else 0.0
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
        games = self.collector.games
        t, b = part // self.settings.num_envs, part % self.settings.num_envs - self.ranks.number * games
        places = torch.nonzero((b >= 0) & (b < games)).squeeze(1)
        return places, t[places] * games + b[places]

    def _gradient_step(
        self,
        part: Tensor,
        columns: list[Tensor],
        targets: list[Tensor],
        entropy_weight: float,
        before: nn.Module | None,
    ) -> dict[str, float]:
        """One step of Adam on these rows of all games, and its losses. columns: of this rank's games. targets:
        advantages and returns of all games. before: the network that played, where the policy is to stay near it.
        """
        settings = self.settings
        advantage, returns = (target[part] for target in targets)
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

        observation, mask, action, old_log_prob, state, seat = (column[rows] for column in columns)
        with self.config.computing():
            log_probs, value = self._parallel(observation, mask)
            central = None if self._parallel_critic is None else self._parallel_critic(state, seat)
        log_ratio = log_probs.gather(1, action[:, None]).squeeze(1) - old_log_prob
        ratio = log_ratio.exp()
        clipped = ratio.clamp(1 - settings.clip, 1 + settings.clip)
        policy_loss = -mean(torch.min(advantage * ratio, advantage * clipped))
        value_loss = 0.5 * mean((value - returns).square())
        critic_loss = value_loss
        if central is not None:
            critic_loss = 0.5 * mean((central - returns).square())
        mean_entropy = mean(entropy(log_probs))
        loss = policy_loss + settings.value_weight * value_loss - entropy_weight * mean_entropy
        if self.critic is not None:
            loss = loss + settings.value_weight * critic_loss
        if before is not None:
            with torch.no_grad(), self.config.computing():
                old, _ = before(observation, mask)
            loss = loss + settings.kl_weight * mean(_divergence(old, log_probs))
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._parameters(), settings.max_grad_norm)
        self.optimizer.step()
        with torch.no_grad():
            return {
                "losses/policy_loss": policy_loss.item(),
                "losses/value_loss": value_loss.item(),
                **({} if self.critic is None else {"losses/critic_loss": critic_loss.item()}),
                "losses/entropy": mean_entropy.item(),
                "losses/approx_kl": mean((ratio - 1) - log_ratio).item(),
                "losses/clipfrac": mean(((ratio - 1).abs() > settings.clip).float()).item(),
            }


def _divergence(old: Tensor, log_probs: Tensor) -> Tensor:
    """Kullback-Leibler divergences (B,) of these log-probabilities (B, 53) from the old ones."""
    return (old.exp() * (old.clamp_min(-1e9) - log_probs.clamp_min(-1e9))).sum(-1)
