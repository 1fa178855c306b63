"""Networks from files that `agents.checkpoint` wrote, read without PyTorch.

A file is refused where its format, observation version, kind or shape of network does not fit this version, or where a
bit of it is not as it was written. Reading needs the library safetensors, of the extra ``net``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from rs_env.baselines.general import RULES_VERSION
from rs_env.baselines.networks import FORMS, Network
from rs_env.engine.observation import OBSERVATION_VERSION
from rs_env.rules import as_rules

FORMAT = "rs_env.checkpoint/3"
FILE_NAME = "checkpoint.safetensors"  # in a run folder
_PREFIX = "network."  # of the arrays of the network that an agent plays by
_KEPT = 16  # networks that a process keeps
_FLOATS = (np.float16, np.float32)


def read_network(path: str | Path) -> Network:
    """The policy network of a checkpoint file, or of the run folder `path`; a process reads a file once.

    Raises ValueError, naming the file and what is wrong, for a file that is missing, damaged, of another version or
    without a policy network, and ImportError where there is no safetensors.
    """
    path = Path(path)
    path = path / FILE_NAME if path.is_dir() else path
    try:
        stat = path.stat()
    except (OSError, ValueError) as error:
        raise ValueError(f"checkpoint {path}: {getattr(error, 'strerror', error)}") from None
    return _read(path.resolve(), (stat.st_mtime_ns, stat.st_size, stat.st_ino))


@lru_cache(maxsize=_KEPT)
def _read(path: Path, version: tuple[int, ...]) -> Network:
    """The network of a file; version: what changes with the file, so that a new one is read anew."""
    try:
        from safetensors import SafetensorError, safe_open
    except ModuleNotFoundError as error:
        raise ImportError(f"networks need safetensors ({error}): pip install 'rs_env[net]'") from None
    try:
        with safe_open(path, "np") as file:
            metadata = file.metadata() or {}
            check_version(metadata)
            tensors = {name: np.array(file.get_tensor(name)) for name in file.keys()}  # noqa: SIM118  not a dict
        if metadata.get("digest") != digest_of(metadata, tensors):
            raise ValueError("it is not as it was written: its digest does not fit")
        config = json.loads(metadata["config"])
        check_kind(metadata, config)
        return _network_of(config, tensors)
    except (OSError, SafetensorError, AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"checkpoint {path}: {error}") from None


def check_version(metadata: Mapping[str, str]) -> None:
    """Raise ValueError unless this version reads a file with such a header."""
    for key, expected in (("format", FORMAT), ("observation_version", str(OBSERVATION_VERSION))):
        if metadata.get(key) != expected:
            raise ValueError(f"{key} is {metadata.get(key)!r}, this version reads {expected!r}")


def kind_version(config: Mapping[str, Any]) -> dict[str, str]:
    """What stands in the header of a file with these settings beside the observation version: of a network that reads
    the rules the version of their numbers.
    """
    general = config.get("network", {}).get("kind") == "general"
    return {"rules_version": str(RULES_VERSION)} if general else {}


def check_kind(metadata: Mapping[str, str], config: Mapping[str, Any]) -> None:
    """Raise ValueError unless this version reads such a kind of network."""
    for key, expected in kind_version(config).items():
        if metadata.get(key) != expected:
            raise ValueError(f"{key} is {metadata.get(key)!r}, this version reads {expected!r}")


def digest_of(metadata: Mapping[str, str], arrays: Mapping[str, np.ndarray]) -> str:
    """SHA-256 of everything in a checkpoint but this digest; types have the names that PyTorch gives them."""
    return digest_of_bytes(metadata, {name: _told(value) for name, value in arrays.items()})


def digest_of_bytes(metadata: Mapping[str, str], tensors: Mapping[str, tuple[str, tuple[int, ...], memoryview]]) -> str:
    """That of `digest_of`, from the type, as PyTorch names it, the shape and the bytes of each array."""
    digest = hashlib.sha256(json.dumps({key: metadata[key] for key in sorted(metadata) if key != "digest"}).encode())
    for name in sorted(tensors):
        dtype, shape, data = tensors[name]
        digest.update(f"{name} {dtype} {shape}".encode())
        digest.update(data)
    return digest.hexdigest()


def _told(array: np.ndarray) -> tuple[str, tuple[int, ...], memoryview]:
    """An array as `digest_of_bytes` takes it."""
    return f"torch.{array.dtype}", array.shape, np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _network_of(config: Mapping[str, Any], tensors: Mapping[str, np.ndarray]) -> Network:
    """The network that the settings tell. Raises ValueError where the arrays are those of another one."""
    rules, settings = as_rules(config.get("rules", {})), config.get("network", {})
    kind = settings.get("kind", "suits")
    if kind not in FORMS:
        raise ValueError(f"a network of kind {kind!r} cannot play without PyTorch: only {', '.join(map(repr, FORMS))}")
    arrays = {name.removeprefix(_PREFIX): value for name, value in tensors.items() if name.startswith(_PREFIX)}
    if not arrays:
        raise ValueError(f"learner {config.get('learner')!r} keeps no policy network to play by")
    sizes = settings.get("hidden"), settings.get("layers")
    if not all(type(size) is int and 1 <= size <= limit for size, limit in zip(sizes, (16384, 64), strict=True)):
        raise ValueError(f"a network of width {sizes[0]!r} and {sizes[1]!r} layers is not allowed")
    expected = FORMS[kind].shapes(FORMS[kind].columns(rules.num_players), *sizes)
    for name in sorted(arrays.keys() | expected.keys()):
        found = arrays[name].shape if name in arrays else "missing"
        if found != expected.get(name):
            raise ValueError(f"{_PREFIX}{name}: {found}, in this network it must be {expected.get(name, 'missing')}")
        if arrays[name].dtype not in _FLOATS:
            raise ValueError(f"{_PREFIX}{name}: {arrays[name].dtype} is not allowed: it must be float16 or float32")
        if not np.isfinite(arrays[name]).all():
            raise ValueError("the network has weights that are not finite")
    return Network(kind, rules, {name: _constant(value) for name, value in arrays.items()})


def _constant(array: np.ndarray) -> np.ndarray:
    array = np.ascontiguousarray(array, np.float32)
    array.flags.writeable = False
    return array
