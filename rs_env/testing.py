"""Checks for agents that others write: `check_agent` plays one through random positions and says what is wrong with
it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from rs_env import belief
from rs_env.agent import Agent, ask, draws_by_seed, wants_histories
from rs_env.baselines import as_agent
from rs_env.cards import action_text
from rs_env.checks import check_seed, check_whole
from rs_env.engine.state import STATE
from rs_env.engine.view import VIEW
from rs_env.game import Game
from rs_env.history import Histories
from rs_env.rules import Rules, as_rules

_SEED_OF_DRAWS = 12345
_VIEWS_TO_TEST_BLINDNESS, _OTHER_HANDS = 20, 3


class AgentError(AssertionError):
    """What an agent does is not what an agent must do."""


def check_agent(
    agent: str | Agent, rules: Rules | str | Mapping[str, Any] = "rolling_stone", positions: int = 200, seed: int = 0
) -> None:
    """Check an agent on positions of random games of these rules. Raises AgentError, saying what is wrong, or
    ValueError for what is no agent at all.

    - *Legal*: it gives one legal action for each view, in batches of any size, and leaves its views alone. If `act` has
      the parameter ``histories``, it does so with and without them.
    - *Reproducible*: `reset` with the same seed, and then the same views, give the same actions.
    - *Blind*: what it chooses does not depend on cards that its seat cannot see. No view holds any, so an agent has to
      search Python's memory for them; see `rs_env.isolation` for agents that are not trusted.
    - *Independent of batches*, if `act` has the parameter ``seeds``: actions depend on the view and its seed alone, not
      on what is asked beside it, on what was asked before, or on the seed of `reset`. (With histories: on them, too.)
    """
    checked = as_agent(agent)
    rules, seed = as_rules(rules), check_seed(seed)
    views, histories = _positions(rules, check_whole("positions", positions, 1, 1 << 20), seed)
    if wants_histories(checked):
        _asked_anew(checked, views, None)
    first, again = _asked_anew(checked, views, histories), _asked_anew(checked, views, histories)
    _compare(
        first,
        again,
        f"agent {checked.name!r} is not reproducible: after reset({_SEED_OF_DRAWS}) it chooses otherwise than before",
    )
    _check_blindness(checked, rules, seed)
    if draws_by_seed(checked):
        _check_draws(checked, views, histories)


def random_views(rules: Rules, count: int, seed: int) -> np.ndarray:
    """Views of seats that have a choice, from random games of a rule set: dtype `rs_env.engine.view.VIEW`, (count,)."""
    return _positions(rules, count, seed)[0]


def _positions(rules: Rules, count: int, seed: int) -> tuple[np.ndarray, Histories]:
    """These views, and the histories of their games."""
    found = [(view, Histories.of([game])) for game, view in _decisions(rules, count, seed)]
    events = np.zeros((count, max(len(row) for _, history in found for row in history)), np.uint8)
    for row, (_, history) in zip(events, found, strict=True):
        row[: history.lengths[0]] = history.events[0]
    return np.array([view for view, _ in found], VIEW), Histories(events, np.concatenate([h.lengths for _, h in found]))


def _decisions(rules: Rules, count: int, seed: int) -> Iterator[tuple[Game, np.void]]:
    """Games at turns with a choice, each with the view of the seat to act; a game is played on after it was given."""
    rng = np.random.default_rng(seed)
    found = 0
    for index in range(1000 + count):
        game = Game(rules, seed, index=index)
        while not game.is_over:
            if found == count:
                return
            legal = game.legal_actions()
            if len(legal) > 1 and rng.random() < 0.3:
                found += 1
                yield game, game.view(game.turn)  # type: ignore[arg-type]
            game.play(int(rng.choice(legal)))
    if found < count:
        raise ValueError(f"rules: {rules} have hardly any decisions to check an agent on")


def _check_blindness(agent: Agent, rules: Rules, seed: int) -> None:
    """Ask for one view while the real game is in memory, and again while others are that look the same to the seat."""
    worlds = [
        (
            view,
            Histories.of([game]),
            [game.states.tobytes(), *(belief.sample(view, 1, draw).tobytes() for draw in range(_OTHER_HANDS))],
        )
        for game, view in _decisions(rules, _VIEWS_TO_TEST_BLINDNESS, seed)
    ]
    for view, history, states in worlds:
        actions = [
            _asked_beside(agent, Game.of_state(rules, np.frombuffer(s, STATE)[0]), view, history) for s in states
        ]
        if len(set(actions)) > 1:
            raise AgentError(
                f"agent {agent.name!r} is not blind: asked for one view while games with other hidden cards are in"
                f" memory, it chooses {', '.join(map(action_text, sorted(set(actions))))}"
            )


def _asked_beside(agent: Agent, game: Game, view: np.void, history: Histories) -> int:
    """What the agent chooses while the game is in memory."""
    return int(_asked_anew(agent, np.array([view], VIEW), history)[0])


def _asked_anew(agent: Agent, views: np.ndarray, histories: Histories | None) -> np.ndarray:
    agent.reset(_SEED_OF_DRAWS)
    return _asked(agent, views, None, histories)


def _asked(agent: Agent, views: np.ndarray, seeds: np.ndarray | None, histories: Histories | None) -> np.ndarray:
    try:
        return ask(agent, views, seeds, histories)
    except ValueError as error:
        reason = str(error)
        if "read-only" in reason:
            given = "views or histories" if wants_histories(agent) else "views"
            reason = f"agent {agent.name!r} writes to its {given}, which are read-only: let it work on a copy"
        raise AgentError(reason) from error


def _check_draws(agent: Agent, views: np.ndarray, histories: Histories) -> None:
    seeds = np.arange(len(views), dtype=np.uint64) + np.uint64(7)
    together = _asked(agent, views, seeds, histories)
    order = np.random.default_rng(0).permutation(len(views))
    agent.reset(_SEED_OF_DRAWS + 1)
    shuffled = np.empty_like(together)
    for part in np.array_split(order, max(1, len(views) // 7)):
        shuffled[part] = _asked(agent, views[part], seeds[part], histories[part])
    _compare(
        together,
        shuffled,
        f"agent {agent.name!r} has a parameter `seeds`, but what it chooses also depends on the other views asked with"
        " it, on what was asked before, or on the seed of reset",
    )


def _compare(first: np.ndarray, again: np.ndarray, message: str) -> None:
    differ = np.flatnonzero(first != again)
    if len(differ):
        where = differ[0]
        raise AgentError(
            f"{message}: {len(differ)} of {len(first)} actions differ,"
            f" at view {where} {first[where]} and {again[where]}"
        )
