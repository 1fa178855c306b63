"""What an agent is, how it is asked, and how agents are made by name.

Everything in this package that lets an agent choose does so by `ask`, so this is the place to read what an agent is
given and what is believed of its answer. `rs_env.testing.check_agent` checks an agent of your own.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Protocol

import numpy as np

from rs_env.cards import action_text, members
from rs_env.engine import entry
from rs_env.history import Histories
from rs_env.notebook import agent_html
from rs_env.rules import Rules


class Agent(Protocol):
    """Chooses actions from views, many at a time; it never sees a state.

    A view is one seat's knowledge of one game. Views of one call may be of different games, seats and numbers of
    players. The array is the agent's own, read-only copy: it may be kept, and nothing lies behind it.

    An agent may draw at random and may remember what it was asked. The baselines do not remember: they draw from the
    seed and the view alone (`rs_env.engine.view.view_key`), so that equal seeds and views give equal actions, whatever
    was asked before and in whatever batches. Such an agent can take a second argument in `act`, ``seeds=None``: uint64
    (B,), what to draw from for each view in place of the seed of `reset`. Then one object can play in many games, each
    of which has draws of its own; see `draws_by_seed`. Of any other agent each game gets a copy where that matters.

    A view says what everybody knows now, not how it came about. An agent that wants to know that has the parameter
    ``histories=None`` in `act`: `rs_env.history.Histories` of the games, one beside each view, or None where whoever
    asks has none. Agents without it cost nothing more.

    A *sitting* is a sequence of deals with the same players on the same seats. An agent that wants to know at one deal
    what it learnt at earlier ones of the sitting has the parameter ``memories=None`` in `act`, and the methods of
    `Remembers`. What it remembers belongs to a seat at a table, not to the agent, since one object plays at many.

    An agent that cheats, as a measure of what hidden cards are worth, has the attribute ``cheats = True`` and instead
    of `act` the method ``act_states(rules, states)``; only comparisons that are declared unfair ask it, by `ask_cheat`.
    """

    name: str

    def reset(self, seed: int | None) -> None:
        """Start anew, forget all views, and draw from this seed (0..2**64-1; None: a random one) from now on.

        The same seed and then the same views give the same actions.
        """

    def act(self, views: np.ndarray) -> np.ndarray:
        """One legal action for each view of a seat that is to act: integers of shape (B,).

        views: dtype `rs_env.engine.view.VIEW`, shape (B,).
        """


class Remembers(Protocol):
    """What an agent with the parameter ``memories`` in `act` has beside that.

    `act` gets an array of one row for each view, or None, which is to mean the same as rows of `new_memories`. What the
    rows hold is the agent's own business, as long as it is plain data: of any dtype but objects, of any shape behind
    the first axis.
    """

    def new_memories(self, count: int) -> np.ndarray:
        """So many rows that know nothing: what each seat begins a sitting with."""

    def remember(self, views: np.ndarray, histories: Histories, memories: np.ndarray) -> np.ndarray:
        """The rows after a deal, of the dtype and shape of `memories`, the rows before it.

        It is called once for each of the agent's seats when a deal has ended. views: what that seat knows at the end,
        with nothing legal. histories: of the deal.
        """


class Shown:
    """What the agents of this package have in common: notebooks show them.

    settings: its options by name, with their values. needs: what it cannot play without, each in words.
    """

    name: str
    settings: Mapping[str, Any] = MappingProxyType({})
    needs: ClassVar[tuple[str, ...]] = ()

    def _repr_html_(self) -> str:
        about = " ".join((inspect.getdoc(type(self)) or "").split("\n\n")[0].replace("`", "").split())
        return agent_html(self.name, about, self.settings, [*self.needs, *_asked_with(self)])


def _asked_with(agent: Any) -> list[str]:
    """What an agent has to be given beside views, in words."""
    told = {
        "all hands open: it plays in comparisons that are declared unfair only": cheats(agent),
        "the history of the deal, to know the others": wants_histories(agent),
        "its memories of earlier deals, to know them at once": wants_memories(agent),
    }
    return [words for words, is_so in told.items() if is_so]


def draws_by_seed(agent: Agent) -> bool:
    """Whether the agent's `act` has the parameter ``seeds``: then its draws depend on them and the views alone."""
    return "seeds" in _parameters_of_act(agent)


def _parameters_of_act(agent: Agent) -> Collection[str]:
    try:
        return inspect.signature(agent.act).parameters.keys()
    except (AttributeError, TypeError, ValueError):  # one that cheats has none; of compiled code Python knows none
        return ()


def wants_histories(agent: Agent) -> bool:
    """Whether the agent's `act` has the parameter ``histories``."""
    return "histories" in _parameters_of_act(agent)


