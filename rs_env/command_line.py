"""Text for any terminal, and for a reader that stops reading: ``... | head -1``."""

from __future__ import annotations

import codecs
import os
import signal
import sys
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

_ERRORS = "rs_env.plain"  # name of the handler in Python's codecs
_PLAIN = {"±": "+-", "…": "..."}


@contextmanager
def terminal() -> Iterator[None]:
    """Print here. What the terminal cannot show falls back to ASCII ("+-", "e" for "é", else "?"), and a closed pipe is
    no error.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=_ERRORS)
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()
    except SystemExit as error:  # as rich ends a program whose output nobody reads
        if not isinstance(error.__context__, BrokenPipeError):
            raise
        _discard_output()


def _discard_output() -> None:
    """Python flushes what is left when it exits, which must go somewhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def end_with(main: Callable[[], int]) -> NoReturn:
    """End the process with the exit status of a command; Ctrl-C, however often, ends it with 130 and without a
    traceback.
    """
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        status = main()
    except KeyboardInterrupt:
        status = 130
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # what is left to do is to end
    sys.exit(status)


def _plain(error: UnicodeError) -> tuple[str, int]:
    """ASCII for characters that an encoding lacks."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_ascii(character) for character in error.object[error.start : error.end]), error.end


def _ascii(character: str) -> str:
    letters = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return _PLAIN.get(character, letters or "?")


codecs.register_error(_ERRORS, _plain)
