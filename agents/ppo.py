"""Masked PPO by self-play with one network for all seats.

After CleanRL's single-file PPO in spirit and in the names of the metrics (Huang et al. 2022, JMLR 23:274), with two
differences: experience is chained by seat (`agents.rollout`), and illegal actions are masked out of the policy
(Huang and Ontanon 2020, arXiv:2006.14171).
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from agents.checkpoint import load_optimizer_tensors, optimizer_tensors
from agents.config import TrainConfig
from agents.networks import PolicyValueNet, entropy, sample
from agents.rollout import Rollout, advantages_by_seat
from rs_env import SelfPlayVectorEnv
from rs_env.cards import NUM_ACTIONS
from rs_env.engine.state import STATE

LOWEST_LEARNING_RATE = 0.1  # of the first


class PPO:
    """A learner: games, network, optimiser and all that a run needs to go on where it was.

    ``iterate()`` plays ``config.ppo.steps`` decisions in each game and learns from them; `iteration` counts.
    """

    def __init__(self, config: TrainConfig) -> None:
        self.config = config
        self.iteration = 0
        self.generator = torch.Generator().manual_seed(config.seed)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            self.network = PolicyValueNet(config.rules.num_players, config.network.hidden, config.network.layers)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=config.ppo.learning_rate, eps=1e-5)
        self.env = SelfPlayVectorEnv(config.ppo.num_envs, config.rules, config.seed, skip_forced=True)
        self.batch = self.env.reset(config.seed)
        n = config.rules.num_players
        self.rollout = Rollout.empty(config.ppo.steps, config.ppo.num_envs, n, self.env.layout.size, NUM_ACTIONS)

    # Going on with a run

    def tensors(self) -> dict[str, Tensor]:
        """Everything beside the network that the next iteration depends on."""
        return {"games": self._games(), "generator": self.generator.get_state(), **optimizer_tensors(self.optimizer)}

    def restore(self, network: PolicyValueNet, tensors: dict[str, Tensor], iteration: int) -> None:
        """Go on after `iteration` iterations of the run that these were saved from. Raises ValueError for tensors that
        do not fit.
        """
        for name, like in (("generator", self.generator.get_state()), ("games", self._games())):
            found = tensors.get(name)
            if found is None or found.shape != like.shape or found.dtype != like.dtype:
                told = "missing" if found is None else f"{found.dtype} of shape {tuple(found.shape)}"
                raise ValueError(f"{name}: {told}, it must be {like.dtype} of shape {tuple(like.shape)}")
        self.network.load_state_dict(network.state_dict())
        load_optimizer_tensors(self.optimizer, tensors, stepped=iteration > 0)
        self.generator.set_state(tensors["generator"])
        self.batch = self.env.restore(tensors["games"].numpy().reshape(-1).view(STATE))
        self.iteration = iteration

    def is_finite(self) -> bool:
        """Whether all weights are finite: those of a network that has diverged are not."""
        return all(bool(torch.isfinite(value).all()) for value in self.network.parameters())

    def _games(self) -> Tensor:
        return torch.from_numpy(self.env.states.view(np.uint8).reshape(self.env.num_envs, -1).copy())

    # One iteration

    def iterate(self) -> dict[str, float]:
        """Collect a rollout, learn from it, and return the metrics of both."""
        progress = self.iteration / self.config.iterations
        metrics = self._collect()
        metrics |= self._learn(progress)
        self.iteration += 1
        return metrics

    @torch.inference_mode()
    def _collect(self) -> dict[str, float]:
        rollout, batch = self.rollout, self.batch
        ended = capped = 0
        for t in range(self.config.ppo.steps):
            rollout.observation[t], rollout.action_mask[t] = batch.observation, batch.action_mask
            rollout.seat[t] = batch.current_player
            self._decide(t)
            batch = self.env.step(rollout.action[t])
            rollout.reward[t] = batch.rewards
            rollout.done[t] = batch.terminated | batch.truncated
            ended += int(rollout.done[t].sum())
            capped += int(batch.truncated.sum())
        rollout.last_seat[:] = batch.current_player
        _, value = self.network(torch.from_numpy(batch.observation), torch.from_numpy(batch.action_mask))
        rollout.last_value[:] = value.numpy()
        self.batch = batch
        return {
            "charts/episodes": ended,
            "charts/decisions_per_episode": rollout.done.size / max(ended, 1),
            "charts/capped_share": capped / max(ended, 1),
        }

    def _decide(self, t: int) -> None:
        """Write action, log-probability and value of step `t`, whose observations are in the rollout."""
        self._decide_by_network(t, np.arange(self.env.num_envs))

    def _decide_by_network(self, t: int, games: np.ndarray) -> None:
        rollout = self.rollout
        log_probs, value = self.network(
            torch.from_numpy(rollout.observation[t, games]), torch.from_numpy(rollout.action_mask[t, games])
        )
        action = sample(log_probs, self.generator)
        rollout.action[t, games], rollout.value[t, games] = action.numpy(), value.numpy()
        rollout.log_prob[t, games] = log_probs.gather(1, action[:, None]).squeeze(1).numpy()

    def _advantages(self) -> tuple[np.ndarray, np.ndarray]:
        """Advantages of all decisions of the rollout, and which of them to learn from."""
        return advantages_by_seat(self.rollout, self.config.ppo.gamma, self.config.ppo.gae_lambda)

    def _learn(self, progress: float) -> dict[str, float]:
        ppo, rollout = self.config.ppo, self.rollout
        advantage, valid = self._advantages()
        returns = advantage + rollout.value
        learning_rate = ppo.learning_rate * (1 - (1 - LOWEST_LEARNING_RATE) * progress)
        entropy_weight = ppo.entropy_start + (ppo.entropy_end - ppo.entropy_start) * progress
        self.optimizer.param_groups[0]["lr"] = learning_rate
        rows = torch.from_numpy(np.flatnonzero(valid))
        flat = lambda array: torch.from_numpy(array.reshape(-1, *array.shape[2:]))  # noqa: E731
        columns = [
            flat(c)
            for c in (rollout.observation, rollout.action_mask, rollout.action, rollout.log_prob, advantage, returns)
        ]
        sums: dict[str, list[float]] = {}
        for _ in range(ppo.epochs):
            order = rows[torch.randperm(len(rows), generator=self.generator)]
            for part in order.split(ppo.minibatch):
                if len(part) > 1:  # an advantage cannot be normalised alone
                    for name, value in self._gradient_step(
                        [column[part] for column in columns], entropy_weight
                    ).items():
                        sums.setdefault(name, []).append(value)
        variance = float(np.var(returns[valid]))
        return {
            **{name: float(np.mean(values)) for name, values in sums.items()},
            "losses/explained_variance": 1 - float(np.var((returns - rollout.value)[valid])) / variance
            if variance > 0
            else 0.0,
            "charts/learning_rate": learning_rate,
            "charts/entropy_weight": entropy_weight,
        }

    def _gradient_step(self, columns: list[Tensor], entropy_weight: float) -> dict[str, float]:
        ppo = self.config.ppo
        observation, mask, action, old_log_prob, advantage, returns = columns
        log_probs, value = self.network(observation, mask)
        log_ratio = log_probs.gather(1, action[:, None]).squeeze(1) - old_log_prob
        ratio = log_ratio.exp()
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        policy_loss = -torch.min(advantage * ratio, advantage * ratio.clamp(1 - ppo.clip, 1 + ppo.clip)).mean()
        value_loss = 0.5 * (value - returns).square().mean()
        mean_entropy = entropy(log_probs).mean()
        loss = policy_loss + ppo.value_weight * value_loss - entropy_weight * mean_entropy
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), ppo.max_grad_norm)
        self.optimizer.step()
        with torch.no_grad():
            return {
                "losses/policy_loss": policy_loss.item(),
                "losses/value_loss": value_loss.item(),
                "losses/entropy": mean_entropy.item(),
                "losses/approx_kl": ((ratio - 1) - log_ratio).mean().item(),
                "losses/clipfrac": ((ratio - 1).abs() > ppo.clip).float().mean().item(),
            }
