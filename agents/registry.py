"""Learners by name; a configuration chooses one by ``learner = "name"`` and sets it up in the table ``[name]``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from agents.company import Company
from agents.distill import Distill, DistillConfig
from agents.dmc import DMC, DMCConfig
from agents.learner import Learner, LearnerConfig
from agents.ppo import PPO, PPOConfig


class Entry(NamedTuple):
    """The dataclass of a learner's settings, all with defaults, and what makes the learner."""

    settings: type
    make: Callable[[LearnerConfig, Any, Company | None], Learner]


LEARNERS: dict[str, Entry] = {
    "ppo": Entry(PPOConfig, PPO),
    "distill": Entry(DistillConfig, Distill),
    "dmc": Entry(DMCConfig, DMC),
}
