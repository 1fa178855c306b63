"""The recipes for other frameworks: what can be said of them without their environments."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = sorted(path.parent for path in (ROOT / "examples").glob("*/requirements.txt"))
PAGE = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
SCRIPTS = [script for folder in FOLDERS for script in sorted(folder.glob("*.py"))]
PACKAGES = {
    "pyspiel": "open_spiel",
    "stable_baselines3": "stable-baselines3",
    "sb3_contrib": "sb3-contrib",
    "ray": "ray[rllib]",
}
"""Where a module has another name than the package that it comes in."""

named = pytest.mark.parametrize("folder", FOLDERS, ids=[folder.name for folder in FOLDERS])


def versions(folder: Path) -> dict[str, str]:
    lines = [
        line
        for line in (folder / "requirements.txt").read_text(encoding="utf-8").splitlines()
        if not line.startswith("#")
    ]
    return dict(line.split("==") for line in lines)  # fails where there is no exact version


def test_the_page_names_each_recipe() -> None:
    assert [folder.name for folder in FOLDERS] == sorted(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))


def test_the_workflow_runs_each_recipe() -> None:
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    (names,) = re.findall(r"name: \[(.*)\]", workflow)
    assert names.split(", ") == [folder.name for folder in FOLDERS]


@named
def test_each_folder_has_a_script_and_says_how_to_run_it(folder: Path) -> None:
    assert list(folder.glob("*.py"))
    readme = (folder / "README.md").read_text(encoding="utf-8")
    assert f'python -m nox --session "recipe({folder.name})"' in readme


@named
def test_versions_are_exact_and_those_of_the_page(folder: Path) -> None:
    required = {name.partition("[")[0]: number for name, number in versions(folder).items()}
    (row,) = re.findall(rf"^\| `{folder.name}` \|.*\| ([^|]*) \|$", PAGE, re.MULTILINE)
    shown = dict(re.findall(r"([\w-]+) (\d[\d.]*\d)", row))
    assert shown
    assert shown.items() <= required.items()
    assert required.get("torch", "2.13.0") in PAGE


@pytest.mark.parametrize("script", SCRIPTS, ids=[f"{script.parent.name}/{script.name}" for script in SCRIPTS])
def test_scripts_need_no_more_than_they_require(script: Path) -> None:
    modules = set()
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        modules |= {name.partition(".")[0] for name in names}
    modules -= set(sys.stdlib_module_names) | {"rs_env"}
    assert {PACKAGES.get(module, module) for module in modules} <= versions(script.parent).keys()


@pytest.mark.parametrize("script", SCRIPTS, ids=[f"{script.parent.name}/{script.name}" for script in SCRIPTS])
def test_what_a_script_learns_is_checked_by_the_script(script: Path) -> None:
    if script.name in ("train.py", "self_play.py"):
        assert "after.bounds[0] > after.parity" in script.read_text(encoding="utf-8")
