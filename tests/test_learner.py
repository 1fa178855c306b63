"""The seam for learners: a small learner that registers itself, who sits where, and what follows a decision."""

from __future__ import annotations

import importlib
import io
import json
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from rich.console import Console

torch = pytest.importorskip("torch")

from agents.architectures import NetworkConfig  # noqa: E402  after the skip
from agents.chain import ENDED, UNKNOWN, successors, transitions  # noqa: E402
from agents.checkpoint import is_finite, load_checkpoint, load_network, network_tensors, save_checkpoint, tensor_like  # noqa: E402
from agents.collector import Collector, Rollout  # noqa: E402
from agents.company import Company  # noqa: E402
from agents.config import TrainConfig, load_config  # noqa: E402
from agents.exploit import ExploitRun  # noqa: E402
from agents.learner import LearnerConfig  # noqa: E402
from agents.networks import sample  # noqa: E402
from agents.policy import PolicyAgent  # noqa: E402
from agents.ppo import PPO, PPOConfig  # noqa: E402
from agents.registry import LEARNERS, Entry  # noqa: E402
from agents.run import METRICS, Run  # noqa: E402
from rs_env import Rules, make_agent  # noqa: E402
from rs_env.arena import duel  # noqa: E402
from rs_env.encoding import draws_of_games  # noqa: E402
from rs_env.engine.observation import observation_spec  # noqa: E402

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class ToyConfig:
    """REINFORCE of the last decisions of each seat."""

    games: int = 6
    steps: int = 40
    learning_rate: float = 0.01


class Toy:
    def __init__(self, config: LearnerConfig, settings: ToyConfig, company: Company | None = None) -> None:
        self.config, self.settings, self.iteration = config, settings, 0
        self.network = config.new_network()
        self.generator = torch.Generator().manual_seed(config.seed)
        self.collector = Collector(config, settings.games, settings.steps, company)

    @property
    def iterations(self) -> int:
        return self.config.iterations_of(self.settings.games * self.settings.steps)

    @property
    def decisions(self) -> int:
        return self.iteration * self.settings.games * self.settings.steps

    def iterate(self) -> dict[str, float]:
        metrics = self.collector.collect(self._decide, self.iteration)
        known = transitions(self.collector.rollout)
        log_probs, _ = self.network(torch.from_numpy(known.observation), torch.from_numpy(known.action_mask))
        chosen = log_probs.gather(1, torch.from_numpy(known.action)[:, None]).squeeze(1)
        loss = -(chosen * torch.from_numpy(known.reward)).mean()
        self.network.zero_grad()
        loss.backward()
        with torch.no_grad():
            for weight in self.network.parameters():
                if weight.grad is not None:
                    weight -= self.settings.learning_rate * weight.grad
        self.iteration += 1
        return {**metrics, "losses/policy_loss": loss.item()}

    @torch.inference_mode()
    def _decide(self, t: int, games: np.ndarray) -> np.ndarray:
        rollout = self.collector.rollout
        seen = torch.from_numpy(rollout.observation[t, games]), torch.from_numpy(rollout.action_mask[t, games])
        return sample(self.network(*seen)[0], self.generator).numpy()

    def is_finite(self) -> bool:
        return is_finite(self.network)

    def tensors(self) -> dict[str, Any]:
        own = {"generator": self.generator.get_state()}
        return {**network_tensors(self.network), **self.collector.tensors(), **own}

    def restore(self, tensors: dict[str, Any], iteration: int) -> None:
        self.generator.set_state(tensor_like("generator", tensors, self.generator.get_state()))
        self.collector.restore(tensors)
        load_network(self.network, tensors)
        self.iteration = iteration

    def agent(self, name: str, temperature: float) -> PolicyAgent:
        return PolicyAgent(self.network, self.config.rules.num_players, name, temperature)


class WithoutNetwork(Toy):
    """Keeps nothing that a policy could be made of."""

    def tensors(self) -> dict[str, Any]:
        return {name: value for name, value in super().tensors().items() if not name.startswith("network.")}


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LEARNERS, "toy", Entry(ToyConfig, Toy))


