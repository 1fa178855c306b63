"""Arrows of import run one way: no module is above a module that it imports, and there is no circle.

Every import counts: at the top, in a function, and for type checkers alone.
"""

from __future__ import annotations

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import rs_env
import rs_env.render

ROOT = Path(__file__).parents[1]

# The floors of the package, the lowest first; docs/design.md tells why. A module stands where the longest name that it
# begins with stands, and imports from its own floor and from those below.
FLOORS = (
    ("rs_env.cards", "rs_env.checks", "rs_env.files", "rs_env.version"),
    (
        "rs_env.scorings",
        "rs_env.rules",
        "rs_env.actions",
        "rs_env.notebook",
        *(f"rs_env.render.{name}" for name in ("table", "text", "shapes", "themes", "scene", "fonts")),
        *(f"rs_env.render.{name}" for name in ("picture", "svg")),
    ),
    ("rs_env.engine",),
    (
        "rs_env.decks",
        "rs_env.game",
        "rs_env.history",
        "rs_env.record",
        "rs_env.belief",
        "rs_env.describe",
        "rs_env.encoding",
    ),
    ("rs_env.agent",),
    ("rs_env.baselines",),
    ("rs_env.render", "rs_env.envs", "rs_env.testing", "rs_env.isolation", "rs_env.executors"),
    ("rs_env.solve",),
    ("rs_env.arena", "rs_env.openspiel"),
    ("rs_env.web",),
    ("rs_env",),
    (
        *(
            "rs_env.warm",
            "rs_env.inform",
            "rs_env.completion",
            "rs_env.doctor",
            "rs_env.command_line",
            "rs_env.flags",
            "rs_env.__main__",
        ),
        *("rs_env.arena.__main__", "rs_env.web.commands"),
    ),
    ("agents",),
    ("train",),
)


def modules() -> dict[str, Path]:
    """Every module by name; a package is its ``__init__``."""
    paths = [path for package in ("rs_env", "agents", "train.py") for path in files_of(ROOT / package)]
    return {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}


def files_of(path: Path) -> list[Path]:
    return sorted(path.rglob("*.py")) if path.is_dir() else [path]


MODULES = modules()


def imports(source: str) -> set[str]:
    """The modules of the project that a source imports, wherever it does so."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level and node.module, "imports are absolute"
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in MODULES else node.module for name in names}
    return found & MODULES.keys()


GRAPH = {module: imports(path.read_text(encoding="utf-8")) for module, path in MODULES.items()}
_AT_FIRST_USE = {*rs_env._HOME.values(), *rs_env._MODULES.values()}
GRAPH["rs_env"] |= {f"rs_env.{module}" for module in _AT_FIRST_USE}
GRAPH["rs_env.render"] |= {f"rs_env.render.{module}" for module in rs_env.render._HOME.values()}


def floor_of(module: str) -> int:
    """The number of the floor on which a module stands."""
    named = {name: floor for floor, names in enumerate(FLOORS) for name in names}
    fitting = [name for name in named if f"{module}.".startswith(f"{name}.") and (name != "rs_env" or module == name)]
    assert fitting, f"{module} stands on no floor: give it a place in FLOORS"
    return named[max(fitting, key=len)]


def test_no_module_imports_from_a_floor_above() -> None:
    floors = {module: floor_of(module) for module in MODULES}
    assert not [f"{a} imports {b}" for a, found in GRAPH.items() for b in found if floors[b] > floors[a]]


def test_the_page_has_the_same_floors() -> None:
    page = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.*?) \|", page.partition("## Floors")[2], re.MULTILINE)
    files = [{str(MODULES[name].relative_to(ROOT)) for name in names} for names in reversed(FLOORS)]
    shown = [set(re.findall(r"`([^`]+)`", row)) for row in rows]
    merged = [files[0] | files[1], *files[2:]]  # train.py and agents are in one row
    init = "/__init__.py"
    assert shown == [{file if file == f"rs_env{init}" else file.replace(init, "/") for file in row} for row in merged]


def test_modules_import_in_no_circle() -> None:
    try:
        TopologicalSorter(GRAPH).prepare()
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


def test_imports_are_found_wherever_they_stand() -> None:
    source = """
import rs_env.rules
if TYPE_CHECKING:
    from rs_env.engine import view
def late():
    from rs_env.agent import Agent
    import numpy
"""
    assert imports(source) == {"rs_env.rules", "rs_env.engine.view", "rs_env.agent"}
    assert len(GRAPH["rs_env.game"]) > 5 and "rs_env.render.text" in GRAPH["rs_env.game"]
