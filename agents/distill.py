"""Distillation: a network learns from the values that a search gives to every legal action.

The teacher's lessons come in pieces (`agents.teacher`), made by other processes while the network is fitted, and
learnt from in their order: what comes out does not depend on how many processes there are. Each iteration takes one
piece more and makes gradient steps on all pieces up to then. Further iterations go over all of them once more: else the
last ones would hardly be learnt from.

The policy learns softmax(values / temperature) by cross-entropy (policy distillation: A. A. Rusu et al. 2015,
arXiv:1511.06295), the value the best action's value. Values of few worlds are noisy, and the mean of softmaxes of noise
is flat: the policy plays best at a temperature far below 1. To go on learning from, it is good as it is.
"""

from __future__ import annotations

import math
import multiprocessing
import pickle
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from agents.checkpoint import (
    is_finite,
    load_network,
    load_optimizer_tensors,
    network_tensors,
    optimizer_tensors,
    tensor_like,
)
from agents.company import Company
from agents.distributed import ranks
from agents.learner import LearnerConfig
from agents.networks import entropy
from agents.policy import PolicyAgent, policy_agent
from agents.settings import MOST, check
from agents.teacher import Piece, Teacher, Teachers, make_piece, read_piece, rule_based, write_piece
from rs_env.baselines.searchers import Informed
from rs_env.cards import NUM_ACTIONS
from rs_env.executors import executor_of, result_of, submit
from rs_env.rules import Rules

LESSONS = "lessons"
"""Folder of the pieces, in that of the run."""


@dataclass(frozen=True)
class DistillConfig:
    """Learning from a search."""

    games: int = 32
    """Games side by side in one piece of lessons."""
    steps: int = 128
    """Decisions of each."""
    workers: int = 2
    """Processes that make lessons; 0: this one does."""
    gradient_steps: int = 40
    """In one iteration."""
    review: float = 1.0
    """Iterations after the last piece, as a share of those before."""
    minibatch: int = 1024
    """Lessons in one gradient step, drawn from all pieces up to then."""
    learning_rate: float = 2e-3
    """Adam's step size at the start; it falls linearly to 0."""
    value_weight: float = 2.0
    """Weight of the value loss."""
    temperature: float = 0.02
    """The teacher draws from softmax(values / temperature)."""
    worlds: int = 48
    """Sampled by the teacher for each decision."""
    noise: float = 0.02
    """Share of random actions of the others in the teacher's play-outs..."""
    spread: float = 0.48
    """...and what is added to it in every second world."""
    own_noise: float = 0.5
    """The same share of the teacher itself."""
    horizon: int = 100
    """Most actions of a play-out."""

    def __post_init__(self) -> None:
        for name in ("games", "steps", "gradient_steps", "minibatch", "worlds", "horizon"):
            check(f"distill.{name}", getattr(self, name), 1 <= getattr(self, name) <= MOST, f"from 1 to {MOST}")
        check("distill.workers", self.workers, 0 <= self.workers <= 256, "from 0 to 256")
        for name in ("learning_rate", "temperature"):
            check(f"distill.{name}", getattr(self, name), 0 < getattr(self, name) < math.inf, "above 0 and finite")
        check("distill.value_weight", self.value_weight, 0 <= self.value_weight < math.inf, "at least 0 and finite")
        check("distill.review", self.review, 0 <= self.review <= 1000, "from 0 to 1000")
        for name in ("noise", "spread", "own_noise"):
            check(f"distill.{name}", getattr(self, name), 0 <= getattr(self, name) <= 1, "from 0 to 1")
        check("distill.spread", self.spread, self.noise + self.spread <= 1, "such that noise + spread is at most 1")

    def search(self, company: Company) -> Informed:
        """The teacher's, at tables of this company."""
        return Informed(
            list(rule_based(company).values()),
            worlds=self.worlds,
            policy="heuristic",
            noise=self.noise,
            own_noise=self.own_noise,
            horizon=self.horizon,
            spread=self.spread,
        )


