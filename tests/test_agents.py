"""Learners: chains of decisions by seat, masked policies, checkpoints, runs that go on where they were."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import agents.checkpoint  # noqa: E402  after the skip
from agents.architectures import NetworkConfig  # noqa: E402
from agents.chain import advantages_by_seat  # noqa: E402
from agents.collector import Rollout  # noqa: E402
from agents.config import EvaluationConfig, TrainConfig, load_config  # noqa: E402
from agents.networks import PolicyValueNet, entropy, sample  # noqa: E402
from agents.policy import PolicyAgent  # noqa: E402
from agents.ppo import PPO, PPOConfig  # noqa: E402
from agents.run import Run  # noqa: E402
from rs_env import Game, ObservationSpec, Rules  # noqa: E402
from rs_env.arena import duel  # noqa: E402
from rs_env.engine.layout import Kind  # noqa: E402

ROOT = Path(__file__).parents[1]


def small_config(**changes) -> TrainConfig:
    config = TrainConfig(
        rules=Rules(num_players=3),
        total_decisions=4 * 8 * 16,
        threads=1,
        network=NetworkConfig(hidden=16, layers=1),
        settings=PPOConfig(num_envs=8, steps=16, minibatch=32),
        evaluation=EvaluationConfig(deals=4, deals_on_the_way=2, every=1),
    )
    return replace(config, **changes)


def small_ppo() -> PPO:
    config = small_config()
    return PPO(config, config.settings)


def rollout_of(
    seats: list[int], values: list[float], ends: dict[int, list[float]], last: tuple[int, float]
) -> tuple[Rollout, np.ndarray]:
    """One hand-made game: who acted, the values, {step: rewards} of the steps that ended an episode, who is to act
    next. The values stand beside the rollout."""
    rollout = Rollout.empty(len(seats), 1, 2, 1, 1)
    rollout.seat[:, 0] = [*seats, last[0]]
    for t, rewards in ends.items():
        rollout.done[t, 0], rollout.reward[t, 0] = True, rewards
    return rollout, np.array([[value] for value in (*values, last[1])], np.float32)


def test_advantages_follow_each_seat_and_pay_its_own_reward() -> None:
    """Worked out by hand with gamma = lambda = 1/2: seat 1 ends the first game, which seat 0 has won."""
    rollout, value = rollout_of(
        seats=[0, 1, 0, 1, 1, 0, 0],
        values=[0.2, 0.4, 0.6, 0.8, 0.1, 0.3, 0.7],
        ends={3: [1.0, -1.0]},
        last=(1, 0.5),
    )
    advantage, valid = advantages_by_seat(rollout, value, gamma=0.5, gae_lambda=0.5)
    expected = [
        (0.5 * 0.6 - 0.2) + 0.25 * 0.4,  # seat 0: next its decision at 2, not that of seat 1 at 1
        (0.5 * 0.8 - 0.4) + 0.25 * -1.8,  # seat 1: next its decision at 3
        1.0 - 0.6,  # seat 0 did not act again: its reward
        -1.0 - 0.8,  # seat 1 ended the game: its own reward, not the winner's
        0.5 * 0.5 - 0.1,  # the next game: seat 1 is to act after the rollout, by its value there
        0.5 * 0.7 - 0.3,  # seat 0 acts twice in a row, as after a pickup
        0.0,  # what seat 0 comes to lies beyond the rollout
    ]
    assert advantage[:, 0] == pytest.approx(expected)
    assert valid[:, 0].tolist() == [True] * 6 + [False]


def test_advantages_do_not_leak_into_the_episode_before() -> None:
    """Whatever comes after the end of an episode changes nothing in it."""
    args = {"seats": [0, 1, 0, 1], "ends": {1: [1.0, 0.0]}}
    one, _ = advantages_by_seat(*rollout_of(values=[0.2, 0.4, 0.6, 0.8], last=(0, 0.5), **args), 0.9, 0.9)
    other, _ = advantages_by_seat(*rollout_of(values=[0.2, 0.4, -5.0, 9.0], last=(1, -7.0), **args), 0.9, 0.9)
    assert one[:2].tolist() == other[:2].tolist()


def test_collected_rewards_match_the_chains() -> None:
    """In real games of self-play the undiscounted advantages of a seat's episode telescope to its reward."""
    learner = small_ppo()
    learner.collect()
    rollout = learner.rollout
    advantage, _ = advantages_by_seat(rollout, np.zeros_like(learner.value), gamma=1.0, gae_lambda=1.0)
    checked = 0
    for game in range(rollout.seat.shape[1]):
        begin = 0
        for end in np.flatnonzero(rollout.done[:, game]):
            for t in range(begin, end + 1):
                assert advantage[t, game] == rollout.reward[end, game, rollout.seat[t, game]]
                checked += 1
            begin = end + 1
    assert checked > 0


