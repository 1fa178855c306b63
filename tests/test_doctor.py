"""``python -m rs_env doctor``: what it looks at, and what it says of a place where something is missing."""

from __future__ import annotations

from importlib import metadata

import pytest

from rs_env import doctor
from rs_env.__main__ import main


def test_it_reports_versions_code_speed_and_ends_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith("ok  ") for line in lines)
    for what in ("python", "rs_env", "compiled", "1 thread", "threading"):
        assert any(line[4:].startswith(what) for line in lines), what
    assert any("million actions per second" in line for line in lines)


@pytest.fixture
def requirements(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [
        "numpy>=999",
        "gymnasium>=1.0",
        'rich>=13; extra == "arena"',
        'nothing-of-that-name>=2.1; extra == "arena"',
    ]
    monkeypatch.setattr(metadata, "requires", lambda name: asked)


@pytest.mark.usefixtures("requirements")
def test_what_is_older_than_its_floor_is_not_well_and_extras_say_what_they_lack() -> None:
    found = {what: (told, well) for what, told, well in doctor._libraries()}
    assert found["numpy"] == (f"{metadata.version('numpy')} (at least 999)", False)
    assert found["gymnasium"][1]
    assert found["[arena]"] == ("lacks nothing-of-that-name>=2.1: pip install 'rs_env[arena]'", True)


@pytest.mark.usefixtures("requirements")
def test_the_exit_status_says_that_something_is_wrong(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "_speed", lambda: iter(()))
    monkeypatch.setattr(doctor, "code_folder", lambda: None)
    assert main(["doctor"]) == 2
    printed = capsys.readouterr()
    assert "NOT compiled" in printed.out and "NUMBA_CACHE_DIR" in printed.out
    assert "not as it should be: numpy, compiled" in printed.err


def test_versions_are_compared_as_numbers() -> None:
    assert doctor._numbers("1.10.0rc1") > doctor._numbers("1.9")
    assert doctor._numbers("2.13.0+cpu") == [2, 13, 0]
    assert doctor._numbers("unknown") == []
