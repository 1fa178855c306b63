"""An agent in a process of its own: it gets copies of views through a socket, and nothing else of the game exists
there.

Within one process Python hides nothing from code that searches the interpreter for it, stack frames and all. Whoever
lets others' agents compete runs them here. An answer takes some tens of microseconds longer, and batches share that.
The process is spawned: a script must make its agents under ``if __name__ == "__main__":``, or it is run a second time
there.

What comes back is not believed: it is no pickle, which would run whatever the sender wants, its length is bounded, and
it must bear the number of the question.
"""

from __future__ import annotations

import inspect
import multiprocessing
import pickle
import signal
import socket
import struct
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rs_env.agent import (
    Agent,
    ask_to_remember,
    blank_memories,
    copy_for_agent,
    draws_by_seed,
    wants_histories,
    wants_memories,
)
from rs_env.baselines import as_agent
from rs_env.history import Histories

SECONDS_TO_START = 120.0
_HEADER = struct.Struct("<QQ")  # number of the question, bytes that follow
_NAME, _RESULT, _NOTHING, _ERROR = b"i", b"a", b"n", b"e"
_PARAMETERS = {"seeds": draws_by_seed, "histories": wants_histories, "memories": wants_memories}  # of the agent's `act`
_LONGEST_TEXT, _LONGEST_ROW = 10_000, 1 << 20


class Isolated:
    """The same agent, played by another process.

    agent: a name, an object that can be pickled, or a class or function without arguments that makes one there.
    seconds: how long an answer may take; None: any time. Raises ValueError for what is no agent; RuntimeError, naming
    the agent, where it raises, ends its process, takes too long or answers nonsense, after which its process is ended.
    The process ends with `close`, or with this one. A copy, or what a pickle of it becomes, is the agent as it was
    given, in one more process. Of memories only their bytes are known here: uint8 (B, bytes of a row).
    """

    def __init__(self, agent: str | Agent | Callable[[], Agent], seconds: float | None = None) -> None:
        self._given, self._seconds = agent, seconds
        try:
            pickle.dumps(agent)
        except Exception as error:
            raise ValueError(f"agent {agent!r} is not allowed: it cannot be sent to a process ({error})") from None
        self._socket, theirs = socket.socketpair()
        self._process = multiprocessing.get_context("spawn").Process(target=_work, args=(theirs, agent), daemon=True)
        self._process.start()
        theirs.close()
        self._end = weakref.finalize(self, _end, self._socket, self._process)
        self._number, self.name = 0, str(getattr(agent, "name", agent))
        try:
            answer = self._received(time.monotonic() + SECONDS_TO_START, _LONGEST_TEXT)
            self.name, takes = answer[1:].decode(errors="replace"), answer[0]
        except RuntimeError as error:
            raise RuntimeError(f"{error} (a script must make it under: if __name__ == '__main__')") from None
        names = [name for place, name in enumerate(_PARAMETERS) if takes >> place & 1]
        self.act = _with_parameters(self.act, names)  # type: ignore[method-assign]

    def __reduce__(self) -> tuple[Any, ...]:
        return Isolated, (self._given, self._seconds)

    def reset(self, seed: int | None) -> None:
        """Start anew, see `rs_env.agent.Agent`."""
        self._call(0, "reset", seed)

    def act(self, views: np.ndarray, **more: Any) -> np.ndarray:
        """One action for each view, unchecked; the caller checks it."""
        return np.frombuffer(self._call(8 * len(views), "act", views, more), np.int64)

    def new_memories(self, count: int) -> np.ndarray:
        """So many rows that know nothing, of an agent that `rs_env.agent.wants_memories`."""
        (length,) = np.frombuffer(self._call(8, "length of a row"), np.int64).tolist()
        if not 0 <= length <= _LONGEST_ROW:
            raise self._ended(f"gave memories of {length} bytes a row")
        return np.frombuffer(self._call(count * length, "new_memories", count), np.uint8).reshape(count, length)

    def remember(self, views: np.ndarray, histories: Histories, memories: np.ndarray) -> np.ndarray:
        """The rows after deals that have ended, see `rs_env.agent.Remembers`."""
        content = self._call(memories.size, "remember", views, {"histories": histories, "memories": memories})
        return np.frombuffer(content, np.uint8).reshape(memories.shape)

    def close(self) -> None:
        """End the process; once the agent is gone that happens by itself."""
        self._end()

    def _call(self, length: int, *message: Any) -> bytes:
        """The answer to a question, so many bytes."""
        self._number += 1
        until = None if self._seconds is None else time.monotonic() + self._seconds
        try:
            _set_time(self._socket, until)
            _send(self._socket, self._number, pickle.dumps(message))
        except TimeoutError:
            raise self._ended(f"took longer than {self._seconds} seconds") from None
        except OSError:
            raise self._ended("its process has ended") from None
        content = self._received(until, max(length, _LONGEST_TEXT))
        if len(content) != length:
            raise self._ended(f"answered {len(content)} bytes instead of {length}")
        return content

    def _received(self, until: float | None, most: int) -> bytes:
        """What answers the present question. Answers to other ones, which nobody has asked for, are dropped."""
        try:
            while True:
                number, length = _HEADER.unpack(_read(self._socket, _HEADER.size, until))
                if length > most + 1:
                    raise self._ended(f"answers with {length} bytes")
                kind, content = _read(self._socket, 1, until), _read(self._socket, max(0, length - 1), until)
                if number == self._number:
                    break
        except TimeoutError:
            raise self._ended(
                "took too long to start" if self._number == 0 else f"took longer than {self._seconds} seconds"
            ) from None
        except OSError:
            raise self._ended("its process has ended") from None
        if kind == _ERROR:
            raise RuntimeError(f"agent {self.name!r}: {content.decode(errors='replace')}")
        return content

    def _ended(self, reason: str) -> RuntimeError:
        self._end()
        return RuntimeError(f"agent {self.name!r}: {reason}")