# Settings of each learner that make an iteration of 200 decisions; a new learner is tested by its line here.
SMALL = {
    "toy": "toy = {games = 5, steps = 40}",
    "ppo": "ppo = {num_envs = 5, steps = 40, minibatch = 50}",
    "dmc": "dmc = {num_envs = 5, steps = 40, minibatch = 50}",
    "distill": "distill = {games = 5, steps = 40, workers = 0, gradient_steps = 2, worlds = 2, review = 0}",
}
FILE = """
learner = "{learner}"
total_decisions = 1000
threads = 1
checkpoint_every = 2
rules.num_players = 3
network = {{hidden = 8, layers = 1}}
{settings}
evaluation = {{deals = 2, deals_on_the_way = 2, every = 2, opponents = ["random"]}}
"""


def config_of(learner: str, folder: Path) -> TrainConfig:
    path = folder / "small.toml"
    path.write_text(FILE.format(learner=learner, settings="\n".join(SMALL.values())), encoding="utf-8")
    return load_config(path)


@pytest.fixture
def config(tmp_path: Path) -> TrainConfig:
    return config_of("toy", tmp_path)


def quiet() -> Console:
    return Console(file=io.StringIO())


def metrics_of(folder: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (folder / METRICS).read_text(encoding="utf-8").splitlines()]
    return [{name: value for name, value in line.items() if name not in ("seconds", "charts/SPS")} for line in lines]


def weights_of(folder: Path) -> dict[str, bytes]:
    return {name: value.numpy().tobytes() for name, value in load_checkpoint(folder).tensors.items()}


# The run


def test_every_learner_is_here() -> None:
    assert SMALL.keys() == LEARNERS.keys()


@pytest.mark.parametrize("learner", SMALL)
def test_a_registered_learner_is_trained_evaluated_and_plays(learner: str, tmp_path: Path) -> None:
    config = config_of(learner, tmp_path)
    run = Run(config, tmp_path / "run")
    before = weights_of(tmp_path / "run")
    assert run.train(quiet())
    assert len(run.evaluate(quiet())) == 1
    lines = metrics_of(tmp_path / "run")
    assert [(line["iteration"], line["decisions"]) for line in lines] == [(i, 200 * i) for i in range(1, 6)]
    assert "charts/episodes" in lines[0] and any(name.startswith("losses/") for name in lines[0])
    assert weights_of(tmp_path / "run") != before
    loaded = PolicyAgent.load(tmp_path / "run")
    expected = duel(run.learner.agent("run", 0.5), "random", config.rules, deals=3)
    assert duel(loaded, "random", config.rules, deals=3) == expected


@pytest.mark.parametrize("learner", SMALL)
def test_an_interrupted_run_of_a_registered_learner_ends_as_a_whole_one(learner: str, tmp_path: Path) -> None:
    config = config_of(learner, tmp_path)
    for name, begin in (
        ("alone", lambda folder: Run(config, folder)),
        ("frozen", lambda folder: ExploitRun(config, folder, "random", 0.5)),
    ):
        assert begin(tmp_path / name / "whole").train(quiet())
        parts = begin(tmp_path / name / "parts")
        for _ in range(2):
            parts.learner.iterate()
        parts.save()
        assert type(parts).resume(tmp_path / name / "parts").train(quiet())
        assert weights_of(tmp_path / name / "parts") == weights_of(tmp_path / name / "whole")
        assert metrics_of(tmp_path / name / "parts") == metrics_of(tmp_path / name / "whole")[2:]