def wants_memories(agent: Agent) -> bool:
    """Whether the agent's `act` has the parameter ``memories``; then it `Remembers`."""
    return "memories" in _parameters_of_act(agent)


def seeds_for(views: np.ndarray, seed: np.uint64, seeds: np.ndarray | None) -> np.ndarray:
    """The seed to draw from for each view, uint64 (B,): `seeds`, or `seed` for all. Raises ValueError where they do not
    fit.
    """
    if seeds is None:
        return np.full(len(views), seed, np.uint64)
    seeds = np.asarray(seeds)
    if seeds.shape != views.shape or seeds.dtype != np.uint64:
        raise ValueError(
            f"seeds: {seeds.dtype} of shape {seeds.shape} is not allowed: they must be uint64 of shape {views.shape}"
        )
    return np.require(seeds, requirements=("C", "A", "W"))


def check_is_agent(agent: Any) -> None:
    """Raise ValueError, saying what is missing, for an object that is no agent, and for one that sees all hands."""
    if cheats(agent):
        raise ValueError(f"agent {agent.name!r} is not allowed: it sees all hands")
    if isinstance(agent, type):
        raise ValueError(f"agent {agent!r} is not allowed: it is a class; give an object of it")
    missing = [method for method in ("reset", "act") if not callable(getattr(agent, method, None))]
    missing += [] if hasattr(agent, "name") else ["name"]
    if missing:
        raise ValueError(
            f"agent {agent!r} is not allowed: it must be a name, or an object with name, reset(seed) and act(views);"
            f" it has no {', no '.join(missing)}"
        )
    missing = [method for method in ("new_memories", "remember") if not callable(getattr(agent, method, None))]
    if missing and wants_memories(agent):
        raise ValueError(
            f"agent {agent.name!r} is not allowed: its act has the parameter memories, so it must have"
            f" new_memories(count) and remember(views, histories, memories); it has no {', no '.join(missing)}"
        )


def cheats(agent: Any) -> bool:
    """Whether the agent chooses from states, all hands open, by ``act_states`` instead of ``act``; see `ask_cheat`."""
    return bool(getattr(agent, "cheats", False))


_OWN: set[type] = set()  # agents of this package, which neither keep views nor write to them


def own(cls: type) -> type:
    """Decorator of agents of this package that neither keep views nor write to them: they are spared the copies."""
    _OWN.add(cls)
    return cls


def is_own(agent: Agent) -> bool:
    """Whether the agent is one of this package's, by its type, which no other code can pretend to be."""
    return type(agent) in _OWN


def copy_for_agent(array: np.ndarray) -> np.ndarray:
    """Views or memories as an agent may have them: an array of its own, read-only."""
    given = array.copy()
    given.flags.writeable = False
    return given


def ask(
    agent: Agent,
    views: np.ndarray,
    seeds: np.ndarray | None = None,
    histories: Histories | None = None,
    memories: np.ndarray | None = None,
) -> np.ndarray:
    """The agent's actions, int64 (B,), for views of seats that are to act.

    The agent gets copies of the views that it cannot write to, with nothing behind them: the caller's array may be a
    part of one that shows other seats too, and legal is what the caller says, whatever the agent does to what it was
    given. seeds: for an agent that `draws_by_seed`, what to draw from for each view, uint64 (B,). histories, memories:
    for one that wants them, a row for each view. Raises ValueError, naming the agent, unless it gives one legal action
    for each.
    """
    if not len(views):
        return np.zeros(0, np.int64)
    given = views if is_own(agent) else copy_for_agent(views)
    more: dict[str, Any] = {} if seeds is None else {"seeds": seeds}
    if histories is not None and wants_histories(agent):
        more["histories"] = histories if is_own(agent) else histories.read_only()
    if memories is not None and wants_memories(agent):
        more["memories"] = memories if is_own(agent) else copy_for_agent(memories)
    chosen = agent.act(given, **more)
    return _checked(agent, chosen, views)


def blank_memories(agent: Any, count: int) -> np.ndarray:
    """What an agent that `wants_memories` begins so many seats with. Raises ValueError, naming the agent, unless it
    gives so many rows of plain data.
    """
    made = agent.new_memories(count)
    if not isinstance(made, np.ndarray) or made.shape[:1] != (count,) or made.dtype.hasobject:
        told = f"{made.dtype} of shape {made.shape}" if isinstance(made, np.ndarray) else f"a {type(made).__name__}"
        raise ValueError(
            f"agent {agent.name!r} gave {told} as new memories: it must give an array of {count} rows without objects"
        )
    return made.copy()


