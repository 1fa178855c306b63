"""Training by several processes as one: ranks of `torch.distributed`, as ``torchrun`` or a setting starts them.

torchrun --nproc-per-node=2 train.py --config configs/default.toml
python train.py --config configs/default.toml --processes 2

All settings are of the whole run: the ranks share out its games, the lessons and rows of each gradient step, and the
evaluation. Draws belong to a game and its decision, or are made by all ranks alike; so any number of ranks learns the
same, but for the rounding of sums. The first rank alone reads and writes the run's folder.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from agents.settings import check

T = TypeVar("T")
_HERE = "127.0.0.1"
_PATIENCE = 30.0  # seconds that other ranks have to end


@dataclass(frozen=True)
class Ranks:
    """The processes that train together; `number` is this one's, `size` how many there are.

    What is gathered, summed or agreed on must be asked for by all of them, in the same order.
    """

    number: int = 0
    size: int = 1

    @property
    def is_first(self) -> bool:
        """Whether this is the one that reads, writes and tells."""
        return self.number == 0

    def here(self, count: int) -> int:
        """This rank's share of what the machine has, such as threads; at least one."""
        ranks_here = int(os.environ.get("LOCAL_WORLD_SIZE", self.size)) if self.size > 1 else 1
        return max(1, count // ranks_here)

    def part(self, name: str, count: int) -> slice:
        """This rank's of so many. Raises ValueError, naming the setting, where they cannot be shared out evenly."""
        check(name, count, count % self.size == 0, f"a multiple of the number of ranks, {self.size}")
        each = count // self.size
        return slice(self.number * each, (self.number + 1) * each)

    def of_first(self, make: Callable[[], T]) -> T:
        """What the first rank makes of it. Its ValueError or OSError is raised there, where it is told, and ends the
        others.
        """
        if self.size == 1:
            return make()
        box: list[Any] = [None]
        error = None
        if self.is_first:
            try:
                box = [(make(),)]
            except (ValueError, OSError) as raised:
                error = raised
        dist.broadcast_object_list(box, src=0)
        if error is not None:
            raise error
        if box[0] is None:
            raise SystemExit(2)
        return box[0][0]

    def of_each(self, own: T) -> list[T]:
        """What each rank has, in their order."""
        if self.size == 1:
            return [own]
        found: list[Any] = [None] * self.size
        dist.all_gather_object(found, own)
        return found

    def joined(self, array: np.ndarray, axis: int) -> np.ndarray:
        """The arrays of all ranks, which have the same shape, one after the other."""
        if self.size == 1:
            return array
        own = torch.from_numpy(np.ascontiguousarray(array)).view(torch.uint8)
        parts = [torch.empty_like(own) for _ in range(self.size)]
        dist.all_gather(parts, own)
        return np.concatenate([part.numpy().view(array.dtype) for part in parts], axis)

    def sums(self, *numbers: float) -> list[float]:
        """The sum of each number over all ranks."""
        if self.size == 1:
            return list(numbers)
        sums = torch.tensor(numbers, dtype=torch.float64)
        dist.all_reduce(sums)
        return sums.tolist()

    def any(self, here: bool) -> bool:
        """Whether it holds on some rank."""
        return self.sums(here)[0] > 0

    def mean(self, values: Tensor, count: int) -> Tensor:
        """The mean of `values`, of which there are `count` on all ranks: what each gives has this mean over the ranks,
        as `DistributedDataParallel` takes it of gradients.
        """
        return values.mean() if self.size == 1 else values.sum() * (self.size / count)

    def parallel(self, network: nn.Module) -> nn.Module:
        """The network to learn with: its gradients are means over the ranks."""
        if self.size == 1:
            return network
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # the newest has another name for what older ones lack
            return DistributedDataParallel(network, broadcast_buffers=False)


def ranks() -> Ranks:
    """Those of this process."""
    together = dist.is_available() and dist.is_initialized()
    return Ranks(dist.get_rank(), dist.get_world_size()) if together else Ranks()


@contextmanager
def together(count: int = 1, command: Sequence[str] = ()) -> Iterator[Ranks]:
    """Within, this process is the rank that ``torchrun`` says, if it does: gloo between CPUs, nccl between GPUs.

    count, command: without ``torchrun`` this process is the first of so many ranks on this machine, and begins the
    others by the command that it was begun with. Raises ChildProcessError where another rank has ended.
    """
    if "WORLD_SIZE" in os.environ or count == 1:
        with _joined() as found:
            yield found
        return
    with _others(count, command), _joined() as found:
        yield found


@contextmanager
def _others(count: int, command: Sequence[str]) -> Iterator[None]:
    """Have other processes be all ranks of this machine but the first, which is this one, within."""
    with socket.socket() as free:
        free.bind((_HERE, 0))
        port = free.getsockname()[1]
    told = {"MASTER_ADDR": _HERE, "MASTER_PORT": str(port), "WORLD_SIZE": str(count), "LOCAL_WORLD_SIZE": str(count)}
    places = [{"RANK": str(number), "LOCAL_RANK": str(number)} for number in range(count)]
    others = [subprocess.Popen(command, env={**os.environ, **told, **place}) for place in places[1:]]
    os.environ.update(told | places[0])
    try:
        yield
    finally:
        for name in told | places[0]:
            del os.environ[name]
        for other in others:  # each ends with the work, or with the connection to this one
            try:
                other.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                other.kill()


@contextmanager
def _joined() -> Iterator[Ranks]:
    """Within, this process is the rank that the environment says."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield Ranks()
        return
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())  # ranks on the CPU may be more
    dist.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo")
    try:
        yield ranks()
    except RuntimeError as error:
        if not any(word in str(error) for word in ("gloo", "Gloo", "NCCL", "Connection")):
            raise
        told = str(error).splitlines()[0]
        raise ChildProcessError(f"rank {ranks().number}: another rank has ended, which tells why ({told})") from None
    finally:
        # Gloo's threads need the interpreter to free what they have sent, which they must have done before the last
        # network that they served is freed: that waits for the threads, and keeps the interpreter meanwhile.
        time.sleep(0.1)
        dist.destroy_process_group()
