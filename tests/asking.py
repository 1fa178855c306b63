"""Every place that asks agents, each as a function of the agent."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from rs_env.arena import best_response, duel
from rs_env.arena.play import play_games
from rs_env.envs.gymnasium_single import RollingStoneEnv
from rs_env.envs.gymnasium_vector import RollingStoneVectorEnv
from rs_env.rules import Rules


def in_an_arena(agent: Any) -> None:
    duel(agent, "random", deals=3)


def alone_at_a_table(agent: Any) -> None:
    play_games(Rules(), [agent], np.zeros((4, 4), np.int64), 1, np.arange(4))


def in_a_single_environment(agent: Any) -> None:
    env = RollingStoneEnv(opponents=agent, max_actions=100)
    _, info = env.reset(seed=1)
    while info["action_mask"].any():
        *_, info = env.step(int(info["action_mask"].argmax()))


def in_a_batch(agent: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of copies
        vec = RollingStoneVectorEnv(2, opponents=agent, max_actions=100)
    _, infos = vec.reset(seed=1)
    for _ in range(20):
        *_, infos = vec.step(infos["action_mask"].argmax(1))


def frozen_before_a_best_response(agent: Any) -> None:
    best_response(agent, deals=2, worlds=2, horizon=20)


def frozen_before_a_learner(agent: Any) -> None:
    pytest.importorskip("torch")
    from agents.company import Company
    from agents.learner import LearnerConfig
    from agents.ppo import PPO, PPOConfig

    PPO(LearnerConfig(), PPOConfig(num_envs=8, steps=8, minibatch=16), Company.one_among(agent, 4)).iterate()


PLACES = [
    in_an_arena,
    alone_at_a_table,
    in_a_single_environment,
    in_a_batch,
    frozen_before_a_best_response,
    frozen_before_a_learner,
]
