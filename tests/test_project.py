"""What the project says about itself: imports, the README, the generated pages."""

from __future__ import annotations

import importlib.util
import pkgutil
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.version import Version

import rs_env
from rs_env.rules import OPTIONS, PRESETS

ROOT = Path(__file__).parents[1]
PAGES = [
    *("README.md", "CONTRIBUTING.md", "CHANGELOG.md"),
    *sorted(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")),
]


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def python_blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", text_of(page), re.DOTALL)


def quoted(page: str) -> list[str]:
    """What stands in backticks in the running text and the tables of a page."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text_of(page), flags=re.DOTALL))


def commands(page: str) -> list[str]:
    """The commands that a page names: lines of its blocks, and what is quoted."""
    blocks = re.findall(r"```\n(.*?)```", text_of(page), re.DOTALL)
    indented = re.findall(r"^    (\S.*)$", text_of(page), re.MULTILINE)
    lines = [line for block in blocks for line in block.splitlines()]
    return [line for line in (*lines, *indented, *quoted(page)) if re.match(r"(python|make) ", line)]


def anchors(page: str) -> set[str]:
    """Of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", text_of(page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_import_loads_neither_torch_nor_the_compiler() -> None:
    drawing = "'matplotlib', 'pygame', 'PIL'"
    code = f"import sys, rs_env; print([m for m in ('torch', 'numba', {drawing}) if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_public_names_exist() -> None:
    for name in rs_env.__all__:
        assert getattr(rs_env, name) is not None
    assert set(rs_env.__all__) <= set(dir(rs_env))
    with pytest.raises(AttributeError, match="nonsense"):
        _ = rs_env.nonsense


@pytest.mark.parametrize(
    ("page", "number"),
    [(page, i) for page in PAGES for i in range(len(python_blocks(page)))],
)
def test_python_in_the_pages_runs(page: str, number: int) -> None:
    block = python_blocks(page)[number]
    for extra, module in (("torch", "torch"), ("openspiel", "pyspiel")):
        if extra in block:
            pytest.importorskip(module)
    subprocess.run([sys.executable, "-c", block], cwd=ROOT, check=True, capture_output=True, timeout=600)


def test_readme_has_a_quickstart() -> None:
    assert any("rs_env.env(" in block for block in python_blocks("README.md"))


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files_and_headings(page: str) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", text_of(page)):
        path, _, anchor = target.partition("#")
        if "://" not in target:
            there = (ROOT / page).parent / path if path else ROOT / page
            assert there.exists(), target
            assert not anchor or anchor in anchors(str(there.relative_to(ROOT))), target


@pytest.mark.parametrize("page", PAGES)
def test_paths_in_the_pages_exist(page: str) -> None:
    folders = "rs_env|agents|tests|docs|configs|benchmarks|examples"
    for path in quoted(page):
        if re.fullmatch(rf"({folders})/([\w./-]*/|[\w./-]*\.\w+)?", path) and "NAME" not in path:
            assert (ROOT / path).exists(), path


@pytest.mark.parametrize("page", PAGES)
def test_dotted_names_in_the_pages_exist(page: str) -> None:
    for name in quoted(page):
        if not re.fullmatch(r"(rs_env|agents)(\.\w+)+", name):
            continue
        needed = {"agents.": "torch", "rs_env.openspiel": "pyspiel", "rs_env.envs.sb3": "stable_baselines3"}
        for extra, module in needed.items():
            if name.startswith(extra):
                pytest.importorskip(module)
        pkgutil.resolve_name(name)


@pytest.mark.parametrize("page", PAGES)
def test_commands_in_the_pages_exist(page: str) -> None:
    targets = re.findall(r"^(\w+):", text_of("Makefile"), re.MULTILINE)
    for command in commands(page):
        program, *words = command.split()
        if program == "make" and words[0] != "-C":
            assert words[0] in targets, command
        elif words[:1] == ["-m"]:
            assert importlib.util.find_spec(words[1]) or words[1] in ("nox", "venv", "pip"), command
        elif program == "python" and words[0].endswith(".py"):
            assert (ROOT / words[0]).exists(), command


def test_pages_are_read_as_they_are_meant() -> None:
    assert "rs_env/rules.py" in quoted("README.md") and "forced-turns-are-turns" in anchors("docs/design.md")
    assert {"make train", "python docs/build.py"} <= {
        " ".join(command.split()[:2]) for page in ("README.md", "CONTRIBUTING.md") for command in commands(page)
    }


@pytest.mark.parametrize("page", PAGES)
def test_no_gap_is_left_in_the_pages(page: str) -> None:
    assert not re.search(r"^[A-Z_]{6,}$|TODO|TBD", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)


def test_generated_table_is_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("build", ROOT / "docs" / "build.py")
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    shown = {
        ("observation.md", "sections"): "| `known` |",
        ("rules.md", "scorings"): "| `parlett` |",
        ("agents.md", "rules as numbers"): "| `bar_suit` |",
    }
    assert build.TABLES.keys() == shown.keys()
    for (name, table), row in shown.items():
        page = (ROOT / "docs" / name).read_text(encoding="utf-8")
        made = build.TABLES[name, table]()
        assert row in made and f"{made}\n<!-- {table}: end -->" in page
        assert build.page_with(page, table, made) == page


def test_rules_page_names_every_option_and_preset() -> None:
    page = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
    assert not [name for name in (*OPTIONS, *PRESETS) if f"`{name}" not in page and f"{name}=" not in page]


def requirements() -> dict[str, list[str]]:
    """What is required, by extra; the package's own under "package"."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {"package": project["dependencies"], **project["optional-dependencies"]}


def test_requirements_are_floors_without_upper_bounds() -> None:
    """`noxfile.py` makes pins of them for the session that runs with the oldest of everything."""
    for requirement in (r for listed in requirements().values() for r in listed):
        assert re.fullmatch(r"[a-z0-9_-]+>=\d+(\.\d+)*", requirement), requirement


def test_a_package_has_the_same_floor_wherever_it_is_required() -> None:
    floors: dict[str, set[str]] = {}
    for requirement in (r for listed in requirements().values() for r in listed):
        name, floor = requirement.split(">=")
        floors.setdefault(name, set()).add(floor)
    assert not [name for name, different in floors.items() if len(different) > 1]


def test_what_is_installed_is_not_older_than_the_floors() -> None:
    for requirement in requirements()["package"]:
        name, floor = requirement.split(">=")
        assert Version(version(name)) >= Version(floor), requirement
