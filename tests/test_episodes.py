"""Returns of whole episodes, and learning from them."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from test_open_decisions import exact_values, names_of  # noqa: E402

from agents.architectures import NetworkConfig  # noqa: E402  after the skip
from agents.collector import Collector  # noqa: E402
from agents.company import Company  # noqa: E402
from agents.dmc import DMC, DMCConfig  # noqa: E402
from agents.episodes import RunningEpisodes  # noqa: E402
from agents.learner import LearnerConfig  # noqa: E402
from rs_env import Game, Rules, make_agent  # noqa: E402
from rs_env.solve.exact import GameTree  # noqa: E402


def test_each_decision_is_finished_once_with_the_discounted_pay_of_its_seat() -> None:
    """Against a plain walk: lists by game, paid out when the episode ends."""
    rules, gamma, steps, games = Rules.preset("tiny"), 0.9, 3, 30
    company = Company([[0, 0], [0, 1]], [make_agent("random")])
    collector = Collector(LearnerConfig(rules=rules), games, steps, company)
    rollout, first = collector.rollout, rules.num_players
    running = RunningEpisodes(rollout, first)
    rng = np.random.default_rng(0)

    def decide(t: int, rows: np.ndarray) -> np.ndarray:
        mask = rollout.action_mask[t, rows]
        return (rng.random(mask.shape) * mask).argmax(1)

    lists: list[list[tuple[int, bytes, int]]] = [[] for _ in range(games)]
    expected: list[tuple[int, bytes, int, float]] = []
    found: list[tuple[int, bytes, int, float]] = []
    for iteration in range(12):
        collector.collect(decide, iteration)
        for t in range(first, first + steps):
            for game in range(games):
                if rollout.learns[t, game]:
                    seen = rollout.observation[t, game].tobytes(), int(rollout.action[t, game])
                    lists[game].append((int(rollout.seat[t, game]), *seen))
                if rollout.done[t, game]:
                    for i, (seat, seen_then, action) in enumerate(lists[game]):
                        later = sum(other == seat for other, _, _ in lists[game][i + 1 :])
                        worth = float(rollout.reward[t, game, seat]) * gamma**later
                        expected.append((game, seen_then, action, round(worth, 5)))
                    lists[game] = []
        if iteration == 6:  # a run that is resumed goes on with the same decisions
            again = RunningEpisodes(rollout, first)
            again.restore(running.tensors())
            running = again
        decided, returns = running.finished(gamma)
        for i in range(len(decided)):
            row = decided.observation[i].tobytes(), int(decided.action[i])
            found.append((int(decided.game[i]), *row, round(float(returns[i]), 5)))
    assert len(found) > 200
    assert sorted(found) == sorted(expected)


@pytest.mark.parametrize(("name", "said"), [("game", "game"), ("seat", "seat")])
def test_decisions_of_other_games_are_refused(name: str, said: str) -> None:
    learner = DMC(LearnerConfig(rules=Rules.preset("tiny")), DMCConfig(num_envs=4, steps=2))
    while not len(learner.episodes.tensors()["episodes.game"]):
        learner.iterate()
    tensors = learner.tensors()
    tensors[f"episodes.{name}"] = torch.full_like(tensors[f"episodes.{name}"], 9)
    with pytest.raises(ValueError, match=said):
        learner.restore(tensors, learner.iteration)


def test_values_of_actions_come_near_the_exact_ones_of_play_at_random() -> None:
    """With nothing but random actions and no discount, what is learnt is what an action is worth at a table of players
    at random; hidden cards are averaged over by the network and by this test alike.
    """
    rules = Rules.preset("tiny")
    settings = DMCConfig(num_envs=128, steps=8, minibatch=128, gamma=1.0, explore_start=1.0, explore_end=1.0, epochs=2)
    learner = DMC(
        LearnerConfig(rules=rules, total_decisions=24_000, network=NetworkConfig(hidden=32, layers=1)), settings
    )
    for _ in range(learner.iterations):
        metrics = learner.iterate()
    assert metrics["losses/explained_variance"] > 0.1
    values = exact_values(GameTree(rules))
    rollout = learner.collector.rollout
    states = learner.collector.env.states
    exact = np.array([values[name] for name in names_of(states)])
    with torch.inference_mode():
        log_probs, value = learner.network(
            torch.from_numpy(rollout.observation[-1]), torch.from_numpy(rollout.action_mask[-1])
        )
    legal = torch.from_numpy(rollout.action_mask[-1]) > 0
    worth = value[:, None] + settings.temperature * log_probs.masked_fill(~legal, 0.0)
    mean = ((worth * legal).sum(-1) / legal.sum(-1)).numpy()
    assert np.corrcoef(mean, exact)[0, 1] > 0.7
    assert abs(mean.mean() - exact.mean()) < 0.05


def test_it_is_a_player_as_any_other() -> None:
    learner = DMC(LearnerConfig(), DMCConfig(num_envs=4, steps=2))
    agent, game = learner.agent("dmc", 1.0), Game(seed=1)
    assert int(agent.act(game.view(game.turn))[0]) in game.legal_actions()
