"""Opponents of the Gymnasium environments: their draws belong to the game, whoever else plays with the same agent."""

from __future__ import annotations

import random
import warnings
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from rs_env import Game
from rs_env.agent import draws_by_seed
from rs_env.baselines import make_agent
from rs_env.envs.gymnasium_single import RollingStoneEnv
from rs_env.envs.gymnasium_vector import RollingStoneVectorEnv

SEARCHING = ["pimc:worlds=2", "heuristic", "ismcts:iterations=8"]


class Drawing:
    """An agent with random numbers of its own, which knows nothing of seeds for each view."""

    name = "drawing"

    def __init__(self) -> None:
        self.draws = random.Random(0)
        self.asked = 0

    def reset(self, seed: int | None) -> None:
        self.draws = random.Random(seed)

    def act(self, views: np.ndarray) -> np.ndarray:
        self.asked += len(views)
        return np.array(
            [self.draws.choice([a for a in range(53) if legal >> a & 1]) for legal in views["legal"].tolist()]
        )


class Failing(Drawing):
    """An agent that raises when told to."""

    fails = False

    def act(self, views: np.ndarray) -> np.ndarray:
        if self.fails:
            raise ZeroDivisionError("on purpose")
        return super().act(views)


def play_out(env: RollingStoneEnv, seed: int | None, resets: int = 1) -> list[list[tuple[int, int]]]:
    """The actions of games that the learner plays with its lowest action."""
    played = []
    for number in range(resets):
        _, info = env.reset(seed=seed if number == 0 else None)
        while info["action_mask"].any():
            *_, info = env.step(int(info["action_mask"].argmax()))
        played += env.game.history
    return played


def quiet_sync(arguments: dict[str, Any], mode: AutoresetMode) -> SyncVectorEnv:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the copies that each environment takes
        return SyncVectorEnv([partial(RollingStoneEnv, **arguments)] * 3, autoreset_mode=mode)


@pytest.mark.parametrize("opponents", [SEARCHING, ["random", Drawing(), "random"]], ids=["searching", "drawing"])
@pytest.mark.parametrize("learner_seat", [2, None])
@pytest.mark.parametrize("seeds", [7, [30, 7, 2**64 - 1], np.array([3, 3, 4])], ids=["one seed", "seeds", "array"])
def test_each_game_of_a_batch_is_a_single_one_of_its_seed(opponents: Any, learner_seat: int | None, seeds: Any) -> None:
    arguments = {"rules": "schweller", "opponents": opponents, "learner_seat": learner_seat, "max_actions": 50}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        vec = RollingStoneVectorEnv(3, **arguments)
    listed = [7, 8, 9] if isinstance(seeds, int) else [int(seed) for seed in seeds]
    singles = [single_with_own_agents(arguments) for _ in listed]
    observations, infos = vec.reset(seed=seeds)
    shown = [env.reset(seed=seed) for env, seed in zip(singles, listed, strict=True)]
    ended = 0
    for _ in range(60):
        for i, (observation, info) in enumerate(shown):
            assert vec.learner_seats[i] == singles[i].learner_seat
            assert np.array_equal(observations[i], observation)
            assert np.array_equal(infos["action_mask"][i], info["action_mask"])
        actions = infos["action_mask"].argmax(1)
        observations, rewards, *_, infos = vec.step(actions)
        for i, env in enumerate(singles):
            observation, reward, terminated, truncated, info = env.step(int(actions[i]))
            assert rewards[i] == reward
            ended += terminated or truncated
            shown[i] = env.reset() if terminated or truncated else (observation, info)
    assert ended > 3


def single_with_own_agents(arguments: dict[str, Any]) -> RollingStoneEnv:
    own = [Drawing() if isinstance(agent, Drawing) else agent for agent in arguments["opponents"]]
    return RollingStoneEnv(**{**arguments, "opponents": own})


@pytest.mark.parametrize("opponent", ["pimc:worlds=2", "heuristic", Drawing()], ids=["pimc", "heuristic", "drawing"])
def test_environments_that_share_an_agent_do_not_disturb_each_other(opponent: Any) -> None:
    alone = play_out(RollingStoneEnv(opponents=Drawing() if isinstance(opponent, Drawing) else make_agent(opponent)), 3)
    shared = make_agent(opponent) if isinstance(opponent, str) else opponent
    first = RollingStoneEnv(opponents=shared)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        second = RollingStoneEnv(opponents=shared)
    _, info = first.reset(seed=3)
    while info["action_mask"].any():
        second.reset(seed=99)
        *_, info = first.step(int(info["action_mask"].argmax()))
    assert first.game.history == alone


