"""Everybody against everybody: `league`, the run behind it, and what its games say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rs_env.agent import Agent, cheats
from rs_env.arena.games import UNITS
from rs_env.arena.players import fair_baselines
from rs_env.arena.ratings import Ratings, rate
from rs_env.arena.settings import How, Plan, Settings, records_of
from rs_env.arena.statistics import Difference, by_deal, differences, ratios, share_bounds, widths
from rs_env.arena.storage import Folder, Played, nothing_played, open_folder, read_folder
from rs_env.arena.workers import Workplace
from rs_env.rules import Rules, as_rules

CHECK_EVERY = 100  # deals or sittings; widths of intervals are looked at only then, whatever the chunks


@dataclass(frozen=True)
class Standing:
    """How one player of a table did; all numbers are means over the seats it played, a game at one seat being one.

    share: wins, where a game that nobody won counts 1/n for each of its n seats, so that the shares of all seats add up
    to one. bounds: ends of its 95 % interval, see `rs_env.arena.statistics.share_bounds`. interval: how far the further
    one is away. win_share: games won / games. capped: share of truncated games. place: 1 is best. cards: left in hand
    at the end. pickups: a game. reward: of the rule set. milliseconds: a decision.
    """

    agent: str
    cheats: bool
    games: int
    share: float
    bounds: tuple[float, float]
    interval: float
    win_share: float
    capped: float
    place: float
    cards: float
    pickups: float
    reward: float
    milliseconds: float


class League:
    """The games of a comparison and what they say; `played` holds the games, settings and times.

    Players are numbered as in `agents`; two may have the same name.
    """

    def __init__(self, played: Played) -> None:
        self.played = played
        self.settings = played.settings
        self.agents = played.settings.agents
        self.rules = played.settings.rules

    @classmethod
    def read(cls, folder: str | Path) -> League:
        """The comparison in a folder. Raises ValueError where there is none."""
        return cls(read_folder(folder))

    @property
    def games(self) -> np.ndarray:
        """The games of the main table, of dtype `rs_env.arena.games.games_dtype`. Raises ValueError where there is none
        yet.
        """
        if self.settings.table not in self.played.games:
            raise ValueError("no deal has been played to its end yet")
        return self.played.games[self.settings.table]

    @property
    def deals(self) -> int:
        """Deals of the main table."""
        return len(np.unique(self.games["deal"]))

    @cached_property
    def deal_shares(self) -> np.ndarray:
        """Share of each player on each deal (with sittings: in each sitting), float64 (deals, k), see
        `rs_env.arena.statistics.ratios`.
        """
        return _shares(self.games, self.settings)[1]

    @cached_property
    def sitting_shares(self) -> list[tuple[int, int, np.ndarray, np.ndarray]]:
        """How shares change in the course of a sitting: for some of its deals, of which the first and the last one are
        given, counted from 1, the share of each player, (k,), and the ends of the 95 % intervals, (2, k). Empty where
        players sit together for one deal.
        """
        number, found, first = self.games["deal"] % self.settings.sitting + 1, [], 1
        ends = (part * 10**power for power in range(10) for part in (2, 5, 10))
        while first <= self.settings.sitting > 1:
            last = min(next(ends), self.settings.sitting)
            games = self.games[(first <= number) & (number <= last)]
            found.append((first, last, *_bounded_shares(games, self.settings)))
            first = last + 1
        return found

    @cached_property
    def standings(self) -> list[Standing]:
        """One for each player, in their order."""
        games, k = self.games, len(self.agents)
        seats = games["seating"].astype(np.int64)

        def mean(values: np.ndarray) -> np.ndarray:
            values = np.broadcast_to(values.reshape(len(games), -1), seats.shape)
            return np.bincount(seats.reshape(-1), values.reshape(-1), k) / counts

        counts = np.bincount(seats.reshape(-1), minlength=k)
        won = games["winner"][:, None] == np.arange(seats.shape[1])
        columns = [mean(values) for values in (won, games["truncated"])]
        columns += [mean(games[field]) for field in ("places", "cards", "pickups", "rewards")]
        share, bounds = _bounded_shares(games, self.settings)
        milliseconds = 1000 * self.played.seconds / np.maximum(self.played.asked, 1)
        low, high = bounds.tolist()
        rows = zip(share, zip(low, high, strict=True), widths(share, bounds), *columns, milliseconds, strict=True)
        names = zip(self.agents, self.settings.cheats, counts, strict=True)
        return [
            Standing(name, cheat, int(count), float(share), ends, *map(float, numbers))
            for (name, cheat, count), (share, ends, *numbers) in zip(names, rows, strict=True)
        ]

    @cached_property
    def ranking(self) -> list[int]:
        """Numbers of the players, best share first."""
        return sorted(range(len(self.agents)), key=lambda player: -self.standings[player].share)

    @cached_property
    def ratings(self) -> Ratings:
        """Of all players, from the main table; needs SciPy."""
        return rate(self.games, len(self.agents), self.settings.sitting)

    @cached_property
    def differences(self) -> list[Difference]:
        """Shares of all pairs of players compared on the same deals; needs SciPy."""
        return differences(self.deal_shares)

    @property
    def matrix(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Shares (k, k) of each row's player on one seat against n - 1 of the column's, and how far their 95 %
        intervals reach.
        """
        if self.matrix_bounds is None:
            return None
        share, low, high = self.matrix_bounds
        return share, widths(share, np.stack([low, high]))

    @cached_property
    def matrix_bounds(self) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Shares of the matrix and the lower and upper ends of their 95 % intervals, each (k, k)."""
        games, k = self.played.games.get("matrix"), len(self.agents)
        if games is None:
            return None
        seats = games["seating"].astype(np.int64)
        credit = np.where(seats < k, games["credit"], 0).sum(1)
        cell = seats.min(1) * k + seats.max(1) - k
        units = self.settings.units_of(games)
        sums = by_deal(units, cell, credit, k * k)
        share, values = ratios(sums, UNITS * by_deal(units, cell, np.ones(len(games)), k * k))
        names = np.array(self.agents)
        low, high = share_bounds(share, values, (names[:, None] == names).reshape(-1))
        return share.reshape(k, k), low.reshape(k, k), high.reshape(k, k)


def league(
    agents: Sequence[Agent | str] | None = None,
    rules: Rules | str = "rolling_stone",
    deals: int = 1000,
    seed: int = 0,
    *,
    matrix_deals: int = 0,
    precision: float | None = None,
    sitting: int = 1,
    **how: Any,
) -> League:
    """Let all agents of a list meet at mixed tables, everybody on the same deals and on every seat (see
    `rs_env.arena.tables`).

    agents: names or objects, at least two; None: all baselines that do not cheat. deals: matches, with a target.
    matrix_deals: deals on which each agent also plays on one seat against n - 1 of each agent.
    precision: stop, after a multiple of 100 deals or sittings, when the shares' 95 % intervals are at most this wide to
    either side. sitting: deals that the same players play on the same seats one after the other, and may remember (see
    `rs_env.agent.Remembers`); sittings are whole, and then the units of all intervals.
    how: arguments of `How`: processes, games_at_once, isolated, fair, out, resume, progress. Raises ValueError, naming
    the argument, for what is not allowed.
    """
    (told,) = records_of("league", how, How)
    plan = Plan(
        rules=as_rules(rules),
        seed=seed,
        table="mixed",
        deals=deals,
        matrix_deals=matrix_deals,
        precision=precision,
        sitting=sitting,
    )
    return compare(fair_baselines() if agents is None else agents, plan, told)


def compare(agents: Sequence[Agent | str], plan: Plan, how: How) -> League:
    """The comparison of `league` at any kind of table."""
    if isinstance(agents, str) or len(agents) < 2:
        raise ValueError(f"agents={agents!r} is not allowed: it must be a list of at least two")
    workplace = Workplace(agents, plan, how)
    players = workplace.crew.agents
    settings = Settings(**vars(plan), agents=tuple(a.name for a in players), cheats=tuple(map(cheats, players)))
    with open_folder(how.out, settings, how.resume) as folder, workplace, _bar(how.progress) as show:
        played = nothing_played(settings) if folder is None else folder.past
        for part in settings.parts:
            played = _play_part(part, played, workplace, folder, show)
    return League(played)


def _play_part(
    table: str, played: Played, workplace: Workplace, folder: Folder | None, show: Callable[..., None]
) -> Played:
    """Play what is missing of a kind of table."""
    settings = played.settings
    precision = settings.precision if table == settings.table else None
    games = [played.games[table]] if table in played.games else []
    done = int(games[0]["deal"].max()) + 1 if games else 0
    if games and _narrow_enough(games, settings, done - 1, done, precision):
        return played
    for chunk in workplace.play(table, done, settings.parts[table]):
        before, done = done, int(chunk.games["deal"][-1]) + 1
        games.append(chunk.games)
        end = _narrow_enough(games, settings, before, done, precision)
        kept = len(chunk.games) if end is None else int((chunk.games["deal"] < end).sum())
        games[-1] = chunk.games[:kept]
        played = replace(played, seconds=played.seconds + chunk.seconds, asked=played.asked + chunk.asked)
        if folder is not None:
            folder.add(chunk.lines[:kept])
            folder.save(played)
        show(table, end or done, end or settings.parts[table])
        if end is not None:
            break
    return replace(played, games={**played.games, table: np.concatenate(games)}) if games else played


def _narrow_enough(
    games: list[np.ndarray], settings: Settings, before: int, done: int, precision: float | None
) -> int | None:
    """The first number of deals in before + 1 .. done after which all intervals are narrow enough, of those looked
    at.
    """
    step = CHECK_EVERY * settings.sitting
    for deals in range(before // step * step + step, done + 1, step) if precision else ():
        all_games = np.concatenate(games)
        share, bounds = _bounded_shares(all_games[all_games["deal"] < deals], settings)
        if widths(share, bounds).max() <= precision:
            return deals
    return None


def _shares(games: np.ndarray, settings: Settings) -> tuple[np.ndarray, np.ndarray]:
    """The share of each player, and its values for each deal or sitting."""
    seats, players = games["seating"].astype(np.int64), len(settings.agents)
    units = np.broadcast_to(settings.units_of(games)[:, None], seats.shape)
    sums = by_deal(units, seats, games["credit"], players)
    return ratios(sums, UNITS * by_deal(units, seats, np.ones(seats.shape), players))


def _bounded_shares(games: np.ndarray, settings: Settings) -> tuple[np.ndarray, np.ndarray]:
    """The share of each player, (k,), and the ends of their intervals, (2, k)."""
    share, values = _shares(games, settings)
    return share, share_bounds(share, values, len(set(settings.agents)) == 1)


@contextmanager
def _bar(shown: bool) -> Iterator[Callable[[str, int, int], None]]:
    """A progress bar for what is told by (table, deals done, deals in all)."""
    if not shown:
        yield lambda table, done, total: None
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(30),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    ) as bar:
        tasks = {}

        def show(table: str, done: int, total: int) -> None:
            if table not in tasks:
                tasks[table] = bar.add_task(f"{table} tables, deals")
            bar.update(tasks[table], completed=done, total=total)

        yield show
