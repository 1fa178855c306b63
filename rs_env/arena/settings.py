"""What is measured, between whom, and how it is played: the records that the arena's functions take."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from rs_env.arena.tables import TABLES, games_per_deal
from rs_env.checks import check_seed, check_whole
from rs_env.rules import Rules

_MOST = (1 << 31) - 1


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is measured of any agents. table: the kind of the main one, see `rs_env.arena.tables`.

    deals: of the main table; matrix_deals: of each agent against each field. precision: stop earlier where all
    intervals of the main table are at most this wide to either side. sitting: deals that the same players play one
    after the other on the same seats, and may remember; 1: none remembers anything. It divides both numbers of deals.
    seed: of decks and draws; None: a fresh one.
    Raises ValueError, naming the field, for what is not allowed.
    """

    rules: Rules
    seed: int
    table: str
    deals: int
    matrix_deals: int = 0
    precision: float | None = None
    sitting: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.rules, Rules):
            raise ValueError(f"rules={self.rules!r} is not allowed: they must be a Rules")
        if self.table not in TABLES:
            raise ValueError(
                f"table={self.table!r} is not allowed: table must be one of {', '.join(map(repr, TABLES))}"
            )
        self._set("deals", check_whole("deals", self.deals, 2, _MOST))
        self._set("matrix_deals", check_whole("matrix_deals", self.matrix_deals, 0, _MOST))
        number = isinstance(self.precision, int | float)
        if self.precision is not None and not (number and 0 < self.precision < 1):
            raise ValueError(
                f"precision={self.precision!r} is not allowed: precision must be a number between 0 and 1, or None"
            )
        self._set("seed", check_seed(self.seed))
        self._set("sitting", check_whole("sitting", self.sitting, 1, _MOST))
        if self.sitting > 1 and self.rules.target is not None:
            raise ValueError(f"sitting={self.sitting} is not allowed: it must be 1 with a target, for matches")
        if self.deals % self.sitting or self.deals < 2 * self.sitting or self.matrix_deals % self.sitting:
            raise ValueError(
                f"sitting={self.sitting} is not allowed: deals={self.deals} and matrix_deals={self.matrix_deals}"
                " must be whole sittings, deals at least two"
            )

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)


@dataclass(frozen=True, kw_only=True)
class Settings(Plan):
    """What is compared: a plan, and the agents by name. cheats: whether each sees all hands."""

    agents: tuple[str, ...]
    cheats: tuple[bool, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("agents", "cheats"):
            self._set(name, tuple(getattr(self, name)))
        if len(self.agents) < 2 or not all(isinstance(name, str) for name in self.agents):
            raise ValueError(f"agents={self.agents!r} is not allowed: they must be at least two names")
        if len(self.cheats) != len(self.agents):
            raise ValueError(f"cheats={self.cheats!r} is not allowed: there must be one for each of {self.agents!r}")

    @property
    def parts(self) -> dict[str, int]:
        """Deals of each kind of table."""
        return {self.table: self.deals, "matrix": self.matrix_deals}

    def games_per_deal(self, table: str) -> int:
        """Games of each deal at this kind of table."""
        return games_per_deal(table, len(self.agents), self.rules.num_players)

    @property
    def unit(self) -> str:
        """What does not depend on others of its kind: a deal, or a sitting of several."""
        return "deal" if self.sitting == 1 else "sitting"

    def units_of(self, games: np.ndarray) -> np.ndarray:
        """The number of the `unit` that each game belongs to."""
        return games["deal"] // self.sitting


@dataclass(frozen=True, kw_only=True)
class How:
    """How a comparison is played, which changes no result.

    processes: of this machine to play in; others than this one are spawned, so a script must start under
    ``if __name__ == "__main__"``. executor: whose workers play instead; `processes` is then how many pieces of work are
    given to it at once. cluster: the same of a Dask cluster, by the address of its scheduler; needs the extra
    ``cluster``. Agents travel by name, others pickled: their modules must be there. games_at_once: in each piece;
    None: 1024. Agents that draw from the seed they are given and the view alone, as the baselines do, play the same
    games whatever these are.
    isolated: each agent that is not this package's own plays in a process of its own, see `rs_env.isolation`, where
    nothing hidden can be found.
    fair: refuse agents that see all hands. out: folder to write to while games are played, see `rs_env.arena.storage`.
    resume: go on with the run that is there. progress: show a bar; needs rich.
    Raises ValueError, naming the argument, for what is not allowed.
    """

    processes: int = 1
    executor: Executor | None = None
    cluster: str | None = None
    games_at_once: int | None = None
    isolated: bool = False
    fair: bool = True
    out: str | Path | None = None
    resume: bool = False
    progress: bool = False

    def __post_init__(self) -> None:
        check_whole("processes", self.processes, 1, 1024)
        if self.games_at_once is not None:
            check_whole("games_at_once", self.games_at_once, 1, _MOST)
        if self.resume and self.out is None:
            raise ValueError("resume=True is not allowed without `out`, the folder of the run to go on with")
        if self.executor is not None and not isinstance(self.executor, Executor):
            raise ValueError(f"executor={self.executor!r} is not allowed: it must be a concurrent.futures.Executor")
        if self.cluster is not None:
            if not isinstance(self.cluster, str) or not self.cluster:
                raise ValueError(f"cluster={self.cluster!r} is not allowed: it must be the address of a scheduler")
            if self.processes > 1 or self.executor is not None:
                raise ValueError(f"cluster={self.cluster!r} is not allowed with processes or an executor")
            if self.isolated:
                raise ValueError(
                    f"isolated=True is not allowed with cluster={self.cluster!r}, whose workers have no processes"
                )

    @property
    def elsewhere(self) -> str:
        """Which of the fields has others than this process play; empty: none."""
        if self.cluster is not None:
            return f"cluster={self.cluster!r}"
        if self.executor is not None:
            return f"executor={self.executor!r}"
        return f"processes={self.processes}" if self.processes > 1 else ""


def records_of(caller: str, keywords: dict[str, Any], *records: type) -> list[Any]:
    """The records, such as `How`, of the further keywords of a call.

    Raises TypeError for unknown ones, in Python's words, and ValueError for wrong values.
    """
    names = [[field.name for field in fields(record)] for record in records]
    allowed = [name for own in names for name in own]
    for name in keywords:
        if name not in allowed:
            raise TypeError(
                f"{caller}() got an unexpected keyword argument {name!r}; further ones are {', '.join(allowed)}, and"
                " options of the rules go into rules=Rules(...)"
            )
    given = [{name: keywords[name] for name in own if name in keywords} for own in names]
    return [record(**own) for record, own in zip(records, given, strict=True)]
