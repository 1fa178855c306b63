"""What a comparison says, as tables: for the terminal, as Markdown, and in the page of `rs_env.arena.report.html`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rs_env.arena.league import League
from rs_env.arena.statistics import few_deals

LEVEL = 0.05  # of significance, for all differences of a table together


@dataclass(frozen=True)
class Table:
    """Rows of text under headings; the first `labels` columns are words, the others numbers.

    heat: for each column of numbers its value around 0, from -1 to 1, as colours of a heat map; None: no colours.
    """

    title: str
    headings: list[str]
    rows: list[list[str]]
    note: str
    labels: int = 1
    heat: np.ndarray | None = None


def tables(league: League) -> list[Table]:
    """Standings, shares in the course of a sitting, pairwise differences, the matrix, and the length of games; those of
    what was not played are left out.
    """
    makers = (standings_table, sitting_table, differences_table, matrix_table, games_table)
    return [table for table in (make(league) for make in makers) if table is not None]


def labels_of(league: League) -> list[str]:
    """The players as tables name them: one that cheats is marked, and the second of two of one name numbered."""
    labels: list[str] = []
    for number, (name, cheats) in enumerate(zip(league.agents, league.settings.cheats, strict=True)):
        before = league.agents[:number].count(name)
        labels.append(name + (f" ({before + 1})" if before else "") + (" (sees all hands)" if cheats else ""))
    return labels


def standings_table(league: League) -> Table:
    """The ladder: shares with intervals, ratings, and what games were like for each player."""
    labels, ratings = labels_of(league), league.ratings
    with_reward = league.rules.scoring != "win" and league.rules.target is None
    rows = []
    for rank, player in enumerate(league.ranking, 1):
        s = league.standings[player]
        row = [str(rank), labels[player], f"{s.share:.1%}", percent(s.bounds)]
        row += [
            f"{ratings.points[player]:.0f}",
            _points(ratings.bounds[:, player]),
            f"{s.win_share:.1%}",
            f"{s.capped:.1%}",
        ]
        row += [f"{s.place:.2f}", f"{s.cards:.2f}", f"{s.pickups:.1f}"] + [f"{s.reward:.3f}"] * with_reward
        rows.append([*row, two_digits(s.milliseconds), str(s.games)])
    headings = ["", "agent", "share", "95 %", "rating", "95 %", "won", "capped", "place", "cards left", "pickups"]
    headings += ["reward"] * with_reward + ["ms/decision", "games"]
    n = league.rules.num_players
    note = (
        f"Share: games won, where a game that nobody won counts 1/{n} for each seat; equal players have {1 / n:.1%}. "
        "Won: games won. Capped: games stopped by the limit of actions. "
        "Rating: Plackett-Luce, mean 1000, 400 points are ten times the odds. "
        f"95 %: ends of the interval, from means per {league.settings.unit}"
        f"{few_deals(league.deals, league.settings.sitting)}."
    )
    return Table("Standings", headings, rows, note, labels=2)


def sitting_table(league: League) -> Table | None:
    """Shares by the number of the deal within its sitting, if players sat together for more than one."""
    blocks = league.sitting_shares
    if not blocks:
        return None
    labels, order = labels_of(league), league.ranking
    rows = [
        [str(first) if first == last else f"{first}-{last}", *(_percents(share[p], *bounds[:, p]) for p in order)]
        for first, last, share, bounds in blocks
    ]
    few = few_deals(league.deals, league.settings.sitting)
    note = f"By the number of the deal within its sitting, in percent with 95 % intervals from means per sitting{few}."
    return Table("Shares in the course of a sitting", ["deals", *(labels[p] for p in order)], rows, note)


def differences_table(league: League) -> Table:
    """Share of each row's player minus that of the column's, in points of a hundred."""
    labels, order, k = labels_of(league), league.ranking, len(league.agents)
    gaps, significant = np.zeros((k, k)), np.zeros((k, k), np.bool_)
    for d in league.differences:
        gaps[d.first, d.second], gaps[d.second, d.first] = d.difference, -d.difference
        significant[d.first, d.second] = significant[d.second, d.first] = d.adjusted < LEVEL
    gaps, significant = gaps[np.ix_(order, order)], significant[np.ix_(order, order)]
    cells = [
        ["" if i == j else f"{100 * gaps[i, j]:+.1f}{'*' if significant[i, j] else ''}" for j in range(k)]
        for i in range(k)
    ]
    rows = [[labels[player], *row] for player, row in zip(order, cells, strict=True)]
    note = (
        "On the same deals, in percentage points. *: significant by paired t tests with Holm's correction,"
        f" {LEVEL:.0%} for all together."
    )
    return Table(
        "Difference in share, row minus column",
        ["", *(labels[player] for player in order)],
        rows,
        note,
        heat=_heat(gaps),
    )


def matrix_table(league: League) -> Table | None:
    """Each agent on one seat against copies of each agent on all others."""
    if league.matrix_bounds is None:
        return None
    labels, order, n = labels_of(league), league.ranking, league.rules.num_players
    share, low, high = (values[np.ix_(order, order)] for values in league.matrix_bounds)
    places = range(len(order))
    cells = [[_percents(share[i, j], low[i, j], high[i, j]) for j in places] for i in places]
    rows = [[labels[player], *row] for player, row in zip(order, cells, strict=True)]
    deals = len(np.unique(league.played.games["matrix"]["deal"]))
    title = f"Matrix: the row on one seat against {n - 1} of the column"
    note = (
        f"Share of the row in percent with its 95 % interval, {deals} deals;"
        f" equal players have {100 / n:.1f}{few_deals(deals, league.settings.sitting)}."
    )
    return Table(title, ["", *(labels[player] for player in order)], rows, note, heat=_heat(share - 1 / n))


def games_table(league: League) -> Table:
    """How long the games of the main table were."""
    actions, capped = league.games["actions"], league.games["truncated"].mean()
    middle, high = np.quantile(actions, (0.5, 0.95))
    row = [
        str(league.deals),
        str(len(actions)),
        f"{actions.mean():.1f}",
        f"{middle:.0f}",
        f"{high:.0f}",
        str(actions.max()),
        f"{capped:.1%}",
    ]
    headings = ["deals", "games", "mean actions", "median", "95 % quantile", "longest", "capped"]
    return Table("Length of games", headings, [row], "Actions of a game, pickups included.", labels=0)


def facts(league: League) -> dict[str, str]:
    """What is needed to play the comparison again."""
    settings, default = league.settings, type(league.rules)().to_dict()
    changed = {name: value for name, value in league.rules.to_dict().items() if value != default[name]}
    values: dict[str, object] = {
        "rules": ", ".join(f"{name}={value}" for name, value in changed.items())
        or "rolling_stone, all options at their defaults",
        "players at a table": league.rules.num_players,
        "tables": settings.table,
        "deals": f"{league.deals} of {settings.deals}" if league.deals < settings.deals else league.deals,
        "deals of the matrix": settings.matrix_deals,
        "deals of a sitting": settings.sitting,
        "precision": settings.precision or "none asked for",
        "seed": settings.seed,
    }
    return {name: str(value) for name, value in (values | league.played.about).items()}


def percent(bounds: tuple[float, float]) -> str:
    """The ends of an interval of shares."""
    low, high = bounds
    return f"{100 * low:.1f} .. {high:.1%}"


def two_digits(number: float) -> str:
    """A number with two significant digits, without an exponent."""
    return np.format_float_positional(number, 2, unique=False, fractional=False, trim="-")


def _percents(share: float, low: float, high: float) -> str:
    """A share in percent, and its interval unless the share is exact."""
    return f"{100 * share:.1f}" + (f" ({100 * low:.1f} .. {100 * high:.1f})" if low < high else "")


def _points(bounds: np.ndarray) -> str:
    """The ends of an interval of ratings, one of which may be open."""
    low, high = bounds
    if np.isinf(low):
        return f"below {high:.0f}"
    return f"above {low:.0f}" if np.isinf(high) else f"{low:.0f} .. {high:.0f}"


def _heat(values: np.ndarray) -> np.ndarray:
    """Values scaled to -1 .. 1."""
    return values / max(np.nanmax(np.abs(values)), 1e-9)
