"""Write the generated tables of the pages anew."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from rs_env import scorings
from rs_env.baselines import general
from rs_env.engine import observation

PAGES = Path(__file__).parent
TABLES: dict[tuple[str, str], Callable[[], str]] = {
    ("observation.md", "sections"): observation.table,
    ("rules.md", "scorings"): scorings.table,
    ("agents.md", "rules as numbers"): general.table,
}
"""What makes each table, by page and name."""


def page_with(page: str, name: str, content: str) -> str:
    """The page with `content` between the markers of that name."""
    between = re.compile(rf"(<!-- {name}: begin[^\n]*-->\n).*(<!-- {name}: end -->)", re.DOTALL)
    return between.sub(lambda found: f"{found[1]}{content}\n{found[2]}", page)


if __name__ == "__main__":
    for (page, name), make in TABLES.items():
        path = PAGES / page
        path.write_text(page_with(path.read_text(encoding="utf-8"), name, make()), encoding="utf-8")
