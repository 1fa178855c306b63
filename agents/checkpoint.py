"""Checkpoints: one safetensors file with tensors and, as text, all that is needed to know what they are.

Nothing is pickled. A file is refused where its format, observation version or network does not fit this version.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from agents.config import TrainConfig
from agents.networks import PolicyValueNet
from rs_env.observation import OBSERVATION_VERSION

FORMAT = "rs_env.checkpoint/1"
FILE_NAME = "checkpoint.safetensors"
_NETWORK = "network."


def save_checkpoint(path: Path, config: TrainConfig, network: PolicyValueNet, extra: dict[str, Tensor], progress: dict[str, Any]) -> None:
    """Write a checkpoint; a crash while writing leaves the older one whole.

    extra: further tensors by name (optimiser, random generator, games). progress: JSON values, such as the iteration.
    """
    tensors = {_NETWORK + name: value.contiguous() for name, value in network.state_dict().items()}
    metadata = {
        "format": FORMAT,
        "observation_version": str(OBSERVATION_VERSION),
        "config": json.dumps(config.to_dict()),
        "progress": json.dumps(progress),
    }
    beside = path.with_suffix(".tmp")
    save_file({**tensors, **extra}, beside, metadata)
    beside.replace(path)


def load_checkpoint(path: str | Path) -> tuple[TrainConfig, PolicyValueNet, dict[str, Tensor], dict[str, Any]]:
    """Configuration, network, further tensors and progress of a checkpoint file, or of the run folder that holds it.

    Raises ValueError, naming the file and what is wrong, for a file that is missing, damaged or of another version.
    """
    path = Path(path)
    path = path / FILE_NAME if path.is_dir() else path
    try:
        with safe_open(path, "pt") as file:
            metadata = file.metadata() or {}
            _check_version(metadata)
            # Copies, for what safetensors gives is the file itself, mapped to memory, which Windows then lets nobody replace.
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118  not a dict
        config = TrainConfig.from_dict(json.loads(metadata["config"]))
        network = PolicyValueNet(config.rules.num_players, config.network.hidden, config.network.layers)
        network.load_state_dict({name.removeprefix(_NETWORK): value for name, value in tensors.items() if name.startswith(_NETWORK)})
        progress = json.loads(metadata["progress"])
        if not isinstance(progress["iteration"], int) or not 0 <= progress["iteration"] <= config.iterations:
            raise ValueError(f"iteration {progress['iteration']!r} is not one of its {config.iterations}")
        if not all(torch.isfinite(value).all() for value in network.state_dict().values()):
            raise ValueError("the network has weights that are not finite")
    except (OSError, SafetensorError, RuntimeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"checkpoint {path}: {error}") from None
    return config, network, {name: value for name, value in tensors.items() if not name.startswith(_NETWORK)}, progress


def _check_version(metadata: dict[str, str]) -> None:
    for key, expected in (("format", FORMAT), ("observation_version", str(OBSERVATION_VERSION))):
        if metadata.get(key) != expected:
            raise ValueError(f"{key} is {metadata.get(key)!r}, this version reads {expected!r}")


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimiser's state of each parameter as named tensors."""
    state = optimizer.state_dict()["state"]
    return {f"optimizer.{index}.{name}": torch.as_tensor(value) for index, values in state.items() for name, value in values.items()}


def load_optimizer_tensors(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """The inverse of `optimizer_tensors`."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        if key.startswith("optimizer."):
            _, index, name = key.split(".")
            state.setdefault(int(index), {})[name] = value
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
