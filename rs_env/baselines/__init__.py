"""Baseline players, made by name: ``make_agent("random")``, ``make_agent("heuristic")``."""

from __future__ import annotations

from collections.abc import Callable

from rs_env.baselines.agent import Agent, RuleBasedAgent, build
from rs_env.baselines.rules_of_thumb import HEURISTIC, RANDOM

__all__ = ["AGENTS", "Agent", "make_agent"]


def _random() -> Agent:
    """Any legal action, uniformly."""
    return RuleBasedAgent(RANDOM)


def _heuristic() -> Agent:
    """The rules of thumb of `rs_env.baselines.rules_of_thumb`."""
    return RuleBasedAgent(HEURISTIC)


AGENTS: dict[str, Callable[..., Agent]] = {"random": _random, "heuristic": _heuristic}


def make_agent(text: str) -> Agent:
    """The agent of this name, e.g. ``"random"`` or ``"heuristic"``; options follow as ``"name:option=value,..."``."""
    return build(AGENTS, text)
