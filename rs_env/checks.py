"""Checks of what callers give: errors name the argument, the value and what is allowed."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np


def check_seed(seed: int | None) -> int:
    """The seed as a plain int, a fresh one from the operating system for None. Raises ValueError outside 0..2**64-1."""
    return secrets.randbits(63) if seed is None else check_whole("seed", seed, 0, (1 << 64) - 1)


def check_whole(name: str, value: Any, low: int, high: int) -> int:
    """The value as a plain int. Raises ValueError, naming it, unless it is a whole number in `low` .. `high`."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    whole = isinstance(value, int | np.integer) and not isinstance(
        value, bool | np.timedelta64
    )  # which NumPy takes for an integer
    if not whole or not low <= value <= high:
        most = "2**64 - 1" if high == (1 << 64) - 1 else high
        raise ValueError(f"{name}={value!r} is not allowed: {name} must be a whole number in {low}..{most}")
    return int(value)


def check_within(name: str, value: float, most: float) -> float:
    """The value. Raises ValueError, naming it, unless it is a number in 0 .. `most`."""
    if not 0.0 <= value <= most:
        raise ValueError(f"{name}={value!r} is not allowed: it must be a number in 0..{most:g}")
    return value


@contextmanager
def needs_extra(extra: str, what: str) -> Iterator[None]:
    """Import here what comes with an extra: where it is missing, ModuleNotFoundError says what needs it, and how to get
    it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        told = f"{what} needs {error.name}: pip install 'rs_env[{extra}]'"
        raise ModuleNotFoundError(told, name=error.name) from None


def check_buffer(name: str, buffer: Any, size: int) -> None:
    """Raise ValueError unless compiled code, which checks nothing, can write `size` entries of int8 to it."""
    if isinstance(buffer, np.ndarray) and buffer.dtype == np.int8 and buffer.shape == (size,) and buffer.flags.carray:
        return
    told = f"{buffer.dtype} of shape {buffer.shape}" if isinstance(buffer, np.ndarray) else f"a {type(buffer).__name__}"
    raise ValueError(f"{name}: {told} is not allowed: it must be a contiguous, writable int8 array of shape ({size},)")
