"""Learning from tables of several rule sets at once, with one network of kind "general"."""

from __future__ import annotations

import importlib
import io
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hidden import positions
from rich.console import Console

torch = pytest.importorskip("torch")

import agents.tables  # noqa: E402  after the skip
from agents.architectures import NetworkConfig  # noqa: E402
from agents.chain import transitions  # noqa: E402
from agents.checkpoint import load_checkpoint  # noqa: E402
from agents.collector import Collector  # noqa: E402
from agents.config import EvaluationConfig, TrainConfig, load_experiment  # noqa: E402
from agents.distill import DistillConfig  # noqa: E402
from agents.distributed import Ranks  # noqa: E402
from agents.dmc import DMCConfig  # noqa: E402
from agents.learner import TableConfig  # noqa: E402
from agents.policy import PolicyAgent, policy_agent  # noqa: E402
from agents.ppo import PPOConfig  # noqa: E402
from agents.run import EVALUATION, METRICS, Run  # noqa: E402
from agents.seating import SeatsConfig, company_of  # noqa: E402
from agents.tables import Mixture, seed_of_table  # noqa: E402
from agents.teacher import Teachers  # noqa: E402
from rs_env import Rules, make_agent  # noqa: E402
from rs_env.arena import duel  # noqa: E402
from rs_env.baselines.general import general_spec  # noqa: E402
from rs_env.engine.view import VIEW  # noqa: E402

ROOT = Path(__file__).parents[1]
THREE, FIVE = Rules(num_players=3, max_actions=60), Rules.preset("schweller", num_players=5, max_actions=60)
TABLES = (TableConfig(0.25, FIVE), TableConfig(0.5, Rules.preset("tiny")))
CONFIG: TrainConfig[Any] = TrainConfig(
    rules=THREE,
    tables=TABLES,
    total_decisions=4 * 8 * 16,
    threads=1,
    checkpoint_every=1,
    network=NetworkConfig("general", hidden=8, layers=1),
    settings=PPOConfig(num_envs=8, steps=16, minibatch=32),
    company=(SeatsConfig(), SeatsConfig(seats="one", opponents=("random",))),
    evaluation=EvaluationConfig(deals=2, deals_on_the_way=2, every=2, opponents=("random",), unseen=(Rules(),)),
)
LEARNERS = {
    "ppo": CONFIG.settings,
    "dmc": DMCConfig(num_envs=8, steps=16, minibatch=32),
    "distill": DistillConfig(games=4, steps=32, workers=0, gradient_steps=2, minibatch=32, worlds=1, review=0),
}


def quiet() -> Console:
    return Console(file=io.StringIO())


def mixture(steps: int = 12, games: int = 8, config: TrainConfig = CONFIG) -> Mixture:
    players = sorted(rules.num_players for rules in config.rule_sets)
    return Mixture(config, games, steps, company_of(config.company, players, config.seed), 1)


# Rollouts


def test_each_rule_set_has_its_share_of_the_games_and_its_numbers_stand_in_every_row() -> None:
    played = mixture()
    rollout, spec = played.rollout, general_spec()
    played.collect(lambda t, games: rollout.action_mask[t, games].argmax(1), 0)
    assert rollout.observation.shape == (5 + 12 + 1, 8, spec.size)
    for games, rules in ((range(2), THREE), (range(2, 4), FIVE), (range(4, 8), Rules.preset("tiny"))):
        for row in rollout.observation[5:, games].reshape(-1, spec.size):
            told = spec.decode(row)
            assert told["deck"] == list(rules.deck) and told["seats"] == list(range(rules.num_players))
            assert told["immediate"] == (rules.going_out == "immediate")
        assert not rollout.reward[:, games, rules.num_players :].any()


def test_what_is_learnt_from_is_what_each_rule_set_alone_would_give() -> None:
    """Decision by decision, those that are carried over among them; and no rule set has the decks of another one."""
    together, found, expected = mixture(), Counter[Any](), Counter[Any]()

    def rows(rollout: Any) -> Counter[Any]:
        t = transitions(rollout)
        columns = zip(t.observation, t.action, t.reward, t.next_observation, t.done, strict=True)
        return Counter((a.tobytes(), int(b), float(c), d.tobytes(), bool(e)) for a, b, c, d, e in columns)

    alone = []
    for number, (rules, games) in enumerate(zip(CONFIG.rule_sets, CONFIG.shared_out(8), strict=True)):
        own = replace(CONFIG, rules=rules, tables=(), seed=seed_of_table(CONFIG.seed, number))
        company = company_of(CONFIG.company, [rules.num_players], CONFIG.seed)
        alone.append(Collector(own, games, 12, company, notes=1))
    for iteration in range(6):
        for played in (together, *alone):
            rollout = played.rollout
            played.collect(lambda t, games, r=rollout: r.action_mask[t, games].argmax(1), iteration)
        found += rows(together.rollout)
        for played in alone:
            expected += rows(played.rollout)
    assert found == expected and len(found) > 200
    assert len({seed_of_table(CONFIG.seed, number) for number in range(3)}) == 3


