"""``python -m rs_env play`` and ``python -m rs_env watch``: a table and replays in the browser, or in the terminal.

python -m rs_env play
python -m rs_env play --agents expert heuristic --rules schweller --players 5
python -m rs_env play --text
python -m rs_env watch games
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

try:
    import rich  # noqa: F401  # what draws the table in the terminal
    import tyro
except ImportError as error:
    print(
        f"error: {error}; this needs the extra: pip install 'rs_env[web]', for --text 'rs_env[text]'", file=sys.stderr
    )
    sys.exit(2)

from rs_env.checks import check_whole, check_within
from rs_env.command_line import interrupted_with, status_of, terminal
from rs_env.flags import AgentNames, Number, OptionalFolder, RuleFlags, RuleOptions, Whole, parsed
from rs_env.rules import Rules
from rs_env.web.desk import ADVISERS
from rs_env.web.replay import Library
from rs_env.web.session import PERSON, Session
from rs_env.web.terminal import play_in_terminal

if TYPE_CHECKING:
    from rs_env.web.server import Hall

_LONGEST_PACE = 60.0
_Seed = Annotated[int | None, tyro.conf.arg(metavar="N")]
_Host = Annotated[str, tyro.conf.arg(metavar="NAME")]
_Games = Annotated[Path, tyro.conf.arg(metavar="GAMES")]


@dataclass(frozen=True, kw_only=True)
class _Served:
    host: _Host = "localhost"
    """Name or address of this machine to listen at; 0.0.0.0 lets other machines in, who need the links."""
    port: Whole = 0
    """Port to listen at; 0: any that is free."""
    no_browser: bool = False
    """Open no browser; the address is printed."""
    advisers: AgentNames = ADVISERS
    """Agents that the page can ask for their opinion."""

    def serve(self, hall: Hall, address: str) -> None:
        """Serve until Ctrl-C. Raises OSError where the port is taken."""
        from rs_env.web.serving import serve

        _practise()
        serve(hall, address, self.host, check_whole("port", self.port, 0, 65535), not self.no_browser)


@dataclass(frozen=True, kw_only=True)
class Play(_Served):
    """Sit at a table with agents and other people."""

    rules: RuleOptions = field(default_factory=RuleFlags)
    agents: AgentNames = ("heuristic",)
    """Who sits on the seats that people leave, in turns."""
    people: Whole = 1
    """How many people play; 0: you only watch. Each beside you gets a link."""
    seed: _Seed = None
    """Of the decks and of all agents' draws; by default a fresh one."""
    pace: Number = 0.8
    """Seconds that an agent takes at least for an action."""
    out: OptionalFolder = "games"
    """Folder for the records of the games, one file each; None: they are not kept."""
    text: bool = False
    """Play here in the terminal."""

    def run(self) -> None:
        """Play."""
        session = Session(self.rules.chosen(), self._players(self.rules.chosen()), self.seed)
        folder = None if self.out is None else _checked_folder(Path(self.out))
        pace = check_within("pace", self.pace, _LONGEST_PACE)
        with interrupted_with("" if folder is None else f"the games are in {folder}"):
            if self.text:
                play_in_terminal(session, folder, pace, self.advisers[0] if self.advisers else None)
                return
            from rs_env.web.server import Hall

            hall = Hall(self.advisers)
            self.serve(hall, hall.add_room(session, folder, pace).links["host"])

    def _players(self, rules: Rules) -> list[str]:
        people = check_whole("people", self.people, 0, rules.num_players)
        if people < rules.num_players and not self.agents:
            raise ValueError("agents=() is not allowed: somebody must sit on the seats that people leave")
        return [PERSON] * people + list(islice(cycle(self.agents), rules.num_players - people))


def _practise() -> None:
    """Play a small game to its end: what a game needs is compiled once, and a server that compiles answers nobody."""
    session = Session(Rules.preset("tiny", max_actions=12), [PERSON, PERSON], 0)
    while (turn := session.game.turn) is not None:
        session.table(turn)
        session.play(session.player_at(turn), session.game.legal_actions()[0], session.version)
    session.table(None)


def _checked_folder(folder: Path) -> Path:
    """A folder that can be written to, or made. Raises ValueError for another, before anything is played."""
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        raise ValueError(f"out={str(folder)!r} is not allowed: {there} is no folder that can be written to")
    return folder


@dataclass(frozen=True, kw_only=True)
class Watch(_Served):
    """Look back at games: forth and back, from any seat, with what agents make of each decision."""

    games: tyro.conf.Positional[_Games]
    """File of records, a line each, folder of such files, or folder of the arena."""

    def run(self) -> None:
        """Show them."""
        from rs_env.web.server import Hall

        hall = Hall(self.advisers)
        self.serve(hall, hall.add_shelf(Library(self.games)))


def main(command: Any, arguments: Sequence[str], prog: str) -> int:
    """Run `Play` or `Watch`; its exit status."""
    with terminal():
        made = parsed(command, prog, arguments)
        return status_of(made.run)
    return 0  # the help was cut short
