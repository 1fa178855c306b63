"""What counts as an action, everywhere: whole numbers of any library are played, what is no action is a TypeError and
changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest

import rs_env
from rs_env import ActionTypeError, Game, IllegalActionError, SelfPlayVectorEnv
from rs_env.actions import action_number

FORMS: dict[str, Callable[[int], Any]] = {
    "int": int,
    "int64": np.int64,
    "uint8": np.uint8,
    "array without dimensions": np.array,
    "array of one": lambda a: np.array([a]),
    "matrix of one": lambda a: np.array([[a]], np.int32),
    "list of one": lambda a: [a],
    "tuple of one": lambda a: (a,),
    "object with __index__": lambda a: type("Card", (), {"__index__": lambda _: a})(),
}
NO_ACTIONS: list[Any] = [
    None, 1.0, np.float32(3), np.array([1.0]), np.array(2.0), True, np.True_, np.array([True]), [True], "7c", "52",
    ["7c"], b"7", {}, [], [[]], [1, 2], np.array([1, 2]), np.array([], np.int64), np.timedelta64(3, "s"),
    np.array([3], "m8[s]"), object(), 1j, [None], [[1], [1, 2]],
]  # fmt: skip


def torch_forms() -> dict[str, Callable[[int], Any]]:
    torch = pytest.importorskip("torch")
    return {
        "tensor": torch.tensor,
        "tensor of one": lambda a: torch.tensor([a]),
        "byte tensor": lambda a: torch.tensor([[a]], dtype=torch.uint8),
    }


class Driver:
    """One way to play a single game: reset, legal actions, step, and all that must not change when a step is
    refused."""

    def __init__(self, env: Any) -> None:
        self.env = env
        env.reset(seed=3)

    def game(self) -> Game:
        return self.env.unwrapped.game

    def first_legal(self) -> int:
        return self.game().legal_actions()[0]

    def step(self, action: Any) -> Any:
        return self.env.step(action)

    def everything(self) -> Any:
        game = self.game()
        rewards = getattr(self.env, "rewards", None)
        return game.states.tobytes(), str(game.history), str(rewards), str(getattr(self.env, "terminations", None))


class ParallelDriver(Driver):
    def step(self, action: Any) -> Any:
        mover = f"player_{self.game().turn}"
        return self.env.step({agent: action if agent == mover else 0 for agent in self.env.agents})


DRIVERS: dict[str, Callable[[], Driver]] = {
    "raw_env": lambda: Driver(rs_env.raw_env()),
    "env": lambda: Driver(rs_env.env()),
    "flat env": lambda: Driver(rs_env.env(flat=True, observation_dtype="float32")),
    "parallel_env": lambda: ParallelDriver(rs_env.parallel_env()),
    "Gymnasium, penalise": lambda: Driver(gymnasium.make("rs_env/RollingStone-v0", opponents="random")),
    "Gymnasium, random": lambda: Driver(
        gymnasium.make("rs_env/RollingStone-v0", opponents="random", illegal_action="random")
    ),
    "Gymnasium, raise": lambda: Driver(
        gymnasium.make("rs_env/RollingStone-v0", opponents="random", illegal_action="raise")
    ),
}


@pytest.mark.parametrize("name", DRIVERS)
def test_whole_numbers_of_any_library_are_that_action(name: str) -> None:
    forms = FORMS | torch_forms()
    plain = DRIVERS[name]()
    plain.step(plain.first_legal())
    expected = plain.everything()
    for form, convert in forms.items():
        driver = DRIVERS[name]()
        driver.step(convert(driver.first_legal()))
        assert driver.everything() == expected, form


@pytest.mark.parametrize("name", DRIVERS)
def test_what_is_no_action_is_a_type_error_and_changes_nothing(name: str) -> None:
    torch = pytest.importorskip("torch")
    driver = DRIVERS[name]()
    before = driver.everything()
    for action in [*NO_ACTIONS, torch.tensor(1.0), torch.tensor([1, 2]), torch.tensor(True), torch.tensor([])]:
        with pytest.raises(TypeError, match="action") as refusal:
            driver.step(action)
        assert type(action).__name__ in str(refusal.value)
        assert driver.everything() == before, repr(action)
    driver.step(driver.first_legal())  # and the game goes on
    assert driver.everything() != before


def test_game_takes_text_but_no_other_thing_that_is_no_action() -> None:
    game = Game(seed=3)
    before = game.states.tobytes()
    for action in NO_ACTIONS:
        if not isinstance(action, str):
            with pytest.raises(ActionTypeError, match="may take"):
                game.play(action)
    assert game.states.tobytes() == before


def test_the_error_is_an_illegal_action_too() -> None:
    with pytest.raises(IllegalActionError):
        action_number(1.5)
    assert issubclass(ActionTypeError, TypeError)


def read_only(actions: np.ndarray) -> np.ndarray:
    copied = actions.copy()
    copied.flags.writeable = False
    return copied


BATCHES: dict[str, Callable[[], Any]] = {
    "self-play": lambda: SelfPlayVectorEnv(3, seed=1),
    "Gymnasium": lambda: gymnasium.make_vec(
        "rs_env/RollingStone-v0", 3, vectorization_mode="vector_entry_point", opponents="random"
    ),
}


def started(name: str) -> tuple[Any, np.ndarray]:
    """A batch and legal actions for it."""
    vec = BATCHES[name]()
    shown = vec.reset(seed=1)
    masks = shown.action_mask if name == "self-play" else shown[1]["action_mask"]
    return vec, masks.argmax(1)


@pytest.mark.parametrize("name", BATCHES)
def test_batches_take_whole_numbers_of_any_library(name: str) -> None:
    torch = pytest.importorskip("torch")
    vec, actions = started(name)
    vec.step(actions)
    expected = vec.states.tobytes()
    for convert in (
        list,
        tuple,
        np.uint8,
        read_only,
        torch.tensor,
        lambda a: torch.tensor(a, dtype=torch.int8),
        lambda a: np.asfortranarray(a)[::1],
    ):
        other, actions = started(name)
        other.step(convert(actions))
        assert other.states.tobytes() == expected


@pytest.mark.parametrize("name", BATCHES)
def test_batches_refuse_what_is_no_action_as_a_type_error(name: str) -> None:
    torch = pytest.importorskip("torch")
    vec, actions = started(name)
    before = vec.states.tobytes()
    for wrong in (
        actions.astype(float),
        actions.astype(bool),
        ["7c"] * 3,
        [None] * 3,
        torch.tensor(actions, dtype=torch.float32),
    ):
        with pytest.raises(TypeError, match="actions: dtype"):
            vec.step(wrong)
    for wrong in (actions[:2], actions[:, None], int(actions[0]), None):
        with pytest.raises(ValueError, match="actions: shape"):
            vec.step(wrong)
    assert vec.states.tobytes() == before
