"""Who plays: agents by name or as objects, their seeds, and who of them sees hidden cards."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from rs_env.agent import Agent, cheats
from rs_env.baselines import AGENTS, as_agent, make_agent


def check_fair(agents: Sequence[Any], fair: bool) -> None:
    """Raise ValueError, naming the agent, for one that sees all hands in a fair comparison."""
    for agent in agents:
        if fair and cheats(agent):
            raise ValueError(
                f"agent {agent.name!r} is not allowed: it sees all hands, which only an unfair comparison (fair=False) permits"
            )


def build_agents(agents: Sequence[Agent | str], fair: bool) -> list[Any]:
    """The agents, those given by name made anew. Raises ValueError for unknown names, for what is no agent, and see
    `check_fair`.
    """
    built: list[Any] = [make_agent(agent) if isinstance(agent, str) else agent for agent in agents]
    check_fair(built, fair)
    return [agent if cheats(agent) else as_agent(agent) for agent in built]


def fair_baselines() -> list[str]:
    """Names of all baselines that do not cheat."""
    return [name for name in AGENTS if not cheats(make_agent(name))]


def agent_seed(seed: int, name: str) -> int:
    """Seed of the draws of the agents of this name in a run with this seed: identical players get identical seeds."""
    return int.from_bytes(hashlib.blake2b(f"{seed} {name}".encode(), digest_size=8).digest(), "little")
