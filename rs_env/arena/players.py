"""Who plays: agents by name or as objects, their seeds, and who of them sees hidden cards."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from rs_env.agent import Agent, cheats, is_own
from rs_env.baselines import AGENTS, as_agent, make_agent
from rs_env.isolation import Isolated
from rs_env.solve.responder import SearchResponder


def check_fair(agents: Sequence[Any], fair: bool) -> None:
    """Raise ValueError, naming the agent, for one that sees all hands in a fair comparison."""
    for agent in agents:
        if fair and cheats(agent):
            raise ValueError(
                f"agent {agent.name!r} is not allowed: it sees all hands,"
                " which only an unfair comparison (fair=False) permits"
            )


def build_agents(agents: Sequence[Agent | str], fair: bool, isolated: bool = False) -> list[Any]:
    """The agents, those given by name made anew; isolated: see `in_own_process`. Raises ValueError for unknown names,
    for what is no agent, and see `check_fair`.
    """
    built: list[Any] = [make_agent(agent) if isinstance(agent, str) else agent for agent in agents]
    check_fair(built, fair)
    checked = [agent if cheats(agent) else as_agent(agent) for agent in built]
    return [in_own_process(agent) for agent in checked] if isolated else checked


def in_own_process(agent: Agent | str) -> Agent:
    """The agent, made to play in a process of its own unless it asks nothing but code of this package, or cheats.

    Raises ValueError for what is no agent, and for one that cannot be sent to a process.
    """
    made = make_agent(agent) if isinstance(agent, str) else agent
    return made if cheats(made) or _is_harmless(made) else Isolated(as_agent(made))


def _is_harmless(agent: Agent) -> bool:
    if isinstance(agent, SearchResponder):
        return all(map(_is_harmless, agent.asked))
    return is_own(agent) or type(agent) is Isolated


def fair_baselines() -> list[str]:
    """Names of all baselines that do not cheat."""
    return [name for name in AGENTS if not cheats(make_agent(name))]


def agent_seed(seed: int, name: str) -> int:
    """Seed of the draws of the agents of this name in a run with this seed: identical players get identical seeds."""
    return int.from_bytes(hashlib.blake2b(f"{seed} {name}".encode(), digest_size=8).digest(), "little")
