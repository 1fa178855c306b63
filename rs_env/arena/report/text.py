"""The tables of a comparison for the terminal and as Markdown."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rs_env.arena.league import League
from rs_env.arena.report.tables import facts, tables

if TYPE_CHECKING:
    import rich.table


def markdown(league: League) -> str:
    """All tables as Markdown."""
    parts = ["# Arena\n", "\n".join(f"- {name}: {_escaped(value)}" for name, value in facts(league).items()) + "\n"]
    for table in tables(league):
        rule = ["---"] * table.labels + ["---:"] * (len(table.headings) - table.labels)
        lines = ["| " + " | ".join(map(_escaped, row)) + " |" for row in (table.headings, rule, *table.rows)]
        parts.append(f"## {table.title}\n\n" + "\n".join(lines) + f"\n\n{table.note}\n")
    return "\n".join(parts)


def _escaped(text: str) -> str:
    """Text that Markdown shows as it is, in one line: agents' names are anybody's, and HTML in them would be obeyed."""
    plain = html.escape(" ".join(text.split()), quote=False)
    return re.sub(r"([\\`*\[\]|])", r"\\\1", plain)


def rich_tables(league: League) -> Sequence[rich.table.Table]:
    """All tables for `rich.console.Console.print`."""
    from rich.table import Table as RichTable
    from rich.text import Text

    shown = []
    for table in tables(league):
        made = RichTable(title=table.title, caption=table.note, title_justify="left", caption_justify="left")
        for number, heading in enumerate(table.headings):
            made.add_column(Text(heading), justify="left" if number < table.labels else "right", overflow="fold")
        for row in table.rows:
            made.add_row(*map(Text, row))
        shown.append(made)
    return shown
