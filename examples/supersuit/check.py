"""SuperSuit's wrappers around the flat PettingZoo environments, whose masks are in the infos."""

from collections.abc import Callable
from importlib.metadata import version

import numpy as np
import supersuit

import rs_env

FLAT = {"flat": True, "observation_dtype": "float32"}
WRAPPERS: dict[str, Callable] = {
    "flatten_v0": supersuit.flatten_v0,
    "dtype_v0": lambda env: supersuit.dtype_v0(env, np.float64),
    "normalize_obs_v0": lambda env: supersuit.normalize_obs_v0(env, env_min=-1, env_max=1),
    "frame_stack_v1": lambda env: supersuit.frame_stack_v1(env, 4),
    "agent_indicator_v0": supersuit.agent_indicator_v0,
    "pad_observations_v0": supersuit.pad_observations_v0,
    "pad_action_space_v0": supersuit.pad_action_space_v0,
    "clip_reward_v0": supersuit.clip_reward_v0,
    "delay_observations_v0": lambda env: supersuit.delay_observations_v0(env, 1),
}


def play(env) -> int:
    """Play a game of the AEC environment by the masks; the number of turns."""
    env.reset(seed=1)
    turns = 0
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, info = env.last()
        assert env.observation_space(agent).contains(observation)
        assert reward >= 0  # an illegal move has -1
        env.step(None if terminated or truncated else env.action_space(agent).sample(info["action_mask"]))
        turns += 1
    return turns


def play_parallel(env) -> int:
    """Play a game of the parallel environment by the masks; the number of steps."""
    observations, infos = env.reset(seed=1)
    steps = 0
    while env.agents:
        assert all(env.observation_space(agent).contains(observations[agent]) for agent in env.agents)
        actions = {agent: env.action_space(agent).sample(infos[agent]["action_mask"]) for agent in env.agents}
        observations, rewards, _, _, infos = env.step(actions)
        assert min(rewards.values()) >= 0
        steps += 1
    return steps


def play_batch(num_envs: int, steps: int) -> int:
    """A Gymnasium batch with a row for each seat of each game; the number of games that ended."""
    envs = supersuit.pettingzoo_env_to_vec_env_v1(rs_env.parallel_env(mark_waiting=True, **FLAT))
    envs = supersuit.concat_vec_envs_v1(envs, num_envs, num_cpus=1, base_class="gymnasium")
    _, infos = envs.reset(seed=1)
    games, draws = 0, np.random.default_rng(1)
    for _ in range(steps):
        actions = np.array([draws.choice(np.flatnonzero(info["action_mask"])) for info in infos])
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        assert envs.observation_space.contains(observations[0])
        assert min(rewards) >= 0
        games += int(np.logical_or(terminated, truncated).sum()) // 4
    return games


if __name__ == "__main__":
    print(", ".join(f"{name} {version(name)}" for name in ("supersuit", "pettingzoo", "gymnasium", "numpy")))
    for name, wrap in WRAPPERS.items():
        print(
            f"{name}: {play(wrap(rs_env.env(**FLAT)))} turns, parallel"
            f" {play_parallel(wrap(rs_env.parallel_env(**FLAT)))} steps"
        )
    games = play_batch(num_envs=4, steps=500)
    print(f"pettingzoo_env_to_vec_env_v1, concat_vec_envs_v1: 16 rows, 500 steps, {games} games ended, no illegal move")
    assert games > 0
