"""Baseline players, made by name: ``make_agent("random")``, ``make_agent("heuristic")``,
``make_agent("pimc:worlds=32")``.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature

from rs_env.agent import Agent, build, check_is_agent
from rs_env.baselines import network_players
from rs_env.baselines.rule_based import RuleBasedAgent, stranger
from rs_env.baselines.searchers import Adaptive, Ismcts, Pimc, SeesAll
from rs_env.baselines.tips import LADDER, TIPS, weights_of

__all__ = ["AGENTS", "Agent", "NETWORK_AGENTS", "OTHER_AGENTS", "as_agent", "make_agent"]

_HEAVIEST = 1_000_000  # of all weights, so that sums are finite and draws among equals are not lost in rounding


def _rule_based(name: str) -> Callable[..., Agent]:
    """What makes the player of this name of the ladder; its options are the weights of the tips."""
    defaults = dict.fromkeys(TIPS, 0.0) | LADDER[name]

    def make(**weights: float) -> Agent:
        for tip, weight in weights.items():
            if not abs(weight) <= _HEAVIEST:
                raise ValueError(
                    f"{tip}={weight!r} is not allowed: a weight must be a number in -{_HEAVIEST}..{_HEAVIEST}"
                )
        return RuleBasedAgent(name, weights_of(**{**defaults, **weights}))

    parameters = [Parameter(tip, Parameter.KEYWORD_ONLY, default=weight) for tip, weight in defaults.items()]
    make.__signature__ = Signature(parameters if LADDER[name] else [])  # type: ignore[attr-defined]  # where `build` looks
    return make


def _expert(
    *,
    worlds: int = 48,
    policy: str = "heuristic",
    noise: float = 0.05,
    own_noise: float = 0.5,
    horizon: int = 100,
    endgame: int = 12,
) -> Agent:
    return Pimc(
        "expert", worlds=worlds, policy=policy, noise=noise, own_noise=own_noise, horizon=horizon, endgame=endgame
    )


AGENTS: dict[str, Callable[..., Agent]] = {
    **{name: _rule_based(name) for name in LADDER},
    "pimc": Pimc,
    "expert": _expert,
    "ismcts": Ismcts,
    "adaptive": Adaptive,
    "sees_all": SeesAll,  # type: ignore[dict-item]  # cheats: no agent but for the arena
}
"""What makes each baseline. `expert` is `pimc` with the best play-outs; `sees_all` cheats, and only the arena admits
it."""

NETWORK_AGENTS: dict[str, Callable[..., Agent]] = {
    "checkpoint": network_players.checkpoint,
    "net": network_players.net,
    "search": network_players.search,
}
"""What makes the players with trained networks. They need files, and the library safetensors to read them, so they are
no part of leagues of all baselines."""

OTHER_AGENTS: dict[str, Callable[..., Agent]] = {"stranger": stranger}
"""What makes whole families of players, one for each seed: no part of such leagues either."""


def make_agent(text: str) -> Agent:
    """The agent of this name, one of `AGENTS`, `NETWORK_AGENTS` or `OTHER_AGENTS`; options follow as
    ``"name:option=value,..."``.
    """
    return build(AGENTS | NETWORK_AGENTS | OTHER_AGENTS, text)


def as_agent(agent: str | Agent) -> Agent:
    """The agent of that name, or the agent itself. Raises ValueError for anything else, and for a cheating agent."""
    made = make_agent(agent) if isinstance(agent, str) else agent
    check_is_agent(made)
    return made
