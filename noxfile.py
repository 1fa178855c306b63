"""Everything that is checked in an environment of its own: versions, the wheel, recipes, notebooks, the documentation.

    pip install nox
    nox --list
    nox                                             # the versions, from the oldest to the newest
    nox --session newest -- tests/test_game.py      # what follows -- goes to pytest
    nox --session "recipe(sb3)"                     # one of the folders of examples/
    nox --session docs notebooks

What is oldest stands in ``pyproject.toml`` alone: its floors, taken literally. Where pip takes torch from PyPI, it
brings CUDA along, several gigabytes of it; ``PIP_CONSTRAINT=file`` in the environment names a file of constraints, and
thereby another torch. What that file pins is then left to it, also by the session ``lowest``.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

import nox

nox.options.default_venv_backend = "venv"
nox.options.sessions = ["lowest", "newest", "core", "versions"]
nox.options.error_on_missing_interpreters = True
ROOT = Path(__file__).parent
EXTRAS = ("train", "arena", "test")
RECIPES = sorted(path.parent.name for path in (ROOT / "examples").glob("*/requirements.txt"))
INTERFACES = ("pettingzoo", "gymnasium", "conformance", "spaces", "vector", "opponents")
_OF_A_CHECKOUT = re.compile(r"parents\[1\]|ROOT\b|^(from|import) agents\b|import ROOT", re.MULTILINE)


def name_of(requirement: str) -> str:
    """The name in a line such as ``torch>=2.4``."""
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower()


def floors() -> list[str]:
    """Every requirement of the package and of `EXTRAS`, pinned to its floor, without those that PIP_CONSTRAINT pins."""
    project = nox.project.load_toml("pyproject.toml")["project"]
    extras = [requirement for extra in EXTRAS for requirement in project["optional-dependencies"][extra]]
    files = os.environ.get("PIP_CONSTRAINT", "").split()
    pinned = {name_of(line) for file in files for line in Path(file).read_text(encoding="utf-8").splitlines()}
    every = (*project["dependencies"], *extras)
    return [requirement.replace(">=", "==") for requirement in every if name_of(requirement) not in pinned]


def quick_tests(session: nox.Session) -> None:
    """Say what is installed, then run the tests that are not marked slow."""
    session.run("python", "-m", "pip", "list", "--format", "freeze", "--exclude-editable")
    session.run("python", "-m", "pytest", "-m", "not slow and not soak and not browser", *session.posargs)


def wheel_of(session: nox.Session) -> Path:
    """The built wheel."""
    folder = Path(session.create_tmp()) / "wheel"
    shutil.rmtree(folder, ignore_errors=True)
    session.run("python", "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT))
    (wheel,) = folder.glob("rs_env-*.whl")
    return wheel


def tests_of_the_wheel(session: nox.Session, names: tuple[str, ...] = (), pins: tuple[str, ...] = ()) -> None:
    """The quick tests that need no checkout, run outside of it against the installed wheel; of these names, or all."""
    session.install("--upgrade", f"rs_env[test] @ {wheel_of(session).as_uri()}", *pins)
    with tempfile.TemporaryDirectory() as outside:
        shutil.copytree(ROOT / "tests", Path(outside) / "tests", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", outside)
        session.chdir(outside)
        session.run("python", "-c", "import rs_env; assert 'site-packages' in rs_env.__file__; print(rs_env.Game())")
        session.run("python", "-m", "rs_env", "doctor")
        chosen = [f"tests/test_{name}.py" for name in names] or [
            f"tests/{path.name}"
            for path in sorted(Path("tests").glob("test_*.py"))
            if not _OF_A_CHECKOUT.search(path.read_text(encoding="utf-8"))
        ]
        session.run("pytest", "-m", "not slow and not soak and not browser", *(session.posargs or chosen))


@nox.session(python="3.11")
def lowest(session: nox.Session) -> None:
    """All at its lowest, torch included, on the oldest Python."""
    pins = Path(session.create_tmp()) / "lowest.txt"
    pins.write_text("\n".join(floors()) + "\n", encoding="utf-8")
    session.install("--constraint", str(pins), "--editable", f".[{','.join(EXTRAS)}]")
    quick_tests(session)


@nox.session(python="3.11")
def newest(session: nox.Session) -> None:
    """All as new as pip finds it, torch included."""
    session.install("--upgrade", "--editable", f".[{','.join(EXTRAS)}]")
    quick_tests(session)


@nox.session(python=["3.11", "3.12", "3.13"])
def core(session: nox.Session) -> None:
    """The wheel outside of the checkout, with the newest of what it needs and without torch."""
    tests_of_the_wheel(session)


@nox.session(python="3.11")
@nox.parametrize(
    "pin",
    [
        nox.param(pin, id=pin.replace("==", "-").replace(".*", ""))
        for pin in (
            *("pettingzoo==1.25.*", "pettingzoo==1.26.*", "pettingzoo==1.27.*"),
            *("gymnasium==1.1.*", "gymnasium==1.2.*", "gymnasium==1.3.*", "gymnasium==1.4.*"),
            *("numpy==2.0.*", "numpy==2.4.*"),
        )
    ],
)
def versions(session: nox.Session, pin: str) -> None:
    """The wheel with one library at a version: the tests of the interfaces to it."""
    tests_of_the_wheel(session, INTERFACES, (pin,))


@nox.session(python="3.11")
@nox.parametrize("name", [nox.param(name, id=name) for name in RECIPES])
def recipe(session: nox.Session, name: str) -> None:
    """A folder of examples/: what it requires and the wheel, then its scripts from an empty environment."""
    folder = ROOT / "examples" / name
    session.install("--requirement", str(folder / "requirements.txt"))
    session.install(str(wheel_of(session)))
    session.chdir(session.create_tmp())
    for script in sorted(folder.glob("*.py")):
        arguments = ["--stub"] if script.name == "run.py" and not session.posargs else session.posargs
        session.run("python", "-P", str(script), *arguments)
    test = ROOT / "tests" / f"test_{name}.py"
    if test.exists():
        session.install("pytest")
        session.run("python", "-P", "-m", "pytest", str(test))


@nox.session(python="3.11")
def docs(session: nox.Session) -> None:
    """The site, without a warning, into site/; every block of Python of the pages; the spelling of all texts."""
    session.install("--editable", ".[docs,arena,train,openspiel]", "sb3-contrib")
    session.run("mkdocs", "build", "--strict", env={"NO_MKDOCS_2_WARNING": "1"})
    session.run("python", "docs/run_blocks.py", *session.posargs)
    session.run("codespell")


@nox.session(python="3.11")
def notebooks(session: nox.Session) -> None:
    """The notebooks of examples/notebooks, executed from the first cell to the last."""
    session.install("--editable", ".[notebooks,arena]")
    session.run("python", "examples/notebooks/execute.py", *session.posargs)
