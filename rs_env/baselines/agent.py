"""What an agent is, and how agents are made by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from rs_env.baselines.rules_of_thumb import PLAYERS, act_all
from rs_env.rng import check_seed, game_key
from rs_env.view import VIEW


class Agent(Protocol):
    """Chooses actions from views, many at a time; it never sees a state."""

    name: str

    def reset(self, seed: int | None) -> None:
        """Start anew; the same seed and views give the same actions."""

    def act(self, views: np.ndarray) -> np.ndarray:
        """One legal action, int64 (B,), for each view (dtype `rs_env.view.VIEW`, shape (B,)) of a seat that is to act."""


class RuleBasedAgent:
    """An agent of `rs_env.baselines.rules_of_thumb`, by its number there."""

    def __init__(self, player: int) -> None:
        self.player = player
        self.name = PLAYERS[player]
        self._stream = np.zeros(1, np.uint64)
        self.reset(0)

    def reset(self, seed: int | None) -> None:
        """Start the random draws anew from a seed."""
        self._stream[0] = game_key(np.uint64(check_seed(seed)), np.uint64(0))

    def act(self, views: np.ndarray) -> np.ndarray:
        """One legal action for each view."""
        views = as_views(views)
        actions = np.empty(len(views), np.int64)
        act_all(self.player, views, self._stream, actions)
        return actions


def as_views(views: Any) -> np.ndarray:
    """Views as an array of shape (B,). Raises ValueError unless they are of dtype `VIEW`, each of a seat that is to act."""
    array = np.atleast_1d(np.asarray(views))
    if array.dtype != VIEW or array.ndim != 1:
        raise ValueError(
            f"views: {array.dtype} of shape {array.shape} is not allowed: they must be records of dtype rs_env.view.VIEW, shape (B,)"
        )
    idle = np.flatnonzero(array["legal"] == 0)
    if len(idle):
        raise ValueError(f"views[{idle[0]}]: seat {array['seat'][idle[0]]} has no legal action, it is not its turn")
    return array


def build(factories: dict[str, Callable[..., Agent]], text: str) -> Agent:
    """The agent of ``"name"`` or ``"name:option=value,..."``. Raises ValueError, naming what is wrong and what is allowed."""
    name, _, rest = text.partition(":")
    if name not in factories:
        raise ValueError(f"agent {name!r} is not known: there are {', '.join(map(repr, factories))}")
    allowed = {key: parameter.default for key, parameter in inspect.signature(factories[name]).parameters.items()}
    options: dict[str, Any] = {}
    for item in filter(None, rest.split(",")):
        key, equals, value = item.partition("=")
        if not equals or key not in allowed:
            known = ", ".join(f"{k}={v}" for k, v in allowed.items()) or "none"
            raise ValueError(f"agent {text!r}: option {item!r} is not allowed; {name!r} has the options (with defaults): {known}")
        try:
            options[key] = type(allowed[key])(value)
        except ValueError:
            raise ValueError(f"agent {text!r}: {key}={value!r} is not a {type(allowed[key]).__name__}") from None
    return factories[name](**options)
