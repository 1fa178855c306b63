"""What all commands share: how they end, what they say of errors and of Ctrl-C, and text for any terminal.

A command is a function that does the work. It raises ValueError for bad input, as all of this package does, and leaves
`KeyboardInterrupt` alone or tells by `interrupted_with` what it has kept:

    def main(arguments: list[str]) -> int:
        return status_of(lambda: train(parse(arguments)))

    if __name__ == "__main__":
        end_with(main)

Nothing here needs an extra. Flags that commands share, such as those of the rules, are in `rs_env.flags`.
"""

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


def status_of(work: Callable[[], object]) -> int:
    """Do what a command is to do; its exit status.

    0: it is done. 2: ValueError, OSError, MemoryError or ImportError (of an extra that is missing) ended it, told on
    stderr in one line, ``error: ...``. 130: Ctrl-C did, told likewise, with what `interrupted_with` has to say. Other
    errors are faults of the program and go on, as SystemExit does.
    """
    _show_all_letters()
    try:
        work()
    except MemoryError as error:
        return _end(2, "error: not enough memory", str(error))
    except (ValueError, OSError, ImportError) as error:
        return _end(2, "error", str(error))
    except KeyboardInterrupt as error:
        return _end(130, "interrupted", str(error))
    return 0


def _end(status: int, what: str, told: str) -> int:
    print(": ".join(filter(None, (what, " ".join(told.splitlines())))), file=sys.stderr)
    return status


@contextmanager
def interrupted_with(told: str) -> Iterator[None]:
    """Whatever Ctrl-C interrupts within, say this of it: what has been kept, and how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(told) from None


@contextmanager
def terminal() -> Iterator[None]:
    """Print here. What the terminal cannot show falls back to ASCII ("+-", "e" for "é", else "?"), and a closed pipe is
    no error.
    """
    _show_all_letters()
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


def _show_all_letters() -> None:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=_ERRORS)


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