def test_policy_gives_illegal_actions_no_probability() -> None:
    network = PolicyValueNet(4, 16, 1)
    observation = torch.randint(0, 2, (64, network.scale.numel()), dtype=torch.int8)
    mask = (torch.rand(64, 53) < 0.1).to(torch.int8)
    mask[:, 52] = 1
    log_probs, values = network(observation, mask)
    assert values.shape == (64,)
    assert torch.all((log_probs.exp() > 0) == (mask == 1))
    assert torch.allclose(log_probs.exp().sum(-1), torch.ones(64))
    actions = sample(log_probs, torch.Generator().manual_seed(0))
    assert torch.all(mask.gather(1, actions[:, None]) == 1)
    assert torch.all(entropy(log_probs) <= torch.log(mask.sum(-1).float()) + 1e-5)
    assert torch.isfinite(entropy(log_probs)).all()


def test_network_treats_suits_alike() -> None:
    """Renaming the suits of a position renames the card actions and changes nothing else."""
    spec = ObservationSpec(4)
    network = PolicyValueNet(4, 16, 2)
    torch.nn.init.normal_(network.card_head.weight)  # far from the uniform policy of the start
    game = Game("rolling_stone", seed=3)
    for _ in range(40):
        game.play(game.legal_actions()[-1])
    observation, mask = np.zeros(spec.size, np.int8), np.zeros(53, np.int8)
    game.observe_into(game.turn, observation, mask)
    order = [2, 0, 3, 1]
    renamed = observation.copy()
    for name, part in spec.sections.items():
        if part.section.kind in (Kind.CARDS, Kind.CARD, Kind.SUITS, Kind.SUIT):
            rows = observation[spec[name]].reshape(part.rows, 4, -1)
            renamed[spec[name]] = rows[:, order].reshape(-1)
    renamed_mask = np.append(mask[:52].reshape(4, 13)[order].reshape(-1), mask[52])
    (one, other), values = network(
        torch.from_numpy(np.stack([observation, renamed])), torch.from_numpy(np.stack([mask, renamed_mask]))
    )
    assert torch.allclose(one[:52].view(4, 13)[order].flatten(), other[:52], atol=1e-5)
    assert values[0].item() == pytest.approx(values[1].item(), abs=1e-5)
    assert one[mask == 1].std() > 0.01  # and it does tell cards apart


def test_learning_changes_the_network_and_reports_its_metrics() -> None:
    learner = small_ppo()
    before = [p.clone() for p in learner.network.parameters()]
    metrics = learner.iterate()
    assert any(not torch.equal(a, b) for a, b in zip(before, learner.network.parameters(), strict=True))
    for name in ("policy_loss", "value_loss", "entropy", "approx_kl", "clipfrac", "explained_variance"):
        assert np.isfinite(metrics[f"losses/{name}"])