class Distill:
    """A `Learner`: ``iterate()`` takes one piece of lessons, where one is left, and makes gradient steps on all up to
    then.

    The company's other seats are played by frozen agents; whoever sits there, every decision becomes a lesson. Several
    ranks share out the pieces to make and the lessons of each gradient step.
    """

    works_in_ranks = plays_tables = True

    def __init__(self, config: LearnerConfig, settings: DistillConfig, company: Company | None = None) -> None:
        self.config, self.settings = config, settings
        self.iteration, self.ranks = 0, ranks()
        self._part = self.ranks.part("distill.minibatch", settings.minibatch)
        self.generator = torch.Generator().manual_seed(config.seed)
        self.network = config.new_network()
        self._parallel = self.ranks.parallel(self.network)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=settings.learning_rate)
        each = tuple(self._teacher(rules, company) for rules in config.rule_sets)
        self.lessons = Lessons(Teachers(each, config.shares) if config.tables else each[0])
        rows = self.pieces * settings.games * settings.steps
        self._observation = np.empty((rows, config.network.size(config.rules.num_players)), np.int8)
        self._values = np.empty((rows, NUM_ACTIONS), np.float32)
        self._there = 0  # pieces whose lessons stand there

    def _teacher(self, rules: Rules, company: Company | None) -> Teacher:
        settings, network = self.settings, self.config.network
        company = Company.self_play(rules.num_players) if company is None else company
        return Teacher(
            rules,
            self.config.seed,
            company,
            settings.games,
            settings.steps,
            settings.temperature,
            settings.search(company),
            network.suspects,
            network.general,
        )

    @property
    def pieces(self) -> int:
        """Pieces of lessons."""
        return self.config.iterations_of(self.settings.games * self.settings.steps)

    @property
    def iterations(self) -> int:
        """Iterations of the whole run."""
        return self.pieces + round(self.settings.review * self.pieces)

    @property
    def decisions(self) -> int:
        """Decisions of all seats in the pieces of the iterations done."""
        return min(self.iteration, self.pieces) * self.settings.games * self.settings.steps

    def agent(self, name: str, temperature: float) -> PolicyAgent:
        """The network as it is now, as a player."""
        return policy_agent(self.network, self.config.rules.num_players, name, temperature)

    def is_finite(self) -> bool:
        """Whether all weights are finite."""
        return is_finite(self.network)

    def tensors(self) -> dict[str, Tensor]:
        """Network, optimiser and generator; lessons are in files of their own, or can be made again."""
        own = network_tensors(self.network) | optimizer_tensors(self.optimizer)
        return {**own, "generator": self.generator.get_state()}

    def restore(self, tensors: dict[str, Tensor], iteration: int) -> None:
        """Go on after `iteration` iterations of the run that these were saved from."""
        self.generator.set_state(tensor_like("generator", tensors, self.generator.get_state()))
        load_network(self.network, tensors)
        load_optimizer_tensors(self.optimizer, tensors, stepped=iteration > 0)
        self.iteration = iteration

    @contextmanager
    def working_in(self, folder: Path, cluster: str | None = None) -> Iterator[None]:
        """Keep lessons in this folder, and have others make those to come, while within."""
        with self.lessons.kept_in(folder / LESSONS, range(self.pieces), self.settings.workers, cluster):
            yield

    # One iteration

    def iterate(self) -> dict[str, float]:
        """Take one piece more, learn from all up to then, and return the metrics."""
        metrics: dict[str, float] = {}
        while self._there < min(self.iteration + 1, self.pieces):
            metrics = self._take(self.lessons.piece(self._there))
        metrics |= self._learn()
        self.iteration += 1
        return metrics

    @torch.inference_mode()
    def _take(self, piece: Piece) -> dict[str, float]:
        """Add a piece to those to learn from; what there is to say of it."""
        size = len(piece.values)
        rows = slice(self._there * size, (self._there + 1) * size)
        self._observation[rows], self._values[rows] = piece.observation, piece.values
        self._there += 1
        policy_loss, _ = self._losses(rows, self.network)
        return {
            "charts/episodes": piece.episodes,
            "charts/capped_share": piece.capped / max(piece.episodes, 1),
            "losses/new_policy_loss": policy_loss.item(),  # of lessons that were not learnt from
        }

    def _learn(self) -> dict[str, float]:
        """Gradient steps on all lessons that are there."""
        settings = self.settings
        rows = self._there * settings.games * settings.steps
        learning_rate = settings.learning_rate * (1 - self.iteration / self.iterations)
        self.optimizer.param_groups[0]["lr"] = learning_rate
        sums = np.zeros(2)
        for _ in range(settings.gradient_steps):
            drawn = torch.randint(rows, (settings.minibatch,), generator=self.generator).numpy()
            losses = self._losses(drawn[self._part], self._parallel)
            self.optimizer.zero_grad()
            (losses[0] + settings.value_weight * losses[1]).backward()
            self.optimizer.step()
            sums += [loss.item() for loss in losses]
        steps = settings.gradient_steps * self.ranks.size
        policy_loss, value_loss = (total / steps for total in self.ranks.sums(*sums))
        return {
            "losses/policy_loss": policy_loss,
            "losses/value_loss": value_loss,
            "charts/learning_rate": learning_rate,
        }

    def _losses(self, rows: np.ndarray | slice, network: nn.Module) -> tuple[Tensor, Tensor]:
        """For some lessons the mean Kullback-Leibler divergence of the policy from the teacher's, and half the mean
        squared error of the value.
        """
        device = self.config.device
        taught = torch.from_numpy(self._values[rows]).to(device)
        legal = ~taught.isnan()
        with self.config.computing():
            log_probs, value = network(torch.from_numpy(self._observation[rows]).to(device), legal.to(torch.int8))
        goal = (taught / self.settings.temperature).masked_fill(~legal, -torch.inf).log_softmax(-1)
        cross_entropy = -(goal.exp() * log_probs.clamp_min(-1e9)).sum(-1)
        best = taught.masked_fill(~legal, -torch.inf).amax(-1)
        return (cross_entropy - entropy(goal)).mean(), 0.5 * (value - best).square().mean()


