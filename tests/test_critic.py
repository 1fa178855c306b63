"""PPO with a critic that sees all hands, and with a pull to the policy that played."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from agents.architectures import NetworkConfig  # noqa: E402  after the skip
from agents.learner import LearnerConfig  # noqa: E402
from agents.policy import PolicyAgent  # noqa: E402
from agents.ppo import PPO, PPOConfig  # noqa: E402
from rs_env import Game, Rules, SelfPlayVectorEnv, raw_env  # noqa: E402

SMALL = PPOConfig(num_envs=16, steps=16, minibatch=64)
CONFIG = LearnerConfig(rules=Rules.preset("tiny"), total_decisions=2560, network=NetworkConfig(hidden=16, layers=1))


def test_global_states_are_those_of_single_games() -> None:
    vec, env = SelfPlayVectorEnv(3, seed=5), raw_env()
    vec.reset(seed=5)
    env.reset(seed=5)
    for _ in range(30):
        assert np.array_equal(vec.global_states()[0], env.state())
        actions = vec.random_actions()
        env.step(int(actions[0]))
        vec.step(actions)


def test_the_critic_tells_positions_apart_that_look_alike_to_the_policy() -> None:
    """It is given hidden cards: the same observation gets different values from it."""
    learner = PPO(CONFIG, replace(SMALL, critic="central"))
    learner.iterate()
    rollout = learner.rollout
    n = CONFIG.rules.num_players
    seen: dict[bytes, set[float]] = {}
    for t in range(n, len(rollout.action)):
        for game in range(SMALL.num_envs):
            seen.setdefault(rollout.observation[t, game].tobytes(), set()).add(float(learner.value[t, game]))
    assert any(len(values) > 1 for values in seen.values())


def test_the_critic_learns_and_is_kept_while_the_agent_does_without_it() -> None:
    learner = PPO(CONFIG, replace(SMALL, critic="central"))
    assert learner.critic is not None
    before = {name: value.clone() for name, value in learner.critic.state_dict().items()}
    metrics = [learner.iterate() for _ in range(4)]
    assert all(not torch.equal(before[name], value) for name, value in learner.critic.state_dict().items())
    assert "losses/critic_loss" in metrics[0]
    tensors = {name: value.clone() for name, value in learner.tensors().items()}
    resumed = PPO(CONFIG, replace(SMALL, critic="central"))
    resumed.restore(tensors, learner.iteration)
    assert resumed.iterate() == learner.iterate()
    kept = {name for name, _ in learner.agent("ppo", 1.0).network.named_parameters()}
    assert kept == {name for name, _ in PPO(CONFIG, SMALL).network.named_parameters()}


def test_a_checkpoint_without_a_critic_is_not_gone_on_with_by_one() -> None:
    learner = PPO(CONFIG, SMALL)
    learner.iterate()
    with pytest.raises((ValueError, RuntimeError)):
        PPO(CONFIG, replace(SMALL, critic="central")).restore(learner.tensors(), 1)


def test_a_pull_to_the_policy_that_played_keeps_the_new_one_near_it() -> None:
    """Many steps on the same data go less far with it."""
    free, bound = (
        PPO(CONFIG, replace(SMALL, epochs=20, learning_rate=0.01, clip=10.0, kl_weight=weight))
        for weight in (0.0, 100.0)
    )
    kl = [learner.iterate()["losses/approx_kl"] for learner in (free, bound)]
    assert 0 <= kl[1] < kl[0] / 3


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match=r"ppo\.critic.*'all'.*'own', 'central'"):
        PPOConfig(critic="all")
    with pytest.raises(ValueError, match=r"ppo\.kl_weight"):
        PPOConfig(kl_weight=-1.0)


def test_a_network_player_states_its_policy() -> None:
    """What it does for many seeds has these frequencies; at temperature 0 it is one action."""
    network = PPO(LearnerConfig(), SMALL).network
    with torch.no_grad():
        network.card_head.weight *= 100
    game = Game(seed=3)
    view = game.view(game.turn)
    agent = PolicyAgent(network, 4, temperature=0.7)
    (policy,) = agent.policy(view)
    counts = np.zeros(53)
    for seed in range(2000):
        agent.reset(seed)
        counts[agent.act(view)[0]] += 1
    assert abs(policy.sum() - 1) < 1e-6 and np.abs(counts / 2000 - policy).max() < 0.05
    assert np.count_nonzero(policy > 0.01) > 1
    (greedy,) = PolicyAgent(network, 4, temperature=0).policy(view)
    assert greedy.max() == 1 == greedy.sum() and greedy.argmax() == policy.argmax()