def test_interrupted_run_goes_on_as_if_nothing_had_happened(tmp_path: Path) -> None:
    whole = Run(small_config(), tmp_path / "whole")
    for _ in range(4):
        whole.learner.iterate()
    first = Run(small_config(), tmp_path / "parts")
    for _ in range(2):
        first.learner.iterate()
    first.save()
    first.learner.iterate()  # after the checkpoint: lost by the crash, and played again
    second = Run.resume(tmp_path / "parts")
    assert second.config == whole.config
    for _ in range(2):
        second.learner.iterate()
    for a, b in zip(whole.learner.network.parameters(), second.learner.network.parameters(), strict=True):
        assert torch.equal(a, b)
    assert second.learner.collector.env.states.tobytes() == whole.learner.collector.env.states.tobytes()


def test_a_run_is_not_overwritten(tmp_path: Path) -> None:
    Run(small_config(), tmp_path).save()
    with pytest.raises(ValueError, match="holds a run already"):
        Run(small_config(), tmp_path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": "other"}, "format is 'other'"),
        ({"observation_version": "0"}, "observation_version is '0'"),
        ({"config": "{}"}, "size"),
        ({"config": "[]"}, "checkpoint"),
        (
            {"config": '{"network": {"kind": "other"}}'},
            "network.kind='other' is not allowed: it must be one of 'suits'",
        ),
        ({"progress": '{"iteration": 5, "iterations": 4}'}, "iteration 5 is not one of its 4"),
    ],
)
def test_checkpoint_that_does_not_fit_is_refused(tmp_path: Path, change: dict[str, str], said: str) -> None:
    from safetensors import safe_open
    from safetensors.torch import save_file

    Run(small_config(), tmp_path).save()
    path = tmp_path / "checkpoint.safetensors"
    with safe_open(path, "pt") as file:
        metadata, tensors = file.metadata(), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  not a dict
    changed = {**metadata, **change}
    save_file(tensors, path, changed | {"digest": agents.checkpoint.digest_of(changed, tensors)})
    with pytest.raises(ValueError, match=said):
        agents.checkpoint.load_checkpoint(tmp_path)


def test_damaged_or_missing_checkpoint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="checkpoint"):
        agents.checkpoint.load_checkpoint(tmp_path)
    (tmp_path / "checkpoint.safetensors").write_bytes(b"not tensors")
    with pytest.raises(ValueError, match="checkpoint"):
        agents.checkpoint.load_checkpoint(tmp_path)


def is_held(path: Path) -> bool:
    """Whether this process has the file mapped or open."""
    mapped = str(path) in Path("/proc/self/maps").read_text(encoding="utf-8")
    return mapped or any(link.is_symlink() and link.readlink() == path for link in Path("/proc/self/fd").iterdir())


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="asks Linux what is mapped")
def test_checkpoint_is_let_go_after_loading(tmp_path: Path) -> None:
    """Else Windows would not let the next one take its place."""
    path = tmp_path / "checkpoint.safetensors"
    config = small_config()
    network = PolicyValueNet(3, config.network.hidden, config.network.layers)
    tensors = {**agents.checkpoint.network_tensors(network), "extra": torch.arange(5)}
    agents.checkpoint.save_checkpoint(path, config.to_dict(), tensors, {"iteration": 0, "iterations": 4})
    loaded = agents.checkpoint.load_checkpoint(path)
    assert not is_held(path)
    path.write_bytes(bytes(path.stat().st_size))  # nor does what was loaded change with the file
    assert torch.equal(loaded.tensors["extra"], torch.arange(5))
    with pytest.raises(ValueError, match="checkpoint") as refused:
        agents.checkpoint.load_checkpoint(path)
    assert refused
    assert not is_held(path)


def test_policy_agent_plays_by_its_checkpoint(tmp_path: Path) -> None:
    run = Run(small_config(), tmp_path)
    run.save()
    loaded = PolicyAgent.load(tmp_path)
    result = duel(loaded, "random", run.config.rules, deals=10)
    assert result == duel(PolicyAgent(run.learner.network, 3, tmp_path.name), "random", run.config.rules, deals=10)
    with pytest.raises(ValueError, match="3 players"):
        loaded.act(Game("rolling_stone").view(Game("rolling_stone").turn))
    with pytest.raises(ValueError, match="temperature"):
        PolicyAgent(run.learner.network, 3, temperature=-1.0)


