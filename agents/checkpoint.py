"""Checkpoints: one safetensors file with tensors and, as text, all that is needed to know what they are.

Nothing is pickled. A file is refused where its format, observation version or network does not fit this version, or
where a bit of it is not as it was written. Its configuration names the learner and the kind and size of the network.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from agents.architectures import NetworkConfig
from agents.settings import from_table
from rs_env.baselines.checkpoints import FILE_NAME, FORMAT, check_kind, check_version, digest_of_bytes, kind_version
from rs_env.engine.observation import OBSERVATION_VERSION
from rs_env.files import write_whole
from rs_env.rules import Rules, as_rules

POLICY = "network"
"""Name of the network that an agent plays by."""


@dataclass(frozen=True)
class Checkpoint:
    """What a file holds, on the CPU.

    config: all settings as `TrainConfig.to_dict` gives them; only the rules and the network are checked here. network:
    the policy network, None for a learner that has none. tensors: those of `Learner.tensors`. progress: JSON values,
    among them ``iteration`` and ``iterations``.
    """

    config: dict[str, Any]
    rules: Rules
    network: nn.Module | None
    tensors: dict[str, Tensor]
    progress: dict[str, Any]

    @property
    def temperature(self) -> float:
        """What the network is to play at: as the run has chosen, if it has."""
        return float(self.progress.get("temperature", 0.5))

    @property
    def policy(self) -> nn.Module:
        """The policy network. Raises ValueError where there is none."""
        if self.network is None:
            raise ValueError(f"learner {self.config.get('learner')!r} keeps no policy network to play by")
        return self.network


def save_checkpoint(
    path: Path, config: Mapping[str, Any], tensors: Mapping[str, Tensor], progress: Mapping[str, Any]
) -> None:
    """Write a checkpoint; a crash while writing leaves the older one whole.

    config: all settings as `TrainConfig.to_dict` gives them. tensors: those of `Learner.tensors`, on any device.
    progress: JSON values, with ``iteration`` and ``iterations``.
    """
    kept = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    metadata = {
        "format": FORMAT,
        "observation_version": str(OBSERVATION_VERSION),
        "config": json.dumps(config),
        "progress": json.dumps(progress),
        **kind_version(config),
    }
    write_whole(path, save(kept, metadata | {"digest": digest_of(metadata, kept)}))


def digest_of(metadata: Mapping[str, str], tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 of everything in a checkpoint but this digest."""
    return digest_of_bytes(metadata, {name: _told(value) for name, value in tensors.items()})


def _told(tensor: Tensor) -> tuple[str, tuple[int, ...], memoryview]:
    """A tensor as `rs_env.baselines.checkpoints.digest_of_bytes` takes it."""
    flat = tensor.contiguous().reshape(-1)
    # No bytes have no type either.
    data = flat.view(torch.uint8).numpy().data if flat.numel() else memoryview(b"")
    return str(tensor.dtype), tuple(tensor.shape), data


def load_checkpoint(path: str | Path) -> Checkpoint:
    """What a checkpoint file holds, or that of the run folder `path`.

    Raises ValueError, naming the file and what is wrong, for a file that is missing, damaged or of another version.
    """
    path = Path(path)
    path = path / FILE_NAME if path.is_dir() else path
    try:
        with safe_open(path, "pt") as file:
            metadata = file.metadata() or {}
            check_version(metadata)
            # Copies, for what safetensors gives is the file itself, mapped to memory, which Windows then lets nobody
            # replace.
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118  not a dict
        if metadata.get("digest") != digest_of(metadata, tensors):
            raise ValueError("it is not as it was written: its digest does not fit")
        config, progress = json.loads(metadata["config"]), json.loads(metadata["progress"])
        check_kind(metadata, config)
        rules = as_rules(config.get("rules", {}))
        settings: NetworkConfig = from_table(NetworkConfig, "network.", config.get("network", {}))
        network = settings.make(rules.num_players) if any(name.startswith(f"{POLICY}.") for name in tensors) else None
        if network is not None:
            load_network(network, tensors)
        iteration, iterations = progress["iteration"], progress["iterations"]
        if not isinstance(iteration, int) or not 0 <= iteration <= iterations:
            raise ValueError(f"iteration {iteration!r} is not one of its {iterations}")
    except (
        OSError,
        SafetensorError,
        RuntimeError,
        AttributeError,
        KeyError,
        TypeError,
        ValueError,
        RecursionError,
    ) as error:
        raise ValueError(f"checkpoint {path}: {error}") from None
    return Checkpoint(config, rules, network, tensors, progress)


# Parts of a learner as tensors


def network_tensors(network: nn.Module, name: str = POLICY) -> dict[str, Tensor]:
    """The weights of a network as named tensors. name: of the network; only the one to play by has the default."""
    return {f"{name}.{key}": value for key, value in network.state_dict().items()}


def load_network(network: nn.Module, tensors: Mapping[str, Tensor], name: str = POLICY) -> None:
    """The inverse of `network_tensors`. Raises RuntimeError for weights of another network, and ValueError for weights
    that are not finite.
    """
    start = f"{name}."
    network.load_state_dict({key.removeprefix(start): value for key, value in tensors.items() if key.startswith(start)})
    if not is_finite(network):
        raise ValueError(f"the {name} has weights that are not finite")


def is_finite(network: nn.Module) -> bool:
    """Whether all weights are finite."""
    return all(bool(torch.isfinite(value).all()) for value in network.state_dict().values())


def tensor_like(name: str, tensors: Mapping[str, Tensor], like: Tensor) -> Tensor:
    """The tensor of that name. Raises ValueError unless it is there, with the shape and type of `like`."""
    found = tensors.get(name)
    if found is None or found.shape != like.shape or found.dtype != like.dtype:
        told = "missing" if found is None else f"{found.dtype} of shape {tuple(found.shape)}"
        raise ValueError(f"{name}: {told}, it must be {like.dtype} of shape {tuple(like.shape)}")
    return found


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
