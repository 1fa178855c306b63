"""What somebody wins who plays against n - 1 frozen copies of an agent and knows how it plays, measured.

Nobody wins more than 1/n against an agent that cannot be beaten. Whatever a responder wins above that is a lower bound
of what can be won (F. Timbers et al., "Approximate Exploitability: Learning a Best Response", IJCAI 2022): there may be
a better one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from rs_env.agent import Agent
from rs_env.arena.duel import Duel, duel_of
from rs_env.arena.league import League, compare
from rs_env.arena.players import agent_seed, in_own_process
from rs_env.arena.settings import How, Plan, records_of
from rs_env.arena.statistics import few_deals
from rs_env.arena.workers import at_work
from rs_env.checks import check_whole
from rs_env.rules import Rules, as_rules
from rs_env.solve.responder import SEARCH, SearchResponder

_MOST = 1 << 20


@dataclass(frozen=True)
class BestResponse:
    """What the best responder that was found wins against n - 1 of an agent: a lower bound of what can be won.

    duel: of that responder against the agent, on deals on which it was not chosen.
    candidates: duels of all responders, the chosen one's first, on the deals on which it was chosen; empty where there
        was one.
    """

    duel: Duel
    candidates: tuple[Duel, ...] = ()

    @property
    def share(self) -> float:
        """Share of the responder; as everywhere in the arena, a game that nobody won counts 1/n."""
        return self.duel.share

    @property
    def bounds(self) -> tuple[float, float]:
        """Ends of the share's 95 % interval."""
        return self.duel.share_bounds

    @property
    def interval(self) -> float:
        """How far the further of them is from the share."""
        return self.duel.share_interval

    @property
    def parity(self) -> float:
        """1/n, what nobody exceeds against an agent that cannot be beaten."""
        return self.duel.parity

    @property
    def excess(self) -> float:
        """Share above parity: estimates a lower bound of the agent's exploitability, with the interval of the share."""
        return self.share - self.parity

    def __str__(self) -> str:
        d = self.duel
        text = (
            f"best response found to {d.opponent}: {d.agent} has a share of {_share(d)},"
            f" {100 * self.excess:+.1f} points from parity ({self.parity:.1%});"
            f" {d.games} games, {d.capped:.1%} capped{few_deals(d.deals)}"
        )
        if self.candidates:
            games = self.candidates[0].games
            text += f"\nchosen of {len(self.candidates)} responders on other deals ({games} games each):"
            text += "".join(f"\n  {c.agent}: {_share(c)}" for c in self.candidates)
        return text + "\na lower bound: a better response may exist"


def _share(duel: Duel) -> str:
    low, high = duel.share_bounds
    return f"{duel.share:.1%} ({low:.1%} .. {high:.1%})"


@dataclass(frozen=True, kw_only=True)
class Search:
    """Options of the search responder, see `rs_env.solve.responder.SearchResponder`."""

    worlds: int = 32
    horizon: int = 100
    default: Agent | str | None = "heuristic"
    noise: float = 0.5


def best_response(
    agent: Agent | str,
    rules: Rules | str = "rolling_stone",
    deals: int = 100,
    seed: int = 0,
    *,
    responders: Sequence[Agent | str] = (SEARCH,),
    selection_deals: int = 50,
    precision: float | None = None,
    **search_and_how: Any,
) -> BestResponse:
    """Play responders against n - 1 frozen copies of `agent` and report the best one's share, a lower bound of a best
    response's.

    responders: agents or names, ``"search"`` being the search responder. Of several, the one with the best share on
        `selection_deals` deals of their own is reported, on the `deals` of `seed`: the best of many on the same deals
        would look better than it is.
    deals, seed, precision: as in `rs_env.arena.duel`, whose table ``"one"`` is played.
    search_and_how: arguments of `Search`: worlds, horizon, default, noise; and of `rs_env.arena.How`.
    Raises ValueError, naming the argument, for what is not allowed.
    """
    search, how = records_of("best_response", search_and_how, Search, How)
    plan = Plan(rules=as_rules(rules), seed=seed, table="one", deals=deals, precision=precision)
    return play_best_response(agent, responders, selection_deals, plan, search, how)[0]


def play_best_response(
    agent: Agent | str,
    responders: Sequence[Agent | str],
    selection_deals: int,
    plan: Plan,
    search: Search,
    how: How,
) -> tuple[BestResponse, League]:
    """The result of `best_response`, and the games of the duel that it reports."""
    if isinstance(responders, str) or not len(responders):
        raise ValueError(f"responders={responders!r} is not allowed: it must be a list of at least one")
    check_whole("selection_deals", selection_deals, 2, _MOST)
    if how.isolated:  # in play-outs too
        agent, default = in_own_process(agent), search.default
        search = replace(search, default=None if default is None else in_own_process(default))
    players = [SearchResponder(agent, **vars(search)) if responder == SEARCH else responder for responder in responders]
    candidates: tuple[Duel, ...] = ()
    with at_work(how) as here:  # the same workers for all duels
        if len(players) > 1:
            choice = replace(plan, deals=selection_deals, seed=agent_seed(plan.seed, "selection"), precision=None)
            apart = replace(here, out=None, resume=False)
            duels = [duel_of(compare([player, agent], choice, apart)) for player in players]
            order = sorted(range(len(players)), key=lambda number: -duels[number].share)
            candidates = tuple(duels[number] for number in order)
            players = [players[number] for number in order]
        league = compare([players[0], agent], plan, here)
    return BestResponse(duel_of(league), candidates), league
