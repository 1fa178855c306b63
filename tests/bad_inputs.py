"""Names for the expressions of ``data/bad_inputs.tsv``, and the answer that an expression gets.

python tests/bad_inputs.py    # writes the table anew: read every answer before it is kept
"""

from __future__ import annotations

import contextlib
import importlib
import io
import re
import sys
import tempfile
import warnings
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

import rs_env
from rs_env import (
    Game,
    ObservationSpec,
    Rules,
    SelfPlayVectorEnv,
    belief,
    env,
    parallel_env,
    raw_env,
    read_records,
    replay,
    write_records,
)
from rs_env.__main__ import main as rs_env_main
from rs_env.arena import League, best_response, duel, league
from rs_env.arena.__main__ import main as arena
from rs_env.arena.imitation import fit_type
from rs_env.baselines import make_agent
from rs_env.baselines.language_model import LanguageModel
from rs_env.baselines.logits import LogitsAgent
from rs_env.baselines.models import OpponentModel, PlayerType
from rs_env.describe import describe, describe_rules, parse_action
from rs_env.engine.packing import unpack
from rs_env.engine.state import STATE
from rs_env.envs.gymnasium_single import RollingStoneEnv
from rs_env.envs.gymnasium_vector import RollingStoneVectorEnv
from rs_env.record import from_text, to_text
from rs_env.render import save
from rs_env.solve.exact import GameTree
from rs_env.testing import check_agent

TABLE = Path(__file__).parent / "data" / "bad_inputs.tsv"
_LONGEST = 150  # characters of a message that are kept


def record(**changes: Any) -> dict[str, Any]:
    """The record of a game that has begun."""
    game = Game(seed=3, dealer=3)
    for _ in range(3):
        game.play(game.legal_actions()[0])
    return {**game.record(), **changes}


def view(**changes: Any) -> np.ndarray:
    """The view of a leader, with fields changed."""
    views = np.array([Game(seed=1, dealer=3).view(0)])
    for field, value in changes.items():
        views[field][0] = value
    return views


def file(content: bytes) -> Path:
    """A file of this content."""
    path = Path(tempfile.mkdtemp()) / "file"
    path.write_bytes(content)
    return path


def started(env: Any) -> Any:
    """The environment after a reset."""
    env.reset(seed=1)
    return env


def played() -> Game:
    """A game that has begun."""
    return replay(record())


def told(words: str, instead: str) -> str:
    """The text of a game that has begun, with words in it replaced by others."""
    text = to_text(record())
    assert words in text, text
    return text.replace(words, instead, 1)


def main(arguments: list[str]) -> None:
    """The arena's command line; what it prints of an error is raised as one."""
    _run(lambda: arena(arguments))


def command(arguments: list[str]) -> None:
    """The package's command line; the same."""
    _run(lambda: rs_env_main(arguments))


def _run(work: Any) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stderr(printed):
        status = work()
    if status:
        raise SystemExit(f"{status}: {printed.getvalue().strip()}")


def setting(place: str, **values: Any) -> Any:
    """What stands at this place in ``agents/``, called with values: settings of learners, which need PyTorch."""
    module, *names = place.split(".")
    return reduce(getattr, names, importlib.import_module(f"agents.{module}"))(**values)


def sweep(text: str) -> Path:
    """A sweep's file of this text, beside an experiment with all settings as they are by default."""
    path = file(f'config = "experiment.toml"\n{text}\n'.encode())
    (path.parent / "experiment.toml").write_text("", encoding="utf-8")
    return path


def answer(expression: str) -> tuple[str, str]:
    """Name of the error that the expression raises, or of the warning that it gives, and the first of its message."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            eval(expression, globals())
        except (Exception, SystemExit) as error:
            message = " ".join(str(error).split())
            message = re.sub(rf"{re.escape(tempfile.gettempdir())}/\w+/", "", message)
            message = re.sub(
                r"(not a JSON object) \(.*", r"\1", message
            )  # what follows is Python's, and differs between versions
            return type(error).__name__, message[:_LONGEST].strip()
    return "nothing", ""


def rows() -> list[tuple[str, str, str]]:
    """(expression, error, message) of each row; lines that begin with # head a part."""
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    return [tuple(line.split("\t")) for line in lines if not line.startswith("#")]  # type: ignore[misc]


if __name__ == "__main__":
    source = Path(sys.argv[1]) if len(sys.argv) > 1 else TABLE
    kept = []
    for line in source.read_text(encoding="utf-8").splitlines():
        kept.append(line if line.startswith("#") else "\t".join((line.split("\t")[0], *answer(line.split("\t")[0]))))
    TABLE.write_text("\n".join(kept) + "\n", encoding="utf-8")

__all__ = [
    "STATE", "GameTree", "LanguageModel", "League", "LogitsAgent", "ObservationSpec", "OpponentModel", "PlayerType",
    "RollingStoneEnv", "RollingStoneVectorEnv", "Rules", "SelfPlayVectorEnv", "belief",
    "best_response", "check_agent", "describe", "describe_rules", "duel", "env", "fit_type", "from_text",
    "league", "make_agent", "parallel_env", "parse_action", "raw_env", "read_records", "replay", "rs_env",
    "save", "to_text", "unpack", "write_records",
]  # fmt: skip
