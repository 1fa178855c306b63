"""Run every block of Python of the pages, each page in a process of its own, each block with names of its own.

python docs/run_blocks.py [PAGE ...]    # all pages of this folder and of those in it, and the README
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
_NEEDS = {"torch": "import torch", "pyspiel": "spiel", "stable_baselines3": "sb3"}
_RUN = """
import importlib.util, json, sys
for number, (block, needs) in enumerate(json.loads(sys.stdin.read()), 1):
    missing = [module for module in needs if importlib.util.find_spec(module) is None]
    if missing:
        print(f"  block {number} left out: there is no {missing[0]}", file=sys.stderr)
        continue
    exec(compile(block, f"block {number}", "exec"), {"__name__": "__main__"})
"""


def blocks_of(page: Path) -> list[tuple[str, list[str]]]:
    """The blocks of Python of a page, each with the modules that it needs beside the package."""
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    return [(block, [module for module, word in _NEEDS.items() if word in block]) for block in blocks]


def main(pages: list[str]) -> int:
    """Run them; how many pages failed."""
    chosen = [Path(page) for page in pages] or [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    failed = 0
    for page in chosen:
        blocks = blocks_of(page)
        if not blocks:
            continue
        print(f"{page.relative_to(ROOT) if page.is_absolute() else page}: {len(blocks)}", flush=True)
        done = subprocess.run(
            [sys.executable, "-c", _RUN], input=json.dumps(blocks), text=True, cwd=ROOT, stdout=subprocess.DEVNULL
        )
        failed += done.returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