def test_seats_drawn_for_the_learner_depend_on_seed_and_deal_only() -> None:
    seats = {}
    for opponents in ("random", "heuristic"):
        env = RollingStoneEnv(learner_seat=None, opponents=opponents)
        seats[opponents] = []
        for number in range(40):
            env.reset(seed=5 if number == 0 else None)
            seats[opponents].append(env.learner_seat)
            if (
                env.game.deals_done == 0 and env.game.num_actions > 20
            ):  # dealt again, where the numbers of the decks part
                break
    assert seats["random"] == seats["heuristic"]
    assert set(seats["random"]) == set(range(4))


def test_a_reset_of_some_games_leaves_the_draws_of_others_alone() -> None:
    def actions_of_others(reseeded: list[int | None]) -> list[bytes]:
        vec = RollingStoneVectorEnv(3, opponents=SEARCHING)
        vec.reset(seed=1)
        _, infos = vec.reset(seed=reseeded)
        states = []
        for _ in range(8):
            *_, infos = vec.step(infos["action_mask"].argmax(1))
            states += [vec.states[i].tobytes() for i in (0, 2)]
        return states

    assert actions_of_others([None, 7, None]) == actions_of_others([None, 8, None])


def test_an_agent_without_seeds_is_copied_with_a_warning_and_the_first_game_has_the_agent() -> None:
    agent = Drawing()
    with pytest.warns(UserWarning, match="opponent 'drawing' is copied in 2 of the 3 games"):
        vec = RollingStoneVectorEnv(3, opponents=agent)
    assert vec.opponents == [agent] * 3
    _, infos = vec.reset(seed=0)
    vec.step(infos["action_mask"].argmax(1))
    assert agent.asked > 0
    with pytest.warns(UserWarning, match="because another environment plays with it"):
        RollingStoneEnv(opponents=agent)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        single = RollingStoneEnv(opponents=Drawing())
        RollingStoneVectorEnv(3, opponents=SEARCHING)
    assert isinstance(single.opponents[0], Drawing)


def test_an_agent_that_cannot_be_copied_is_refused() -> None:
    agent = Drawing()
    agent.lock = __import__("threading").Lock()  # type: ignore[attr-defined]
    with (
        pytest.warns(UserWarning, match="drawing"),
        pytest.raises(ValueError, match="'drawing' is not allowed in several games"),
    ):
        RollingStoneVectorEnv(2, opponents=agent)


@pytest.mark.parametrize("name", ["random", "heuristic", "pimc:worlds=3", "ismcts:iterations=20", "expert:worlds=2"])
def test_seeds_for_each_view_are_those_of_reset(name: str) -> None:
    game, agent = Game(seed=2), make_agent(name)
    assert draws_by_seed(agent)
    views = np.array([game.view(game.turn)] * 8)  # type: ignore[arg-type]
    seeds = np.arange(100, 108, dtype=np.uint64)
    expected = []
    for seed in seeds.tolist():
        agent.reset(seed)
        expected.append(int(agent.act(views[:1])[0]))
    agent.reset(0)
    assert agent.act(views, seeds).tolist() == expected  # type: ignore[call-arg]
    assert agent.act(views, seeds=seeds[::-1]).tolist() == expected[::-1]  # type: ignore[call-arg]
    for wrong in (seeds[:3], seeds.astype(np.int64), 5):
        with pytest.raises(ValueError, match="seeds"):
            agent.act(views, wrong)  # type: ignore[call-arg]


def test_policy_agents_take_seeds_for_each_view() -> None:
    pytest.importorskip("torch")
    from agents.networks import PolicyValueNet
    from agents.policy import PolicyAgent

    game = Game(seed=2)
    agent = PolicyAgent(PolicyValueNet(4, 16, 1), 4, temperature=1.0)
    views = np.array([game.view(game.turn)] * 12)  # type: ignore[arg-type]
    seeds = np.arange(12, dtype=np.uint64)
    together = agent.act(views, seeds).tolist()
    one_by_one = []
    for seed in seeds.tolist():
        agent.reset(seed)
        one_by_one.append(int(agent.act(views[:1])[0]))
    assert together == one_by_one
    assert len(set(together)) > 1


# Exceptions of opponents


def test_an_opponent_that_raises_breaks_the_game_off_until_reset() -> None:
    agent = Failing()
    env = RollingStoneEnv(opponents=agent, skip_forced=True)
    _, info = env.reset(seed=1)
    agent.fails = True
    with pytest.raises(ZeroDivisionError):
        while True:
            *_, info = env.step(int(info["action_mask"].argmax()))
    state = env.game.states.tobytes()
    for action in range(53):
        with pytest.raises(gymnasium.error.ResetNeeded, match="reset"):
            env.step(action)
    assert env.game.states.tobytes() == state and not env.action_masks().any()
    with pytest.raises(ZeroDivisionError):
        for seed in range(9):
            env.reset(seed=seed)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)
    agent.fails = False
    assert play_out(env, 3) == play_out(RollingStoneEnv(opponents=Drawing(), skip_forced=True), 3)


