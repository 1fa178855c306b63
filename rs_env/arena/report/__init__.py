"""What a comparison says: tables for the terminal, as Markdown, and in a page of HTML."""

from __future__ import annotations

from pathlib import Path

from rs_env.arena.league import League
from rs_env.arena.report.html import page
from rs_env.arena.report.text import markdown, rich_tables

__all__ = ["markdown", "page", "rich_tables", "write_report"]


def write_report(league: League, folder: str | Path) -> list[Path]:
    """Write ``report.md`` and ``report.html`` to the folder; their paths."""
    written = {Path(folder) / "report.md": markdown(league), Path(folder) / "report.html": page(league, folder)}
    for path, text in written.items():
        path.write_text(text, encoding="utf-8")
    return list(written)
