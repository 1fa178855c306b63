"""Checks for agents that others write: `check_agent` plays one through random positions and says what is wrong with
it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rs_env.agent import Agent, ask, draws_by_seed
from rs_env.baselines import as_agent
from rs_env.checks import check_seed, check_whole
from rs_env.engine.view import VIEW
from rs_env.game import Game
from rs_env.rules import Rules, as_rules

_SEED_OF_DRAWS = 12345


class AgentError(AssertionError):
    """What an agent does is not what an agent must do."""


def check_agent(
    agent: str | Agent, rules: Rules | str | Mapping[str, Any] = "rolling_stone", positions: int = 200, seed: int = 0
) -> None:
    """Check an agent on positions of random games of these rules. Raises AgentError, or ValueError for what is no agent
    at all.

    - it gives one legal action for each view, in batches of any size;
    - it leaves its views alone: they are copies that cannot be written to, wherever agents are asked;
    - `reset` with the same seed, and then the same views, give the same actions;
    - if `act` has the parameter ``seeds``, actions depend on the view and its seed alone: not on what is asked beside
      it, on what was asked before, or on the seed of `reset`.

    That it cannot know hidden cards need not be checked: no view holds any.
    """
    checked = as_agent(agent)
    views = random_views(as_rules(rules), check_whole("positions", positions, 1, 1 << 20), check_seed(seed))
    name = checked.name
    checked.reset(_SEED_OF_DRAWS)
    first = _asked(checked, views)
    checked.reset(_SEED_OF_DRAWS)
    again = _asked(checked, views)
    _compare(
        first,
        again,
        f"agent {name!r} is not reproducible: after reset({_SEED_OF_DRAWS}) it chooses otherwise than before",
    )
    if draws_by_seed(checked):
        _check_draws(checked, views)


def random_views(rules: Rules, count: int, seed: int) -> np.ndarray:
    """Views of seats that have a choice, dtype `rs_env.engine.view.VIEW`, shape (count,), from random games of a rule set."""
    rng = np.random.default_rng(seed)
    views: list[np.void] = []
    for index in range(1000 + count):
        game = Game(rules, seed, index=index)
        while not game.is_over and len(views) < count:
            legal = game.legal_actions()
            if len(legal) > 1 and rng.random() < 0.3:
                views.append(game.view(game.turn))  # type: ignore[arg-type]
            game.play(int(rng.choice(legal)))
        if len(views) == count:
            return np.array(views, VIEW)
    raise ValueError(f"rules: {rules} have hardly any decisions to check an agent on")


def _asked(agent: Agent, views: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
    try:
        return ask(agent, views, seeds)
    except ValueError as error:
        reason = str(error)
        if "read-only" in reason:
            reason = f"agent {agent.name!r} writes to its views, which are read-only: let it work on a copy"
        raise AgentError(reason) from error


def _check_draws(agent: Agent, views: np.ndarray) -> None:
    seeds = np.arange(len(views), dtype=np.uint64) + np.uint64(7)
    together = _asked(agent, views, seeds)
    order = np.random.default_rng(0).permutation(len(views))
    agent.reset(_SEED_OF_DRAWS + 1)
    shuffled = np.empty_like(together)
    for part in np.array_split(order, max(1, len(views) // 7)):
        shuffled[part] = _asked(agent, views[part], seeds[part])
    _compare(
        together,
        shuffled,
        f"agent {agent.name!r} has a parameter `seeds`, but what it chooses also depends on the other views asked with it, on what was"
        " asked before, or on the seed of reset",
    )


def _compare(first: np.ndarray, again: np.ndarray, message: str) -> None:
    differ = np.flatnonzero(first != again)
    if len(differ):
        where = differ[0]
        raise AgentError(
            f"{message}: {len(differ)} of {len(first)} actions differ, at view {where} {first[where]} and {again[where]}"
        )
