"""rs_env: the card game Rolling Stone (Enfle, Schwellen, Schweller) as a reinforcement learning environment.

`Rules` says what is played, `Game` plays it, `env` / `raw_env` / `parallel_env` are the PettingZoo environments,
`SelfPlayVectorEnv` plays thousands of games at once, `make_agent` makes baselines by name.
"""

from __future__ import annotations

import importlib
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

if (
    sys.argv[:1] == ["-m"]  # while Python looks for what -m names
    and sys.orig_argv[-len(sys.argv) :][0].rpartition("-m")[2].partition(".")[0] == __name__
    and threading.current_thread() is threading.main_thread()
):
    # A command of this package begins. Ctrl-C ends it without a traceback, until rs_env.command_line says otherwise.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import gymnasium
import pettingzoo

from rs_env.version import __version__ as __version__

if TYPE_CHECKING:
    from rs_env.actions import ActionTypeError, IllegalActionError
    from rs_env.baselines import make_agent
    from rs_env.engine.observation import OBSERVATION_VERSION, ObservationSpec
    from rs_env.envs.pettingzoo import env, parallel_env, raw_env
    from rs_env.envs.self_play import Batch, SelfPlayVectorEnv
    from rs_env.game import Game
    from rs_env.record import read_records, replay, write_records
    from rs_env.rules import Rules

# Loaded at first use (PEP 562), so that importing rs_env does not pay for the compiler.
_HOME = {
    "Rules": "rules",
    "Game": "game",
    "IllegalActionError": "actions",
    "ActionTypeError": "actions",
    "OBSERVATION_VERSION": "engine.observation",
    "ObservationSpec": "engine.observation",
    "env": "envs.pettingzoo",
    "raw_env": "envs.pettingzoo",
    "parallel_env": "envs.pettingzoo",
    "SelfPlayVectorEnv": "envs.self_play",
    "Batch": "envs.self_play",
    "make_agent": "baselines",
    "replay": "record",
    "read_records": "record",
    "write_records": "record",
}

__all__ = [
    "OBSERVATION_VERSION",
    "ActionTypeError",
    "Batch",
    "Game",
    "IllegalActionError",
    "ObservationSpec",
    "Rules",
    "SelfPlayVectorEnv",
    "env",
    "make_agent",
    "parallel_env",
    "raw_env",
    "read_records",
    "replay",
    "write_records",
]


_MODULES = {
    "arena": "arena",
    "baselines": "baselines",
    "belief": "belief",
    "packing": "engine.packing",
    "view": "engine.view",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{_MODULES[name]}")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, *_MODULES})


def _register() -> None:
    """Enter the environments in the registries of Gymnasium and PettingZoo; the latter came with its version 1.27."""
    gymnasium.register(
        "rs_env/RollingStone-v0",
        entry_point="rs_env.envs.gymnasium_single:RollingStoneEnv",
        vector_entry_point="rs_env.envs.gymnasium_vector:RollingStoneVectorEnv",
    )
    if hasattr(pettingzoo, "register"):
        pettingzoo.register("aec", "rs_env/rolling_stone-v0", "rs_env.envs.pettingzoo:env")
        pettingzoo.register("parallel", "rs_env/rolling_stone-v0", "rs_env.envs.pettingzoo:parallel_env")


_register()
