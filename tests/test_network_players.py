"""Networks as players by name, without PyTorch: the files that are read, and how they play."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from hidden import positions
from networks import arrays_of, write_network

from rs_env import Game, Rules
from rs_env.agent import build, draws_by_seed, is_own
from rs_env.arena import duel, league
from rs_env.baselines import AGENTS, NETWORK_AGENTS, make_agent, network_players
from rs_env.baselines.checkpoints import read_network
from rs_env.baselines.networks import probabilities
from rs_env.encoding import observations
from rs_env.engine.view import VIEW
from rs_env.testing import check_agent

ROOT = Path(__file__).parents[1]


def views_of(rules: Rules, count: int = 60) -> np.ndarray:
    """What the seat to act may know, in positions of random games."""
    games = [game for game in positions(rules, 5, count) if not game.is_over]
    return np.array([game.view(game.turn) for game in games], VIEW)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network for four players."""
    return write_network(tmp_path_factory.mktemp("run") / "checkpoint.safetensors")


@pytest.fixture
def pretrained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of networks in place of that of the package."""
    write_network(tmp_path / "rolling_stone-4.safetensors", seed=1)
    write_network(tmp_path / "schweller-4.safetensors", "schweller", seed=2)
    write_network(tmp_path / "schweller-3.safetensors", Rules.preset("schweller", num_players=3), seed=3)
    monkeypatch.setattr(network_players, "PRETRAINED", tmp_path)
    return tmp_path


# By name


def test_a_network_is_told_by_its_file_or_its_run_folder(file: Path) -> None:
    views = views_of(Rules())
    one, other = make_agent(f"checkpoint:{file}"), make_agent(f"checkpoint:{file.parent}")
    assert one.name == f"checkpoint:{file}"
    assert one.act(views).tolist() == other.act(views).tolist()
    assert make_agent(f"checkpoint:{file},temperature=0").name == f"checkpoint:{file},temperature=0.0"


class Told:
    """What was told to a factory."""

    def __init__(self, path: str, *, size: int = 1, where: str = "") -> None:
        self.told, self.name = (path, size, where), "told"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("told:a", ("a", 1, "")),
        ("told:a/b.c,size=3", ("a/b.c", 3, "")),
        ("told:C:\\runs\\a,where=D:\\b", ("C:\\runs\\a", 1, "D:\\b")),
        ("told:lr=0.1/seed=2,size=2", ("lr=0.1/seed=2", 2, "")),
        ("told:a,where=x=y", ("a", 1, "x=y")),
    ],
)
def test_a_path_stands_first_and_options_follow(text: str, told: tuple[Any, ...]) -> None:
    agent: Any = build({"told": Told}, text)  # type: ignore[dict-item]
    assert agent.told == told
    assert agent.name == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("told", "the path is missing: it must begin as 'told:PATH'"),
        ("told:", "the path is missing"),
        ("told:size=2", "the path is missing"),
        ("told:a,b", "option 'b' is not allowed"),
        ("told:a,size=x", "size='x' is not allowed"),
    ],
)
def test_a_path_that_is_missing_and_what_is_no_option_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        build({"told": Told}, text)  # type: ignore[dict-item]


def test_names_of_players_with_and_without_networks_are_apart() -> None:
    assert not AGENTS.keys() & NETWORK_AGENTS.keys()


# Files


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"metadata": {"format": "other"}}, "format is 'other', this version reads"),
        ({"metadata": {"observation_version": "1"}}, "observation_version is '1', this version reads"),
        ({"metadata": {"digest": "0"}}, "it is not as it was written"),
        ({"metadata": {"config": "{"}}, "Expecting"),
        ({"metadata": {"config": "[]"}}, "checkpoint"),
        ({"config": {"network": {"kind": "other"}}}, "kind 'other' cannot play without PyTorch: only 'suits'"),
        ({"config": {"network": {"kind": "suits"}}}, "a network of width None and None layers is not allowed"),
        ({"config": {"rules": {"num_players": 9}}}, "num_players=9 is not allowed"),
        ({"config": {"rules": {"num_players": 3}}}, r"network.first.weight: \(16, 143\), in this network it must be"),
        (
            {"config": {"network": {"kind": "suits", "hidden": 16, "layers": 3}}},
            r"network.body.2.bias: missing, in this network it must be \(16,\)",
        ),
        ({"arrays": {"other": np.zeros(1)}}, "learner 'ppo' keeps no policy network"),
        ({"dtype": np.float64}, "float64 is not allowed"),
        ({"arrays": arrays_of(Rules()) | {"network.first.bias": np.full(16, np.nan, np.float32)}}, "not finite"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_file_that_does_not_fit_is_refused_with_the_reason(tmp_path: Path, changes: Any, said: str) -> None:
    path = write_network(tmp_path / "x.safetensors", **changes)
    with pytest.raises(ValueError, match=said) as refused:
        make_agent(f"checkpoint:{path}")
    assert str(refused.value).startswith(f"checkpoint {path}: ")


def test_a_missing_file_and_one_of_something_else_are_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"not tensors")
    for path in (tmp_path / "nothing", tmp_path / "text", tmp_path):
        with pytest.raises(ValueError, match=f"checkpoint {path}"):
            make_agent(f"checkpoint:{path}")


def test_each_flipped_byte_is_found(file: Path, tmp_path: Path) -> None:
    whole = file.read_bytes()
    for place in np.random.default_rng(0).integers(0, len(whole), 60).tolist():
        damaged = bytearray(whole)
        damaged[place] ^= 16
        (tmp_path / "damaged").write_bytes(damaged)
        with pytest.raises(ValueError, match="checkpoint"):
            read_network(tmp_path / "damaged")


def test_a_file_is_read_once_and_anew_when_it_changes(tmp_path: Path) -> None:
    path = write_network(tmp_path / "x.safetensors", seed=1)
    first = read_network(path)
    assert read_network(tmp_path / "." / "x.safetensors") is first
    assert not any(array.flags.writeable for array in first.arrays.values())
    write_network(path, hidden=8)
    assert read_network(path).arrays["first.bias"].shape == (8,)


def test_half_precision_is_read_as_what_it_is(tmp_path: Path) -> None:
    half = read_network(write_network(tmp_path / "half", dtype=np.float16))
    whole = read_network(write_network(tmp_path / "whole"))
    for name, array in half.arrays.items():
        assert array.dtype == np.float32
        assert (array == whole.arrays[name].astype(np.float16)).all()


def test_without_safetensors_the_error_tells_what_to_install(file: Path) -> None:
    code = f"""
