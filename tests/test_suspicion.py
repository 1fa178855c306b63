"""Who sits there as numbers for a network: what they say, that they hide nothing, and networks that read them."""

from __future__ import annotations

import io
import random
from pathlib import Path

import numpy as np
import pytest
from hidden import resampled
from rich.console import Console

from rs_env import Game, SelfPlayVectorEnv, make_agent
from rs_env.agent import wants_histories
from rs_env.baselines.suspicion import SUSPECTS, Suspicion, suspicion_size
from rs_env.engine import entry
from rs_env.engine.view import empty_views
from rs_env.history import Histories

torch = pytest.importorskip("torch")

from agents.architectures import NetworkConfig  # noqa: E402  after the skip
from agents.collector import Collector  # noqa: E402
from agents.company import Company  # noqa: E402
from agents.config import load_config  # noqa: E402
from agents.learner import LearnerConfig  # noqa: E402
from agents.policy import PolicyAgent, SuspectsAgent, policy_agent  # noqa: E402
from agents.run import Run  # noqa: E402


def played(name: str, seed: int, actions: int) -> Game:
    """A game of four copies of a player, some way in."""
    game, player = Game(seed=seed), make_agent(name)
    while not game.is_over and game.num_actions < actions:
        game.play(player.act(game.view(game.turn))[0])
    return game


@pytest.mark.parametrize("name", ["low", "longest", "dumper"])
def test_they_tell_who_plays(name: str) -> None:
    """In most positions after fifty actions the likeliest type of another seat is what it is; percents add up."""
    right, types = [], len(SUSPECTS)
    for seed in range(30):
        game = played(name, seed, 50)
        if game.is_over:
            continue
        rows = Suspicion(worlds=16).of(game.view(0), Histories.of([game])).reshape(3, types)
        assert np.all(rows >= 0) and np.all(abs(rows.sum(1) - 100) <= types / 2)
        right += [SUSPECTS[row.argmax()] == name for row in rows]
    assert len(right) > 20 and np.mean(right) > 0.6


def test_without_histories_every_type_is_as_likely_as_it_is_common() -> None:
    game = played("low", 1, 30)
    rows = Suspicion().of(game.view(0), None).reshape(3, -1)
    assert np.array_equal(rows, np.tile([7, 7, 7, 7, 7, 7, 57], (3, 1)))  # a searcher counts eight times


def test_hidden_cards_change_nothing() -> None:
    game = played("heuristic", 3, 40)
    first = Suspicion().of(game.view(1), Histories.of([game]))
    for seed in range(5):
        other = resampled(game, 1, random.Random(seed))
        assert np.array_equal(Suspicion().of(other.view(1), Histories.of([game])), first)


def test_a_history_of_another_game_is_refused() -> None:
    with pytest.raises(ValueError, match="histories: number 0"):
        Suspicion().of(played("low", 1, 30).view(0), Histories.of([played("low", 2, 30)]))


def test_views_of_several_numbers_of_players_are_refused() -> None:
    views = np.concatenate([empty_views(Game(num_players=n).rules, 1) for n in (3, 4)])
    with pytest.raises(ValueError, match="numbers of players"):
        Suspicion().of(views, None)


def test_a_stranger_is_what_its_seed_says() -> None:
    first, again, other = (make_agent(f"stranger:seed={seed}") for seed in (1, 1, 2))
    assert np.array_equal(first.weights, again.weights) and not np.array_equal(first.weights, other.weights)
    assert all(np.isfinite(make_agent(f"stranger:seed={seed}").weights).all() for seed in range(50))
    with pytest.raises(ValueError, match="seed"):
        make_agent("stranger:seed=-1")


# Networks


CONFIG = LearnerConfig(network=NetworkConfig("suspects", hidden=8, layers=1))


def test_what_is_collected_is_what_the_player_reads() -> None:
    """The network sees the same at the learner's decisions as when it plays by itself; elsewhere nothing is written."""
    collector = Collector(CONFIG, 6, 12, Company.one_among(make_agent("low"), 4))
    rollout, seen = collector.rollout, []
    size = collector.env.layout.size

    def decide(t: int, games: np.ndarray) -> np.ndarray:
        for game in games:
            views = empty_views(collector.env.rules, 1)
            entry.view_turns(collector.env.states, np.array([game]), views)
            expected = Suspicion().of(views, collector.env.histories[np.array([game])])
            assert np.array_equal(rollout.observation[t, game, size:], expected[0])
            seen.append(expected[0])
        return rollout.action_mask[t, games].argmax(1)

    for iteration in range(3):
        collector.collect(decide, iteration)
    assert len({row.tobytes() for row in seen}) > 10
    new = slice(collector.env.rules.num_players, -1)  # before them stand decisions carried over
    assert not rollout.observation[new][~rollout.learns[new.start :]][:, size:].any()


def test_its_player_asks_for_histories_and_minds_them() -> None:
    network = CONFIG.new_network()
    with torch.no_grad():
        network.first.weight[:, -suspicion_size(4) :] *= 50  # so that it cannot but mind them
        network.card_head.weight *= 1000
    agent = policy_agent(network, 4)
    assert isinstance(agent, SuspectsAgent)
    assert not isinstance(policy_agent(LearnerConfig().new_network(), 4), SuspectsAgent)
    differs = 0
    for seed in range(20):
        game = played("low", seed, 40)
        if not game.is_over:
            view = game.view(game.turn)
            chosen = agent.act(view, histories=Histories.of([game])), agent.act(view)
            assert all(int(action[0]) in game.legal_actions() for action in chosen)
            differs += int(chosen[0][0] != chosen[1][0])
    assert differs > 0


@pytest.mark.parametrize("learner", ["ppo", "dmc", "distill"])
def test_each_learner_trains_one_and_its_run_can_be_played(learner: str, tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(
        f"""
learner = "{learner}"
total_decisions = 400
threads = 1
network = {{kind = "suspects", hidden = 8, layers = 1}}
ppo = {{num_envs = 5, steps = 40, minibatch = 50}}
dmc = {{num_envs = 5, steps = 40, minibatch = 50}}
distill = {{games = 5, steps = 40, workers = 0, gradient_steps = 2, worlds = 2, review = 0}}
evaluation = {{deals = 2, deals_on_the_way = 2, opponents = ["random"]}}
""",
        encoding="utf-8",
    )
    run, quiet = Run(load_config(file), tmp_path / "run"), Console(file=io.StringIO())
    assert run.train(quiet) and len(run.evaluate(quiet)) == 1
    assert isinstance(PolicyAgent.load(tmp_path / "run"), SuspectsAgent)
    assert wants_histories(make_agent(f"checkpoint:{tmp_path / 'run'}"))


def test_batches_of_vector_environments_can_be_asked() -> None:
    vec = SelfPlayVectorEnv(8, seed=1, skip_forced=True, keep_events=True)
    vec.reset()
    for _ in range(20):
        vec.step(vec.random_actions())
    views = empty_views(vec.rules, 8)
    entry.view_turns(vec.states, np.arange(8), views)
    rows = Suspicion().of(views, vec.histories)
    assert rows.shape == (8, suspicion_size(4)) and rows.dtype == np.int8
