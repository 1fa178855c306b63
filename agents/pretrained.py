"""Turn run folders into the networks that come with the package.

python -m agents.pretrained runs/rolling_stone runs/schweller

Each gets a file PRESET-PLAYERS.safetensors by the rules that it was trained on: a checkpoint with nothing but its
network, in half precision. The same network gives a file of the same digest.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass
from pathlib import Path

if __name__ == "__main__":
    # Ctrl-C while libraries are loaded ends the process without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import tyro

from agents.checkpoint import load_checkpoint, network_tensors, save_checkpoint
from rs_env.baselines.network_players import PRETRAINED
from rs_env.command_line import end_with, status_of
from rs_env.flags import Folder, parsed
from rs_env.rules import Rules, preset_of


def name_of(rules: Rules) -> str:
    """PRESET-PLAYERS. Raises ValueError for rules that are no preset's."""
    preset, changes = preset_of(rules)
    if changes.keys() - {"num_players"}:
        raise ValueError("its rules are those of no preset")
    return f"{preset}-{rules.num_players}"


def export(run: Path, folder: Path) -> Path:
    """Write the file of a run folder or checkpoint file into a folder; returns its path. Raises ValueError for one that
    does not fit.
    """
    checkpoint = load_checkpoint(run)
    try:
        path = folder / f"{name_of(checkpoint.rules)}.safetensors"
        tensors = {name: value.half() for name, value in network_tensors(checkpoint.policy).items()}
        if not all(bool(value.isfinite().all()) for value in tensors.values()):
            raise ValueError("its network has weights that half precision cannot hold")
    except ValueError as error:
        raise ValueError(f"{run}: {error}") from None
    config = {name: value for name, value in checkpoint.config.items() if name in ("learner", "rules", "network")}
    folder.mkdir(parents=True, exist_ok=True)
    save_checkpoint(path, config, tensors, {"iteration": 0, "iterations": 0})
    return path


@dataclass(frozen=True)
class Command:
    """Write networks of finished runs as those that come with the package."""

    runs: tyro.conf.Positional[tuple[Folder, ...]]
    """Run folders or checkpoint files."""
    out: Folder = PRETRAINED
    """Where to."""


def main(command: Command) -> None:
    """Write and tell."""
    for run in command.runs:
        path = export(run, command.out)
        print(f"{path}: {path.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    end_with(lambda: status_of(lambda: main(parsed(Command, "python -m agents.pretrained"))))