import sys
sys.modules["safetensors"] = None
import rs_env
try:
    rs_env.make_agent({f"checkpoint:{file}"!r})
except ImportError as error:
    print(error)
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True).stdout
    assert "pip install 'rs_env[net]'" in told


def test_the_arena_tells_in_one_line_what_to_install(file: Path) -> None:
    code = f"""
import sys
sys.modules["safetensors"] = None
from rs_env.arena.__main__ import main
sys.exit(main(["duel", {f"checkpoint:{file}"!r}, "random"]))
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert ended.returncode == 2
    assert ended.stderr.startswith("error: networks need safetensors") and ended.stderr.count("\n") == 1


def test_no_torch_is_loaded(file: Path) -> None:
    code = f"""
import sys, rs_env
game = rs_env.Game(seed=1)
rs_env.make_agent({f"checkpoint:{file}"!r}).act(game.view(game.turn))
print("torch" in sys.modules)
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True).stdout
    assert told == "False\n"


# Play


@pytest.mark.parametrize("players", [2, 4, 8])
def test_what_is_computed_is_the_same_to_the_bit_in_any_batch(tmp_path: Path, players: int) -> None:
    rules = Rules(num_players=players)
    network = read_network(write_network(tmp_path / "x", rules, hidden=100, layers=3))
    observation, _ = observations(views_of(rules))
    logits, values = network.evaluate(observation)
    assert logits.shape == (len(observation), 53) and values.shape == (len(observation),)
    order = np.random.default_rng(0).permutation(len(observation))
    for a, b in zip(network.evaluate(observation[order]), (logits[order], values[order]), strict=True):
        assert a.tobytes() == b.tobytes()
    alone = [network.evaluate(row[None]) for row in observation]
    assert np.concatenate([a for a, _ in alone]).tobytes() == logits.tobytes()
    assert np.concatenate([b for _, b in alone]).tobytes() == values.tobytes()


def test_probabilities_are_of_legal_actions_alone() -> None:
    rng = np.random.default_rng(0)
    logits, mask = rng.normal(size=(50, 53)).astype(np.float32) * 30, (rng.random((50, 53)) < 0.1).astype(np.int8)
    mask[:, 52] = 1
    for temperature in (0.001, 0.5, 1.0, 1000.0):
        policy = probabilities(logits, mask, temperature)
        assert policy.dtype == np.float32
        assert policy.sum(1) == pytest.approx(1.0, abs=1e-5)
        assert not policy[mask == 0].any()


