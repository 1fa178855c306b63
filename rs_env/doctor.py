"""What is installed here, whether it will work, and how fast it is: ``python -m rs_env doctor``."""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Iterator
from importlib import metadata

import numba
import numpy as np

from rs_env.engine.jit import code_folder, missed
from rs_env.envs.self_play import SelfPlayVectorEnv
from rs_env.version import __version__

_NAME, _GAMES, _SECONDS = "rs_env", 4096, 0.5


def report() -> Iterator[tuple[str, str, bool]]:
    """What is looked at, what was found, and whether that is well; one after the other, since some take seconds.

    Not well is what keeps a part from working or costs much time: a library that is older than its floor, compiled code
    that cannot be kept. An extra that is not installed is no fault.
    """
    yield "python", f"{platform.python_version()}, {platform.system()} {platform.machine()}", True
    yield _NAME, f"{__version__}, {os.cpu_count()} processors", True
    yield from _libraries()
    yield from _compiled_code()
    yield from _speed()


def _libraries() -> Iterator[tuple[str, str, bool]]:
    """The requirements, one by one, and each extra with what it lacks."""
    try:
        required = metadata.requires(_NAME) or []
    except metadata.PackageNotFoundError:
        yield "libraries", "not looked at: this is a folder, and no package is installed", True
        return
    extras: dict[str, list[str]] = {}
    for requirement in required:
        name, floor, extra = _parts(requirement)
        found = _version(name)
        if extra is None:
            well = found is not None and _numbers(found) >= _numbers(floor)
            yield name, f"{found or 'missing'} (at least {floor})", well
        else:
            lacking = extras.setdefault(extra, [])
            if found is None or _numbers(found) < _numbers(floor):
                lacking.append(f"{name}>={floor}")
    for extra, lacking in extras.items():
        how = f"lacks {', '.join(lacking)}: pip install '{_NAME}[{extra}]'"
        yield f"[{extra}]", how if lacking else "complete", True


def _parts(requirement: str) -> tuple[str, str, str | None]:
    """Name, floor and extra of a requirement as this package writes them."""
    name = re.match(r"[\w.-]+", requirement)
    floor, extra = re.search(r">=([\d.]+)", requirement), re.search(r"extra\s*==\s*['\"]([\w-]+)", requirement)
    return name[0] if name else requirement, floor[1] if floor else "0", extra[1] if extra else None


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _numbers(version: str) -> list[int]:
    """The numbers that a version begins with."""
    found = re.match(r"\d+(\.\d+)*", version)
    return [int(number) for number in found[0].split(".")] if found else []


def _compiled_code() -> Iterator[tuple[str, str, bool]]:
    folder = code_folder()
    if folder is None:
        yield "compiled", "kept nowhere: each process compiles anew; NUMBA_CACHE_DIR=... names a folder", False
        return
    size = sum(file.stat().st_size for file in folder.glob("*"))
    how = "" if os.access(folder, os.W_OK) else ", which cannot be written to"
    yield "compiled", f"kept in {folder}{how}, {size / 2**20:.0f} MiB so far", True


def _speed() -> Iterator[tuple[str, str, bool]]:
    """Of random play, with observations and masks, once everything it needs is compiled."""
    threads = numba.config.NUMBA_NUM_THREADS
    for count in sorted({1, threads}):
        begin = time.perf_counter()
        vec = SelfPlayVectorEnv(_GAMES, num_threads=count)
        vec.reset()
        vec.step(vec.random_actions())
        ready, compiled = time.perf_counter() - begin, len(missed())
        steps, begin = 0, time.perf_counter()
        while time.perf_counter() - begin < _SECONDS:
            vec.step(vec.random_actions())
            steps += 1
        rate = steps * _GAMES / (time.perf_counter() - begin)
        of = f"{count} thread{'s' if count > 1 else ''}"
        told = f"{rate / 1e6:.1f} million actions per second; ready after {ready:.1f} s, {compiled} functions compiled"
        yield of, told, bool(np.isfinite(rate))
    layer = numba.threading_layer() if threads > 1 else "none, for there is one processor"
    yield "threading", f"{layer}, {threads} threads at most", True