def test_an_opponent_that_raises_when_it_is_reset_leaves_everything_as_it_was() -> None:
    class Refusing(Drawing):
        refuses = True

        def reset(self, seed: int | None) -> None:
            if self.refuses:
                raise ZeroDivisionError("on purpose")
            super().reset(seed)

    agent = Refusing()
    env = RollingStoneEnv(opponents=agent, render_mode="ansi")
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            env.reset(seed=3)
        for call in (env.render, lambda: env.step(0)):
            with pytest.raises(gymnasium.error.ResetNeeded):
                call()
    agent.refuses = False
    assert play_out(env, 3) == play_out(RollingStoneEnv(opponents=Drawing()), 3)
    agent.refuses = True
    with pytest.raises(ZeroDivisionError):
        env.reset(seed=8)
    agent.refuses = False
    env.reset()
    assert env.game.seed == 3  # the seed that was refused is not half taken


def test_an_opponent_that_raises_breaks_all_games_of_a_batch_off_until_reset() -> None:
    agent = Failing()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        vec = RollingStoneVectorEnv(2, opponents=agent)
    _, infos = vec.reset(seed=1)
    agent.fails = True
    with pytest.raises(ZeroDivisionError):
        while True:
            *_, infos = vec.step(infos["action_mask"].argmax(1))
    state = vec.states.tobytes()
    for actions in ([0, 0], [52, 52]):
        with pytest.raises(gymnasium.error.ResetNeeded, match="exception"):
            vec.step(actions)
    with pytest.raises(gymnasium.error.ResetNeeded, match="all"):
        vec.reset(options={"reset_mask": np.array([True, False])})
    assert vec.states.tobytes() == state
    agent.fails = False
    first, _ = vec.reset(seed=1)
    again, _ = vec.reset(seed=1)
    assert np.array_equal(first, again)


# Autoreset and resets of some games, as Gymnasium's own batches have them


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("illegal_action", ["penalise", "random"])
@pytest.mark.parametrize("opponents", ["random", SEARCHING], ids=["random", "searching"])
def test_every_autoreset_mode_is_that_of_gymnasium(mode: AutoresetMode, illegal_action: str, opponents: Any) -> None:
    arguments = {
        "rules": "schweller",
        "opponents": opponents,
        "learner_seat": None,
        "illegal_action": illegal_action,
        "max_actions": 50,
    }
    ours = gymnasium.make_vec(
        "rs_env/RollingStone-v0", 3, vectorization_mode="vector_entry_point", autoreset_mode=mode.value, **arguments
    )
    theirs = quiet_sync(arguments, mode)
    assert ours.metadata["autoreset_mode"] is theirs.metadata["autoreset_mode"] is mode
    (a, info_a), (b, info_b) = ours.reset(seed=11), theirs.reset(seed=11)
    rng = np.random.default_rng(0)
    done, ended = np.zeros(3, bool), 0
    for _ in range(90):
        check_same(a, info_a, b, info_b)
        if mode is AutoresetMode.DISABLED and done.any():
            with pytest.raises(gymnasium.error.ResetNeeded, match=f"game {int(done.argmax())} is over"):
                ours.step(np.zeros(3, int))
            seeds = [None, 40 + ended, None]
            (a, info_a), (b, info_b) = (
                env.reset(seed=seeds, options={"reset_mask": done.copy()}) for env in (ours, theirs)
            )
            check_same(a, info_a, b, info_b)
        masks = ours.action_masks()
        actions = np.array([rng.choice(np.flatnonzero(mask)) if mask.any() else 0 for mask in masks])
        actions[rng.random(3) < 0.03] = 7  # not in this deck, so illegal
        a, *rest_a, info_a = ours.step(actions)
        b, *rest_b, info_b = theirs.step(actions)
        for x, y in zip(rest_a, rest_b, strict=True):
            assert np.array_equal(x, y) and x.dtype == y.dtype
        done = rest_a[1] | rest_a[2]
        ended += int(done.sum())
    assert ended > 5


def check_same(a: np.ndarray, info_a: dict[str, Any], b: np.ndarray, info_b: dict[str, Any]) -> None:
    """Equal observations and equal infos, entries that are masked out not counted."""
    assert np.array_equal(a, b)
    assert info_a.keys() == info_b.keys()
    for key in info_a:
        if key.startswith("_"):
            assert np.array_equal(info_a[key], info_b[key])
        elif isinstance(info_a[key], dict):
            check_same(np.zeros(0), info_a[key], np.zeros(0), info_b[key])
        else:
            for x, y, shown in zip(info_a[key], info_b[key], info_a[f"_{key}"], strict=True):
                assert not shown or np.array_equal(x, y)


