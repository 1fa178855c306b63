"""An agent in a process of its own: it gets copies of views through a pipe, and nothing else of the game exists there.

Within one process Python hides nothing from code that searches the interpreter for it, stack frames and all. Whoever lets others'
agents compete runs them here. An answer takes some tens of microseconds longer, and batches share that. The process is spawned: a
script must make its agents under ``if __name__ == "__main__":``, or it is run a second time there.
"""

from __future__ import annotations

import multiprocessing
import pickle
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from rs_env.baselines import make_agent
from rs_env.baselines.agent import Agent, as_agent, copy_for_agent, draws_by_seed

SECONDS_TO_START = 60.0


class Isolated:
    """The same agent, played by another process.

    agent: a name, an object that can be pickled, or a function without arguments that makes one there.
    seconds: how long an answer may take; None: any time. Raises ValueError for what is no agent; RuntimeError, naming the agent, where
    it raises, ends its process or takes too long. The process ends with `close`, or with this one. A copy, or what a pickle of it
    becomes, is the agent as it was given, in one more process.
    """

    def __init__(self, agent: str | Agent | Callable[[], Agent], seconds: float | None = None) -> None:
        self._given, self._seconds = agent, seconds
        try:
            pickle.dumps(agent)
        except Exception as error:
            raise ValueError(f"agent {agent!r} is not allowed: it cannot be sent to a process ({error})") from None
        ours, theirs = multiprocessing.get_context("spawn").Pipe()
        self._process = multiprocessing.get_context("spawn").Process(target=_work, args=(theirs, agent), daemon=True)
        self._process.start()
        theirs.close()
        self._pipe, self.name = ours, str(getattr(agent, "name", agent))
        try:
            self.name, self._takes_seeds = self._received(SECONDS_TO_START)
        except RuntimeError as error:
            raise RuntimeError(f"{error} (a script must make it under: if __name__ == '__main__')") from None
        if self._takes_seeds:
            self.act = self._act_with_seeds  # type: ignore[method-assign]  # so that `draws_by_seed` sees the parameter

    def __reduce__(self) -> tuple[Any, ...]:
        return Isolated, (self._given, self._seconds)

    def reset(self, seed: int | None) -> None:
        """Start anew, see `rs_env.baselines.agent.Agent`."""
        self._call("reset", seed)

    def act(self, views: np.ndarray) -> np.ndarray:
        """One action for each view, unchecked; whoever asks checks it."""
        return self._call("act", views)

    def _act_with_seeds(self, views: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
        return self._call("act", views, seeds)

    def close(self) -> None:
        """End the process."""
        self._pipe.close()
        self._process.join(1.0)
        self._process.kill()

    def _call(self, *message: Any) -> Any:
        try:
            self._pipe.send(message)
        except OSError:
            raise RuntimeError(f"agent {self.name!r}: its process has ended") from None
        return self._received(self._seconds)

    def _received(self, seconds: float | None) -> Any:
        try:
            if not self._pipe.poll(seconds):
                self._process.kill()
                raise RuntimeError(f"agent {self.name!r} took longer than {seconds} seconds, so its process was ended")
            error, answer = _plain(self._pipe.recv_bytes())
        except (EOFError, OSError):
            raise RuntimeError(f"agent {self.name!r}: its process has ended") from None
        if error is not None:
            raise RuntimeError(f"agent {self.name!r}: {error}")
        return answer


def _plain(data: bytes) -> Any:
    """What a worker has sent. It is not pickled: unpickling runs whatever the sender wants, here."""
    kind, content = data[:1], data[1:]
    if kind == b"a":
        return None, np.frombuffer(content, np.int64)
    if kind == b"i":
        return None, (content[1:].decode(errors="replace"), content[:1] == b"1")
    return (content.decode(errors="replace"), None) if kind == b"e" else (None, None)


def _work(pipe: Connection, made: Any) -> None:
    """The other process: make the agent, then answer until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for who asks
    try:
        agent = as_agent(made() if callable(made) and not hasattr(made, "act") else made, make_agent)
        pipe.send_bytes(b"i" + (b"1" if draws_by_seed(agent) else b"0") + agent.name.encode())
    except Exception as error:
        pipe.send_bytes(b"e" + f"{type(error).__name__}: {error}".encode())
        return
    while True:
        try:
            method, *arguments = pipe.recv()
        except EOFError:
            return
        try:
            if method == "reset":
                agent.reset(*arguments)
                pipe.send_bytes(b"n")
            else:
                views, *seeds = arguments
                answer = np.asarray(agent.act(copy_for_agent(views), *(s for s in seeds if s is not None)))
                if answer.shape != views.shape or answer.dtype.kind not in "iu":
                    raise ValueError(f"gave {answer.dtype} of shape {answer.shape}: it must give integers of shape {views.shape}")
                pipe.send_bytes(b"a" + answer.astype(np.int64).tobytes())
        except Exception as error:
            pipe.send_bytes(b"e" + f"{type(error).__name__}: {error}".encode())