def ask_to_remember(agent: Any, views: np.ndarray, histories: Histories, memories: np.ndarray) -> np.ndarray:
    """What the agent remembers after deals that have ended, see `Remembers`. It gets copies, as in `ask`. Raises
    ValueError, naming the agent, unless it gives an array like `memories`.
    """
    if not is_own(agent):
        views, histories, memories = copy_for_agent(views), histories.read_only(), copy_for_agent(memories)
    after = np.asarray(agent.remember(views, histories, memories))
    if after.shape != memories.shape or after.dtype != memories.dtype:
        raise ValueError(
            f"agent {agent.name!r} remembers {after.dtype} of shape {after.shape}:"
            f" it must give {memories.dtype} of shape {memories.shape}"
        )
    return after.copy()  # which the agent cannot change


def ask_cheat(agent: Any, rules: Rules, states: np.ndarray, views: np.ndarray) -> np.ndarray:
    """What `ask` gives, of an agent that `cheats`: it chooses from copies of the states (dtype
    `rs_env.engine.state.STATE`, shape (B,)) whose views are given beside them.
    """
    return _checked(agent, agent.act_states(rules, states.copy()), views)


def _checked(agent: Agent, chosen: Any, views: np.ndarray) -> np.ndarray:
    """What an agent chose, as int64 (B,). Raises ValueError unless that is one legal action for each view."""
    actions = np.asarray(chosen)
    if actions.shape != views.shape or actions.dtype.kind not in "iu":
        raise ValueError(
            f"agent {agent.name!r} gave {actions.dtype} of shape {actions.shape}:"
            f" it must give integers of shape {views.shape}"
        )
    actions = np.array(actions, np.int64)  # a copy, which the agent cannot change after the check
    legal, illegal = np.ascontiguousarray(views["legal"]), np.zeros(len(views), np.bool_)
    if entry.find_illegal(legal, actions, illegal):
        first = int(illegal.argmax())
        allowed = ", ".join(f"{a} ({action_text(a)})" for a in members(legal[first]))
        seat = views["seat"][first]
        raise ValueError(
            f"views[{first}]: seat {seat} may take {allowed};"
            f" agent {agent.name!r} chose the illegal action {actions[first]}"
        )
    return actions


def build(factories: Mapping[str, Callable[..., Agent]], text: str) -> Agent:
    """The agent of ``"name"`` or ``"name:option=value,..."``.

    The options are the parameters of its factory that are keywords only, with the type of their defaults. Where the
    factory has a parameter without a default, as ``"name:value,option=value,..."``, what stands first is its value, a
    text without commas, such as a path. Raises ValueError, naming what is wrong and what is allowed.
    """
    if not isinstance(text, str):
        raise ValueError(f"agent {text!r} is not allowed: it must be a name, one of {', '.join(map(repr, factories))}")
    name, _, rest = text.partition(":")
    if name not in factories:
        raise ValueError(f"agent {name!r} is not known: there are {', '.join(map(repr, factories))}")
    parameters = inspect.signature(factories[name]).parameters.values()
    allowed = {
        parameter.name: parameter.default for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY
    }
    items, first = rest.split(","), []
    for parameter in parameters:
        if parameter.default is parameter.empty and parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
            if not items[0] or items[0].partition("=")[0] in allowed:
                shown = f"'{name}:{parameter.name.upper()}'"
                raise ValueError(f"agent {text!r}: the {parameter.name} is missing: it must begin as {shown}")
            first.append(items.pop(0))
    options: dict[str, Any] = {}
    for item in filter(None, items):
        key, equals, value = item.partition("=")
        if not equals or key not in allowed:
            known = ", ".join(f"{k}={v}" for k, v in allowed.items()) or "none"
            raise ValueError(
                f"agent {text!r}: option {item!r} is not allowed; {name!r} has the options (with defaults): {known}"
            )
        options[key] = _parsed(text, key, value, type(allowed[key]))
    agent = factories[name](*first, **options)
    if isinstance(agent, Shown):
        texts = [parameter.name for parameter in parameters if parameter.name not in allowed]
        agent.settings = {**dict(zip(texts, first, strict=False)), **allowed, **options}
    if first or options:
        agent.name = f"{name}:" + ",".join([*first, *(f"{key}={value}" for key, value in options.items())])
    return agent


def _parsed(text: str, key: str, value: str, kind: type) -> Any:
    try:
        parsed = kind(value)
    except ValueError:
        parsed = None
    if parsed is None or (kind is float and not math.isfinite(parsed)):
        raise ValueError(
            f"agent {text!r}: {key}={value!r} is not allowed:"
            f" it must be {'a whole' if kind is int else 'a finite'} number"
        )
    return parsed
