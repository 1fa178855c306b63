"""What players remember from deal to deal of a sitting: the same players on the same seats."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rs_env.agent import Agent, ask_to_remember, blank_memories, wants_memories
from rs_env.engine.jit import njit
from rs_env.engine.view import empty_views, fill_view
from rs_env.history import Histories
from rs_env.rules import Rules


class Memories:
    """The memories of all seats at G tables, where nothing is known yet.

    seating: integers (G, n), see `rs_env.arena.play.play_games`; the tables keep it as long as they sit. Agents that
    remember nothing have no memories.
    """

    def __init__(self, agents: Sequence[Agent], seating: np.ndarray) -> None:
        self._rows: dict[int, np.ndarray] = {}  # of each agent that remembers, one for each of its seats
        self._places = np.zeros(seating.shape, np.int64)  # of each seat's row among those of its agent
        self._seats: dict[int, tuple[np.ndarray, ...]] = {}  # tables and seats of each of these rows
        for number, agent in enumerate(agents):
            seats = np.nonzero(seating == number)
            if len(seats[0]) and wants_memories(agent):
                self._rows[number] = blank_memories(agent, len(seats[0]))
                self._places[seats] = np.arange(len(seats[0]))
                self._seats[number] = seats

    def of(self, number: int, tables: np.ndarray, seats: np.ndarray) -> np.ndarray | None:
        """The memories of agent `number` on these seats of these tables; None for one that remembers nothing."""
        return self._rows[number][self._places[tables, seats]] if number in self._rows else None

    def add(self, number: int, agent: Agent, rules: Rules, states: np.ndarray, histories: Histories) -> None:
        """Let agent `number` remember a deal of each table that has ended: states (G,), and their histories."""
        if number in self._rows:
            tables, seats = self._seats[number]
            views = empty_views(rules, len(tables))
            _view_seats(states, tables, seats, views)
            self._rows[number] = ask_to_remember(agent, views, histories[tables], self._rows[number])


@njit(cache=True, nogil=True)
def _view_seats(states, tables, seats, views):
    """Write what a seat may know at a table, for each pair of these."""
    for k in range(tables.shape[0]):
        fill_view(views[0].rules, states[tables[k]], seats[k], views[k])
