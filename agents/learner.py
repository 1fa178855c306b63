"""What a learner is: what a run tells it, and what a run needs of it.

A new learner is one file, which holds a frozen dataclass of its settings and a class with the methods of `Learner`, and
one line in `agents.registry`. `agents.ppo` is an example. Parts to build it from: `agents.collector` plays games,
`agents.chain` finds what follows a decision, `agents.checkpoint` turns networks and optimisers into tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from threading import Lock
from typing import Protocol

import torch
import tyro
from torch import Tensor, nn

from agents.architectures import NetworkConfig
from agents.checkpoint import load_checkpoint
from agents.distributed import ranks
from agents.networks import CentralCritic
from agents.seeds import TRAINING_SEEDS
from agents.settings import check, devices
from rs_env.agent import Agent
from rs_env.checks import check_whole
from rs_env.rules import Rules

PRECISIONS = ("float32", "bf16")
_torch_draws = Lock()  # of the one generator that a process has, whatever threads train in it


@dataclass(frozen=True)
class TableConfig:
    """A share of the games in which other rules are played."""

    share: float = 0.25
    """Of all games; the configuration's own rules have what the tables leave."""
    rules: Rules = field(default_factory=Rules)
    """What is played there."""

    def __post_init__(self) -> None:
        check("tables.share", self.share, 0 < self.share < 1, "above 0 and below 1")


@dataclass(frozen=True)
class LearnerConfig:
    """What every learner is told, whatever its method."""

    rules: tyro.conf.Suppress[tyro.conf.Fixed[Rules]] = field(default_factory=Rules)  # has flags: rs_env.flags
    """What is played."""
    total_decisions: int = 1_900_000
    """Decisions (turns with a choice) of all seats to play, rounded to whole iterations."""
    seed: int = 1
    """Of decks, exploration and the network's first weights."""
    device: str = "cpu"
    """Where the network computes, as PyTorch names it: cpu, cuda, cuda:1, mps."""
    precision: str = "float32"
    """How networks compute while they are trained: float32, or bf16, which multiplies matrices in bfloat16 and keeps
    weights, gradients and outputs in float32.
    """
    network: NetworkConfig = field(default_factory=NetworkConfig)
    tables: tyro.conf.Suppress[tyro.conf.Fixed[tuple[TableConfig, ...]]] = ()
    """Further rule sets to learn at once, each with its share of the games."""
    start: str = ""
    """Run folder or checkpoint file whose network to begin with; empty: new weights from the seed."""

    def __post_init__(self) -> None:
        check("total_decisions", self.total_decisions, 1 <= self.total_decisions <= 2**62, "from 1 to 2**62")
        seed = check_whole("seed", self.seed, 0, TRAINING_SEEDS - 1)
        object.__setattr__(self, "seed", seed)  # a plain int, as JSON needs it
        there = devices()
        check("device", self.device, self.device in there, f"one that PyTorch has here: {', '.join(there)}")
        known = ", ".join(map(repr, PRECISIONS))
        check("precision", self.precision, self.precision in PRECISIONS, f"one of {known}")

        if self.tables:
            check(
                "network.kind", self.network.kind, self.network.general, "'general' with [[tables]]: it plays any rules"
            )
            taken = 1 - self.shares[0]
            check("tables.share", taken, taken < 1 - 1e-9, "such that the shares add up to less than 1")

    @property
    def rule_sets(self) -> tuple[Rules, ...]:
        """All that is played: `rules`, and those of the tables."""
        return (self.rules, *(table.rules for table in self.tables))

    @property
    def shares(self) -> tuple[float, ...]:
        """Of the games, for each of `rule_sets`."""
        return (1 - sum(table.share for table in self.tables), *(table.share for table in self.tables))

    def shared_out(self, games: int) -> list[int]:
        """How many of the games each rule set has. Raises ValueError where one would have none."""
        counts = [round(share * games) for share in self.shares[1:]]
        counts = [games - sum(counts), *counts]
        check("tables.share", counts, min(counts) > 0, f"such that each rule set has one of the {games} games")
        return counts

    def iterations_of(self, decisions: int) -> int:
        """Number of iterations of this many decisions each; at least one."""
        return max(1, round(self.total_decisions / decisions))

    def computing(self) -> AbstractContextManager[None]:
        """Within, networks compute in the run's precision. Losses and gradients are left outside, as torch has it."""
        if self.precision == "float32":
            return nullcontext()
        return torch.autocast(torch.device(self.device).type, torch.bfloat16)

    def new_network(self) -> nn.Module:
        """The network on its device, with its first weights from the seed, or from `start`."""
        if self.start:
            return self._started_network().to(self.device)
        return self._made(lambda: self.network.make(self.rules.num_players))

    def new_critic(self) -> nn.Module:
        """A critic that sees all hands, of the network's size, on its device, with first weights from the seed."""
        return self._made(lambda: CentralCritic(self.rules.num_players, self.network.hidden, self.network.layers))

    def _made(self, make: Callable[[], nn.Module]) -> nn.Module:
        """A network on its device, with its first weights from the seed."""
        with _torch_draws, torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            return make().to(self.device)

    def _started_network(self) -> nn.Module:
        """The network of `start`. Raises ValueError unless it is of this kind, size and number of players, which does
        not matter to a general one.
        """
        found = ranks().of_first(lambda: load_checkpoint(self.start))
        kind = (NetworkConfig(**found.config["network"]), found.rules.num_players)
        wanted = (self.network, found.rules.num_players if self.network.general else self.rules.num_players)
        check("start", self.start, kind == wanted, f"a network like this run's, for {wanted[1]} players: {wanted[0]}")
        return found.policy


class Learner(Protocol):
    """All that a run needs of a learner.

    It is made from a `LearnerConfig`, settings of its own, and an `agents.company.Company`, which says who sits where
    (None: the learner on all seats). The same arguments must give the same iterations.

    A learner that keeps files of its own, or has processes work for it, has a method ``working_in(folder)`` beside:
    a context within which a run trains, given the run's folder. It must iterate without it, too. Where a Dask cluster
    is to work for it, there is a further argument ``cluster``, the address of its scheduler.

    One that learns from all of ``config.rule_sets`` says so by ``plays_tables = True``; others are refused where there
    are tables.

    One that several ranks can train (`agents.distributed`) says so by ``works_in_ranks = True``. Its weights, metrics
    and tensors must then be the same on all of them.
    """

    iteration: int
    """Iterations done."""

    @property
    def iterations(self) -> int:
        """Iterations of the whole run, at least one."""

    @property
    def decisions(self) -> int:
        """Decisions of all seats played in the iterations done. It may depend on `iteration` and the settings only."""

    def iterate(self) -> dict[str, float]:
        """Play and learn for one iteration, count it, and return its metrics by names such as ``losses/value_loss``."""

    def is_finite(self) -> bool:
        """Whether all weights are finite: those of a learner that has diverged are not."""

    def tensors(self) -> dict[str, Tensor]:
        """Everything that further iterations and the agent depend on, by name.

        A policy network of the configuration's kind and size goes in as `agents.checkpoint.network_tensors`: there
        `PolicyAgent.load` finds it.
        """

    def restore(self, tensors: dict[str, Tensor], iteration: int) -> None:
        """Go on as after `iteration` iterations of the learner that these tensors are from, with exactly its results.

        Raises ValueError or RuntimeError, saying what is wrong, for tensors that do not fit.
        """

    def agent(self, name: str, temperature: float) -> Agent:
        """What has been learnt up to now, as a player. temperature: 1 samples as it was learnt, 0 is greedy."""