def test_company_is_laid_out_for_each_number_of_players() -> None:
    parts = (SeatsConfig(0.5), SeatsConfig(0.5, seats="one", opponents=("heuristic",)))
    company = company_of(parts, [2, 5], 1)
    assert company is not None and len(company.frozen) == 1
    for players in (2, 5):
        alone = company_of(parts, [players], 1)
        assert alone is not None and (alone.seats_of(64, players) == company.seats_of(64, players)).all()
    with pytest.raises(ValueError, match="rows of 2 or 5 seats are not allowed: 3 play"):
        company.seats_of(4, 3)


def test_teachers_take_turns_by_their_shares() -> None:
    class Numbered:
        def __init__(self, name: int) -> None:
            self.name = name

        def piece(self, number: int) -> Any:
            return self.name

    teachers = Teachers(tuple(map(Numbered, range(3))), (0.25, 0.25, 0.5))  # type: ignore[arg-type]
    for begin in (0, 57):
        counts = Counter(teachers.piece(number) for number in range(begin, begin + 40))
        assert [counts[k] for k in range(3)] == pytest.approx([10, 10, 20], abs=2)


# Runs


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_mixture_that_is_interrupted_ends_as_a_whole_one(learner: str, tmp_path: Path) -> None:
    config = replace(CONFIG, learner=learner, settings=LEARNERS[learner])
    whole, parts = Run(config, tmp_path / "whole"), Run(config, tmp_path / "parts")
    assert whole.train(quiet())
    for _ in range(2):
        parts.learner.iterate()
    parts.save()
    assert Run.resume(tmp_path / "parts").train(quiet())
    kept = [load_checkpoint(tmp_path / name).tensors for name in ("whole", "parts")]
    assert kept[0].keys() == kept[1].keys() and all(torch.equal(kept[0][name], kept[1][name]) for name in kept[0])
    lines = [(tmp_path / name / METRICS).read_text().splitlines() for name in ("whole", "parts")]
    assert len(lines[0]) == 4 and len(lines[1]) == 2
    assert "evaluation/win_share_random schweller-5 max_actions=60" in json.loads(lines[0][1])


def test_a_run_is_evaluated_by_all_its_rules_and_by_some_that_it_has_not_learnt(tmp_path: Path) -> None:
    run = Run(CONFIG, tmp_path / "run")
    duels = run.evaluate(quiet())
    assert [round(1 / duel.parity) for duel in duels] == [3, 5, 2, 4]
    told = json.loads((tmp_path / "run" / EVALUATION).read_text())
    names = ["rolling_stone-3", "schweller-5", "tiny-2", "rolling_stone-4"]
    assert [duel["rules"].split()[0] for duel in told] == names
    assert not any(name.startswith("tables") for name in load_checkpoint(tmp_path / "run").policy.state_dict())


def test_a_network_goes_on_to_other_rules(tmp_path: Path) -> None:
    Run(replace(CONFIG, tables=()), tmp_path / "first")
    config = replace(CONFIG, tables=(), rules=FIVE, start=str(tmp_path / "first"), company=(), seed=9)
    first, later = load_checkpoint(tmp_path / "first").policy.state_dict(), config.new_network().state_dict()
    assert all(torch.equal(first[name], later[name]) for name in first)


def test_what_training_has_not_met_counts_for_nothing() -> None:
    """Seats beyond those of the tables, and rules that none of them has."""
    config = replace(CONFIG, company=())
    learner: Any = config.make_learner()
    learner.iterate()
    rows = torch.from_numpy(learner.rollout.observation[-1].copy())
    mask = torch.ones((len(rows), 53), dtype=torch.int8)
    changed, spec = rows.clone(), general_spec()
    trick = spec.sections["trick"]
    changed[:, trick.start + 6 * trick.width + 3] = 1
    for name in ("bar_suit", "silent", "worth"):
        changed[:, spec[name]] = 1
    with torch.inference_mode():
        before, after = learner.network(rows, mask), learner.network(changed, mask)
        assert torch.equal(before[0], after[0]) and torch.equal(before[1], after[1])
        changed[:, spec["immediate"]] ^= 1
        assert not torch.equal(before[1], learner.network(changed, mask)[1])