class Lessons:
    """Pieces by number: from a file, from another process, or made here and now. Ranks take turns to make them; the
    first one keeps them.
    """

    def __init__(self, teacher: Teacher | Teachers) -> None:
        self.teacher = teacher
        self._folder: Path | None = None
        self._made: dict[int, Future[Piece]] = {}

    def piece(self, number: int) -> Piece:
        """Piece `number`, which is then in a file where there is a folder."""
        path = None if self._folder is None else _path_of(self._folder, number)
        kept = None if path is None else ranks().of_first(lambda: read_piece(path))
        if kept is not None:
            return kept
        maker = number % ranks().size
        piece = ranks().of_each(self._new_piece(number) if ranks().number == maker else None)[maker]
        assert piece is not None
        if path is not None and ranks().is_first:
            write_piece(path, piece)
        return piece

    def _new_piece(self, number: int) -> Piece:
        made = self._made.pop(number, None)
        return self.teacher.piece(number) if made is None else result_of(made)

    @contextmanager
    def kept_in(self, folder: Path, numbers: range, workers: int, cluster: str | None = None) -> Iterator[None]:
        """Keep pieces in this folder, and have so many processes, or the workers of a Dask cluster, make those of these
        numbers that are not there.
        """
        self._folder = folder
        everyone = ranks().of_first(lambda: _missing_in(folder, numbers))
        missing = [number for number in everyone if number % ranks().size == ranks().number]
        # A worker that trains a run of a sweep is a daemon, which may have no processes of its own.
        workers = ranks().here(workers) if workers and not multiprocessing.current_process().daemon else 0
        try:
            if not missing or (not workers and cluster is None):
                yield
                return
            with executor_of(min(workers, len(missing)), cluster, with_main=False) as (executor, _):
                teacher = pickle.dumps(self.teacher)
                self._made = {number: submit(executor, make_piece, teacher, number) for number in missing}
                yield
        finally:
            self._folder, self._made = None, {}


def _path_of(folder: Path, number: int) -> Path:
    return folder / f"{number:06d}.npz"


def _missing_in(folder: Path, numbers: range) -> list[int]:
    """The numbers of pieces that the folder, made if need be, does not hold."""
    folder.mkdir(exist_ok=True)
    return [number for number in numbers if not _path_of(folder, number).exists()]
