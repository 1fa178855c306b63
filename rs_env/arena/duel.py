"""One agent against a table of others, on the same deals from every seat."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rs_env.arena.play import play_games
from rs_env.baselines import make_agent
from rs_env.baselines.agent import Agent, as_agent
from rs_env.rng import check_seed, check_whole
from rs_env.rules import Rules, as_rules

_NORMAL_95 = 1.959964  # 97.5 % quantile of the normal distribution
_CHUNK = 4096  # games at once


@dataclass(frozen=True)
class Duel:
    """How `agent` did on one seat against `opponent` on all others; the same deals from each of the n seats.

    win_share: games won / games played; a capped game is won by who was out before, else by nobody.
    interval: half width of its 95 % interval, from the means per deal (normal approximation).
    capped: share of games that were truncated. actions: mean number of actions per game. parity: 1/n.
    """

    agent: str
    opponent: str
    games: int
    win_share: float
    interval: float
    capped: float
    actions: float
    parity: float

    @property
    def bounds(self) -> tuple[float, float]:
        """The 95 % interval of the win share, within 0..1."""
        return max(0.0, self.win_share - self.interval), min(1.0, self.win_share + self.interval)

    def __str__(self) -> str:
        low, high = self.bounds
        return (
            f"{self.agent} against {round(1 / self.parity) - 1} x {self.opponent}: {self.win_share:.1%} ({low:.1%} .. {high:.1%}),"
            f" parity {self.parity:.1%}, {self.games} games, {self.capped:.1%} capped"
        )


def duel(agent: Agent | str, opponent: Agent | str, rules: Rules | str = "rolling_stone", deals: int = 1000, seed: int = 0) -> Duel:
    """Play `deals` deals (matches, with a target) from each seat, one `agent` against n - 1 of `opponent`.

    Raises ValueError for fewer than two deals, since no interval comes from one.
    """
    check_whole("deals", deals, 2, (1 << 31) - 1)
    rules, seed = as_rules(rules), check_seed(seed)
    n = rules.num_players
    table = [as_agent(player, make_agent) for player in (agent, opponent)]
    for number, player in enumerate(table):
        player.reset((seed + number) % 2**64)
    wins, capped, actions = np.zeros((deals, n)), 0, 0
    per_chunk = max(1, _CHUNK // n)
    for first in range(0, deals, per_chunk):
        block = np.arange(first, min(first + per_chunk, deals))
        indices, seats = np.repeat(block, n), np.tile(np.arange(n), len(block))
        seating = np.where(np.arange(n) == seats[:, None], 0, 1)
        outcomes = play_games(rules, table, seating, seed, indices)
        wins[block] = (outcomes.winner == seats).reshape(-1, n)
        capped += int(outcomes.truncated.sum())
        actions += int(outcomes.actions.sum())
    means = wins.mean(1)
    return Duel(
        agent=table[0].name,
        opponent=table[1].name,
        games=deals * n,
        win_share=float(means.mean()),
        interval=float(_NORMAL_95 * means.std(ddof=1) / np.sqrt(deals)),
        capped=capped / (deals * n),
        actions=actions / (deals * n),
        parity=1 / n,
    )
