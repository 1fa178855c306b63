"""Compare agents from the command line.

python -m rs_env arena league --agents random heuristic --rules schweller --deals 2000 --processes 2 --out results
python -m rs_env arena duel heuristic random --deals 1000
python -m rs_env arena league --agents pimc expert --deals 100000 --cluster tcp://scheduler:8786 --out large
python -m rs_env arena best-response heuristic --deals 100 --responders search expert
python -m rs_env arena report results
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

try:
    import tyro
    from rich.console import Console
except ImportError as error:
    print(f"error: {error}; the command line needs the extra: pip install 'rs_env[arena]'", file=sys.stderr)
    sys.exit(2)

from rs_env.arena.best_response import Search, play_best_response
from rs_env.arena.duel import duel_of, duel_table
from rs_env.arena.league import League as Comparison
from rs_env.arena.league import compare
from rs_env.arena.players import fair_baselines
from rs_env.arena.report import rich_tables, write_report
from rs_env.arena.settings import How, Plan
from rs_env.command_line import end_with, interrupted_with, status_of, terminal
from rs_env.flags import (
    AgentName,
    AgentNames,
    Folder,
    Number,
    OptionalFolder,
    OptionalNumber,
    RuleFlags,
    RuleOptions,
    Whole,
    parsed,
)
from rs_env.solve.responder import SEARCH


@dataclass(frozen=True, kw_only=True)
class _Common:
    rules: RuleOptions = field(default_factory=RuleFlags)
    deals: Whole = 1000
    """Deals, each played at all seatings."""
    precision: OptionalNumber = None
    """Stop when all 95 % intervals are at most this wide to either side."""
    seed: Whole = 0
    """Of the decks and of all players' draws."""
    processes: Whole = 1
    """Processes to play in; changes no result."""
    cluster: Annotated[str | None, tyro.conf.arg(metavar="ADDRESS")] = None
    """Dask scheduler whose workers play instead, such as tcp://host:8786; changes no result."""
    isolated: bool = False
    """Let each agent that is not of this package play in a process of its own."""
    out: OptionalFolder = None
    """Folder for games and reports."""
    resume: bool = False
    """Go on with the run in that folder."""
    unfair: bool = False
    """Admit agents that see all hands."""

    def how(self) -> How:
        return How(
            processes=self.processes,
            cluster=self.cluster,
            isolated=self.isolated,
            fair=not self.unfair,
            out=self.out,
            resume=self.resume,
            progress=sys.stderr.isatty() and sys.stdout.isatty(),
        )

    def plan(self, table: str, matrix_deals: int = 0, sitting: int = 1) -> Plan:
        return Plan(
            rules=self.rules.chosen(),
            seed=self.seed,
            table=table,
            deals=self.deals,
            matrix_deals=matrix_deals,
            precision=self.precision,
            sitting=sitting,
        )


@dataclass(frozen=True, kw_only=True)
class League(_Common):
    """Everybody against everybody at mixed tables, on the same deals and every seat."""

    agents: AgentNames = ()
    """Who plays, such as random heuristic pimc:worlds=32; by default all baselines that see no hidden cards."""
    matrix_deals: Whole = 0
    """Deals on which each agent also plays on one seat against copies of each agent on all others."""
    sitting: Whole = 1
    """Deals that the same players play on the same seats one after the other, and may remember."""

    def run(self) -> tuple[Comparison, str]:
        """Play."""
        plan = self.plan("mixed", self.matrix_deals, self.sitting)
        return compare(self.agents or fair_baselines(), plan, self.how()), ""


@dataclass(frozen=True, kw_only=True)
class Duel(_Common):
    """One agent against a table of another, on the same deals from every seat."""

    agent: tyro.conf.Positional[AgentName]
    """Whose share is asked for."""
    opponent: tyro.conf.Positional[AgentName]
    """Who has the other seats."""
    table: Annotated[str, tyro.conf.arg(metavar="{one,rest,half}")] = "one"
    """Seats of the agent: one, rest (all but one) or half."""
    sitting: Whole = 1
    """Deals that the same players play on the same seats one after the other, and may remember."""

    def run(self) -> tuple[Comparison, str]:
        """Play; the result in one line."""
        plan = self.plan(duel_table(self.table), sitting=self.sitting)
        comparison = compare([self.agent, self.opponent], plan, self.how())
        return comparison, str(duel_of(comparison))


@dataclass(frozen=True, kw_only=True)
class BestResponse(_Common):
    """How much the best responder that can be found wins against a table of an agent: a lower bound."""

    agent: tyro.conf.Positional[AgentName]
    """Who is frozen on all other seats."""
    deals: Whole = 100
    """Deals, each played from every seat."""
    responders: AgentNames = (SEARCH,)
    """Who tries; search knows how the agent plays. The best of several is chosen on other deals."""
    selection_deals: Whole = 50
    """Deals on which it is chosen."""
    worlds: Whole = 32
    """Of the search: sampled hidden deals for each decision."""
    horizon: Whole = 100
    """Of the search: most actions of a play-out."""
    default: Annotated[str | None, tyro.conf.arg(metavar="AGENT")] = "heuristic"
    """Of the search: who plays its own seat in play-outs; None: the frozen agent."""
    noise: Number = 0.5
    """Of the search: share of random actions there."""

    def run(self) -> tuple[Comparison, str]:
        """Play; the result in words."""
        search = Search(worlds=self.worlds, horizon=self.horizon, default=self.default, noise=self.noise)
        result, comparison = play_best_response(
            self.agent, self.responders, self.selection_deals, self.plan("one"), search, self.how()
        )
        return comparison, str(result)


@dataclass(frozen=True, kw_only=True)
class Report:
    """Build the tables of a folder anew from its games."""

    out: tyro.conf.Positional[Folder]
    """Folder of a league or a duel."""

    def run(self) -> tuple[Comparison, str]:
        """Read."""
        return Comparison.read(self.out), ""


Command = Annotated[League | Duel | BestResponse | Report, tyro.conf.OmitSubcommandPrefixes]


def main(arguments: list[str] | None = None, prog: str = "python -m rs_env.arena") -> int:
    """Run a command; its exit status."""
    with terminal():
        command = parsed(Command, prog, arguments, description=__doc__.splitlines()[0])
        return status_of(lambda: run(command))
    return 0  # the help was cut short


def run(command: Any) -> None:
    """Play, write, print."""
    with interrupted_with(f"what was played is in {command.out}, --resume goes on" if command.out else ""):
        comparison, result = command.run()
        written = write_report(comparison, command.out) if command.out else []
    # Last, since games and reports must not be lost with a terminal that is gone or cannot show them.
    with terminal():
        show(comparison, result, written)


def show(comparison: Comparison, result: str, written: Sequence[Path]) -> None:
    """Print the result in words, if there is one, the tables, and where the reports are."""
    if result:
        print(result)
    console = Console()
    if not console.is_terminal:
        console = Console(width=400)  # a file or another program: no table need be folded
    for table in rich_tables(comparison):
        console.print(table)
    for path in written:
        print(f"written to {path}")


if __name__ == "__main__":
    end_with(main)
