"""Work in pieces, done by processes of this machine, by a Dask cluster, or by any other `concurrent.futures.Executor`.

A piece is a call of a module's function, told by its arguments: whoever does it, and however often, it comes to the
same. So one that was lost with a worker is done again, and results are handed over in the order of the pieces.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from contextlib import contextmanager, nullcontext
from functools import cache, partial
from itertools import islice
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Lock, Thread
from types import ModuleType
from typing import Any

from rs_env.engine.jit import source_digest

TRIES = 3  # of a piece whose processes die
SECONDS_FOR_WORKERS = 60.0
_PLACES_PER_THREAD = 2  # so that the next piece is there when one is done, however far away
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")

_digest = cache(source_digest)
_spawning = Lock()  # the environment of processes that are being born is that of this one


def in_order(
    executor: Executor, function: Callable[..., Any], pieces: Iterable[tuple[Any, ...]], at_once: int
) -> Iterator[Any]:
    """What `function` makes of each piece, in their order; so many are given out at once.

    Raises what a piece raises, and see `result_of`. Pieces that nobody waits for any more are not begun.
    """
    numbered, finished, due = enumerate(pieces), dict[int, Any](), 0
    running: dict[Future[Any], int] = {}
    try:
        while True:
            for number, piece in islice(numbered, at_once - len(running)):
                running[submit(executor, function, *piece)] = number
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                finished[running.pop(future)] = result_of(future)
            while due in finished:
                yield finished.pop(due)
                due += 1
    finally:
        for future in running:
            future.cancel()


def submit(executor: Executor, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
    """Give out a piece. It raises ValueError where the worker has other sources of this package than this process."""
    return executor.submit(_do, _digest(), _here(), function, *arguments)


def result_of(future: Future[Any]) -> Any:
    """What came of a piece. Raises what it raised, and ChildProcessError where its workers have died."""
    try:
        return future.result()
    except (BrokenExecutor, CancelledError) as error:
        raise ChildProcessError(f"a worker has ended, and its piece with it ({error!r})") from None
    except Exception as error:
        if type(error).__module__.partition(".")[0] != "distributed":
            raise
        raise ChildProcessError(f"the cluster has given a piece up ({error})") from None


def _do(digest: str, home: tuple[str, int], function: Callable[..., Any], *arguments: Any) -> Any:
    """At the worker: a piece."""
    if digest != _digest():
        raise ValueError(
            f"the worker {_here()} has other sources of rs_env ({_digest()}) than the process that asks ({digest}):"
            " install the same there, and start it anew"
        )
    if home != _here():
        _compute_on_one_thread()
    return function(*arguments)


def _here() -> tuple[str, int]:
    return socket.gethostname(), os.getpid()


# Threads


def _compute_on_one_thread() -> None:
    """Torch, which takes as many threads as there are cores, is to take one, unless the environment says otherwise."""
    for name in _THREADS:
        os.environ.setdefault(name, "1")
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(int(os.environ["OMP_NUM_THREADS"]))


@contextmanager
def _one_thread_in_each() -> Iterator[None]:
    """Processes started within compute on one thread each, where the environment does not say otherwise.

    As many threads in each as there are cores would wait for one another. Libraries of linear algebra, torch's and
    NumPy's among them, read these variables once, when they are loaded. A new process may load them before it comes to
    any line of this module, with its main module or the agents; so it has to be born with the variables.
    """
    added = [name for name in _THREADS if name not in os.environ]
    os.environ.update(dict.fromkeys(added, "1"))
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


@contextmanager
def _without_main() -> Iterator[None]:
    """Processes started within do not load the main module of this one, and what it imports."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


# A cluster