def test_rows_after_the_end_are_empty() -> None:
    vec = RollingStoneVectorEnv(2, opponents="random", max_actions=6, autoreset_mode="NextStep")
    _, infos = vec.reset(seed=0)
    done = np.zeros(2, bool)
    while not done.any():
        *_, terminated, truncated, infos = vec.step(infos["action_mask"].argmax(1))
        done = terminated | truncated
    assert not infos["action_mask"][done].any() and not vec.action_masks()[done].any()
    *_, infos = vec.step(np.full(2, 52))
    assert infos["action_mask"][done].any()


@pytest.mark.parametrize(
    ("mask", "error"),
    [
        ([True, False, False], TypeError),
        (np.array([1, 0, 0]), TypeError),
        (np.zeros(3, bool), ValueError),
        (np.ones(2, bool), ValueError),
        (np.ones((3, 1), bool), ValueError),
        (None, TypeError),
    ],
    ids=["list", "int", "none", "short", "matrix", "missing"],
)
def test_wrong_reset_masks_are_refused_as_by_gymnasium(mask: Any, error: type) -> None:
    vec = RollingStoneVectorEnv(3, opponents="random")
    vec.reset(seed=0)
    before = vec.states.tobytes()
    with pytest.raises(error, match="reset_mask"):
        vec.reset(options={"reset_mask": mask})
    with pytest.raises((error, AssertionError), match="reset_mask"):  # the latter in older versions of Gymnasium
        quiet_sync({"opponents": "random"}, AutoresetMode.DISABLED).reset(options={"reset_mask": mask})
    assert vec.states.tobytes() == before


def test_a_first_reset_may_leave_games_out_but_not_step() -> None:
    vec = RollingStoneVectorEnv(2, opponents="random")
    vec.reset(seed=3, options={"reset_mask": np.array([False, True])})
    with pytest.raises(gymnasium.error.ResetNeeded):
        vec.step([0, 0])


def test_options_of_a_reset_must_be_a_mapping() -> None:
    for env in (RollingStoneVectorEnv(2), RollingStoneEnv()):
        with pytest.raises(ValueError, match="options='deck'"):
            env.reset(options="deck")  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", ["nonsense", 3, None])
def test_unknown_autoreset_modes_are_refused(mode: Any) -> None:
    with pytest.raises(ValueError, match="autoreset_mode="):
        RollingStoneVectorEnv(2, autoreset_mode=mode)


# Seeds


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.array])
def test_numpy_integers_are_seeds_everywhere(kind: Any) -> None:
    single, again = RollingStoneEnv(opponents="random"), RollingStoneEnv(opponents="random")
    made = gymnasium.make("rs_env/RollingStone-v0", opponents="random")
    expected = again.reset(seed=3)[0]
    assert np.array_equal(single.reset(seed=kind(3))[0], expected)
    assert np.array_equal(made.reset(seed=kind(3))[0], expected)
    assert np.array_equal(RollingStoneVectorEnv(2, opponents="random").reset(seed=kind(3))[0][0], expected)
    assert np.array_equal(RollingStoneVectorEnv(2, opponents="random").reset(seed=[kind(3), None])[0][0], expected)


@pytest.mark.parametrize("seed", [-1, 2**64, 1.0, "3", True, np.timedelta64(3, "s"), [1]])
def test_a_wrong_seed_is_refused_before_anything_changes(seed: Any) -> None:
    env, untouched = (RollingStoneEnv(opponents="pimc:worlds=2", learner_seat=None) for _ in range(2))
    for each in (env, untouched):
        each.reset(seed=5)
    with pytest.raises(ValueError, match="seed"):
        env.reset(seed=seed)
    assert play_out(env, None, resets=2) == play_out(untouched, None, resets=2)


@pytest.mark.parametrize(
    "seed", [-1, 2**64, 2**64 - 1, 1.0, "33", True, [1, 2], [1, -1, 2], [0, 1.5, 2], np.zeros((3, 1), int), np.zeros(3)]
)
def test_wrong_seeds_of_a_batch_are_refused_before_anything_changes(seed: Any) -> None:
    vec, untouched = (RollingStoneVectorEnv(3, opponents="pimc:worlds=2") for _ in range(2))
    for each in (vec, untouched):
        each.reset(seed=5)
    with pytest.raises(ValueError, match="seed"):
        vec.reset(seed=seed)
    (a, infos), (b, _) = vec.reset(), untouched.reset()
    assert np.array_equal(a, b)
    for _ in range(5):
        actions = infos["action_mask"].argmax(1)
        (a, *_, infos), (b, *_) = vec.step(actions), untouched.step(actions)
        assert np.array_equal(a, b)
