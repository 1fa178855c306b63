"""Checkpoints: one safetensors file with tensors and, as text, all that is needed to know what they are.

Nothing is pickled. A file is refused where its format, observation version or network does not fit this version, or
where a bit of it is not as it was written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from agents.config import TrainConfig
from agents.networks import PolicyValueNet
from rs_env.engine.observation import OBSERVATION_VERSION
from rs_env.files import write_whole

FORMAT = "rs_env.checkpoint/2"
FILE_NAME = "checkpoint.safetensors"
_NETWORK = "network."


def save_checkpoint(
    path: Path, config: TrainConfig, network: PolicyValueNet, extra: dict[str, Tensor], progress: dict[str, Any]
) -> None:
    """Write a checkpoint; a crash while writing leaves the older one whole.

    extra: further tensors by name (optimiser, random generator, games). progress: JSON values, such as the iteration.
    """
    tensors = {_NETWORK + name: value for name, value in network.state_dict().items()} | extra
    tensors = {name: value.contiguous() for name, value in tensors.items()}
    metadata = {
        "format": FORMAT,
        "observation_version": str(OBSERVATION_VERSION),
        "config": json.dumps(config.to_dict()),
        "progress": json.dumps(progress),
    }
    write_whole(path, save(tensors, metadata | {"digest": digest_of(metadata, tensors)}))


def digest_of(metadata: Mapping[str, str], tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 of everything in a checkpoint but this digest."""
    digest = hashlib.sha256(json.dumps({key: metadata[key] for key in sorted(metadata) if key != "digest"}).encode())
    for name in sorted(tensors):
        value = tensors[name].contiguous()
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        digest.update(value.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


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
            # Copies, for what safetensors gives is the file itself, mapped to memory, which Windows then lets nobody
            # replace.
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118  not a dict
        if metadata.get("digest") != digest_of(metadata, tensors):
            raise ValueError("it is not as it was written: its digest does not fit")
        config = TrainConfig.from_dict(json.loads(metadata["config"]))
        network = PolicyValueNet(config.rules.num_players, config.network.hidden, config.network.layers)
        network.load_state_dict(
            {name.removeprefix(_NETWORK): value for name, value in tensors.items() if name.startswith(_NETWORK)}
        )
        progress = json.loads(metadata["progress"])
        if not isinstance(progress["iteration"], int) or not 0 <= progress["iteration"] <= config.iterations:
            raise ValueError(f"iteration {progress['iteration']!r} is not one of its {config.iterations}")
        if not all(torch.isfinite(value).all() for value in network.state_dict().values()):
            raise ValueError("the network has weights that are not finite")
    except (OSError, SafetensorError, RuntimeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"checkpoint {path}: {error}") from None
    return config, network, {name: value for name, value in tensors.items() if not name.startswith(_NETWORK)}, progress


def _check_version(metadata: dict[str, str]) -> None:
    for key, expected in (("format", FORMAT), ("observation_version", str(OBSERVATION_VERSION))):
        if metadata.get(key) != expected:
            raise ValueError(f"{key} is {metadata.get(key)!r}, this version reads {expected!r}")


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimiser's state of each parameter as named tensors."""
    state = optimizer.state_dict()["state"]
    return {
        f"optimizer.{index}.{name}": torch.as_tensor(value)
        for index, values in state.items()
        for name, value in values.items()
    }


def load_optimizer_tensors(optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor], stepped: bool) -> None:
    """The inverse of `optimizer_tensors`. stepped: whether it had taken a step. Raises ValueError for tensors that are
    not its own.
    """
    parameters = optimizer.param_groups[0]["params"]
    shapes = {"step": (), "exp_avg": None, "exp_avg_sq": None}  # of Adam; None: the parameter's
    expected = {
        f"optimizer.{index}.{name}": tuple(parameter.shape) if shape is None else shape
        for index, parameter in enumerate(parameters)
        for name, shape in shapes.items()
        if stepped
    }
    found = {name: value for name, value in tensors.items() if name.startswith("optimizer.")}
    if found.keys() != expected.keys():
        wrong = sorted(found.keys() ^ expected.keys())
        raise ValueError(f"the optimiser's state is not that of its network: {', '.join(wrong[:3])} missing or unknown")
    for name, value in found.items():
        if tuple(value.shape) != expected[name] or not torch.isfinite(value).all():
            raise ValueError(f"{name}: shape {tuple(value.shape)} is not {expected[name]}, or values are not finite")
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in found.items():
        _, index, name = key.split(".")
        state.setdefault(int(index), {})[name] = value
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
