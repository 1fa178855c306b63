"""What an agent is, and how agents are made by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from rs_env.baselines.rules_of_thumb import PLAYERS, act_all
from rs_env.cards import NUM_ACTIONS
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


def as_agent(agent: str | Agent, make: Callable[[str], Agent]) -> Agent:
    """The agent of that name, made by `make`, or the agent itself. Raises ValueError for what is neither."""
    if isinstance(agent, str):
        return make(agent)
    if (
        isinstance(agent, type)
        or not all(callable(getattr(agent, method, None)) for method in ("act", "reset"))
        or not hasattr(agent, "name")
    ):
        raise ValueError(f"agent {agent!r} is not allowed: it must be a name, or an object with name, reset(seed) and act(views)")
    return agent


def ask(agent: Agent, views: np.ndarray) -> np.ndarray:
    """The agent's actions, int64 (B,), for views of seats that are to act.

    Raises ValueError, naming the agent, unless it gives one legal action for each.
    """
    actions = np.asarray(agent.act(views))
    if actions.shape != views.shape or actions.dtype.kind not in "iu":
        raise ValueError(
            f"agent {agent.name!r} gave {actions.dtype} of shape {actions.shape}: it must give integers of shape {views.shape}"
        )
    inside = (actions >= 0) & (actions < NUM_ACTIONS)
    legal = inside & (views["legal"] >> np.where(inside, actions, 0).astype(np.uint64) & np.uint64(1)).astype(np.bool_)
    if not legal.all():
        first = int(legal.argmin())
        raise ValueError(f"agent {agent.name!r} chose the illegal action {actions[first]}")
    return actions.astype(np.int64)


def build(factories: dict[str, Callable[..., Agent]], text: str) -> Agent:
    """The agent of ``"name"`` or ``"name:option=value,..."``. Raises ValueError, naming what is wrong and what is allowed."""
    if not isinstance(text, str):
        raise ValueError(f"agent {text!r} is not allowed: it must be a name, one of {', '.join(map(repr, factories))}")
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
