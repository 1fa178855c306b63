"""Lessons for a network: positions and what a search thinks of every legal action in them. Needs no PyTorch.

The search is told who sits where. Which hands the others hold it is not told: an action that is good in one deal of the
cards alone is no lesson.

Lessons come in pieces. Piece k of a seed is the same whoever makes it, in whatever process.
"""

from __future__ import annotations

import io
import pickle
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from agents.company import Company, act_frozen
from agents.seeds import TRAINING_SEEDS
from rs_env import SelfPlayVectorEnv
from rs_env.agent import wants_histories
from rs_env.baselines.general import rule_entries, spread
from rs_env.baselines.rule_based import RuleBasedAgent
from rs_env.baselines.search import NOT_TOLD
from rs_env.baselines.searchers import Informed
from rs_env.baselines.suspicion import Suspicion, suspicion_size
from rs_env.cards import NUM_ACTIONS
from rs_env.encoding import pick
from rs_env.engine import entry
from rs_env.engine.rng import game_key
from rs_env.engine.view import empty_views
from rs_env.files import write_whole
from rs_env.rules import Rules

_GOLDEN = (5**0.5 - 1) / 2  # multiples of it, less what is whole, lie evenly in 0..1


@dataclass(frozen=True)
class Piece:
    """Lessons: observation int8 (N, D), and values float32 (N, 53), the teacher's of each action, NaN where it is not
    legal. episodes, capped: how many games ended while they were made, and how many of them at the deal limit.
    """

    observation: np.ndarray
    values: np.ndarray
    episodes: int
    capped: int


@dataclass(frozen=True)
class Teacher:
    """How pieces are made. The teacher sits on the learner's seats and draws from softmax(values / temperature); all
    seats' decisions become lessons.

    games: side by side in a piece, from fresh deals; each piece has the rows of the company after those of the piece
    before. steps: decisions of each. search: what it thinks with, informed of the company's `rule_based` players.
    suspects: lessons tell who sits there, too, after the observation. general: they are what a general network reads.
    """

    rules: Rules
    seed: int
    company: Company
    games: int
    steps: int
    temperature: float
    search: Informed
    suspects: bool = False
    general: bool = False

    def piece(self, number: int) -> Piece:
        """Piece `number` of this seed."""
        seed = int(game_key(np.uint64(self.seed), np.uint64(number))) & (TRAINING_SEEDS - 1)
        suspicion = Suspicion() if self.suspects else None
        events = self.suspects or any(map(wants_histories, self.company.frozen))
        env = SelfPlayVectorEnv(self.games, self.rules, seed, skip_forced=True, keep_events=events)
        rng = np.random.default_rng([self.seed, number])
        for agent in (self.search, *self.company.frozen):
            agent.reset(seed)
        player = self.company.seats_of(self.games, self.rules.num_players, first=number * self.games)
        known = np.full(1 + len(self.company.frozen), NOT_TOLD)  # by the number in the company
        told = list(rule_based(self.company))
        known[told] = np.arange(len(told))
        everyone, views = np.arange(self.games), empty_views(self.rules, self.games)
        size, n = env.layout.size, self.rules.num_players
        extra = suspicion_size(n) if self.suspects else 0
        observation = np.empty((self.steps, self.games, size + extra), np.int8)
        values = np.empty((self.steps, self.games, NUM_ACTIONS), np.float32)
        batch, episodes, capped = env.reset(seed), 0, 0
        for t in range(self.steps):
            entry.view_turns(env.states, everyone, views)
            observation[t, :, :size] = batch.observation
            values[t] = self.search.values_among(views, known[player])
            if suspicion is not None:
                observation[t, :, size:] = suspicion.of(views, env.histories[everyone])
            actions = drawn(values[t], self.temperature, rng)
            act_frozen(self.company, player[everyone, batch.current_player], env, views, actions)
            batch = env.step(actions)
            capped += int(batch.truncated.sum())
            episodes += int((batch.terminated | batch.truncated).sum())
        rows = observation.reshape(-1, size + extra)
        if self.general:
            rows = spread(rows, n, rule_entries(self.rules))
        return Piece(rows, values.reshape(-1, NUM_ACTIONS), episodes, capped)


@dataclass(frozen=True)
class Teachers:
    """Teachers of several rule sets, who take turns: any number of pieces in a row has about their shares."""

    each: tuple[Teacher, ...]
    shares: tuple[float, ...]

    def piece(self, number: int) -> Piece:
        """Piece `number`, by the teacher whose turn it is."""
        turn = np.searchsorted(np.cumsum(self.shares[:-1]), (0.5 + number * _GOLDEN) % 1.0, side="right")
        return self.each[int(turn)].piece(number)


def rule_based(company: Company) -> dict[int, RuleBasedAgent]:
    """The players of a company that follow rules, by their numbers in it."""
    numbered = enumerate(company.frozen, 1)
    return {number: agent for number, agent in numbered if isinstance(agent, RuleBasedAgent)}


def drawn(values: np.ndarray, temperature: float, rng: np.random.Generator) -> np.ndarray:
    """Actions, int64 (B,), from softmax(values / temperature) over those that are legal."""
    logits = np.where(np.isnan(values), -np.inf, values.astype(np.float64) / temperature)
    cumulated = np.exp(logits - logits.max(1, keepdims=True)).cumsum(1)
    return pick(cumulated, rng.random(len(values)))


# Files


def write_piece(path: Path, piece: Piece) -> None:
    """Write a piece to a file, whole or not at all."""
    content = io.BytesIO()
    np.savez_compressed(content, **asdict(piece))
    write_whole(path, content.getvalue())


def read_piece(path: Path) -> Piece | None:
    """The piece of a file; None where there is none, or one that is damaged: it can be made again."""
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as kept:
            return Piece(kept["observation"], kept["values"], int(kept["episodes"]), int(kept["capped"]))
    except Exception:  # of many kinds, as NumPy and zipfile meet them
        return None


def make_piece(teacher: bytes, number: int) -> Piece:
    """A piece, as a worker of an executor makes it. teacher: pickled, for what it thinks with is no two threads'."""
    made: Teacher | Teachers = pickle.loads(teacher)
    return made.piece(number)
