"""Before any test: throw away compiled code that is older than the sources.

Numba's cache looks only at the file of the function it compiles, not at those that the function calls into, so that after a
change of the engine the kernels of other modules would still run the old one.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

ROOT = Path(__file__).parents[1]
STAMP = ROOT / "rs_env" / "__pycache__" / "sources.sha256"


def pytest_configure() -> None:
    sources = sorted([*(ROOT / "rs_env").rglob("*.py"), *(ROOT / "agents").rglob("*.py")])
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    if STAMP.exists() and STAMP.read_text(encoding="utf-8") == digest:
        return
    for folder in ("rs_env", "agents"):
        for compiled in (ROOT / folder).rglob("*.nb[ci]"):
            compiled.unlink(missing_ok=True)
    STAMP.parent.mkdir(exist_ok=True)
    STAMP.write_text(digest, encoding="utf-8")
