"""What agents make of a position, and what everybody can know of the hidden cards."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from rs_env import belief
from rs_env.agent import Agent, ask, draws_by_seed
from rs_env.arena.players import agent_seed
from rs_env.arena.sitting import Memories
from rs_env.baselines.rule_based import RuleBasedAgent
from rs_env.baselines.tips import MEANINGS, TIE_BREAK, TIPS
from rs_env.cards import NUM_CARDS, action_text, members
from rs_env.engine.view import as_one_view
from rs_env.game import Game
from rs_env.history import Histories

_REASONS = 3  # that are told of a choice
_DRAWS = 16  # times an agent without values is asked, with other seeds, to tell how often it chooses what


@dataclass(frozen=True)
class Sitting:
    """What lies before a game: `games` of the same players on the same seats, all of them over, in their order."""

    games: tuple[Game, ...] = ()
    known: dict[str, np.ndarray] = field(default_factory=dict, compare=False)
    """What agents remember of it, by name, as `memories_after` gives it, for whoever asks them again."""


class Position(NamedTuple):
    """All that an agent may be asked with: a view of the seat to act, as an array of one, the public history, what the
    agent remembers of the sitting (an array of one row; None: nothing), and the seed of the game (None: it draws from
    its own), of which tables and the arena make those of their agents.
    """

    views: np.ndarray
    histories: Histories | None
    memories: np.ndarray | None = None
    seed: int | None = None


def position_of(game: Game, seed: int | None = None) -> Position:
    """The position of the seat to act, where nothing is remembered. Raises ValueError where the game is over."""
    if game.turn is None:
        raise ValueError("the game is over: nobody is to act")
    return Position(as_one_view(game.view(game.turn)), Histories.of([game]), seed=seed)


def memories_after(agent: Agent, sitting: Sitting) -> np.ndarray:
    """What an agent that `wants_memories` would remember of a sitting of at least one game on each seat: rows (n, ...).
    It is reset. Raises what the agent raises.
    """
    games = sitting.games
    seats = np.arange(games[0].num_players)
    agent.reset(agent_seed(games[0].seed, agent.name))
    memories = Memories([agent], np.zeros((1, len(seats)), np.int64))
    for game in games:
        memories.add(0, agent, game.rules, game.states, Histories.of([game]))
    rows = memories.of(0, np.zeros_like(seats), seats)
    assert rows is not None
    return rows


def _seeds(agent: Agent, position: Position) -> np.ndarray | None:
    """What the agent of a player of its name draws from in this game, where that is known."""
    if position.seed is None or not draws_by_seed(agent):
        return None
    return np.array([agent_seed(position.seed, agent.name)], np.uint64)


def choice(agent: Agent, position: Position) -> int:
    """What the agent chooses. Raises what the agent raises."""
    return int(ask(agent, position.views, _seeds(agent, position), position.histories, position.memories)[0])


def opinion(agent: Agent, position: Position) -> dict[str, Any]:
    """What an agent makes of a position, as plain values for JSON.

    ``agent``: its name. ``choice``: the action it takes. ``kind``: "values", what it takes each legal action to be
    worth, or "shares", how often it chooses each of them in `_DRAWS` askings with other seeds, or "" where its draws
    cannot be chosen. ``numbers``: for each legal action, by text. ``why``: reasons of the choice in words, the
    weightiest first; empty where there was none or the agent has none to tell. Raises what the agent raises.
    """
    legal = members(position.views["legal"][0])
    kind, numbers = "", dict[int, float]()
    if len(legal) > 1 and hasattr(agent, "values"):
        seeds = _seeds(agent, position)
        row = (agent.values(position.views) if seeds is None else agent.values(position.views, seeds))[0]
        kind, numbers = "values", {action: float(row[action]) for action in legal}
    elif len(legal) > 1 and draws_by_seed(agent):
        same = np.zeros(_DRAWS, np.int64)
        histories = None if position.histories is None else position.histories[same]
        memories = None if position.memories is None else position.memories[same]
        chosen = ask(agent, position.views[same], np.arange(_DRAWS, dtype=np.uint64), histories, memories)
        kind, numbers = "shares", {action: float(np.mean(chosen == action)) for action in legal}
    chosen_now = choice(agent, position)
    return {
        "agent": agent.name,
        "choice": action_text(chosen_now),
        "kind": kind,
        "numbers": {action_text(action): round(number, 4) for action, number in numbers.items()},
        "why": _reasons(agent, position.views, chosen_now) if len(legal) > 1 else [],
    }


def _reasons(agent: Agent, views: np.ndarray, action: int) -> list[str]:
    """Why the agent prefers an action to the other legal ones, as far as it can be told."""
    if hasattr(agent, "values"):
        return ["It deals the unseen cards in many ways that fit what was seen, and plays each of them on."]
    if not isinstance(agent, RuleBasedAgent):
        return []
    if not agent.weights.any():
        return ["It plays at random."]
    values, others = agent.tip_values(views)[0], [other for other in members(views["legal"][0]) if other != action]
    gain = values[:, action] - values[:, others].mean(axis=1)
    tips = [tip for tip in np.argsort(-gain, kind="stable")[:_REASONS] if gain[tip] > max(TIE_BREAK, gain.max() / 10)]
    return [" ".join(MEANINGS[TIPS[tip]].split()) for tip in tips] or ["Nothing speaks for one of them: it draws."]


def chances(view: Any) -> list[dict[str, float]]:
    """For each seat the probability of every card that may lie in its hand, by text: `rs_env.belief.marginals`."""
    return [
        {action_text(card): round(float(row[card]), 4) for card in range(NUM_CARDS) if row[card] > 0}
        for row in belief.marginals(view)
    ]
