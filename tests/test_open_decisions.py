"""Decisions whose outcome lies beyond a rollout are learnt from in a later one: none is chosen by its outcome."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from agents.chain import advantages_by_seat, transitions  # noqa: E402  after the skip
from agents.collector import Collector  # noqa: E402
from agents.company import Company  # noqa: E402
from agents.learner import LearnerConfig  # noqa: E402
from rs_env import Rules, make_agent  # noqa: E402
from rs_env.solve.exact import GameTree  # noqa: E402

STEPS, GAMES = 2, 400
# All that the rest of a game depends on when everybody plays at random.
PLAYED = ("hand", "turn", "leader", "led", "trick", "played", "pending", "still_in", "leavers", "barred", "actions")


def names_of(states: np.ndarray) -> list[bytes]:
    fields = [np.ascontiguousarray(states[name]).reshape(len(states), -1).view(np.uint8) for name in PLAYED]
    return [row.tobytes() for row in np.concatenate(fields, 1)]


def exact_values(tree: GameTree) -> dict[bytes, float]:
    """What the seat to act will get in the mean, by state, when everybody plays at random."""
    profile = tree.uniform()
    chosen = profile.ravel()[tree.information_set[tree.parent] * 53 + tree.action]
    values = tree.rewards.copy()
    for k in range(len(tree.levels) - 2, 0, -1):
        here = slice(tree.levels[k], tree.levels[k + 1])
        np.add.at(values, tree.parent[here], (tree.chance[here] * chosen[here])[:, None] * values[here])
    running = np.flatnonzero(tree.information_set >= 0)
    worth = values[running, tree.states["turn"][running]]
    return dict(zip(names_of(tree.states[running]), worth.tolist(), strict=True))


class Random:
    """Plays at random, and notes of each decision what it is worth and in which row it was taken."""

    def __init__(self, rules: Rules) -> None:
        self.values = exact_values(GameTree(rules))
        self.rng = np.random.default_rng(1)
        self.collector = Collector(LearnerConfig(rules=rules), GAMES, STEPS, notes=2)
        self.rollout = self.collector.rollout

    def note(self, t: int, games: np.ndarray) -> None:
        states = self.collector.env.states[games]
        self.rollout.notes[t, games, 0] = [self.values[name] for name in names_of(states)]
        self.rollout.notes[t, games, 1] = t

    def __call__(self, t: int, games: np.ndarray) -> np.ndarray:
        self.note(t, games)
        mask = self.rollout.action_mask[t, games]
        return (self.rng.random(mask.shape) * mask).argmax(1)


def test_the_mean_advantage_of_the_last_row_is_0_with_exact_values() -> None:
    """Of all decisions of it, those that only a later rollout closes among them."""
    rules = Rules.preset("tiny")
    player, first = Random(rules), rules.num_players
    found, carried = [], 0
    for iteration in range(60):
        player.collector.collect(player, iteration)
        player.note(len(player.rollout.action), np.arange(GAMES))
        advantage, valid = advantages_by_seat(player.rollout, player.rollout.notes[:, :, 0], 1.0, 0.9)
        learnt = valid & player.rollout.learns & (player.rollout.notes[:-1, :, 1] == first + STEPS - 1)
        found.append(advantage[learnt])
        carried += int(learnt[:first].sum())
    advantages = np.concatenate(found)
    error = advantages.std() / np.sqrt(len(advantages))
    assert abs(advantages.mean()) < 4 * error < 0.02
    assert 0.4 < carried / len(advantages) < 0.6


def test_every_decision_is_learnt_from_once() -> None:
    """Whether its rollout shows what comes of it or a later one; also after a restore."""
    company = Company([[0, 0, 0], [0, 1, 0]], [make_agent("random")])
    config = LearnerConfig(rules=Rules(num_players=3, max_actions=60))
    taken: list[tuple[int, bytes]] = []
    learnt: list[bytes] = []
    rng = np.random.default_rng(1)
    collector = Collector(config, 7, 5, company)
    for iteration in range(30):
        rollout = collector.rollout

        def decide(t: int, games: np.ndarray, rollout=rollout, iteration=iteration) -> np.ndarray:
            taken.extend((iteration, rollout.observation[t, game].tobytes()) for game in games)
            return (rng.random((len(games), 53)) * rollout.action_mask[t, games]).argmax(1)

        collector.collect(decide, iteration)
        learnt += [row.tobytes() for row in transitions(rollout).observation]
        if iteration == 12:
            tensors = {name: value.clone() for name, value in collector.tensors().items()}
            collector = Collector(config, 7, 5, company)
            collector.restore(tensors)
    left = len(collector.tensors()["open.game"])
    assert 0 < left <= 21 and len(learnt) == len(taken) - left
    early = [name for iteration, name in taken if iteration < 20]
    assert not set(early) - set(learnt)
    assert sum(name in set(learnt) for name in early) == len(early)


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("open.seat", lambda t: t + 9, r"open\.seat: numbers must be in 0\.\.2"),
        ("open.game", lambda t: t - 99, r"open\.game: numbers must be in 0\.\.6"),
        ("open.action", lambda t: t[:1], r"open\.action: torch\.int64 of shape \(1,\)"),
        ("open.game", lambda t: None, r"open\.game: missing"),
    ],
)
def test_open_decisions_that_do_not_fit_are_refused(name, change, said) -> None:  # type: ignore[no-untyped-def]
    collector = Collector(LearnerConfig(rules=Rules(num_players=3)), 7, 5)
    collector.collect(lambda t, games: collector.rollout.action_mask[t, games].argmax(1), 0)
    tensors = collector.tensors()
    tensors[name] = change(tensors[name])
    if tensors[name] is None:
        del tensors[name]
    with pytest.raises(ValueError, match=said):
        collector.restore(tensors)
