"""Text for any terminal, and for a reader that stops reading: ``... | head -1``."""

from __future__ import annotations

import codecs
import os
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager

_ERRORS = "rs_env.plain"  # name of the handler in Python's codecs
_PLAIN = {"±": "+-", "…": "..."}


@contextmanager
def terminal() -> Iterator[None]:
    """Print here. What the terminal cannot show falls back to ASCII ("+-", "e" for "é", else "?"), and a closed pipe is no error."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=_ERRORS)
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # Nobody reads any more. Python flushes what is left when it exits, which must go somewhere.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _plain(error: UnicodeError) -> tuple[str, int]:
    """ASCII for characters that an encoding lacks."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_ascii(character) for character in error.object[error.start : error.end]), error.end


def _ascii(character: str) -> str:
    letters = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return _PLAIN.get(character, letters or "?")


codecs.register_error(_ERRORS, _plain)