def _with_parameters(act: Callable[..., np.ndarray], names: Sequence[str]) -> Callable[..., np.ndarray]:
    """The function, showing these parameters besides ``views``, so that `draws_by_seed` and its like find those of the
    agent's own `act`.
    """
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    further = [inspect.Parameter(name, kind, default=None) for name in names]
    signature = inspect.Signature([inspect.Parameter("views", kind), *further])

    def shown(*given: Any, **named: Any) -> np.ndarray:
        return act(**signature.bind(*given, **named).arguments)

    shown.__signature__ = signature  # type: ignore[attr-defined]
    return shown


def _end(connection: socket.socket, process: Any) -> None:
    connection.close()
    process.kill()
    process.join()


def _send(connection: socket.socket, number: int, content: bytes) -> None:
    connection.sendall(_HEADER.pack(number, len(content)) + content)


def _read(connection: socket.socket, count: int, until: float | None = None) -> bytes:
    """So many bytes. Raises TimeoutError after `until`, by the monotonic clock, and ConnectionError where the other end
    is closed.
    """
    parts = []
    while count:
        _set_time(connection, until)
        part = connection.recv(min(count, 1 << 20))
        if not part:
            raise ConnectionError
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def _set_time(connection: socket.socket, until: float | None) -> None:
    """Let the next operation wait until then. Raises TimeoutError where that is over."""
    left = None if until is None else until - time.monotonic()
    if left is not None and left <= 0:
        raise TimeoutError
    connection.settimeout(left)


def _work(connection: socket.socket, made: Any) -> None:
    """The other process: make the agent, then answer until the socket is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks
    try:
        makes = isinstance(made, type) or (callable(made) and not hasattr(made, "act"))
        agent = as_agent(made() if makes else made)
        takes = sum(has(agent) << place for place, has in enumerate(_PARAMETERS.values()))
        _send(connection, 0, _NAME + bytes([takes]) + _text(agent.name))
        while True:
            number, length = _HEADER.unpack(_read(connection, _HEADER.size))
            _send(connection, number, _answer(agent, *pickle.loads(_read(connection, length))))
    except OSError:  # nobody asks any more
        return
    except Exception as error:
        _send(connection, 0, _ERROR + _error_text(error))


def _answer(agent: Agent, method: str, *arguments: Any) -> bytes:
    try:
        if method == "reset":
            agent.reset(*arguments)
            return _NOTHING
        if method == "length of a row":
            return _RESULT + np.int64(blank_memories(agent, 1).nbytes).tobytes()
        if method == "new_memories":
            return _RESULT + blank_memories(agent, *arguments).tobytes()
        views, more = arguments[0], {name: value for name, value in arguments[1].items() if value is not None}
        if "histories" in more:
            more["histories"] = more["histories"].read_only()
        if "memories" in more:
            like = blank_memories(agent, len(views))  # of bytes nothing can be written to
            more["memories"] = np.frombuffer(more["memories"].tobytes(), like.dtype).reshape(like.shape)
        if method == "remember":
            return _RESULT + ask_to_remember(agent, views, **more).tobytes()
        actions = np.asarray(agent.act(copy_for_agent(views), **more))
        if actions.shape != views.shape or actions.dtype.kind not in "iu":
            raise ValueError(
                f"gave {actions.dtype} of shape {actions.shape}: it must give integers of shape {views.shape}"
            )
        return _RESULT + actions.astype(np.int64).tobytes()
    except Exception as error:
        return _ERROR + _error_text(error)


def _error_text(error: Exception) -> bytes:
    try:
        return _text(f"{type(error).__name__}: {error}")
    except Exception:  # of its __str__
        return _text(type(error).__name__)


def _text(text: object) -> bytes:
    return str(text).encode(errors="replace")[: _LONGEST_TEXT - 2]
