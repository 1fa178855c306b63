"""Two agents at one table, on the same deals from every seat."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rs_env.agent import Agent
from rs_env.arena.league import League, compare
from rs_env.arena.settings import How, Plan, records_of
from rs_env.arena.statistics import by_deal, few_deals, ratios, share_bounds
from rs_env.rules import Rules, as_rules

DUEL_TABLES = ("one", "rest", "half")


@dataclass(frozen=True)
class Duel:
    """How `agent` did on its seats against `opponent` on all others; the same deals at all seatings.

    win_share: games won / games, for each seat of the agent; a capped game is won by a player who was out before, else
    by nobody. bounds: ends of its 95 % interval, within 0..1, from the means per deal: see
    `rs_env.arena.statistics.share_bounds`. share, share_bounds: the same, with a game that nobody won counted as 1/n
    for each seat, so that equal players have 1/n. interval, share_interval: how far the further end of each interval is
    from its share. deals: how many were played. capped: share of games that were truncated. actions: mean number of
    actions per game. parity: 1/n.
    place, cards, pickups, reward: means of the agent, see `Standing`. sitting: deals that players sat together; with
    more than one each sitting, not each deal, gives one value. milliseconds: for each of its decisions.
    """

    agent: str
    opponent: str
    games: int
    deals: int
    win_share: float
    bounds: tuple[float, float]
    capped: float
    actions: float
    parity: float
    share: float
    share_bounds: tuple[float, float]
    place: float
    cards: float
    pickups: float
    reward: float
    table: str = "one"
    sitting: int = 1
    milliseconds: float = field(default=0.0, compare=False)

    @property
    def interval(self) -> float:
        """The longer side of the win share's 95 % interval."""
        low, high = self.bounds
        return max(high - self.win_share, self.win_share - low)

    @property
    def share_interval(self) -> float:
        """The longer side of the share's 95 % interval."""
        low, high = self.share_bounds
        return max(high - self.share, self.share - low)

    def __str__(self) -> str:
        low, high = self.bounds
        n = round(1 / self.parity)
        against = {
            "one": f"against {n - 1} x",
            "rest": f"on {n - 1} seats against",
            "half": "on half of the seats against",
        }[self.table]
        together = f" in sittings of {self.sitting} deals" if self.sitting > 1 else ""
        return (
            f"{self.agent} {against} {self.opponent}: {self.win_share:.1%} ({low:.1%} .. {high:.1%}),"
            f" parity {self.parity:.1%}, {self.games} games{together}, {self.capped:.1%} capped"
            f"{few_deals(self.deals, self.sitting)}"
        )


def duel(
    agent: Agent | str,
    opponent: Agent | str,
    rules: Rules | str = "rolling_stone",
    deals: int = 1000,
    seed: int = 0,
    *,
    table: str = "one",
    precision: float | None = None,
    sitting: int = 1,
    **how: Any,
) -> Duel:
    """Play `deals` deals (matches, with a target) at all seatings of one `agent` against n - 1 of `opponent`.

    table: ``"one"``; or ``"rest"``, n - 1 of `agent` against one; or ``"half"``, half of the seats for each.
    precision, sitting, how: as in `rs_env.arena.league`.
    Raises ValueError for fewer than two deals or sittings, since no interval comes from one, and for other wrong
    arguments.
    """
    (told,) = records_of("duel", how, How)
    plan = Plan(
        rules=as_rules(rules), seed=seed, table=duel_table(table), deals=deals, precision=precision, sitting=sitting
    )
    return duel_of(compare([agent, opponent], plan, told))


def duel_table(table: str) -> str:
    """The kind of table. Raises ValueError unless two agents meet at it."""
    if table not in DUEL_TABLES:
        raise ValueError(f"table={table!r} is not allowed: table must be one of {', '.join(map(repr, DUEL_TABLES))}")
    return table


def duel_of(league: League) -> Duel:
    """The duel that a league of two has played, from the first one's side."""
    games, n = league.games, league.rules.num_players
    agent, opponent = league.standings
    seats = games["seating"] == 0
    won = (seats & (games["winner"][:, None] == np.arange(n))).sum(1)
    one = np.zeros(len(games), np.int64)
    units = league.settings.units_of(games)
    win_share, values = ratios(by_deal(units, one, won, 1), by_deal(units, one, seats.sum(1), 1))
    copies = agent.agent == opponent.agent and not games["truncated"].any()
    low, high = share_bounds(win_share, values, copies)[:, 0].tolist()
    return Duel(
        agent=agent.agent,
        opponent=opponent.agent,
        games=len(games),
        deals=league.deals,
        win_share=float(win_share[0]),
        bounds=(low, high),
        capped=float(games["truncated"].mean()),
        actions=float(games["actions"].mean()),
        parity=1 / n,
        share=agent.share,
        share_bounds=agent.bounds,
        place=agent.place,
        cards=agent.cards,
        pickups=agent.pickups,
        reward=agent.reward,
        table=league.settings.table,
        sitting=league.settings.sitting,
        milliseconds=agent.milliseconds,
    )
