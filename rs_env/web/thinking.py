"""What agents make of a position, and what everybody can know of the hidden cards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rs_env import belief
from rs_env.agent import Agent, ask, draws_by_seed, wants_histories
from rs_env.cards import NUM_CARDS, action_text, members
from rs_env.engine.view import as_one_view
from rs_env.game import Game
from rs_env.history import Histories

_DRAWS = 16  # times an agent without values is asked, with other seeds, to tell how often it chooses what

Position = tuple[np.ndarray, Histories | None]
"""A view of the seat to act, as an array of one, and the public history; all that an agent may be asked with."""


def position_of(game: Game) -> Position:
    """The position of the seat to act. Raises ValueError where the game is over."""
    if game.turn is None:
        raise ValueError("the game is over: nobody is to act")
    return as_one_view(game.view(game.turn)), Histories.of([game])


def choice(agent: Agent, position: Position) -> int:
    """What the agent chooses. Raises what the agent raises."""
    views, histories = position
    return int(ask(agent, views, None, histories if wants_histories(agent) else None)[0])


def opinion(agent: Agent, position: Position) -> dict[str, Any]:
    """What an agent makes of a position, as plain values for JSON.

    ``agent``: its name. ``choice``: the action it takes. ``kind``: "values", what it takes each legal action to be
    worth, or "shares", how often it chooses each of them in `_DRAWS` askings with other seeds, or "" where its draws
    cannot be chosen. ``numbers``: for each legal action, by text. Raises what the agent raises.
    """
    views, histories = position
    legal = members(views["legal"][0])
    kind, numbers = "", dict[int, float]()
    if len(legal) > 1 and hasattr(agent, "values"):
        row = agent.values(views)[0]
        kind, numbers = "values", {action: float(row[action]) for action in legal}
    elif len(legal) > 1 and draws_by_seed(agent):
        several = Histories.of([]) if histories is None else histories[np.zeros(_DRAWS, np.int64)]
        given = several if wants_histories(agent) else None
        chosen = ask(agent, np.repeat(views, _DRAWS), np.arange(_DRAWS, dtype=np.uint64), given)
        kind, numbers = "shares", {action: float(np.mean(chosen == action)) for action in legal}
    return {
        "agent": agent.name,
        "choice": action_text(choice(agent, position)),
        "kind": kind,
        "numbers": {action_text(action): round(number, 4) for action, number in numbers.items()},
    }


def chances(view: Any) -> list[dict[str, float]]:
    """For each seat the probability of every card that may lie in its hand, by text: `rs_env.belief.marginals`."""
    return [
        {action_text(card): round(float(row[card]), 4) for card in range(NUM_CARDS) if row[card] > 0}
        for row in belief.marginals(view)
    ]


def where_they_differ(agents: Sequence[Agent], positions: Sequence[Position | None]) -> list[list[str] | None]:
    """What each agent chooses in each position, by text; None for a position that is None."""
    return [
        None if position is None else [action_text(choice(agent, position)) for agent in agents]
        for position in positions
    ]
