"""Write the generated table of docs/observation.md anew."""

from __future__ import annotations

import re
from pathlib import Path

from rs_env.engine.observation import table

PAGE = Path(__file__).parent / "observation.md"
BETWEEN = re.compile(r"(<!-- table: begin[^\n]*-->\n).*(<!-- table: end -->)", re.DOTALL)


def page_with(page: str, content: str) -> str:
    """The page with `content` between its markers."""
    return BETWEEN.sub(lambda found: f"{found[1]}{content}\n{found[2]}", page)


if __name__ == "__main__":
    PAGE.write_text(page_with(PAGE.read_text(encoding="utf-8"), table()), encoding="utf-8")
