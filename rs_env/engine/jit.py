"""Compiled functions that are kept on disk: `njit`, and the folder where their machine code lies.

Numba's own cache asks only whether the file of a function has changed, not the files that the function calls into:
after a change of the engine, kernels of other modules would go on with the old rules. Here the folder bears a digest of
all sources of the package, so that a change anywhere starts a new one. The folder is the first of these that can be
written to or holds code already:

1. in ``NUMBA_CACHE_DIR``, where that is set;
2. ``__pycache__`` of the package;
3. the user's cache folder (``~/.cache/rs_env`` on Linux);
4. ``rs_env-<user>`` in the folder for temporary files. Then, and where there is none at all, the logger ``rs_env``
warns.

The same logger says, once in a process, that something compiles.
``logging.getLogger("rs_env").setLevel(logging.ERROR)`` or ``RS_ENV_QUIET=1`` in the environment silences both. ``python
-m rs_env warm`` compiles everything ahead.
"""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache as remember
from functools import partial
from pathlib import Path
from typing import Any

import numba
from numba.core import config
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator
from numba.misc.appdirs import AppDirs

PACKAGE = Path(__file__).parents[1]
QUIET = "RS_ENV_QUIET"
_DAMAGED = (EOFError, pickle.UnpicklingError)  # what a file raises that was cut short
_logger = logging.getLogger("rs_env")
_missed: list[str] = []  # what was looked for in this process and had to be compiled


def njit(function: Callable[..., Any] | None = None, *, cache: bool = False, **options: Any) -> Any:
    """Numba's ``njit``; with `cache` the machine code is kept in `code_folder`, for all processes."""
    if function is None:
        return partial(njit, cache=cache, **options)
    options.setdefault("no_cfunc_wrapper", True)
    compiled = numba.njit(function, **options)
    if cache and not config.DISABLE_JIT and code_folder() is not None:
        compiled._cache = _KernelCache(function)
    return compiled


def missed() -> list[str]:
    """Names of the cached functions that this process has compiled so far, once for each signature."""
    return list(_missed)


@remember
def code_folder() -> Path | None:
    """The folder for the code of these sources, made if need be and with those of older sources removed; None if none
    can be written to.
    """
    family, name = _names()
    for base in _places():
        folder = base / name
        is_new = not os.path.exists(folder)  # noqa: PTH110  Path.exists raises where a folder above may not be entered
        if not _writable(folder) and not _holds_code(folder):
            continue
        if is_new:
            for older in set(base.glob(f"{family}*")) - {folder}:
                shutil.rmtree(older, ignore_errors=True)
        if base == _temporary():
            _say(
                f"compiled code is kept in {folder}, which may not last: no other folder can be written to;"
                " NUMBA_CACHE_DIR=... names one"
            )
        return folder
    _say(
        "no folder can be written to, so each process compiles anew, some seconds each time; NUMBA_CACHE_DIR=..."
        " names a folder"
    )
    return None


def _names() -> tuple[str, str]:
    """What the folders of this package and Numba have in common in their names, and the name of that for the sources as
    they are.
    """
    family = f"rs_env-{_digest(str(PACKAGE).encode(), 8)}-numba{numba.__version__}-"
    return family, family + source_digest()


def source_digest() -> str:
    """16 hexadecimal digits that name the present text of all modules of the package."""
    sources = []
    for folder, folders, files in os.walk(PACKAGE):
        folders[:] = sorted(set(folders) - {"__pycache__"})
        sources += [os.path.join(folder, file) for file in sorted(files) if file.endswith(".py")]  # noqa: PTH118  five times as fast
    return _digest(b"\0".join(Path(source).read_bytes() for source in sources), 16)


def _digest(data: bytes, digits: int) -> str:
    return hashlib.sha256(data).hexdigest()[:digits]


def _places() -> Iterator[Path]:
    if config.CACHE_DIR:
        yield Path(config.CACHE_DIR)
    yield PACKAGE / "__pycache__"
    home = Path(AppDirs("rs_env", appauthor=False).user_cache_dir)
    if home.is_absolute():  # else there is no home, and this would be a folder "~" in the working directory
        yield home
    if _is_own(_temporary()):
        yield _temporary()


def _temporary() -> Path:
    user = os.getuid() if hasattr(os, "getuid") else ""
    return Path(tempfile.gettempdir()) / f"rs_env-{user}"


def _is_own(folder: Path) -> bool:
    """Whether the folder, made if need be, is this user's alone: this process runs the code there, and others may
    write beside it.
    """
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return False
    if not hasattr(os, "getuid"):
        return True
    return (
        stat.S_ISDIR(found.st_mode)
        and found.st_uid == os.getuid()
        and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def _holds_code(folder: Path) -> bool:
    """Whether code was compiled there before, as by root for an image of a container: then this process uses it, even
    where it cannot add to it.
    """
    return any(folder.glob("*.nbi"))


def _say(text: str) -> None:
    if not os.environ.get(QUIET):
        _logger.warning("rs_env: %s", text)


class _Locator(_CacheLocator):
    """Everything lies in `code_folder`, whose name stands for the sources of the package; other files have their own
    digest.
    """

    def __init__(self, file: str, line: int) -> None:
        self._py_file, self._lineno = file, line  # as Numba names them, which asks other locators for them too

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> _Locator:
        return cls(py_func.__code__.co_filename, py_func.__code__.co_firstlineno)

    def get_cache_path(self) -> str:
        return str(code_folder())

    def get_source_stamp(self) -> str:
        return "" if PACKAGE in Path(self._py_file).parents else _file_digest(self._py_file)

    def get_disambiguator(self) -> str:
        return f"{self._lineno}-{_digest(self._py_file.encode(), 8)}"


@remember
def _file_digest(file: str) -> str:
    return _digest(Path(file).read_bytes(), 16)


class _Implementation(CompileResultCacheImpl):
    _locator_classes = (_Locator,)


class _Files(IndexDataCacheFile):
    def _data_name(self, number: int) -> str:
        """A name of its own for each piece of code: counted ones, as Numba's, can meet where two processes compile
        different types.
        """
        return self._data_name_pattern.format(number=secrets.randbits(48))

    def _load_index(self) -> dict[Any, str]:
        try:
            return super()._load_index()
        except _DAMAGED:
            return {}


class _KernelCache(FunctionCache):
    _impl_class = _Implementation

    def __init__(self, py_func: Any) -> None:
        super().__init__(py_func)
        self._cache_file = _Files(self.cache_path, self._impl.filename_base, self._impl.locator.get_source_stamp())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = super().load_overload(sig, target_context)
        if found is None:
            if not _missed:
                kept = (
                    "is kept in"
                    if os.access(self.cache_path, os.W_OK)
                    else "is not kept, since nothing can be written to"
                )
                _say(f"compiling, which takes some seconds; the result {kept} {self.cache_path}")
            _missed.append(f"{self._py_func.__module__}.{self._py_func.__name__}")
        return found

    @contextmanager
    def _guard_against_spurious_io_errors(self) -> Iterator[None]:
        """A disk that is full, a folder that goes away or a damaged file costs a compilation and no more."""
        with suppress(OSError, *_DAMAGED):
            yield