def test_with_and_without_torch_it_plays_the_same_by_any_rules(tmp_path: Path) -> None:
    Run(CONFIG, tmp_path / "run")
    trained, player = PolicyAgent.load(tmp_path / "run", 0.5), make_agent(f"checkpoint:{tmp_path / 'run'}")
    views = [
        game.view(game.turn)
        for rules in (*CONFIG.rule_sets, Rules.preset("trump", num_players=8))
        for game in positions(rules, 3, 20)
        if not game.is_over
    ]
    together = np.random.default_rng(0).permutation(np.array(views, VIEW))  # type: ignore[arg-type]
    seeds = np.arange(len(together), dtype=np.uint64)
    assert trained.act(together, seeds).tolist() == player.act(together, seeds).tolist()
    network = replace(CONFIG.network, kind="suits").make(4)
    with pytest.raises(ValueError, match="plays with 4 players only"):
        policy_agent(network, 4).act(together)
    assert duel(trained, "random", Rules(num_players=6), deals=2).games == 12


# Configuration


def test_tables_stand_in_a_configuration() -> None:
    written = CONFIG.to_dict()
    assert TrainConfig.from_dict(json.loads(json.dumps(written))) == CONFIG
    read = TrainConfig.from_dict(
        {
            "network": {"kind": "general"},
            "tables": [{"share": 0.5, "rules": {"preset": "schweller", "num_players": 5}}, {"share": 0.1}],
            "evaluation": {"unseen": [{"preset": "trump"}]},
        }
    )
    assert read.tables == (TableConfig(0.5, Rules.preset("schweller", num_players=5)), TableConfig(0.1, Rules()))
    assert read.evaluation.unseen == (Rules.preset("trump"),) and read.shares == pytest.approx((0.4, 0.5, 0.1))
    assert read.shared_out(20) == [8, 10, 2]


def test_tables_can_be_named_on_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    parse = importlib.import_module("train").parse
    command = parse(["--smoke", "--network.kind", "general", "--tables", "rolling_stone-3", "schweller-5"])
    expected = (TableConfig(1 / 3, Rules(num_players=3)), TableConfig(1 / 3, Rules.preset("schweller", num_players=5)))
    assert command.settings.tables == expected and {stage.tables for stage in command.stages} == {expected}
    assert len(parse(["--config", str(ROOT / "configs" / "general.toml")]).settings.tables) == 3
    for names, said in ((["schweller"], "it must be PRESET-PLAYERS"), (["x-3"], "preset='x' is not allowed")):
        with pytest.raises(ValueError, match=said):
            parse(["--smoke", "--network.kind", "general", "--tables", *names])
    with pytest.raises(ValueError, match=r"network\.kind='suits' is not allowed"):
        parse(["--smoke", "--tables", "schweller-5"])


def test_the_configuration_that_comes_with_the_project_describes_such_a_run() -> None:
    experiment = load_experiment(ROOT / "configs" / "general.toml")
    lessons, last = experiment.configs(experiment.settings)
    assert lessons.rule_sets == last.rule_sets and len(set(last.rule_sets)) == 4
    assert not set(last.evaluation.unseen) & set(last.rule_sets) and len(last.evaluation.unseen) >= 2


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"network": NetworkConfig("suits")}, r"network\.kind='suits' is not allowed: it must be 'general' with"),
        ({"tables": (TableConfig(0.5), TableConfig(0.5))}, r"tables\.share=1\.0 .*add up to less than 1"),
        ({"network": NetworkConfig(), "tables": ()}, r"evaluation\.unseen=\[4\] is not allowed"),
    ],
)
def test_settings_that_do_not_fit_together_are_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        replace(CONFIG, **changes)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"tables": 3}, "tables=3 is not allowed: it must be a list of tables"),
        ({"tables": [{"share": 2.0}]}, r"tables\.share=2\.0 is not allowed: it must be above 0 and below 1"),
        ({"tables": [{"rules": 3}]}, r"tables\.rules=3 is not allowed: it must be a table of settings"),
        ({"tables": [{"rules": {"preset": "x"}}]}, "preset='x' is not allowed"),
        ({"tables": [{"rule": {}}]}, r"tables\.rule is not a setting"),
        ({"evaluation": {"unseen": 3}}, r"evaluation\.unseen=3 is not allowed: it must be a list of tables"),
    ],
)
def test_tables_that_are_wrong_are_refused_with_the_reason(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        TrainConfig.from_dict({"network": {"kind": "general"}, **values})


def test_who_cannot_learn_from_tables_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="a critic that sees all hands"):
        replace(CONFIG, settings=replace(LEARNERS["ppo"], critic="central")).make_learner()
    with pytest.raises(ValueError, match=r"such that each rule set has one of the 2 games"):
        replace(CONFIG, settings=PPOConfig(num_envs=2)).make_learner()
    monkeypatch.setattr("agents.dmc.DMC.plays_tables", False)
    with pytest.raises(ValueError, match="learner='dmc' is not allowed: it must be one that learns from several"):
        replace(CONFIG, learner="dmc", settings=LEARNERS["dmc"])
    monkeypatch.setattr(agents.tables, "ranks", lambda: Ranks(0, 2))
    with pytest.raises(ValueError, match="tables=2 is not allowed: it must be none where several ranks train"):
        mixture()
