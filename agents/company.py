"""Who sits where: the learner on all seats, or on some of them among agents that do not learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rs_env import SelfPlayVectorEnv
from rs_env.agent import Agent, ask, check_is_agent, wants_histories
from rs_env.engine import entry

LEARNER = 0  # the learner's number in a table of seats


class Company:
    """Who sits where in each game.

    table: whole numbers of shape (rows, n), the player on each seat of n: 0 is the learner, k is ``frozen[k - 1]``; for
    several numbers of players one for each, by number. Game i takes row ``i % rows``, so that one table serves any
    number of games. frozen: agents, which play as they are.

    Raises ValueError for a table of another form, with players who are not there, or without a seat for the learner.
    """

    def __init__(
        self, table: Sequence[Sequence[int]] | np.ndarray | Mapping[int, np.ndarray], frozen: Sequence[Agent] = ()
    ) -> None:
        self.frozen = tuple(frozen)
        tables = list(table.values()) if isinstance(table, Mapping) else [table]
        self.tables = [_checked(one, len(self.frozen)) for one in tables]
        for agent in self.frozen:
            check_is_agent(agent)

    @classmethod
    def self_play(cls, num_players: int) -> Company:
        """The learner on all seats of all games."""
        return cls(np.zeros((1, num_players), np.int64))

    @classmethod
    def one_among(cls, frozen: Agent, num_players: int) -> Company:
        """The learner on seat ``i % n`` of game i, copies of a frozen agent on all others."""
        return cls(1 - np.eye(num_players, dtype=np.int64), [frozen])

    def seats_of(self, games: int, num_players: int, first: int = 0) -> np.ndarray:
        """The player on each seat of each game from number `first` on, int64 (games, n). Raises ValueError for another
        number of seats, and where these games seat no learner.
        """
        fit = [table for table in self.tables if table.shape[1] == num_players]
        if not fit:
            seats = " or ".join(str(table.shape[1]) for table in self.tables)
            raise ValueError(f"table: rows of {seats} seats are not allowed: {num_players} play")
        table = fit[0][(first + np.arange(games)) % len(fit[0])]
        if not (table == LEARNER).any():
            raise ValueError(f"table: the learner (0) has no seat in the {games} rows that are played")
        return table


def act_frozen(
    company: Company, player: np.ndarray, env: SelfPlayVectorEnv, views: np.ndarray, actions: np.ndarray
) -> None:
    """Write the frozen agents' actions. player: int64 (B,), who is to act in each game of `env`; actions: int64 (B,).

    views: memory for views of all games, see `rs_env.engine.view.empty_views`. Agents that want histories get them:
    `env` must keep them.
    """
    for number in np.unique(player[player != LEARNER]):
        games, agent = np.flatnonzero(player == number), company.frozen[number - 1]
        entry.view_turns(env.states, games, views)
        histories = env.histories[games] if wants_histories(agent) else None
        actions[games] = ask(agent, views[: len(games)], histories=histories)


def _checked(table: Any, agents: int) -> np.ndarray:
    found = np.array(table)
    if found.dtype.kind not in "iu" or found.ndim != 2 or not found.size:
        told = f"{found.dtype} of shape {found.shape}"
        raise ValueError(f"table: {told} is not allowed: it must be whole numbers of shape (rows, seats)")
    if found.min() < LEARNER or found.max() > agents:
        raise ValueError(f"table: players {found.min()}..{found.max()} are not allowed: there are 0 to {agents}")
    if not (found == LEARNER).any():
        raise ValueError("table: the learner (0) has no seat")
    return found.astype(np.int64)
