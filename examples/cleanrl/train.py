"""PPO with masks in a single file, in the manner of CleanRL, on `gymnasium.make_vec`."""

import time
from dataclasses import dataclass
from importlib.metadata import version

import gymnasium
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

import rs_env  # noqa: F401  registers the environments
from rs_env import Rules
from rs_env.arena import duel
from rs_env.baselines.logits import LogitsAgent

RULES = Rules(num_players=2)  # two equal players win half of the games each


@dataclass
class Args:
    """All settings."""

    env_id: str = "rs_env/RollingStone-v0"
    seed: int = 1
    total_timesteps: int = 200_000
    learning_rate: float = 1e-3
    num_envs: int = 64
    num_steps: int = 128
    gamma: float = 1.0
    gae_lambda: float = 0.95
    minibatch_size: int = 1024
    update_epochs: int = 4
    clip_coef: float = 0.2
    ent_coef: float = 0.005
    vf_coef: float = 0.5
    max_grad_norm: float = 0.5


def masked(logits: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """A finite number, so that a row that allows nothing gives no NaN."""
    return logits.masked_fill(mask == 0, -1e9)


class Agent(nn.Module):
    """Actor and critic side by side."""

    def __init__(self, size: int, actions: int, width: int = 256) -> None:
        super().__init__()

        def network(outputs: int) -> nn.Sequential:
            layers = [nn.Linear(size, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, outputs)]
            return nn.Sequential(*layers)

        self.actor, self.critic = network(actions), network(1)

    def action_and_value(self, rows: torch.Tensor, mask: torch.Tensor, action: torch.Tensor | None = None):
        """Action, its log-probability, entropy and value."""
        policy = Categorical(logits=masked(self.actor(rows), mask))
        action = policy.sample() if action is None else action
        return action, policy.log_prob(action), policy.entropy(), self.critic(rows).squeeze(-1)

    def player(self) -> LogitsAgent:
        """The actor as an agent for the arena."""

        def logits(rows: np.ndarray, masks: np.ndarray) -> np.ndarray:
            with torch.inference_mode():
                return self.actor(torch.from_numpy(rows)).numpy()

        return LogitsAgent(logits, "PPO")


def main(args: Args) -> None:
    """Train, measure before and after, and say what came out."""
    print(", ".join(f"{name} {version(name)}" for name in ("gymnasium", "numpy", "torch")))
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    envs = gymnasium.make_vec(
        args.env_id,
        num_envs=args.num_envs,
        vectorization_mode="vector_entry_point",
        rules=RULES,
        opponents="random",
        skip_forced=True,
        observation_dtype="float32",
        illegal_action="raise",  # an illegal move ends the program
    )
    agent = Agent(envs.single_observation_space.shape[0], int(envs.single_action_space.n))
    optimizer = torch.optim.Adam(agent.parameters(), lr=args.learning_rate, eps=1e-5)
    print("before:", duel(agent.player(), "random", RULES, deals=500))

    shape = (args.num_steps, args.num_envs)
    rows = torch.zeros((*shape, *envs.single_observation_space.shape))
    masks = torch.zeros((*shape, int(envs.single_action_space.n)), dtype=torch.int8)
    actions, logprobs, rewards, dones, values = (torch.zeros(shape) for _ in range(5))
    begin = time.perf_counter()
    observation, infos = envs.reset(seed=args.seed)
    iterations = args.total_timesteps // (args.num_steps * args.num_envs)
    for iteration in range(iterations):
        optimizer.param_groups[0]["lr"] = (1 - iteration / iterations) * args.learning_rate
        for step in range(args.num_steps):
            rows[step], masks[step] = torch.from_numpy(observation), torch.from_numpy(infos["action_mask"])
            with torch.inference_mode():
                action, logprobs[step], _, values[step] = agent.action_and_value(rows[step], masks[step])
            actions[step] = action
            observation, reward, terminated, truncated, infos = envs.step(action.numpy())
            # The deal limit belongs to the game: an episode that it stops is over, not cut.
            rewards[step], dones[step] = torch.from_numpy(reward), torch.from_numpy(terminated | truncated)

        with torch.inference_mode():
            following = agent.critic(torch.from_numpy(observation)).squeeze(-1)
        advantages, last = torch.zeros(shape), torch.zeros(args.num_envs)
        for t in reversed(range(args.num_steps)):
            goes_on = 1 - dones[t]
            delta = rewards[t] + args.gamma * following * goes_on - values[t]
            advantages[t] = last = delta + args.gamma * args.gae_lambda * goes_on * last
            following = values[t]
        returns = (advantages + values).flatten()

        old = [x.flatten(0, 1) for x in (rows, masks, actions, logprobs, advantages)]
        for _ in range(args.update_epochs):
            for chosen in torch.randperm(len(returns)).split(args.minibatch_size):
                row, mask, action, logprob, advantage = (x[chosen] for x in old)
                _, newlogprob, entropy, value = agent.action_and_value(row, mask, action)
                ratio = (newlogprob - logprob).exp()
                advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
                clipped = ratio.clamp(1 - args.clip_coef, 1 + args.clip_coef)
                policy_loss = -torch.min(ratio * advantage, clipped * advantage).mean()
                value_loss = (value - returns[chosen]).pow(2).mean() / 2
                loss = policy_loss - args.ent_coef * entropy.mean() + args.vf_coef * value_loss
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), args.max_grad_norm)
                optimizer.step()
    steps = iterations * args.num_steps * args.num_envs
    print(f"{steps} steps, {steps / (time.perf_counter() - begin):.0f} a second, 0 illegal moves")
    after = duel(agent.player(), "random", RULES, deals=500)
    print("after:", after)
    assert after.bounds[0] > after.parity


if __name__ == "__main__":
    main(Args())
