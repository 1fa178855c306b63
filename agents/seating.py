"""Company as configuration: ``[[company]]`` tables, each a share of the games and who sits in them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from agents.company import LEARNER, Company
from agents.policy import PolicyAgent
from agents.settings import ALLOWED_TEMPERATURES, check
from rs_env.agent import Agent
from rs_env.baselines import AGENTS, as_agent
from rs_env.baselines.networks import is_temperature

SEATS = {
    "all": "the learner's",
    "one": "one is the learner's, copies of one opponent have the others",
    "drawn": "each is the learner's or, with even chances, one of the opponents'; one at least is the learner's",
}
START = "start"
_TABLES = 1024  # different ones; further games repeat them


@dataclass(frozen=True)
class SeatsConfig:
    """A share of the games, and who sits in them."""

    share: float = 1.0
    """How many of the games, in proportion to the shares of the other tables."""
    seats: str = "all"
    """Whose they are: all, one or drawn."""
    opponents: tuple[str, ...] = ()
    """Agents that do not learn: names, run folders, checkpoint files; start is the network that the run begins with."""
    temperature: float = 0.5
    """Of opponents that are trained agents."""

    def __post_init__(self) -> None:
        check("company.share", self.share, 0 < self.share < math.inf, "above 0 and finite")
        check("company.seats", self.seats, self.seats in SEATS, f"one of {', '.join(map(repr, SEATS))}")
        check("company.temperature", self.temperature, is_temperature(self.temperature), ALLOWED_TEMPERATURES)
        if self.seats == "all":
            check("company.opponents", self.opponents, not self.opponents, 'empty with seats="all"')
        else:
            named = bool(self.opponents) and all(isinstance(name, str) for name in self.opponents)
            check(
                "company.opponents", self.opponents, named, f'at least one name of an agent with seats="{self.seats}"'
            )
        for name in set(self.opponents) - {START}:
            try:
                opponent_named(name, self.temperature)
            except ValueError as error:
                raise ValueError(f"company.opponents: {error}") from None


def opponent_named(name: str, temperature: float | None) -> Agent:
    """The baseline of that name, or the trained agent of that run folder or checkpoint. temperature: of the latter;
    None: as its run has chosen. Raises ValueError for anything else.
    """
    if name not in AGENTS and Path(name).exists():
        return PolicyAgent.load(name, temperature)
    return as_agent(name)


def company_of(parts: Sequence[SeatsConfig], players: Sequence[int], seed: int, start: str = "") -> Company | None:
    """Who sits where, for each of these numbers of players, such that any number of games has about these shares; None
    for no parts: the learner everywhere.

    The learner's seat goes round from game to game of a part, then the opponents take turns. start: whose network plays
    under that name. Raises ValueError where there is none, or it is of another number of players.
    """
    if not parts:
        return None
    agents: dict[tuple[str, float], int] = {}  # numbers of those who do not learn
    numbers = [
        [agents.setdefault((name, part.temperature), len(agents) + 1) for name in part.opponents] for part in parts
    ]
    tables = {n: _table(parts, numbers, n, seed) for n in players}
    return Company(tables, [_opponent(name, temperature, players, start) for name, temperature in agents])


def _table(parts: Sequence[SeatsConfig], numbers: Sequence[Sequence[int]], num_players: int, seed: int) -> np.ndarray:
    """Who sits where, int64 (rows, n). numbers: those of each part's opponents."""
    rng = np.random.default_rng([seed, _TABLES])
    table = np.full((_TABLES, num_players), LEARNER)
    shares, given = np.array([part.share for part in parts]), np.zeros(len(parts))
    for game, seats in enumerate(table):
        k = int(np.argmax((game + 1) * shares / shares.sum() - given))  # the part that is most behind its share
        turn, opponents = int(given[k]), numbers[k]
        given[k] += 1
        own = turn % num_players
        if parts[k].seats == "one":
            seats[:] = opponents[turn // num_players % len(opponents)]
        elif parts[k].seats == "drawn":
            drawn = rng.choice(opponents, num_players)
            seats[:] = np.where(rng.random(num_players) < 0.5, LEARNER, drawn)
        seats[own] = LEARNER
    return table


def _opponent(name: str, temperature: float, players: Sequence[int], start: str) -> Agent:
    check("company.opponents", name, name != START or start != "", "another one where start is empty")
    agent = opponent_named(start if name == START else name, temperature)
    own = agent.num_players if isinstance(agent, PolicyAgent) else None
    if own is not None and set(players) != {own}:
        raise ValueError(f"company.opponents: {name!r} is not allowed: it plays with {own} players only")
    return agent
