"""What `python -m agents.evaluate` prints, on any terminal and about few deals."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import agents.checkpoint
import agents.evaluate
from agents.evaluate import Command, main, table_of
from rs_env import Rules
from rs_env.arena import duel
from rs_env.baselines import make_agent

SMALL = Rules(num_players=3, max_actions=60)


@pytest.fixture(autouse=True)
def _trained(monkeypatch: pytest.MonkeyPatch) -> None:
    """A random player instead of a trained one, under a name that an ASCII terminal cannot show."""
    player = make_agent("random")
    agent = SimpleNamespace(name="réné", reset=player.reset, act=player.act)
    monkeypatch.setattr(
        agents.checkpoint, "load_checkpoint", lambda path: SimpleNamespace(rules=SMALL, policy=None, temperature=0.5)
    )
    monkeypatch.setattr(agents.evaluate, "policy_agent", lambda *arguments: agent)


def test_every_terminal_gets_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(memory, encoding="ascii"))
    main(Command(Path("run"), opponents=("heuristic",), deals=3))
    assert "rene against 2 of each" in memory.getvalue().decode("ascii")


def test_a_closed_pipe_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        main(Command(Path("run"), opponents=("heuristic",), deals=3))


def test_few_deals_are_said() -> None:
    few, enough = (table_of([duel("random", "heuristic", SMALL, deals=deals)]).title for deals in (29, 30))
    assert "only 29 deals" in str(few)
    assert "only" not in str(enough)