def test_greedy_policy_agent_takes_the_likeliest_action(tmp_path: Path) -> None:
    run = Run(small_config(), tmp_path)
    greedy = PolicyAgent(run.learner.network, 3, temperature=0.0)
    game = Game(run.config.rules, seed=4)
    views = np.array([game.view(game.turn)])
    assert len({int(greedy.act(views)[0]) for _ in range(5)}) == 1


@pytest.mark.parametrize("path", sorted((ROOT / "configs").glob("*.toml")), ids=lambda p: p.name)
def test_every_experiment_loads_and_survives_a_round_trip(path: Path) -> None:
    config = load_config(path)
    assert TrainConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("total_decision = 5", "total_decision is not a setting"),
        ("[ppo]\nclip = 0.0", "ppo.clip=0.0 is not allowed"),
        ("[ppo]\nsteps = 1.5", "ppo.steps=1.5 is not allowed: it must be a int"),
        ("[rules]\npreset = 'whist'", "preset='whist'"),
        ("[rules]\nnum_players = 9", "num_players=9"),
        ("seed = ", "Invalid value"),
        ("learner = 'sarsa'", "learner='sarsa' is not allowed: it must be one of 'ppo'"),
        ("learner = 3", "learner=3 is not allowed: it must be a str"),
        ("ppo = 3", "ppo=3 is not allowed: it must be a table of settings"),
        ("[settings]\nclip = 0.1", "settings is not a setting: allowed are .*, ppo"),
        ("[network]\nkind = 'other'", "network.kind='other' is not allowed"),
        ("device = 'abacus'", "device='abacus' is not allowed: it must be one that PyTorch has here: cpu"),
    ],
)
def test_wrong_config_is_refused_by_name(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=said) as caught:
        load_config(path)
    assert str(path) in str(caught.value)


def command(*arguments: object) -> list[str]:
    return [sys.executable, "train.py", *map(str, arguments)]


def test_command_line_interrupted_and_resumed(tmp_path: Path) -> None:
    """Ctrl-C saves and says how to go on; going on ends with the table of win shares."""
    folder = tmp_path / "run"
    arguments = (
        "--smoke",
        "--learner",
        "ppo",
        "--run",
        folder,
        "--total-decisions",
        20_480,
        "--evaluation.deals-on-the-way",
        0,
        "--evaluation.deals",
        4,
    )
    process = subprocess.Popen(
        command(*arguments), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    deadline = time.monotonic() + 120
    while not (folder / "metrics.jsonl").exists() or not (folder / "metrics.jsonl").read_text(encoding="utf-8"):
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()[0]
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    output = process.communicate(timeout=60)[0]
    assert process.returncode == 130, output
    assert "--resume" in output
    resumed = subprocess.run(
        command("--resume", folder), cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert "win share" in resumed.stdout
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["iteration"] for line in lines] == list(range(1, 11))
    assert {d["opponent"] for d in json.loads((folder / "evaluation.json").read_text(encoding="utf-8"))} == {
        "random",
        "heuristic",
    }


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--config", "nowhere.toml"], "nowhere.toml"),
        (["--resume", "nowhere"], "nowhere"),
        (["--resume", "nowhere", "--seed", "3"], "--resume keeps all settings"),
        (["--players", "9"], "num_players=9"),
        (["--ppo.clip", "0"], "ppo.clip"),
        (["--learner", "sarsa"], "learner='sarsa' is not allowed"),
    ],
)
def test_command_line_refuses_bad_input_in_words(arguments: list[str], said: str) -> None:
    result = subprocess.run(command(*arguments), cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    output = result.stdout + result.stderr
    assert result.returncode == 2, output
    assert said in output.replace("\n", " ")
    assert "Traceback" not in output


def test_seeds_of_numpy_can_be_written_to_json() -> None:
    assert json.loads(json.dumps(TrainConfig(seed=np.int64(7)).to_dict()))["seed"] == 7  # type: ignore[arg-type]
