"""A comparison as one HTML page that needs nothing else: tables, intervals, lengths of games."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from html import escape
from pathlib import Path

import numpy as np

from rs_env.arena.league import League
from rs_env.arena.report.tables import Table, facts, labels_of, percent, tables

_BINS = 60

_STYLE = """
:root { color-scheme: light dark;
  --ink: #1d2433; --soft: #667085; --line: #d9dee7; --page: #fff; --good: #2463b0; --bad: #c2571a; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e7ec; --soft: #98a2b3; --line: #344054; --page: #14181f; --good: #74a9ea; --bad: #f0935a; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page);
  max-width: 72rem; margin: 2.5rem auto; padding: 0 1.5rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2.5rem; }
p, figcaption { color: var(--soft); max-width: 50rem; } figure { margin: 0; } .wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .5rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
th { font-weight: 600; } thead th { color: var(--soft); vertical-align: bottom; } .word { text-align: left; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1.2rem; }
dt { color: var(--soft); } dd { margin: 0; }
svg { width: 100%; max-width: 48rem; height: auto; }
svg text { fill: var(--ink); font-size: 12px; } svg .soft { fill: var(--soft); }
svg line { stroke: var(--line); } svg .interval { stroke: var(--good); stroke-width: 3; stroke-linecap: round; }
svg .parity { stroke: var(--bad); stroke-dasharray: 4 4; }
svg .good { fill: var(--good); } svg .bad { fill: var(--bad); }
"""


def page(league: League, folder: str | Path | None = None) -> str:
    """The page: no scripts, nothing to load, readable in light and dark. folder: where the games are, to tell how they
    are watched.
    """
    shown = tables(league)
    settings = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts(league).items())
    sections = [_table(shown[0]), _intervals(league), *map(_table, shown[1:]), _lengths(league)]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Rolling Stone arena</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>Rolling Stone arena</h1>\n"
        + "\n".join(sections)
        + ("" if folder is None else _watching(folder))
        + f"\n<h2>Settings</h2>\n<dl>{settings}</dl>\n</body>\n</html>\n"
    )


def _watching(folder: str | Path) -> str:
    command = f"python -m rs_env watch {shlex.quote(str(folder))}"
    told = "To watch them, with what agents make of each decision:"
    file = 'They are the lines of <a href="games.jsonl">games.jsonl</a>.'
    return f"\n<h2>Games</h2>\n<p>{told} <code>{escape(command)}</code></p>\n<p>{file}</p>"


def _table(table: Table) -> str:
    head = "".join(_cell("th", heading, number < table.labels) for number, heading in enumerate(table.headings))
    body = ""
    for i, row in enumerate(table.rows):
        colours = [""] * table.labels + [_colour(value) for value in (table.heat[i] if table.heat is not None else ())]
        colours += [""] * (len(row) - len(colours))
        cells = (
            _cell("td", text, j < table.labels, colour)
            for j, (text, colour) in enumerate(zip(row, colours, strict=True))
        )
        body += f"<tr>{''.join(cells)}</tr>\n"
    parts = f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>"
    return (
        f'<h2>{escape(table.title)}</h2>\n<div class="wide"><table>\n{parts}</table></div>\n<p>{escape(table.note)}</p>'
    )


def _cell(kind: str, text: str, word: bool, style: str = "") -> str:
    place = ' class="word"' if word else ""
    return f"<{kind}{place}{style}>{escape(text)}</{kind}>"


def _colour(value: float) -> str:
    """Blue above 0, orange below, the stronger the further; transparent enough for text in either scheme."""
    if not abs(value) > 0:
        return ""
    return f' style="background: rgba({"54, 120, 210" if value > 0 else "226, 112, 40"}, {0.55 * abs(value):.2f})"'


def _intervals(league: League) -> str:
    """Shares as dots with their intervals, equal players' share as a dashed line."""
    parity, labels, shapes = 1 / league.rules.num_players, labels_of(league), []
    left, width, step = 30 + 7 * max(map(len, labels)), 560, 24
    top = max(parity, *(s.bounds[1] for s in league.standings)) * 1.05

    def x(share: float) -> str:
        return f"{left + width * min(max(share, 0.0), top) / top:.1f}"

    height = step * len(labels) + 30
    for tick in round_ticks(top):
        shapes.append(_line(x(tick), 0, x(tick), height - 26))
        shapes.append(f'<text class="soft" x="{x(tick)}" y="{height - 8}" text-anchor="middle">{tick:.0%}</text>')
    shapes.append(_line(x(parity), 0, x(parity), height - 26, "parity"))
    for row, player in enumerate(league.ranking):
        s, y = league.standings[player], step * row + 16
        interval = f"{labels[player]}: {s.share:.1%} ({percent(s.bounds)})"
        shapes.append(f'<text x="{left - 12}" y="{y + 4}" text-anchor="end">{escape(labels[player])}</text>')
        shapes.append(_line(x(0), y, x(top), y))
        shapes.append(_line(x(s.bounds[0]), y, x(s.bounds[1]), y, "interval"))
        shapes.append(
            f'<circle class="good" cx="{x(s.share)}" cy="{y}" r="5"><title>{escape(interval)}</title></circle>'
        )
    return _figure(
        "Shares with 95 % intervals", left + width + 20, height, shapes, f"Dashed: equal players, {parity:.1%}."
    )


