"""Learning from a search: values of all actions, lessons that are the same whoever makes them, who sits in company."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hidden import positions

torch = pytest.importorskip("torch")

import agents.distill  # noqa: E402  after the skip
from agents.architectures import NetworkConfig  # noqa: E402
from agents.company import LEARNER, Company  # noqa: E402
from agents.config import TrainConfig  # noqa: E402
from agents.distill import LESSONS, Distill, DistillConfig  # noqa: E402
from agents.seating import SeatsConfig, company_of  # noqa: E402
from agents.teacher import Piece, Teacher, drawn, read_piece, write_piece  # noqa: E402
from rs_env import Game, Rules, make_agent  # noqa: E402
from rs_env.baselines.search import NOT_TOLD  # noqa: E402
from rs_env.baselines.searchers import Informed, Pimc  # noqa: E402
from rs_env.engine.view import VIEW  # noqa: E402

ROOT = Path(__file__).parents[1]
RULES = Rules(num_players=3, max_actions=60)
CONFIG = TrainConfig(
    rules=RULES,
    total_decisions=60,
    threads=1,
    learner="distill",
    network=NetworkConfig(hidden=16, layers=1),
    settings=DistillConfig(games=4, steps=5, workers=0, gradient_steps=3, minibatch=10, worlds=2, review=0.67),
    company=(SeatsConfig(seats="drawn", opponents=("heuristic", "random")),),
)
TEACHER = Teacher(RULES, 7, Company.self_play(3), 4, 6, 0.02, Informed([], worlds=3, policy="heuristic", horizon=20))


# Values of all actions


def test_values_are_those_of_the_actions_that_are_taken() -> None:
    player = Pimc(worlds=6, policy="heuristic", noise=0.1, spread=0.5, endgame=0)
    games = [Game("rolling_stone", seed=seed) for seed in range(6)]
    for game in games:
        for _ in range(20):
            game.play(game.legal_actions()[-1])
    views = np.array([game.view(game.turn or 0) for game in games])
    values = player.values(views)
    for game, row, action in zip(games, values, player.act(views), strict=True):
        assert np.flatnonzero(~np.isnan(row)).tolist() == game.legal_actions()
        assert np.nanmin(row) >= 0.0 and np.nanmax(row) <= 1.0
        assert row[action] == np.nanmax(row)
    assert np.array_equal(player.values(views[::-1])[::-1], values, equal_nan=True)


def test_every_second_world_has_the_others_more_careless() -> None:
    """One world is played by the first share alone; two are not."""
    views = np.array([Game("rolling_stone", seed=1).view(Game("rolling_stone", seed=1).turn or 0)])

    def values(worlds: int, **options: Any) -> np.ndarray:
        return Pimc(worlds=worlds, policy="heuristic", endgame=0, horizon=100, **options).values(views)

    plain, spread = {"noise": 0.05}, {"noise": 0.05, "spread": 0.9}
    assert np.array_equal(values(1, **plain), values(1, **spread), equal_nan=True)
    assert not np.array_equal(values(2, **plain), values(2, **spread), equal_nan=True)
    with pytest.raises(ValueError, match=r"noise \+ spread=1\.1 is not allowed"):
        Pimc(noise=0.2, spread=0.9)


def test_who_is_told_plays_out_as_what_it_is() -> None:
    """As a search that takes all others for such players from the start; of whom nothing is told, as it is."""
    games = [game for game in positions(Rules(), 3, 60) if len(game.legal_actions()) > 1][::6]
    views = np.array([game.view(game.turn) for game in games], VIEW)  # type: ignore[arg-type]
    options: dict[str, Any] = {"worlds": 5, "policy": "heuristic", "own_noise": 0.3, "horizon": 60, "endgame": 0}
    players = [make_agent("random"), make_agent("heuristic"), make_agent("low")]
    search = Informed(players, noise=0.2, spread=0.3, **options)  # type: ignore[arg-type]
    seats, found = np.zeros((len(views), 4), np.int64), {}
    for number, same in {0: {"noise": 1.0}, 1: {"noise": 0.02}, NOT_TOLD: {"noise": 0.2, "spread": 0.3}}.items():
        found[number], expected = search.values_among(views, seats + number), Pimc(**options, **same).values(views)
        lost = expected < 0  # among players at random alone a search counts what loses at once in every world as worse
        assert found[number][~lost].tolist() == pytest.approx(expected[~lost].tolist(), nan_ok=True)
    low = search.values_among(views, seats + 2)
    assert all(np.nanmax(abs(low - other)) > 0.05 for other in found.values())
    mixed = search.values_among(views, np.tile([0, 1, 2, NOT_TOLD], (len(views), 1)))
    assert not any(np.array_equal(mixed, other, equal_nan=True) for other in (*found.values(), low))
    assert np.array_equal(search.values(views), found[NOT_TOLD], equal_nan=True)


# Lessons


def equal(one: Piece, other: Piece) -> bool:
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(vars(one).values(), vars(other).values()))  # noqa: B905


def test_a_piece_depends_on_seed_and_number_alone() -> None:
    third = TEACHER.piece(3)
    TEACHER.piece(4)
    assert equal(third, TEACHER.piece(3))
    assert not equal(third, TEACHER.piece(4))
    assert not equal(third, replace(TEACHER, seed=8).piece(3))
    assert third.observation.shape[0] == third.values.shape[0] == 24


def test_pieces_go_round_the_tables_of_the_company() -> None:
    asked: list[int] = []

    class Listening:
        name = "listening"

        def reset(self, seed: int) -> None:
            """Nothing is drawn."""

        def act(self, views: np.ndarray) -> np.ndarray:
            asked.append(len(views))
            return make_agent("low").act(views)

    company = Company([[0, 0, 0]] * 4 + [[0, 1, 1]] * 4, [Listening()])
    teacher = replace(TEACHER, company=company)
    for number, sits_there in ((0, False), (1, True), (2, False)):
        asked.clear()
        teacher.piece(number)
        assert bool(asked) == sits_there


def test_the_teacher_draws_good_actions_more_often() -> None:
    values = np.full((4000, 53), np.nan, np.float32)
    values[:, [3, 9, 52]] = 0.5, 0.52, 0.0
    shares = np.bincount(drawn(values, 0.02, np.random.default_rng(1)), minlength=53) / 4000
    assert shares[[3, 9]] == pytest.approx(np.exp([-1, 0]) / np.exp([-1, 0]).sum(), abs=0.03)
    assert shares[[3, 9]].sum() == 1.0


def test_a_piece_that_is_lost_or_damaged_is_made_again(tmp_path: Path) -> None:
    path, piece, refused = tmp_path / "0.npz", TEACHER.piece(0), 0
    assert read_piece(path) is None
    write_piece(path, piece)
    whole = path.read_bytes()
    for place in range(0, len(whole), 97):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :])
        kept = read_piece(path)
        assert kept is None or equal(kept, piece)  # a time in it may be any
        refused += kept is None
    assert refused > len(whole) / 97 / 2
    for content in (b"", b"nonsense", whole[:-30]):
        path.write_bytes(content)
        assert read_piece(path) is None


def weights_of(learner: Distill) -> bytes:
    return b"".join(value.detach().numpy().tobytes() for value in learner.network.parameters())


def test_what_is_learnt_does_not_depend_on_who_makes_the_lessons(tmp_path: Path) -> None:
    here = Distill(CONFIG, CONFIG.settings, company_of(CONFIG.company, [3], CONFIG.seed))
    for _ in range(here.iterations):
        here.iterate()
    settings = replace(CONFIG.settings, workers=2)
    elsewhere = Distill(CONFIG, settings, company_of(CONFIG.company, [3], CONFIG.seed))
    with elsewhere.working_in(tmp_path):
        for _ in range(elsewhere.iterations):
            elsewhere.iterate()
    assert weights_of(here) == weights_of(elsewhere)
    assert len(list((tmp_path / LESSONS).iterdir())) == elsewhere.pieces == 3 == elsewhere.iterations - 2


def test_workers_of_a_cluster_make_the_same_lessons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    @contextmanager
    def threads(processes: int, cluster: str | None, **options: bool) -> Iterator[tuple[ThreadPoolExecutor, int]]:
        asked.append(cluster)
        with ThreadPoolExecutor(2) as executor:
            yield executor, 2

    monkeypatch.setattr(agents.distill, "executor_of", threads)
    learner = CONFIG.make_learner()  # has no workers of its own
    with learner.working_in(tmp_path, cluster="tcp://head:8786"):
        learner.iterate()
        assert asked == ["tcp://head:8786"]
        assert set(learner.lessons._made) == {1, 2}
    kept = read_piece(tmp_path / LESSONS / "000000.npz")
    assert kept is not None and equal(kept, learner.lessons.teacher.piece(0))


def test_a_process_that_may_have_none_makes_lessons_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(multiprocessing.current_process()._config, "daemon", True)  # type: ignore[attr-defined]
    learner = replace(CONFIG, settings=replace(CONFIG.settings, workers=2)).make_learner()
    with learner.working_in(tmp_path):
        assert not learner.lessons._made


def test_lessons_that_are_there_are_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learner = CONFIG.make_learner()
    with learner.working_in(tmp_path):
        learner.iterate()
        learner.iterate()
    made: list[int] = []
    piece = Teacher.piece
    monkeypatch.setattr(Teacher, "piece", lambda self, number: made.append(number) or piece(self, number))
    again = CONFIG.make_learner()
    again.restore(learner.tensors(), 2)
    with again.working_in(tmp_path):
        again.iterate()
    assert made == [2]


def test_processes_that_make_lessons_load_no_torch(tmp_path: Path) -> None:
    """Nor the main module, whatever it imports."""
    (tmp_path / "script.py").write_text(
        "import sys, torch\n"
        "from rs_env.executors import Processes\n"
        "if __name__ == '__main__':\n"
        "    with Processes(1, with_main=False) as pool:\n"
        "        pool.submit(exec, 'import agents.teacher').result()\n"
        '        asked = pool.submit(eval, \'("torch" in __import__("sys").modules)\')\n'
        "        print(asked.result(), 'torch' in sys.modules)\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, tmp_path / "script.py"],
        cwd=tmp_path,
        env={**__import__("os").environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["False", "True"], done.stderr


def test_the_policy_becomes_the_teachers() -> None:
    learner = CONFIG.make_learner()
    position = TEACHER.piece(0).observation[:1]
    learner._observation[:] = position
    learner._values[:] = np.nan
    learner._values[:, [1, 2]] = 0.5, 0.53
    learner._there = learner.pieces
    for _ in range(150):
        learner._learn()
    mask = torch.zeros(1, 53, dtype=torch.int8)
    mask[0, [1, 2]] = 1
    log_probs, value = learner.network(torch.from_numpy(position), mask)
    assert (log_probs[0, 2] - log_probs[0, 1]).item() == pytest.approx(0.03 / 0.02, abs=0.1)
    assert value.item() == pytest.approx(0.53, abs=0.02)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"worlds": 0}, r"distill\.worlds=0 is not allowed: it must be from 1"),
        ({"temperature": 0.0}, r"distill\.temperature=0\.0 is not allowed: it must be above 0"),
        ({"noise": 0.8}, r"distill\.spread=0\.48 is not allowed: it must be such that noise \+ spread is at most 1"),
        ({"review": -0.5}, r"distill\.review=-0\.5 is not allowed: it must be from 0 to 1000"),
        ({"workers": -1}, r"distill\.workers=-1"),
        ({"value_weight": float("inf")}, r"distill\.value_weight=inf"),
    ],
)
def test_wrong_settings_are_refused_by_name(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        DistillConfig(**change)


# Company as configuration


def tables(*parts: SeatsConfig, games: int = 400, players: int = 4) -> tuple[np.ndarray, list[str]]:
    company = company_of(parts, [players], 1)
    assert company is not None
    return company.seats_of(games, players), [agent.name for agent in company.frozen]


def test_games_are_shared_out_as_the_shares_say() -> None:
    seats, names = tables(
        SeatsConfig(share=2.0),
        SeatsConfig(share=1.0, seats="one", opponents=("heuristic",)),
        SeatsConfig(share=1.0, seats="one", opponents=("random", "low")),
    )
    assert names == ["heuristic", "random", "low"]
    learners = (seats == LEARNER).sum(1)
    assert (learners == 4).sum() == 200
    among = [seats[(seats == number).sum(1) == 3] for number in (1, 2, 3)]
    assert [len(rows) for rows in among] == [100, 52, 48]  # the two take turns after each round of seats
    for rows in among:
        assert set(np.argwhere(rows == LEARNER)[:, 1]) == {0, 1, 2, 3}
        assert max(np.bincount(np.argwhere(rows == LEARNER)[:, 1])) <= len(rows) / 4 + 1
    few, _ = tables(SeatsConfig(share=2.0), SeatsConfig(seats="one", opponents=("heuristic",)), games=6)
    assert ((few == LEARNER).sum(1) == 4).sum() == 4  # also of a few games


def test_drawn_seats_are_half_the_learners() -> None:
    seats, _ = tables(SeatsConfig(seats="drawn", opponents=("heuristic", "random")), games=1000)
    assert (seats == LEARNER).any(1).all()
    assert len({tuple(row) for row in seats}) > 40
    shares = np.bincount(seats.ravel()) / seats.size
    assert shares == pytest.approx([0.625, 0.1875, 0.1875], abs=0.02)  # 1/4 + 3/4 * 1/2 with one seat that is sure


def test_no_company_is_the_learner_everywhere() -> None:
    assert company_of((), [4], 1) is None
    assert TrainConfig.from_dict({}).company == ()


def test_trained_agents_may_sit_there(tmp_path: Path) -> None:
    from agents.run import Run

    Run(replace(CONFIG, company=()), tmp_path / "run")
    _, names = tables(SeatsConfig(seats="one", opponents=(str(tmp_path / "run"),)), players=3)
    assert names == ["run"]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"share": 0}, r"company\.share=0\.0 is not allowed: it must be above 0 and finite"),
        ({"share": "half"}, r"company\.share='half' is not allowed: it must be a float"),
        ({"seats": "two"}, r"company\.seats='two' is not allowed: it must be one of 'all', 'one', 'drawn'"),
        ({"opponents": ["random"]}, r"company\.opponents=\('random',\) is not allowed: it must be empty with seats"),
        ({"seats": "one"}, r"company\.opponents=\(\) is not allowed: it must be at least one name"),
        ({"seats": "one", "opponents": "nobody"}, r"company\.opponents: agent 'nobody' is not known: there are"),
        ({"seats": "one", "opponents": "sees_all"}, r"company\.opponents: agent 'sees_all' is not allowed: it sees"),
        ({"seats": "one", "opponents": "pimc:worlds=0"}, r"company\.opponents: worlds=0"),
        ({"seats": "one", "opponents": [3]}, r"company\.opponents=\(3,\) is not allowed"),
        ({"seats": "one", "opponents": "random", "temperature": -1}, r"company\.temperature=-1\.0"),
        ({"seat": "one"}, r"company\.seat is not a setting: allowed are company\.share"),
    ],
)
def test_wrong_company_is_refused_by_name(table: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        TrainConfig.from_dict({"company": [table]})
    with pytest.raises(ValueError, match="company"):
        TrainConfig.from_dict({"company": table})


def test_company_survives_a_round_trip() -> None:
    assert TrainConfig.from_dict(CONFIG.to_dict()) == CONFIG
    assert make_agent("heuristic").name == "heuristic"


def ends_its_process(teacher: bytes, number: int) -> None:
    os._exit(1)


def test_a_process_that_dies_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learner = replace(CONFIG, settings=replace(CONFIG.settings, workers=1)).make_learner()
    monkeypatch.setattr(agents.distill, "make_piece", ends_its_process)
    with pytest.raises(ChildProcessError, match="a process has ended"), learner.working_in(tmp_path):
        learner.iterate()