@contextmanager
def cluster(address: str) -> Iterator[tuple[Executor, int]]:
    """The executor of a Dask cluster, by its scheduler's address, and how many pieces to give it at once.

    Raises ImportError without the extra ``cluster``, OSError where no scheduler answers or it has no workers.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError(f"{error}; a Dask cluster needs the extra: pip install 'rs_env[cluster]'") from None
    with Client(address, set_as_default=False) as client:
        client.wait_for_workers(1, timeout=SECONDS_FOR_WORKERS)
        threads = sum(client.nthreads().values())
        yield client.get_executor(pure=False), _PLACES_PER_THREAD * threads


# Processes of this machine


@contextmanager
def executor_of(processes: int, cluster_at: str | None, **options: bool) -> Iterator[tuple[Executor, int]]:
    """The executor of a Dask cluster, where its address is given, else so many `Processes` with these options, and how
    many pieces to give it at once. At the end, what they are still at is given up.
    """
    if cluster_at is not None:
        with cluster(cluster_at) as found:
            yield found
        return
    pool = Processes(processes, **options)
    try:
        yield pool, processes
    finally:
        pool.shutdown(cancel_futures=True)


class Processes(ThreadPoolExecutor):
    """Spawned processes of this machine, each on one thread, as an executor. A script must start its work under
    ``if __name__ == "__main__"``.

    A process that dies takes its piece with it, which a new one does again; ChildProcessError where `TRIES` die of it.
    (`concurrent.futures.ProcessPoolExecutor` gives up every piece with one process, and does not end a piece.)
    with_main: whether they load the main module, which agents may be of. daemon: such processes end with this one in
    any case, and may have no processes of their own.
    """

    def __init__(self, count: int, *, with_main: bool = True, daemon: bool = True) -> None:
        super().__init__(count)
        self._new_process = partial(Process, with_main=with_main, daemon=daemon)
        self._lock, self._closed = Lock(), False
        self._idle: SimpleQueue[Process] = SimpleQueue()
        self._all: list[Process] = []
        try:
            for _ in range(count):
                self._idle.put(self._new())
        except BaseException:
            self.shutdown(cancel_futures=True)
            raise

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **more: Any) -> Future[Any]:
        """See `concurrent.futures.Executor.submit`."""
        return super().submit(self._elsewhere, pickle.dumps((function, arguments, more)))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """See `concurrent.futures.Executor.shutdown`; `cancel_futures` also ends the pieces that have begun."""
        super().shutdown(wait and not cancel_futures, cancel_futures=cancel_futures)
        if wait or cancel_futures:
            with self._lock:
                self._closed = True
                for process in self._all:
                    process.end()
            super().shutdown(wait)

    def _elsewhere(self, call: bytes) -> Any:
        """In a thread of its own: have an idle process do it."""
        process = self._idle.get()
        try:
            for _ in range(TRIES):
                try:
                    done, result = process.do(call)
                    break
                except (EOFError, OSError):
                    process = self._new(instead_of=process)
            else:
                raise ChildProcessError("a process has ended; if it left no error above, it was killed")
        finally:
            self._idle.put(process)
        if not done:
            raise result
        return result

    def _new(self, instead_of: Process | None = None) -> Process:
        with self._lock:
            if self._closed:
                raise CancelledError
            if instead_of is not None:
                self._all.remove(instead_of)
                instead_of.end()
            self._all.append(self._new_process())
            return self._all[-1]


class UnreadableError(RuntimeError):
    """A piece was done in another process, but what came of it cannot be unpickled in this one."""


class Process:
    """A spawned process of this machine, on one thread, that does one piece after the other. For its parameters see
    `Processes`.
    """

    def __init__(self, *, with_main: bool = True, daemon: bool = True) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would copy the locks of Numba's and torch's threads
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs,), daemon=daemon)
        with _spawning, _one_thread_in_each(), nullcontext() if with_main else _without_main():
            self._process.start()
        theirs.close()  # so that ours ends when the process does

    def do(self, call: bytes) -> tuple[bool, Any]:
        """Whether a piece, the pickle of a function, its arguments and those by name, went well, and the result, or
        what was raised. Raises EOFError or OSError where the process dies, and UnreadableError.
        """
        self._pipe.send_bytes(call)
        answer = self._pipe.recv_bytes()
        try:
            done, result = pickle.loads(answer)
        except Exception as error:  # whatever the class of a result does when it is made anew
            raise UnreadableError(
                f"a piece was done, but this process cannot read what came of it ({type(error).__name__}: {error})"
            ) from None
        return done, result

    def end(self) -> None:
        """End it, whatever it is at."""
        self._process.terminate()
        self._process.join()


def _work(pipe: Connection) -> None:
    """In a process of its own: do the pieces that come, until no more do."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the main process, which ends this one
    Thread(target=_end_with_parent, daemon=True).start()
    try:
        while True:
            pipe.send_bytes(_answer(pipe.recv_bytes()))
    except (EOFError, OSError, KeyboardInterrupt):  # the main process is gone, or a run was told to stop
        return


def _end_with_parent() -> None:
    """A parent that is killed ends nobody, and a piece may take long."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _answer(call: bytes) -> bytes:
    try:
        function, arguments, more = pickle.loads(call)
        return pickle.dumps((True, function(*arguments, **more)))
    except Exception as error:
        error.add_note(traceback.format_exc())
        try:
            answer = pickle.dumps((False, error))
            pickle.loads(answer)  # fails where it is not made of its `args` alone
            return answer
        except Exception:
            told = RuntimeError(f"{type(error).__name__}: {error}")
            told.add_note(error.__notes__[-1])
            return pickle.dumps((False, told))