def _lengths(league: League) -> str:
    """Histogram of the actions of a game; capped games in another colour."""
    left, top, width, height = 50, 10, 700, 170
    actions, capped = league.games["actions"], league.games["truncated"]
    step = round_step(actions.max() / _BINS, whole=True)
    edges = np.arange(0, actions.max() + step + 1, step)
    ended, stopped = (np.histogram(actions[mask], edges)[0] for mask in (~capped, capped))
    most, bar, shapes = (ended + stopped).max(), width / len(ended), []

    def y(count: float) -> float:
        return top + height * (1 - count / most)

    for tick in round_ticks(most, min(4, most)):
        shapes.append(_line(left, f"{y(tick):.1f}", left + width, f"{y(tick):.1f}"))
        shapes.append(f'<text class="soft" x="{left - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:.0f}</text>')
    for i, (a, b) in enumerate(zip(ended, stopped, strict=True)):
        tip = f"{edges[i]} to {edges[i + 1] - 1} actions: {a} ended, {b} capped"
        shapes.append(_bar(left + i * bar, y(a), bar - 1, y(0) - y(a), "good", tip))
        shapes.append(_bar(left + i * bar, y(a + b), bar - 1, y(a) - y(a + b), "bad", tip))
    for tick in round_ticks(edges[-1]):
        x = f"{left + width * tick / edges[-1]:.1f}"
        shapes.append(_line(x, top + height, x, top + height + 4))
        shapes.append(f'<text class="soft" x="{x}" y="{top + height + 18}" text-anchor="middle">{tick:.0f}</text>')
    caption = "Number of games by their number of actions; orange: capped games."
    return _figure("How long games are", left + width + 20, top + height + 26, shapes, caption)


def round_step(least: float, whole: bool = False) -> float:
    """The smallest of 1, 2, 5, 10, 20, ... and of 0.1, 0.2, 0.5, ... that is at least so much; with `whole` at least
    1.
    """
    power = 10.0 ** np.floor(np.log10(least))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))
    return max(int(step), 1) if whole else step


def round_ticks(top: float, parts: int = 10) -> np.ndarray:
    """Round numbers from 0 to at most `top`, in the smallest steps of 1, 2 or 5 times a power of ten that make at most
    so many `parts`.
    """
    step = round_step(top / parts)
    return step * np.arange(int(top / step * (1 + 1e-9)) + 1)


def _figure(title: str, width: int, height: int, shapes: Iterable[str], caption: str) -> str:
    drawing = f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}">{"".join(shapes)}</svg>'
    return f"<h2>{escape(title)}</h2>\n<figure>{drawing}<figcaption>{escape(caption)}</figcaption></figure>"


def _line(x1: object, y1: object, x2: object, y2: object, kind: str = "") -> str:
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"{f" class={kind!r}" if kind else ""}/>'


def _bar(x: float, y: float, width: float, height: float, kind: str, tip: str) -> str:
    if height <= 0:
        return ""
    place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect class="{kind}" {place}><title>{escape(tip)}</title></rect>'