def test_a_network_plays_as_any_agent_must(file: Path) -> None:
    for temperature in (0.0, 0.5, 2.0):
        agent = make_agent(f"checkpoint:{file},temperature={temperature}")
        assert draws_by_seed(agent) and is_own(agent)
        check_agent(agent, positions=60)


def test_draws_follow_the_policy(file: Path) -> None:
    views = views_of(Rules(), 20)
    views = views[[int(legal).bit_count() > 2 for legal in views["legal"]]][:1]
    expected = probabilities(read_network(file).evaluate(observations(views)[0])[0], observations(views)[1], 2.0)[0]
    drawn = make_agent(f"checkpoint:{file},temperature=2").act(
        np.repeat(views, 20_000), np.arange(20_000, dtype=np.uint64)
    )
    assert np.bincount(drawn, minlength=53) / 20_000 == pytest.approx(expected, abs=0.015)


def test_temperature_zero_takes_the_likeliest(file: Path) -> None:
    views = views_of(Rules())
    observation, mask = observations(views)
    likeliest = probabilities(read_network(file).evaluate(observation)[0], mask, 1.0).argmax(1)
    assert make_agent(f"checkpoint:{file},temperature=0").act(views).tolist() == likeliest.tolist()


@pytest.mark.parametrize("value", ["-1", "0.0001"])
def test_temperatures_that_overflow_are_refused(file: Path, value: str) -> None:
    with pytest.raises(ValueError, match=r"temperature=-?[\d.]+ is not allowed: it must be 0, or finite and at least"):
        make_agent(f"checkpoint:{file},temperature={value}")


def test_views_of_other_numbers_of_players_are_refused(file: Path) -> None:
    views = np.array([Game(seed=1, dealer=3).view(0), Game(Rules(num_players=5), dealer=4).view(0)], VIEW)
    with pytest.raises(ValueError, match=r"views\[1\]: 5 players are not allowed: the network .* plays with 4"):
        make_agent(f"checkpoint:{file}").act(views)


def test_no_views_are_no_actions(file: Path, pretrained: Path) -> None:
    for name in (f"checkpoint:{file}", "net"):
        assert make_agent(name).act(np.zeros(0, VIEW)).shape == (0,)


def test_a_network_sits_wherever_agents_do(file: Path) -> None:
    name = f"checkpoint:{file}"
    assert duel(name, "random", deals=3).games == 12
    assert len(league([name, "random", "low", "longest"], deals=2).agents) == 4
    env = gymnasium.make("rs_env/RollingStone-v0", opponents=[name, "random", name])
    env.reset(seed=0)


# The networks of the package


def test_each_view_is_played_by_the_network_of_its_rules(pretrained: Path) -> None:
    parts = [Rules(), Rules.preset("schweller"), Rules.preset("schweller", num_players=3), Rules(max_actions=60)]
    names = ["rolling_stone-4", "schweller-4", "schweller-3", "rolling_stone-4"]
    views = [views_of(rules, 12) for rules in parts]
    expected = [make_agent(f"checkpoint:{pretrained / name}.safetensors").act(v) for name, v in zip(names, views)]  # noqa: B905
    together = np.concatenate(views)
    order = np.random.default_rng(0).permutation(len(together))
    assert make_agent("net").act(together[order]).tolist() == np.concatenate(expected)[order].tolist()


@pytest.mark.parametrize("rules", [Rules(num_players=3), Rules(scoring="cards"), Rules.preset("trump")])
def test_rules_that_no_network_has_learnt_are_refused_with_those_that_one_has(pretrained: Path, rules: Rules) -> None:
    with pytest.raises(ValueError, match=r"views\[0\]: there is no pretrained network for these rules") as refused:
        make_agent("net").act(views_of(rules, 5))
    known = "rolling_stone with 4 players and schweller with 3 players and schweller with 4 players"
    assert known in str(refused.value)


def test_the_networks_of_the_package_fit_their_names() -> None:
    paths = sorted(network_players.PRETRAINED.glob("*"))
    for path in paths:
        assert read_network(path).rules == network_players.rules_of(path.stem)
    assert sum(path.stat().st_size for path in paths) < 2_000_000
