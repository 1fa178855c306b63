"""Checks of settings, whoever they belong to: errors name the setting, its value and what is allowed."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import torch

from rs_env.baselines.networks import TEMPERATURES

MOST = 2**31 - 1
"""The largest whole number that counts of games, steps and deals may be."""
ALLOWED_TEMPERATURES = f"0, or {TEMPERATURES}"


def check(name: str, value: object, accepted: bool, allowed: str) -> None:
    """Raise ValueError, naming the setting, unless its value was accepted."""
    if not accepted:
        raise ValueError(f"{name}={value!r} is not allowed: it must be {allowed}")


def devices() -> list[str]:
    """Names of the devices that PyTorch can compute on here; plain "cuda" is the first of its kind."""
    cuda = [f"cuda:{number}" for number in range(torch.cuda.device_count())]
    return ["cpu", *(["cuda", *cuda] if cuda else []), *(["mps"] if torch.backends.mps.is_available() else [])]


def from_table(cls: type, prefix: str, values: dict[str, Any]) -> Any:
    """The dataclass of settings `cls` with these values, as TOML or JSON gives them; what is missing takes its default.

    prefix: what stands before a setting's name in errors, such as ``"ppo."``. Raises ValueError, naming the setting,
    for unknown names and for values of another type than the default's.
    """
    check(prefix.removesuffix("."), values, isinstance(values, dict), "a table of settings")
    fields = {f.name: f for f in dataclasses.fields(cls)}
    check_names(prefix, values, fields)
    return cls(**{name: _as_typed(prefix + name, value, fields[name].default) for name, value in values.items()})


def check_names(prefix: str, values: Iterable[str], known: Iterable[str]) -> None:
    """Raise ValueError, naming it and what is allowed, for a name that is not known."""
    allowed = [prefix + name for name in known]
    for name in values:
        if prefix + name not in allowed:
            raise ValueError(f"{prefix}{name} is not a setting: allowed are {', '.join(allowed)}")


def _as_typed(name: str, value: Any, default: Any) -> Any:
    if isinstance(default, float) and type(value) is int:
        return float(value)
    if isinstance(default, tuple) and isinstance(value, list):
        return tuple(value)
    if isinstance(default, tuple) and isinstance(value, str):
        return (value,)
    if default is not dataclasses.MISSING and default is not None and type(value) is not type(default):
        raise ValueError(f"{name}={value!r} is not allowed: it must be a {type(default).__name__}")
    return value