def test_a_checkpoint_of_an_unknown_learner_can_be_played_but_not_gone_on_with(
    config: TrainConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Run(config, tmp_path / "run")
    monkeypatch.delitem(LEARNERS, "toy")
    with pytest.raises(ValueError, match=r"checkpoint\.safetensors: .*toy"):
        Run.resume(tmp_path / "run")
    PolicyAgent.load(tmp_path / "run").reset(1)


def test_a_learner_without_a_policy_network_is_no_policy_agent(
    config: TrainConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LEARNERS, "toy", Entry(ToyConfig, WithoutNetwork))
    assert Run(config, tmp_path / "run").train(quiet())
    with pytest.raises(ValueError, match="learner 'toy' keeps no policy network"):
        PolicyAgent.load(tmp_path / "run")


def test_a_run_with_another_number_of_iterations_is_not_gone_on_with(
    config: TrainConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Run(config, tmp_path / "run")
    monkeypatch.setattr(Toy, "iterations", 7)
    with pytest.raises(ValueError, match="it has 5 iterations, not 7"):
        Run.resume(tmp_path / "run")


# Configuration


def test_the_learner_has_its_own_table(config: TrainConfig) -> None:
    assert config.settings == ToyConfig(games=5)
    written = config.to_dict()
    assert written["learner"] == "toy" and written["toy"]["games"] == 5
    assert "ppo" not in written and "settings" not in written
    assert TrainConfig.from_dict(json.loads(json.dumps(written))) == config


def test_settings_of_another_learner_are_refused() -> None:
    with pytest.raises(ValueError, match=r"settings=PPOConfig\(.*it must be a ToyConfig, for 'toy'"):
        TrainConfig(learner="toy", settings=PPOConfig())
    with pytest.raises(ValueError, match=r"ppo\.steps=0 is not allowed"):
        TrainConfig.from_dict({"learner": "toy", "ppo": {"steps": 0}})  # though it would not be used


@pytest.fixture
def train(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("train")


def test_the_command_line_has_the_options_of_the_chosen_learner(
    train: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = train.parse(["--smoke", "--learner", "toy", "--toy.games", "3", "--seed", "4"]).settings
    assert (settings.learner, settings.settings, settings.seed) == ("toy", ToyConfig(games=3), 4)
    with pytest.raises(SystemExit):
        train.parse(["--smoke", "--learner", "toy", "--ppo.steps", "3"])
    assert "--ppo.steps" in capsys.readouterr().err


# Devices


def test_a_device_that_is_not_there_is_refused_before_anything_is_written(
    train: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert LearnerConfig(device="cuda").device == "cuda"
    assert LearnerConfig(device="cuda:1").device == "cuda:1"
    with pytest.raises(ValueError, match="precision='fp16' is not allowed: it must be one of 'float32', 'bf16'"):
        LearnerConfig(precision="fp16")
    assert train.main(["--smoke", "--run", str(tmp_path / "run"), "--device", "cuda:2"]) == 2
    assert (
        "device='cuda:2' is not allowed: it must be one that PyTorch has here: cpu, cuda, cuda:0, cuda:1"
        in " ".join(capsys.readouterr().err.split())
    )
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("learner", ["ppo", "dmc", "distill"])
def test_matrices_are_multiplied_in_bfloat16_where_that_is_asked_for(learner: str, tmp_path: Path) -> None:
    fine, coarse = (replace(config_of(learner, tmp_path), precision=name) for name in ("float32", "bf16"))
    learners = fine.make_learner(), coarse.make_learner()
    seen = torch.ones(3, observation_spec(3).size, dtype=torch.int8), torch.ones(3, 53, dtype=torch.int8)
    with torch.inference_mode(), coarse.computing():
        log_probs, values = learners[1].network(*seen)  # type: ignore[attr-defined]
    wanted, its_values = learners[0].network(*seen)  # type: ignore[attr-defined]
    assert log_probs.dtype == values.dtype == torch.float32 and not torch.equal(log_probs, wanted)
    assert torch.allclose(log_probs, wanted, atol=0.05) and torch.allclose(values, its_values, atol=0.1)
    assert torch.allclose(log_probs.exp().sum(1), torch.ones(3), atol=1e-5)
    metrics, rougher = (each.iterate() for each in learners)
    loss = min(name for name in metrics if name.startswith("losses/") and "loss" in name.rpartition("/")[2])
    assert rougher[loss] != metrics[loss] and rougher[loss] == pytest.approx(metrics[loss], rel=0.3, abs=0.05)
    assert {weight.dtype for weight in learners[1].network.parameters()} == {torch.float32}  # type: ignore[attr-defined]


def test_what_is_drawn_for_a_game_does_not_depend_on_those_beside_it() -> None:
    drawn = draws_of_games(5, np.arange(2000), 7)
    assert np.array_equal(draws_of_games(5, np.arange(500, 503), 7), drawn[500:503])
    others = draws_of_games(6, np.arange(2000), 7), draws_of_games(5, np.arange(2000), 8)
    for other in others:
        assert abs(np.corrcoef(drawn, other)[0, 1]) < 0.08
    assert abs(drawn.mean() - 0.5) < 0.02 and drawn.min() >= 0 and drawn.max() < 1


def test_actions_are_drawn_as_likely_as_the_policy_has_them(tmp_path: Path) -> None:
    ppo = replace(config_of("ppo", tmp_path), settings=PPOConfig(num_envs=400, steps=2)).make_learner()
    assert isinstance(ppo, PPO)
    policy = torch.tensor([[0.5, 0.0, 0.3, 0.2]]).log()
    ppo._look = lambda t, games: (policy.expand(len(games), 4), np.zeros(len(games)))  # type: ignore[method-assign]
    drawn = np.concatenate([ppo._decide(t, np.arange(400)) for t in range(3, 5)])
    assert np.bincount(drawn, minlength=4) / 800 == pytest.approx([0.5, 0.0, 0.3, 0.2], abs=0.06)
    assert np.array_equal(ppo._decide(3, np.arange(100, 105)), drawn[100:105])


def test_a_checkpoint_of_another_device_can_be_played_here(config: TrainConfig, tmp_path: Path) -> None:
    Run(config, tmp_path / "run")
    path = tmp_path / "run" / "checkpoint.safetensors"
    kept = load_checkpoint(path)
    save_checkpoint(path, {**kept.config, "device": "cuda:5"}, kept.tensors, kept.progress)
    PolicyAgent.load(path).reset(1)
    (tmp_path / "run" / "config.json").unlink()
    with pytest.raises(ValueError, match="device='cuda:5'"):
        Run.resume(tmp_path / "run")


# Chains


def slow_successor(rollout: Rollout, t: int, b: int) -> tuple[int, float]:
    """Row and reward of what follows one decision, by going on step by step."""
    seat = rollout.seat[t, b]
    for later in range(t, len(rollout.done)):
        if rollout.done[later, b]:
            return ENDED, float(rollout.reward[later, b, seat])
        if rollout.seat[later + 1, b] == seat:
            return later + 1, 0.0
    return UNKNOWN, 0.0


def rollouts() -> list[Rollout]:
    """Of real games, in which a frozen agent has a seat, and of invented ones, whose episodes end at any moment."""
    rng = np.random.default_rng(1)
    config = LearnerConfig(rules=Rules(num_players=3, max_actions=60), network=NetworkConfig(hidden=8, layers=1))
    toy = Toy(config, ToyConfig(games=7, steps=60), Company([[0, 0, 0], [0, 1, 0]], [make_agent("random")]))
    toy.iterate()
    found = [toy.collector.rollout]
    for steps in (1, 2, 30):
        rollout = Rollout.empty(steps, 9, 4, 3, 2)
        rollout.observation[:] = rng.integers(0, 100, rollout.observation.shape)
        rollout.action_mask[:] = rng.integers(0, 2, rollout.action_mask.shape)
        rollout.seat[:] = rng.integers(0, 4, rollout.seat.shape)
        rollout.done[:] = rng.random(rollout.done.shape) < 0.15
        rollout.reward[:] = rng.normal(size=rollout.reward.shape)
        rollout.learns[:] = rng.random(rollout.learns.shape) < 0.8
        found.append(rollout)
    return found


@pytest.mark.parametrize("number", range(4))
def test_successors_and_transitions_agree_with_a_walk_from_each_decision(number: int) -> None:
    rollout = rollouts()[number]
    follows, given = successors(rollout), transitions(rollout)
    row, kinds = 0, set()
    for t, b in np.ndindex(rollout.done.shape):
        after, reward = slow_successor(rollout, t, b)
        assert (follows.row[t, b], follows.reward[t, b]) == (after, np.float32(reward))
        kinds.add(min(after, 0))
        if after == UNKNOWN or not rollout.learns[t, b]:
            continue
        assert (given.done[row], given.reward[row]) == (after == ENDED, np.float32(reward))
        assert given.action[row] == rollout.action[t, b]
        shown = t if after == ENDED else after
        for name, at in (("", t), ("next_", shown)):
            assert (getattr(given, f"{name}observation")[row] == rollout.observation[at, b]).all()
            assert (getattr(given, f"{name}action_mask")[row] == rollout.action_mask[at, b]).all()
        row += 1
    assert row == len(given.action)
    assert number in (1, 2) or kinds == {0, ENDED, UNKNOWN}


# Company


class Noting:
    """Random, and notes whom it was asked for."""

    name = "noting"

    def __init__(self) -> None:
        self.player, self.seats, self.seeds = make_agent("random"), [], []

    def reset(self, seed: int) -> None:
        self.seeds.append(seed)
        self.player.reset(seed)

    def act(self, views: np.ndarray) -> np.ndarray:
        self.seats += views["seat"].tolist()
        return self.player.act(views)


def test_each_seat_of_each_game_is_played_by_whom_the_table_says() -> None:
    one, two = Noting(), Noting()
    table = [[0, 0, 0], [0, 1, 1], [2, 0, 1]]
    toy = Toy(LearnerConfig(rules=Rules(num_players=3)), ToyConfig(games=7), Company(table, [one, two]))
    asked: list[tuple[int, int]] = []
    decide = toy._decide

    def noting(t: int, games: np.ndarray) -> np.ndarray:
        asked.extend((t, int(game)) for game in games)
        return decide(t, games)

    toy.collector.collect(noting, 0)
    rollout = toy.collector.rollout
    player = np.array([[table[b % 3][rollout.seat[t, b]] for b in range(7)] for t in range(3, 43)])
    assert (rollout.learns[3:] == (player == 0)).all() and not rollout.learns[:3].any()
    assert sorted(asked) == [(t + 3, b) for t, b in np.argwhere(player == 0).tolist()]
    for number, agent in ((1, one), (2, two)):
        assert sorted(agent.seats) == sorted(rollout.seat[3:-1][player == number].tolist())
        assert agent.seats
    toy.collector.collect(noting, 1)
    assert one.seeds == two.seeds and len(set(one.seeds)) == 2


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ([], "whole numbers of shape"),
        ([0, 0, 0], "whole numbers of shape"),
        ([[0.0, 0.0, 0.0]], "float64 of shape"),
        ([[0, 1, 2]], r"players 0\.\.2 are not allowed: there are 0 to 1"),
        ([[0, -1, 0]], "players -1"),
        ([[1, 1, 1]], "the learner .0. has no seat"),
        ([[1, 1, 1]] * 6 + [[0, 1, 1]], "has no seat in the 6 rows that are played"),
        ([[0, 1]], "rows of 2 seats are not allowed: 3 play"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(table: list[Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Toy(LearnerConfig(rules=Rules(num_players=3)), ToyConfig(), Company(table, [make_agent("random")]))


def test_who_is_no_agent_can_not_be_frozen() -> None:
    with pytest.raises(ValueError, match="is not allowed"):
        Company([[0, 1]], ["random"])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="sees all hands"):
        Company([[0, 1]], [make_agent("sees_all")])


def test_the_learners_settings_can_be_changed_alone(config: TrainConfig) -> None:
    assert replace(config, settings=ToyConfig(steps=3)).make_learner().iterations == round(1000 / 18)
