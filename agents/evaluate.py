"""How good is a trained agent: a table of win shares against baselines.

python -m agents.evaluate runs/first --opponents random heuristic --deals 5000
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass, field

if __name__ == "__main__":
    # Ctrl-C while libraries are loaded ends the process without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import tyro
from rich.console import Console
from rich.table import Table

from agents.distributed import ranks
from agents.policy import policy_agent
from agents.seating import opponent_named
from agents.seeds import TRAINING_SEEDS
from rs_env.agent import Agent
from rs_env.arena import Duel, duel
from rs_env.arena.statistics import few_deals
from rs_env.checks import check_whole
from rs_env.command_line import end_with, status_of, terminal
from rs_env.flags import AgentNames, Folder, OptionalNumber, RuleFlags, RuleOptions, Whole, parsed
from rs_env.rules import Rules, preset_of


def evaluate(agent: Agent, opponents: Sequence[str | Agent], rules: Rules, deals: int, seed: int) -> list[Duel]:
    """One duel against each opponent: the agent on every seat in turn, the opponent on all others, the same deals from
    each. Ranks share the opponents out.

    seed: 0..2**63-1. The deals are no other seed's of training: those are below 2**63, and this one is put above it.
    """
    seed = check_whole("seed", seed, 0, TRAINING_SEEDS - 1) + TRAINING_SEEDS
    here = ranks()
    played = here.of_each([duel(agent, name, rules, deals, seed) for name in opponents[here.number :: here.size]])
    return [played[number % here.size][number // here.size] for number in range(len(opponents))]


def name_of_rules(rules: Rules) -> str:
    """A name for people: the preset, the number of players, and what else is different."""
    preset, changes = preset_of(rules)
    told = [f"{name}={value}" for name, value in changes.items() if name != "num_players"]
    return " ".join([f"{preset}-{rules.num_players}", *told])


def table_of(duels: Sequence[Duel], temperature: float | None = None, rules: str = "") -> Table:
    """Duels as a table with win shares, their 95 % intervals and the capped share. temperature: that was played at.
    rules: their name, where there are several.
    """
    parity = duels[0].parity
    told = f"parity {parity:.1%}{few_deals(duels[0].deals)}"
    told += "" if temperature is None else f"; temperature {temperature:g}"
    title = f"{duels[0].agent} against {round(1 / parity) - 1} of each opponent ({told})"
    title += f"\n{rules}" if rules else ""
    table = Table(title=title)
    for heading in ("opponents", "games", "win share", "95 % interval", "capped", "actions per game"):
        table.add_column(heading, justify="left" if heading == "opponents" else "right")
    for d in duels:
        interval = "{:.1%} .. {:.1%}".format(*d.bounds)
        table.add_row(d.opponent, str(d.games), f"{d.win_share:.1%}", interval, f"{d.capped:.1%}", f"{d.actions:.0f}")
    return table


@dataclass(frozen=True)
class Command:
    """Play a trained agent on every seat against baselines and print its win shares."""

    checkpoint: tyro.conf.Positional[Folder]
    """Checkpoint file or run folder."""
    opponents: AgentNames = ("random", "heuristic")
    """Who sits on all other seats, one after the other: baselines, run folders or checkpoint files."""
    rules: RuleOptions = field(default_factory=RuleFlags)
    deals: Whole = 2000
    """Deals, each played from every seat."""
    seed: Whole = 0
    """Of the decks and of all players' draws; no seed of training deals the same decks."""
    temperature: OptionalNumber = None
    """1 samples from the policy as it was learnt, below 1 prefers its likelier actions more; None: as each checkpoint
    has it.
    """


def main(command: Command) -> None:
    """Load, play, print."""
    from agents.checkpoint import load_checkpoint

    if not command.opponents:
        raise ValueError("opponents: none are not allowed: there must be at least one, such as random")
    checkpoint = load_checkpoint(command.checkpoint)
    rules = command.rules.chosen(checkpoint.rules)
    temperature = checkpoint.temperature if command.temperature is None else command.temperature
    agent = policy_agent(checkpoint.policy, checkpoint.rules.num_players, command.checkpoint.name, temperature)
    opponents = [opponent_named(opponent, command.temperature) for opponent in command.opponents]
    duels = evaluate(agent, opponents, rules, command.deals, command.seed)
    with terminal():
        Console().print(table_of(duels, temperature))


if __name__ == "__main__":
    end_with(lambda: status_of(lambda: main(parsed(Command, "python -m agents.evaluate"))))
