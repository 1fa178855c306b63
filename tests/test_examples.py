"""The examples for other frameworks: what can be said of them without their environments."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = sorted(path.parent for path in (ROOT / "examples").glob("*/check.py"))
PAGE = (ROOT / "docs" / "frameworks.md").read_text(encoding="utf-8")


def versions(folder: Path) -> dict[str, str]:
    lines = [
        line
        for line in (folder / "requirements.txt").read_text(encoding="utf-8").splitlines()
        if not line.startswith("#")
    ]
    return dict(line.split("==") for line in lines)  # fails where there is no exact version


def test_the_page_names_each_example() -> None:
    assert [folder.name for folder in FOLDERS] == sorted(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))


@pytest.mark.parametrize("folder", FOLDERS, ids=[folder.name for folder in FOLDERS])
def test_versions_are_exact_and_those_of_the_page(folder: Path) -> None:
    required = versions(folder)
    (row,) = re.findall(rf"^\| `{folder.name}` \| (.*?):", PAGE, re.MULTILINE)
    named = dict(re.findall(r"(\S+) (\d[\d.]*\d)", row))
    assert named
    assert named.items() <= required.items()
    assert required.get("torch", "2.13.0") in PAGE


@pytest.mark.parametrize("folder", FOLDERS, ids=[folder.name for folder in FOLDERS])
def test_scripts_need_no_more_than_they_require(folder: Path) -> None:
    script = (folder / "check.py").read_text(encoding="utf-8")
    packages = {
        "open_spiel": "open_spiel",
        "pyspiel": "open_spiel",
        "stable_baselines3": "stable-baselines3",
        "sb3_contrib": "sb3-contrib",
    }
    standard = {"rs_env", "collections", "contextlib", "importlib", "io", "pathlib", "tempfile"}
    modules = set(re.findall(r"^(?:from|import) (\w+)", script, re.MULTILINE)) - standard
    assert {packages.get(module, module) for module in modules} <= versions(folder).keys()
