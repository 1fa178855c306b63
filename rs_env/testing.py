"""Checks for agents that others write: `check_agent` plays one through random positions and says what is wrong with
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rs_env import belief
from rs_env.agent import (
    Agent,
    ask,
    ask_to_remember,
    blank_memories,
    draws_by_seed,
    wants_histories,
    wants_memories,
)
from rs_env.baselines import as_agent
from rs_env.cards import action_text
from rs_env.checks import check_seed, check_whole
from rs_env.engine.state import STATE
from rs_env.engine.view import VIEW
from rs_env.game import Game
from rs_env.history import Histories
from rs_env.rules import Rules, as_rules

_SEED_OF_DRAWS = 12345
_VIEWS_TO_TEST_BLINDNESS, _OTHER_HANDS, _DEALS_TO_REMEMBER = 20, 3, 4


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
    - *Memories*, if `act` has the parameter ``memories``: what it remembers is like what it was given, reproducible,
      blind and, with ``seeds``, independent of batches, and so is what it chooses with that.
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
        _check_draws(checked, views, histories, None)
    if wants_memories(checked):
        _check_memories(checked, rules, seed, views, histories)


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


def _asked_anew(
    agent: Agent, views: np.ndarray, histories: Histories | None, memories: np.ndarray | None = None
) -> np.ndarray:
    agent.reset(_SEED_OF_DRAWS)
    return _answer(agent, ask, views, None, histories, memories)


def _answer(agent: Agent, question: Callable[..., np.ndarray], *what: Any) -> np.ndarray:
    """What the agent answers to a question of `rs_env.agent`; an answer that is refused is an AgentError."""
    try:
        return question(agent, *what)
    except ValueError as error:
        reason = str(error)
        if "read-only" in reason:
            wants = {"histories": wants_histories(agent), "memories": wants_memories(agent)}
            given = " or ".join(["views", *(name for name, wanted in wants.items() if wanted)])
            reason = f"agent {agent.name!r} writes to its {given}, which are read-only: let it work on a copy"
        raise AgentError(reason) from error


def _check_draws(agent: Agent, views: np.ndarray, histories: Histories, memories: np.ndarray | None) -> None:
    seeds = np.arange(len(views), dtype=np.uint64) + np.uint64(7)
    together = _answer(agent, ask, views, seeds, histories, memories)
    agent.reset(_SEED_OF_DRAWS + 1)
    shuffled = np.empty_like(together)
    for part in _parts(len(views)):
        known = None if memories is None else memories[part]
        shuffled[part] = _answer(agent, ask, views[part], seeds[part], histories[part], known)
    _compare(
        together,
        shuffled,
        f"agent {agent.name!r} has a parameter `seeds`, but what it chooses also depends on the other views asked with"
        " it, on what was asked before, or on the seed of reset",
    )


def _parts(count: int) -> list[np.ndarray]:
    """Indices in random order, in parts."""
    return np.array_split(np.random.default_rng(0).permutation(count), max(1, count // 7))


def _check_memories(agent: Agent, rules: Rules, seed: int, views: np.ndarray, histories: Histories) -> None:
    rules = replace(rules, target=None)  # a sitting is one of deals
    games = [_played(rules, seed, index) for index in range(_DEALS_TO_REMEMBER)]
    ends = np.array([game.view(seat) for game in games for seat in range(rules.num_players)], VIEW)
    told = Histories.of([game for game in games for _ in range(rules.num_players)])
    after = _remembered(agent, ends, told)
    if after.tobytes() != _remembered(agent, ends, told).tobytes():
        raise AgentError(f"agent {agent.name!r} is not reproducible: of the same deals it remembers something else")
    if draws_by_seed(agent):
        for part in _parts(len(ends)):
            if after[part].tobytes() != _remembered(agent, ends[part], told[part]).tobytes():
                raise AgentError(f"agent {agent.name!r}: what it remembers of a deal depends on those told beside it")
    for row in range(len(ends)):
        states = belief.sample(ends[row], _OTHER_HANDS, seed)
        if len({_remembered_beside(agent, Game.of_state(rules, state), ends, told, row) for state in states}) > 1:
            raise AgentError(
                f"agent {agent.name!r} is not blind: told of one deal while games with other hidden cards are in"
                " memory, it remembers something else"
            )
    known = np.resize(after, (len(views), *after.shape[1:]))
    first, again = (_asked_anew(agent, views, histories, known) for _ in range(2))
    _compare(first, again, f"agent {agent.name!r} is not reproducible: with equal memories it chooses otherwise")
    if draws_by_seed(agent):
        _check_draws(agent, views, histories, known)


def _played(rules: Rules, seed: int, index: int) -> Game:
    """A random game at its end."""
    game, rng = Game(rules, seed, index=index), np.random.default_rng([seed, index])
    while not game.is_over:
        game.play(int(rng.choice(game.legal_actions())))
    return game


def _remembered(agent: Agent, views: np.ndarray, histories: Histories) -> np.ndarray:
    """What the agent remembers of the first deal of a sitting."""
    agent.reset(_SEED_OF_DRAWS)
    blank = _answer(agent, blank_memories, len(views))
    return _answer(agent, ask_to_remember, views, histories, blank)


def _remembered_beside(agent: Agent, game: Game, views: np.ndarray, histories: Histories, row: int) -> bytes:
    """What the agent remembers of one of these deals while the game is in memory."""
    return _remembered(agent, views[row : row + 1], histories[row : row + 1]).tobytes()


def _compare(first: np.ndarray, again: np.ndarray, message: str) -> None:
    differ = np.flatnonzero(first != again)
    if len(differ):
        where = differ[0]
        raise AgentError(
            f"{message}: {len(differ)} of {len(first)} actions differ,"
            f" at view {where} {first[where]} and {again[where]}"
        )
