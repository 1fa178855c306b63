"""Exact values, best responses and NashConv for games that are small enough to enumerate, such as the `tiny` preset.

`GameTree` holds every history of one deal as NumPy arrays, level by level, and every information set with perfect
recall: the deal's dealer, the cards dealt to the seat (and the trump shown), and all that has been played. A *profile*
is a float64 array (I, 53) with a distribution over the legal actions of each of the I information sets; since each set
belongs to one seat, one profile says how all seats play. Sweeps over the levels then give, without sampling, the value
of a profile, the best response of a seat to it, and

    NashConv = sum over seats of (value of the seat's best response - value of the seat),

which is 0 exactly for a Nash equilibrium (M. Lanctot et al., *A Unified Game-Theoretic Approach to Multiagent
Reinforcement Learning*, 2017).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rs_env.agent import Agent, ask, copy_for_agent, wants_histories
from rs_env.baselines import as_agent
from rs_env.cards import NUM_ACTIONS
from rs_env.checks import check_whole
from rs_env.engine import entry
from rs_env.engine.jit import njit
from rs_env.engine.scoring import reward
from rs_env.engine.state import RUNNING, compile_rules
from rs_env.engine.types import Array, RulesArray, States
from rs_env.engine.view import empty_views
from rs_env.history import NOTICED, SHOWN, Histories
from rs_env.rules import Rules, as_rules
from rs_env.solve.histories import Level, chance_branches, count_children, count_deals, first_level, next_level

MAX_NODES = 1_000_000  # they take about 1 GB while they are put together

_TOLERANCE = 1e-6  # of the sum of a distribution
_CHUNK = 65_536  # views for an agent at once


@dataclass(frozen=True)
class NashConv:
    """How far a profile is from a Nash equilibrium.

    values: float64 (n,), the expected reward of each seat. best_response_values: float64 (n,), the same where that seat
    alone changes to a best response. nash_conv: sum of the differences. exploitability: their mean.
    """

    values: np.ndarray
    best_response_values: np.ndarray

    @property
    def nash_conv(self) -> float:
        """Sum over seats of what a best response gains."""
        return float((self.best_response_values - self.values).sum())

    @property
    def exploitability(self) -> float:
        """Mean over seats of what a best response gains."""
        return self.nash_conv / len(self.values)


class GameTree:
    """All histories of one deal, from every dealer and every deal of the cards, which are equally likely.

    Nodes are numbered level by level, those of level k in ``levels[k] : levels[k + 1]``; level 0 are the deals. Arrays
    over the N nodes: ``states`` (dtype `STATE`), ``parent`` (-1: a deal), ``action`` and ``outcome`` (what led here:
    the action, and 1 where a silent play was noticed), ``chance`` (probability of that outcome), ``root`` (the deal),
    ``information_set`` (-1 at the end), ``rewards`` float64 (N, n). Over the I information sets: ``seat``, ``first`` (a
    node of it), ``legal`` bool (I, 53). ``dealt`` uint64 (D, n): the cards of each seat in each of the D deals.

    Raises ValueError for a match, and for a game with more than `max_nodes` nodes before it takes the memory for them.
    """

    def __init__(self, rules: Rules | str = "tiny", max_nodes: int = MAX_NODES) -> None:
        self.rules = as_rules(rules)
        self.max_nodes = check_whole("max_nodes", max_nodes, 1, (1 << 31) - 1)
        if self.rules.target is not None:
            raise ValueError(
                f"target={self.rules.target!r} is not allowed: only single deals (target=None) can be enumerated"
            )
        self._check_size(count_deals(self.rules))
        levels = list(self._grow())
        self.levels = np.cumsum([0, *(len(level.states) for level in levels)])
        self.states = np.concatenate([level.states for level in levels])
        self.parent, self.action, self.outcome, self.chance, self.root, self.information_set = (
            np.concatenate([getattr(level, name) for level in levels])
            for name in ("parent", "action", "outcome", "chance", "root", "information_set")
        )
        self.rewards = np.zeros((len(self.states), self.rules.num_players))
        _rewards(compile_rules(self.rules), self.states, self.rewards)
        decisions = np.flatnonzero(self.information_set >= 0)
        self.first = decisions[np.unique(self.information_set[decisions], return_index=True)[1]]
        self.seat = self.states["turn"][self.first].astype(np.int64)

    def _check_size(self, nodes: int) -> None:
        if nodes > self.max_nodes:
            raise ValueError(
                f"the game has more than max_nodes={self.max_nodes} histories: it is too large to enumerate"
            )

    def _grow(self) -> Iterator[Level]:
        """The levels, one after the other."""
        branches = chance_branches(self.rules)
        level = first_level(self.rules)
        self.dealt = level.states["hand"][:, : self.rules.num_players].copy()
        hands = np.unique(self.dealt, return_inverse=True)[1].reshape(self.dealt.shape)
        nodes = sets = 0
        while len(level.states):
            running = np.flatnonzero(level.states["status"] == RUNNING)
            # An information set is the owner's hand at the deal and what everybody has seen since; both say whose turn
            # it is.
            keys = level.public * (int(hands.max()) + 1) + hands[level.root, level.states["turn"]]
            names, level.information_set[running] = np.unique(keys[running], return_inverse=True)
            level.information_set[running] += sets
            yield level
            sets += len(names)
            first, nodes = nodes, nodes + len(level.states)
            self._check_size(nodes + count_children(branches[0][1], level.states))
            level = next_level(branches, level)
            level.parent += first
            self._check_size(nodes + len(level.states))

    @property
    def num_nodes(self) -> int:
        """Number of histories N."""
        return len(self.states)

    @property
    def num_sets(self) -> int:
        """Number of information sets I."""
        return len(self.first)

    @cached_property
    def views(self) -> np.ndarray:
        """What the owner of each information set sees there: dtype `rs_env.engine.view.VIEW`, shape (I,)."""
        views = empty_views(self.rules, self.num_sets)
        entry.view_turns(self.states, self.first, views)
        return views

    @cached_property
    def histories(self) -> Histories:
        """What everybody had seen of the game at each information set, I of them, see `rs_env.history`."""
        depth = np.searchsorted(self.levels, self.first, "right") - 1
        shown = self.rules.trump == "last_dealt"
        events, node = np.zeros((self.num_sets, int(depth.max()) + shown), np.uint8), self.first
        for column in range(int(depth.max()) - 1, -1, -1):  # from the newest action to the first
            on = depth > column
            noticed = np.where(self.outcome[node] == 1, NOTICED, 0)
            events[on, column + shown] = (self.action[node] + noticed)[on]
            node = np.where(on, self.parent[node], node)
        if shown:
            events[:, 0] = self.states["deck"][node, len(self.rules.deck) - 1].astype(np.int64) + SHOWN
        return Histories(events, depth.astype(np.int64) + shown)

    @cached_property
    def legal(self) -> np.ndarray:
        """The legal actions of each information set, bool (I, 53)."""
        return (self.views["legal"][:, None] >> np.arange(NUM_ACTIONS, dtype=np.uint64) & np.uint64(1)).astype(np.bool_)

    @cached_property
    def _choice(self) -> np.ndarray:
        """Place of the choice that led to each node in a flattened profile; what it says for the deals means
        nothing.
        """
        return self.information_set[self.parent] * NUM_ACTIONS + self.action

    def uniform(self) -> np.ndarray:
        """The profile in which everybody takes any legal action."""
        return self.legal / self.legal.sum(1, keepdims=True)

    def check_profile(self, profile: np.ndarray) -> np.ndarray:
        """The profile as float64 (I, 53). Raises ValueError unless each row is a distribution over the legal
        actions.
        """
        profile = np.asarray(profile, np.float64)
        if profile.shape != self.legal.shape:
            raise ValueError(f"profile: shape {profile.shape} is not allowed: it must be {self.legal.shape}")
        good = np.where(self.legal, profile >= 0, profile == 0).all(1) & (abs(profile.sum(1) - 1) <= _TOLERANCE)
        if not good.all():
            raise ValueError(
                f"profile: row {good.argmin()} is not a distribution over the legal actions of its information set"
            )
        return profile

    def values(self, profile: np.ndarray) -> np.ndarray:
        """Expected reward of each seat, float64 (n,), when all play by the profile."""
        weight = self.chance * self.check_profile(profile).ravel()[self._choice]
        values = self.rewards.copy()
        for above, here in self._pairs_from_the_end():
            for seat in range(values.shape[1]):
                values[above, seat] += self._sum_to_parents(above, here, weight[here] * values[here, seat])
        return values[: self.levels[1]].mean(0)

    def best_response(self, profile: np.ndarray, seat: int) -> tuple[float, np.ndarray]:
        """The most that a seat can get while the others play by the profile, and the profile with such a response put
        in.

        Of equally good actions the lowest is taken.
        """
        check_whole("seat", seat, 0, self.rules.num_players - 1)
        response = self.check_profile(profile).copy()
        mine = self.seat[self.information_set[self.parent]] == seat
        weight = self.chance * np.where(mine, 1.0, response.ravel()[self._choice])
        reach = np.full(self.num_nodes, 1 / self.levels[1])
        for start, stop in zip(self.levels[1:-1], self.levels[2:], strict=True):
            here = slice(start, stop)
            reach[here] = reach[self.parent[here]] * weight[here]
        # Value of the seat times the probability that chance and the others bring the game here.
        worth = self.rewards[:, seat] * reach
        for above, here in self._pairs_from_the_end():
            own = here.start + np.flatnonzero(mine[here])
            if len(own):
                taken = self._best_actions(own, worth[own], response)
                worth[own[~taken]] = 0.0
            worth[above] += self._sum_to_parents(above, here, worth[here])
        return float(worth[: self.levels[1]].sum()), response

    def _best_actions(self, nodes: np.ndarray, worth: np.ndarray, response: np.ndarray) -> np.ndarray:
        """Write the best action of the sets that lead to these nodes of one level; whether it is the one that led to
        each node.
        """
        sets, local = np.unique(self.information_set[self.parent[nodes]], return_inverse=True)
        totals = np.bincount(local * NUM_ACTIONS + self.action[nodes], worth, len(sets) * NUM_ACTIONS).reshape(
            -1, NUM_ACTIONS
        )
        best = np.where(self.legal[sets], totals, -np.inf).argmax(1)
        response[sets] = 0.0
        response[sets, best] = 1.0
        return best[local] == self.action[nodes]

    def _pairs_from_the_end(self) -> Iterator[tuple[slice, slice]]:
        """Each two neighbouring levels as slices, the last first."""
        for k in range(len(self.levels) - 2, 0, -1):
            yield slice(self.levels[k - 1], self.levels[k]), slice(self.levels[k], self.levels[k + 1])

    def _sum_to_parents(self, above: slice, here: slice, numbers: np.ndarray) -> np.ndarray:
        return np.bincount(self.parent[here] - above.start, numbers, above.stop - above.start)

    def profile_of(self, agents: Agent | str | Sequence[Agent | str], seeds: int = 64) -> np.ndarray:
        """The profile in which an agent plays all seats, or each of n agents the seat of its number.

        An agent with a method ``policy(views) -> float64 (B, 53)`` says its distributions itself. For any other they
        are *estimated*: the shares of each action over ``reset(seed)`` for seed 0 .. `seeds` - 1. What is computed from
        such a profile is exact for that estimated mixture, not for the agent; with the same view at several information
        sets the agent is taken to act there by independent draws from it. An agent that wants histories gets them, in
        ``policy(views, histories)`` too. Raises ValueError for agents that see hidden cards (attribute ``cheats``), and
        for illegal actions.
        """
        check_whole("seeds", seeds, 1, (1 << 31) - 1)
        if isinstance(agents, str) or not isinstance(agents, Sequence):
            return self._profile_of_one(agents, seeds, np.arange(self.num_sets))
        if len(agents) != self.rules.num_players:
            raise ValueError(
                f"agents: {len(agents)} are not allowed: there must be {self.rules.num_players}, one for each seat"
            )
        profile = np.zeros(self.legal.shape)
        for seat, agent in enumerate(agents):
            mine = np.flatnonzero(self.seat == seat)
            profile[mine] = self._profile_of_one(agent, seeds, mine)
        return profile

    def _profile_of_one(self, agent: Agent | str, seeds: int, sets: np.ndarray) -> np.ndarray:
        """What the agent does at some information sets; it is asked only where there is a choice, and once for each
        view, unless it tells those with different histories apart.
        """
        player = as_agent(agent)
        legal = self.legal[sets]
        profile = legal.astype(np.float64)
        free = np.flatnonzero(legal.sum(1) > 1)
        if wants_histories(player):
            asked = sets[free]
            profile[free] = _mixture(player, self.views[asked], seeds, self.histories[asked])
            return profile
        views, place = np.unique(self.views[sets[free]].view(f"V{self.views.dtype.itemsize}"), return_inverse=True)
        profile[free] = _mixture(player, views.view(self.views.dtype), seeds)[place]
        return profile


def nash_conv(
    players: Agent | str | Sequence[Agent | str] | np.ndarray,
    rules: Rules | str | GameTree = "tiny",
    seeds: int = 64,
    max_nodes: int = MAX_NODES,
) -> NashConv:
    """The exact NashConv of a profile, of an agent that plays all seats, or of one agent for each seat.

    players: a profile (float64 array (I, 53), see `GameTree`), an agent or its name, or a sequence of n of them.
    rules: what is played, or its `GameTree`, which takes the longest to make. seeds: for agents without a method
    ``policy``, from how many seeds their mixtures are estimated, see `GameTree.profile_of`. Raises ValueError as
    `GameTree` and its methods do.
    """
    tree = rules if isinstance(rules, GameTree) else GameTree(rules, max_nodes)
    profile = players if isinstance(players, np.ndarray) else tree.profile_of(players, seeds)
    best = [tree.best_response(profile, seat)[0] for seat in range(tree.rules.num_players)]
    return NashConv(tree.values(profile), np.array(best))


def _mixture(agent: Agent, views: np.ndarray, seeds: int, histories: Histories | None = None) -> np.ndarray:
    """The agent's distribution over actions at each view, float64 (B, 53): as it says itself, or by its actions for
    many seeds. histories: for an agent that wants them.
    """
    policy = getattr(agent, "policy", None)
    if policy is not None:
        told = () if histories is None else (histories.read_only(),)
        probabilities = np.asarray(policy(copy_for_agent(views), *told), np.float64)
        if probabilities.shape != (len(views), NUM_ACTIONS):
            raise ValueError(
                f"agent {agent.name!r}: policy gave shape {probabilities.shape}, it must be {(len(views), NUM_ACTIONS)}"
            )
        return probabilities
    counts = np.zeros((len(views), NUM_ACTIONS))
    for seed in range(seeds):
        agent.reset(seed)
        for start in range(0, len(views), _CHUNK):
            part = views[start : start + _CHUNK]
            theirs = None if histories is None else histories[start : start + len(part)]
            counts[np.arange(start, start + len(part)), ask(agent, part, histories=theirs)] += 1
    return counts / seeds


# Compiled part


@njit(cache=True, nogil=True)
def _rewards(rules_array: RulesArray, states: States, rewards: Array) -> None:
    for i in range(states.shape[0]):
        for seat in range(rules_array[0].num_players):
            rewards[i, seat] = reward(rules_array[0], states[i], seat)


__all__ = ["MAX_NODES", "GameTree", "NashConv", "nash_conv"]
