"""Networks without PyTorch are those that were trained with it; files for the package are made of run folders."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hidden import positions
from safetensors import safe_open

torch = pytest.importorskip("torch")

from agents.architectures import NETWORKS, NetworkConfig  # noqa: E402  after the skip
from agents.checkpoint import load_checkpoint, network_tensors, save_checkpoint  # noqa: E402
from agents.policy import PolicyAgent  # noqa: E402
from agents.pretrained import export, name_of  # noqa: E402
from rs_env import Game, Rules, make_agent  # noqa: E402
from rs_env.agent import ask, wants_histories  # noqa: E402
from rs_env.baselines.checkpoints import read_network  # noqa: E402
from rs_env.baselines.network_players import rules_of  # noqa: E402
from rs_env.baselines.networks import FORMS, probabilities  # noqa: E402
from rs_env.baselines.suspicion import suspicion_size  # noqa: E402
from rs_env.encoding import observations  # noqa: E402
from rs_env.engine.view import VIEW  # noqa: E402
from rs_env.history import Histories  # noqa: E402

SIZES = {"hidden": 24, "layers": 2}


def write_run(folder: Path, rules: Rules, kind: str = "suits") -> Path:
    """A run folder with a network as at the start of training, but far from a uniform policy."""
    torch.manual_seed(0)
    network = NetworkConfig(kind, **SIZES).make(rules.num_players)
    for parameter in network.parameters():
        parameter.data += 0.2 * torch.randn_like(parameter)
    folder.mkdir(exist_ok=True)
    config = {"learner": "ppo", "rules": rules.to_dict(), "network": {"kind": kind, **SIZES}, "folder": "private"}
    tensors = network_tensors(network) | {"optimizer.0.step": torch.ones(3, dtype=torch.int64)}
    save_checkpoint(folder / "checkpoint.safetensors", config, tensors, {"iteration": 2, "iterations": 4})
    return folder


def views_of(rules: Rules) -> np.ndarray:
    """What the seat to act may know, in positions of random games."""
    return np.array([game.view(game.turn) for game in games_of(rules)], VIEW)  # type: ignore[arg-type]


def games_of(rules: Rules) -> list[Game]:
    """The games of `views_of`."""
    return [game for seed in range(5) for game in positions(rules, seed, 60) if not game.is_over]


def digest_in(path: Path) -> str:
    with safe_open(path, "np") as file:
        return str(file.metadata()["digest"])


@pytest.mark.parametrize("kind", sorted(FORMS))
@pytest.mark.parametrize("players", [2, 4, 7])
def test_both_say_the_same(tmp_path: Path, kind: str, players: int) -> None:
    rules = Rules(num_players=players)
    run, views = write_run(tmp_path / "run", rules, kind), views_of(rules)
    observation, mask = read_network(run).look(views)
    if read_network(run).suspects:
        percent = np.random.default_rng(0).integers(0, 101, (len(views), suspicion_size(players)), np.int8)
        observation = np.concatenate([observation, percent], 1)
    with torch.inference_mode():
        log_probs, values = load_checkpoint(run).policy(torch.from_numpy(observation), torch.from_numpy(mask))
    logits, own_values = read_network(run).evaluate(observation)
    assert probabilities(logits, mask, 1.0) == pytest.approx(log_probs.exp().numpy(), abs=1e-5)
    assert own_values == pytest.approx(values.numpy(), abs=1e-5)
    assert log_probs.exp().numpy()[mask == 1].std() > 0.05


@pytest.mark.parametrize("kind", sorted(FORMS))
@pytest.mark.parametrize("temperature", [0, 0.5, 1.0])
def test_both_play_the_same_actions(tmp_path: Path, kind: str, temperature: float) -> None:
    run, views = write_run(tmp_path / "run", Rules(), kind), views_of(Rules())
    trained, player = PolicyAgent.load(run, temperature), make_agent(f"checkpoint:{run},temperature={temperature}")
    for agent in (trained, player):
        agent.reset(3)
    assert trained.act(views).tolist() == player.act(views).tolist()
    seeds = np.arange(len(views), dtype=np.uint64)
    assert trained.act(views, seeds).tolist() == player.act(views, seeds).tolist()


def test_both_suspect_the_same(tmp_path: Path) -> None:
    """A network that reads who sits there plays by the histories it is handed, by itself and as guide of a search."""
    run, games = write_run(tmp_path / "run", Rules(), "suspects"), games_of(Rules())
    views, histories = views_of(Rules()), Histories.of(games)
    trained, player = PolicyAgent.load(run, 1.0), make_agent(f"checkpoint:{run},temperature=1")
    search = make_agent(f"search:checkpoint={run},worlds=2,horizon=3")
    assert all(map(wants_histories, (trained, player, search)))
    told = ask(trained, views, histories=histories).tolist()
    assert ask(player, views, histories=histories).tolist() == told != player.act(views).tolist()
    assert ask(search, views, histories=histories).tolist() != search.act(views).tolist()
    assert not wants_histories(make_agent(f"checkpoint:{write_run(tmp_path / 'plain', Rules())}"))


def test_all_kinds_of_networks_have_a_form_for_players_by_name() -> None:
    assert FORMS.keys() == NETWORKS.keys()


@pytest.mark.parametrize(
    ("rules", "name"),
    [(Rules(), "rolling_stone-4"), (Rules.preset("schweller", num_players=3), "schweller-3")],
)
def test_a_file_for_the_package_is_made_of_a_run(tmp_path: Path, rules: Rules, name: str) -> None:
    run = write_run(tmp_path / "run", rules)
    path = export(run, tmp_path / "out")
    assert path == tmp_path / "out" / f"{name}.safetensors" and rules_of(name) == rules == read_network(path).rules
    content = path.read_bytes()
    assert b"private" not in content and b"optimizer" not in content
    assert len(content) < (run / "checkpoint.safetensors").stat().st_size / 1.5
    assert digest_in(export(run, tmp_path / "again")) == digest_in(export(path, tmp_path / "out")) == digest_in(path)
    whole, half = (read_network(p).evaluate(observations(views_of(rules))[0]) for p in (run, path))
    assert half[0] == pytest.approx(whole[0], abs=0.02) and half[1] == pytest.approx(whole[1], abs=0.02)


def test_what_cannot_be_a_file_of_the_package_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="its rules are those of no preset"):
        name_of(Rules(max_actions=7))
    with pytest.raises(ValueError, match=r"run: its rules are those of no preset"):
        export(write_run(tmp_path / "run", Rules(max_actions=7)), tmp_path)
    with pytest.raises(ValueError, match="checkpoint"):
        export(tmp_path / "nothing", tmp_path)
