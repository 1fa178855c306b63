"""The quick tests with the oldest and the newest of all that the package asks for, each in an environment of its own.

    pip install nox
    nox --list
    nox --session newest -- tests/test_game.py      # what follows -- goes to pytest

What is oldest stands in ``pyproject.toml`` alone: its floors, taken literally. Where pip takes torch from PyPI, it
brings CUDA along, several gigabytes of it; ``PIP_CONSTRAINT=file`` in the environment names another file of
constraints, and thereby another torch.
"""

from __future__ import annotations

from pathlib import Path

import nox

nox.options.default_venv_backend = "venv"
nox.options.sessions = ["lowest", "newest", "core"]
nox.options.error_on_missing_interpreters = True
EXTRAS = ("train", "arena", "test")


def floors() -> list[str]:
    """Every requirement of the package and of `EXTRAS`, pinned to its floor."""
    project = nox.project.load_toml("pyproject.toml")["project"]
    extras = [requirement for extra in EXTRAS for requirement in project["optional-dependencies"][extra]]
    return [requirement.replace(">=", "==") for requirement in (*project["dependencies"], *extras)]


def quick_tests(session: nox.Session) -> None:
    """Say what is installed, then run the tests that are not marked slow."""
    session.run("python", "-m", "pip", "list", "--format", "freeze", "--exclude-editable")
    session.run("python", "-m", "pytest", "-m", "not slow and not soak and not browser", *session.posargs)


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
    """The wheel, with the newest of what it needs and without torch; what is imported is the wheel, not this folder."""
    session.install("--upgrade", ".[test]")
    session.run("python", "-P", "-c", "import rs_env; print(rs_env.__file__, rs_env.Game())")
    session.run("pytest", "-m", "not slow and not soak and not browser", *session.posargs)
