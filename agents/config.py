"""Settings of a training run, as they stand in ``configs/*.toml`` and on the command line."""

from __future__ import annotations

import dataclasses
import math
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tyro

from rs_env.baselines import make_agent
from rs_env.checks import check_whole
from rs_env.rules import Rules, as_rules

_MOST = 2**31 - 1


@dataclass(frozen=True)
class NetworkConfig:
    """The policy and value network."""

    hidden: int = 128
    """Width of each layer."""
    layers: int = 2
    """Layers that see one suit together with a summary of all."""

    def __post_init__(self) -> None:
        _check("network.hidden", self.hidden, 1 <= self.hidden <= 16384, "from 1 to 16384")
        _check("network.layers", self.layers, 1 <= self.layers <= 64, "from 1 to 64")


@dataclass(frozen=True)
class PPOConfig:
    """Proximal policy optimisation (Schulman et al. 2017, arXiv:1707.06347)."""

    num_envs: int = 256
    """Games side by side."""
    steps: int = 64
    """Decisions of each game in one iteration."""
    epochs: int = 2
    """Passes over the data of an iteration."""
    minibatch: int = 1024
    """Decisions in one gradient step."""
    learning_rate: float = 1e-3
    """Adam's step size at the start; it falls linearly to a tenth."""
    gamma: float = 0.98
    """Discount per own decision; below 1 an early win is worth more than a late one."""
    gae_lambda: float = 0.85
    """Decay of generalised advantage estimation (Schulman et al. 2015, arXiv:1506.02438)."""
    clip: float = 0.2
    """The policy ratio is clipped to 1 - clip .. 1 + clip."""
    value_weight: float = 0.5
    """Weight of the value loss."""
    entropy_start: float = 0.07
    """Weight of the entropy bonus at the start."""
    entropy_end: float = 0.02
    """Weight of the entropy bonus at the end; in between it falls linearly."""
    max_grad_norm: float = 0.5
    """Gradients are scaled down to this norm."""

    def __post_init__(self) -> None:
        for name in ("num_envs", "steps", "epochs", "minibatch"):
            _check(f"ppo.{name}", getattr(self, name), 1 <= getattr(self, name) <= _MOST, f"from 1 to {_MOST}")
        _check(
            "ppo.minibatch",
            self.minibatch,
            self.minibatch >= 2,
            "at least 2, since advantages are normalised within it",
        )
        _check(
            "ppo.steps", self.steps, self.num_envs * self.steps >= 2, "such that an iteration has at least 2 decisions"
        )
        for name in ("learning_rate", "clip", "max_grad_norm"):
            _check(f"ppo.{name}", getattr(self, name), 0 < getattr(self, name) < math.inf, "above 0 and finite")
        for name in ("gamma", "gae_lambda"):
            _check(f"ppo.{name}", getattr(self, name), 0 <= getattr(self, name) <= 1, "from 0 to 1")
        for name in ("value_weight", "entropy_start", "entropy_end"):
            _check(f"ppo.{name}", getattr(self, name), 0 <= getattr(self, name) < math.inf, "at least 0 and finite")


@dataclass(frozen=True)
class EvaluationConfig:
    """Games against baselines, at the end and on the way."""

    deals: int = 1000
    """Deals at the end, each played from every seat, against each opponent."""
    deals_on_the_way: int = 50
    """The same against random players while training; 0: none."""
    every: int = 20
    """Iterations between two evaluations on the way."""
    opponents: tuple[str, ...] = ("random", "heuristic")
    """Who sits on all other seats, one after the other."""
    temperature: float = 0.5
    """1 samples from the policy as it was learnt, below 1 prefers its likelier actions more."""

    def __post_init__(self) -> None:
        _check("evaluation.deals", self.deals, 2 <= self.deals <= _MOST, f"from 2 to {_MOST}")
        _check(
            "evaluation.deals_on_the_way",
            self.deals_on_the_way,
            self.deals_on_the_way == 0 or 2 <= self.deals_on_the_way <= _MOST,
            f"0, or from 2 to {_MOST}",
        )
        _check("evaluation.temperature", self.temperature, is_temperature(self.temperature), TEMPERATURES)
        _check("evaluation.opponents", self.opponents, len(self.opponents) > 0, "a list of at least one agent's name")
        for opponent in self.opponents:
            make_agent(opponent)  # refuses what it does not know, before anything is trained
        _check("evaluation.every", self.every, 1 <= self.every <= _MOST, f"from 1 to {_MOST}")


