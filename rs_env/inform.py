"""The commands that tell of rules, players and speed."""

from __future__ import annotations

import inspect
import json
import platform
import textwrap
import time
from collections.abc import Callable
from dataclasses import field, make_dataclass
from typing import Annotated

from rs_env.baselines import AGENTS, NETWORK_AGENTS, OTHER_AGENTS
from rs_env.baselines.tips import MEANINGS
from rs_env.cards import cards_text
from rs_env.command_line import status_of, terminal
from rs_env.envs.pettingzoo import raw_env
from rs_env.envs.self_play import SelfPlayVectorEnv
from rs_env.rules import Rules, preset_of
from rs_env.version import __version__

WHAT_AGENTS_DO = {
    "random": "any legal action",
    "low": "leads and follows with the lowest card",
    "longest": "leads from the longest suit, follows low",
    "dumper": "leads the suit that others lack, low card first, follows low",
    "heuristic": "all tips that help, weighed",
    "pimc": "flat Monte Carlo over sampled deals",
    "expert": "the same with play-outs by the heuristic's tips",
    "ismcts": "information-set Monte Carlo tree search",
    "adaptive": "as ismcts, with worlds and types of opponents weighed by what has been played",
    "sees_all": "cheats: flat Monte Carlo with all hands open; only the arena admits it, with --unfair",
    "checkpoint": "plays by the network of a run folder or checkpoint, checkpoint:PATH",
    "net": "plays by a network that comes with the package",
    "search": "flat Monte Carlo guided by a network",
    "stranger": "a rule-based player with weights that its seed draws",
}

WHAT_OPTIONS_MEAN = {
    **MEANINGS,
    "worlds": "Deals of the hidden cards that are sampled for each decision.",
    "samples": "Play-outs for each decision.",
    "iterations": "Descents of the tree for each decision.",
    "budget": "Actions that a descent may take on average; where they take more there are fewer of them.",
    "exploration": "How much the tree tries what it has seldom tried.",
    "policy": "Who plays the play-outs: a player of the ladder, random to heuristic.",
    "noise": "Share of random actions of the others in play-outs.",
    "own_noise": "Share of random actions of the searching seat in play-outs.",
    "spread": "Added to noise in every second world.",
    "horizon": "Most actions of a play-out.",
    "brief": "The same where somebody else is taken for a player at random.",
    "endgame": "Most cards in play where forced wins are looked for; 0: never.",
    "memory": "Decisions of the others, the newest ones, that are looked at.",
    "types": "Types of opponents that are thought possible, joined by +; all: all of them.",
    "trust": "Power of the worlds' weights; 0: all worlds are equally likely.",
    "seed": "Which player of the family it is.",
    "temperature": "Of the draw among a network's actions; 0: the best one.",
    "checkpoint": "Run folder or checkpoint; empty: the network that comes with the package.",
    "prior": "Weight of the logarithm of the network's policy beside the play-outs.",
    "least": "Actions that the network likes less than this share of the best one are not tried.",
}


def rules(arguments: list[str], prog: str) -> int:
    """Print a rule set; the exit status."""
    try:
        import tyro
    except ImportError as error:
        told = str(error)
        return status_of(lambda: _missing(told))
    from rs_env.flags import RuleFlags, RuleOptions, parsed

    as_json = Annotated[bool, tyro.conf.arg(help="All options as JSON, which Rules.from_dict reads, and nothing else.")]
    options = [("rules", RuleOptions, field(default_factory=RuleFlags)), ("json", as_json, False)]
    Command = make_dataclass("Command", options, frozen=True, kw_only=True)  # noqa: N806  a class
    command = parsed(Command, prog, arguments, description="Print a rule set and what it changes of its preset.")

    def work() -> None:
        chosen = command.rules.chosen()
        with terminal():
            print(json.dumps(chosen.to_dict()) if command.json else rules_told(chosen))

    return status_of(work)


def _missing(told: str) -> None:
    raise ImportError(f"{told}; the flags of the rules need the extra: pip install 'rs_env[arena]'")


def rules_told(rules: Rules) -> str:
    """A rule set in some lines: its preset, every option, the changed ones marked, and the deck."""
    name, changes = preset_of(rules)
    preset = Rules.preset(name)
    lines = [f"{name}, with {len(changes)} change{'' if len(changes) == 1 else 's'}" if changes else name]
    for option, value in rules.to_dict().items():
        mark, was = ("*", f"  ({name} has {_shown(getattr(preset, option))})") if option in changes else (" ", "")
        lines.append(f"{mark} {option:18}{_shown(value)}{was}")
    each, more = divmod(len(rules.deck), rules.num_players)
    dealt = f"{each} each" if not more else f"{each} or {each + 1} each"
    lines.append(f"  {'deck':18}{len(rules.deck)} cards, {dealt}: {cards_text(rules.deck)}")
    lines.append(f"  {'deal limit':18}{rules.action_limit} actions")
    return "\n".join(lines)


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def agents() -> str:
    """All players by name, with the defaults and the meaning of their options."""
    lines = []
    for name, factory in (AGENTS | NETWORK_AGENTS | OTHER_AGENTS).items():
        lines.append(f"{name}: {WHAT_AGENTS_DO[name]}")
        options = options_of(factory)
        if options.keys() == MEANINGS.keys():
            weights = " ".join(f"{tip}={weight}" for tip, weight in options.items())
            lines.append(_folded(f"    weights of tips: {weights}"))
        else:
            lines += [_folded(f"    {option}={options[option]}  {WHAT_OPTIONS_MEAN[option]}") for option in options]
    lines += ["", "The tips:", *(_folded(f"    {tip}  {meaning}") for tip, meaning in MEANINGS.items())]
    lines += ["", "An agent is named with its options as in pimc:worlds=64,horizon=50."]
    return "\n".join(lines)


def _folded(line: str) -> str:
    return textwrap.fill(line, 118, subsequent_indent=" " * 8)


def options_of(factory: Callable[..., object]) -> dict[str, object]:
    """The options of a player by name, with their defaults."""
    parameters = inspect.signature(factory).parameters.values()
    return {parameter.name: parameter.default for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY}


def bench(seconds: float) -> None:
    """Print how many actions a second the machine plays, each figure measured for so many seconds on one core."""
    if not 0 < seconds <= 3600:
        raise ValueError(f"seconds={seconds!r} is not allowed: it must be a number above 0 and at most 3600")
    print(f"rs_env {__version__}, Python {platform.python_version()}, {platform.processor() or platform.machine()}")
    batch, games = SelfPlayVectorEnv(1024), SelfPlayVectorEnv(1024)

    def stepped() -> int:
        batch.step(batch.random_actions())
        return 1024

    def played() -> int:
        games.play_randomly(16)
        return 16 * 1024

    for told, work in (
        ("PettingZoo, one game", _one_game),
        ("batch of 1024 games", stepped),
        ("engine, without observations", played),
    ):
        work()  # compiles
        actions, begin = 0, time.perf_counter()
        while (taken := time.perf_counter() - begin) < seconds:
            actions += work()
        print(f"{told:30}{actions / taken:14,.0f} random actions a second", flush=True)


def _one_game() -> int:
    """Play a game in the PettingZoo environment; its number of actions."""
    env = raw_env(max_actions=100)
    env.reset(seed=0)
    while not env.game.is_over:
        legal = env.game.legal_actions()
        env.observe(env.agent_selection)
        env.step(legal[env.game.num_actions % len(legal)])
    return env.game.num_actions