@dataclass(frozen=True)
class TrainConfig:
    """A training run."""

    rules: tyro.conf.Suppress[tyro.conf.Fixed[Rules]] = field(default_factory=Rules)  # has flags: rs_env.flags
    """What is played."""
    total_decisions: int = 1_900_000
    """Decisions (turns with a choice) of all seats to learn from, rounded to whole iterations of num_envs * steps."""
    seed: int = 1
    """Of decks, exploration and the network's first weights."""
    threads: int = 2
    """Threads of PyTorch; the games take so little time that one is enough for them."""
    checkpoint_every: int = 20
    """Iterations between two checkpoints; one is always written at the end and at Ctrl-C."""
    network: NetworkConfig = field(default_factory=NetworkConfig)
    ppo: PPOConfig = field(default_factory=PPOConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)

    def __post_init__(self) -> None:
        _check("total_decisions", self.total_decisions, 1 <= self.total_decisions <= 2**62, "from 1 to 2**62")
        object.__setattr__(self, "seed", check_whole("seed", self.seed, 0, 2**63 - 1))  # a plain int, as JSON needs it
        _check("threads", self.threads, 1 <= self.threads <= 1024, "from 1 to 1024")
        _check("checkpoint_every", self.checkpoint_every, 1 <= self.checkpoint_every <= _MOST, f"from 1 to {_MOST}")

    @property
    def iterations(self) -> int:
        """Number of iterations, each of ``num_envs * steps`` decisions."""
        return max(1, round(self.total_decisions / (self.ppo.num_envs * self.ppo.steps)))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON or TOML."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> TrainConfig:
        """The inverse of `to_dict`; what is missing takes its default. ``rules.preset`` names a preset to start from.

        Raises ValueError, naming the field, for unknown fields and values that are not allowed.
        """
        _check("settings", values, isinstance(values, dict), "a table")
        for name in ("rules", "network", "ppo", "evaluation"):
            _check(name, values.get(name), isinstance(values.get(name, {}), dict), "a table of settings")
        values = dict(values)
        rules = dict(values.pop("rules", {}))
        parts = {"network": NetworkConfig, "ppo": PPOConfig, "evaluation": EvaluationConfig}
        made = {name: _build(part, f"{name}.", values.pop(name, {})) for name, part in parts.items()}
        return _build(cls, "", {**values, **made, "rules": as_rules(rules.pop("preset", "rolling_stone"), **rules)})


TEMPERATURES = "0, or finite and at least 0.001"


def is_temperature(value: float) -> bool:
    """Whether logits can be divided by this (0 stands for the likeliest action): by less, differences of float32
    overflow.
    """
    return value == 0 or 0.001 <= value < math.inf


def load_config(path: str | Path) -> TrainConfig:
    """The run described in a TOML file. Raises ValueError naming the file for anything wrong with it."""
    try:
        return TrainConfig.from_dict(tomllib.loads(Path(path).read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError) as error:  # TOMLDecodeError is a ValueError
        raise ValueError(f"{path}: {error}") from None


def _build(cls: type, prefix: str, values: dict[str, Any]) -> Any:
    fields = {f.name: f for f in dataclasses.fields(cls)}
    for name in values:
        if name not in fields:
            raise ValueError(
                f"{prefix}{name} is not a setting: allowed are {', '.join(prefix + known for known in fields)}"
            )
    checked = dict(values)
    for name, value in values.items():
        default = fields[name].default
        if isinstance(default, float) and type(value) is int:
            checked[name] = float(value)
        elif isinstance(default, tuple) and isinstance(value, list):
            checked[name] = tuple(value)
        elif default is not dataclasses.MISSING and type(value) is not type(default):
            raise ValueError(f"{prefix}{name}={value!r} is not allowed: it must be a {type(default).__name__}")
    return cls(**checked)


def _check(name: str, value: object, accepted: bool, allowed: str) -> None:
    if not accepted:
        raise ValueError(f"{name}={value!r} is not allowed: it must be {allowed}")
