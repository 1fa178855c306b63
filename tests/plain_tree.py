"""Game trees, best responses and CFR+ in plain Python over the list-based reference: nothing here is shared with
`rs_env.solve.exact`."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import permutations

from reference import ReferenceGame, expected_deck

from rs_env.rules import Rules

Policy = Callable[["Node"], list[float]]
"""Probabilities of a node's actions, in their order."""


@dataclass(eq=False)
class Node:
    """A history. seat: whose turn it is, -1 at the end. public: all that everybody has seen, and the dealer. dealt:
    cards of each seat.

    actions: legal ones, sorted. after: for each action what can follow, with its probability. rewards: at the end.
    """

    seat: int
    public: tuple[object, ...]
    dealt: tuple[tuple[int, ...], ...]
    rewards: list[float]
    actions: list[int] = field(default_factory=list)
    after: list[list[tuple[float, Node]]] = field(default_factory=list)

    @property
    def known_to_owner(self) -> tuple[object, ...]:
        """Names the information set."""
        return self.seat, self.dealt[self.seat], self.public


def all_deals(rules: Rules) -> list[ReferenceGame]:
    """Every deal of the cards from every dealer, hands as sets; with a shown trump also every card that can be
    shown."""
    n, found = rules.num_players, {}
    for deck in permutations(expected_deck(rules)):
        shown = deck[-1] if rules.trump == "last_dealt" else None
        found.setdefault((shown, *(frozenset(deck[i::n]) for i in range(n))), deck)
    return [ReferenceGame(rules, [deck], dealer) for deck in found.values() for dealer in range(n)]


def copied(game: ReferenceGame) -> ReferenceGame:
    """The game to play on without touching the original: its lists are replaced or appended to, never changed
    inside."""
    other = copy.copy(game)
    for name in ("hands", "trick", "events", "finished", "dead", "out"):
        setattr(other, name, list(getattr(game, name)))
    return other


def followers(game: ReferenceGame, action: int) -> list[tuple[float, ReferenceGame]]:
    """What can come of an action, with its probability: two games where a silent play may or may not be noticed."""
    catch = game.rules.silent_catch
    chances = [(1.0, None)]
    if catch is not None and 0 < catch < 1 and game.is_silent(action):
        chances = [(1 - catch, False), (catch, True)]
    games = []
    for chance, noticed in chances:
        other = copied(game)
        other.play(action, noticed)
        games.append((chance, other))
    return games


def grow(game: ReferenceGame) -> Node:
    """The tree below a deal, or below any position of one."""
    dealt = tuple(map(tuple, game.hands))

    def below(game: ReferenceGame) -> Node:
        public = (game.dealer, *game.events)
        if game.turn is None:
            return Node(-1, public, dealt, game.rewards())
        node = Node(game.turn, public, dealt, [], game.legal_actions())
        node.after = [[(chance, below(other)) for chance, other in followers(game, action)] for action in node.actions]
        return node

    return below(game)


def forest(rules: Rules) -> list[tuple[float, Node]]:
    """The trees of all deals, each with its probability."""
    games = all_deals(rules)
    return [(1 / len(games), grow(game)) for game in games]


def value(node: Node, policy: Policy, seat: int) -> float:
    """Expected reward of a seat when all play by the policy."""
    if node.seat < 0:
        return node.rewards[seat]
    pairs = zip(policy(node), node.after, strict=True)
    return sum(p * chance * value(other, policy, seat) for p, follow in pairs if p for chance, other in follow)


def best_value(group: Iterable[tuple[float, Node]], policy: Policy, seat: int) -> float:
    """The most that a seat can get, knowing the policy of the others but only its own dealt cards and what everybody
    has seen.

    group: histories with the probability that chance and the others bring the game there.
    """
    apart: dict[tuple[object, ...], list[tuple[float, Node]]] = defaultdict(list)
    for weight, node in group:
        apart[node.public, node.dealt[seat]].append((weight, node))
    return sum(_best_of_alike(alike, policy, seat) for alike in apart.values())


def _best_of_alike(alike: list[tuple[float, Node]], policy: Policy, seat: int) -> float:
    """The same where the seat cannot tell the histories apart."""
    first = alike[0][1]
    assert {node.seat for _, node in alike} == {first.seat}
    if first.seat < 0:
        return sum(weight * node.rewards[seat] for weight, node in alike)
    if first.seat != seat:
        follow = [
            (weight * p * chance, other)
            for weight, node in alike
            for p, after in zip(policy(node), node.after, strict=True)
            for chance, other in after
        ]
        return best_value(follow, policy, seat)
    tries = range(len(first.actions))
    return max(
        best_value([(w * c, other) for w, node in alike for c, other in node.after[i]], policy, seat) for i in tries
    )


def plain_nash_conv(trees: list[tuple[float, Node]], policy: Policy, seats: int) -> tuple[float, list[float]]:
    """NashConv and the values of the seats."""
    values = [sum(weight * value(node, policy, seat) for weight, node in trees) for seat in range(seats)]
    return sum(best_value(trees, policy, seat) - values[seat] for seat in range(seats)), values


class PlainCFR:
    """CFR+ with alternating updates and linear averaging (O. Tammelin, *Solving Large Imperfect Information Games Using
    CFR+*, 2014)."""

    def __init__(self, trees: list[tuple[float, Node]], seats: int) -> None:
        self.trees, self.seats, self.iteration = trees, seats, 0
        self.regrets: dict[tuple[object, ...], list[float]] = {}
        self.now: dict[tuple[object, ...], list[float]] = {}
        self.sums: dict[tuple[object, ...], list[float]] = {}

    def run(self, iterations: int) -> None:
        """Iterate."""
        for _ in range(iterations):
            self.iteration += 1
            for seat in range(self.seats):
                for weight, node in self.trees:
                    self._walk(node, seat, 1.0, weight)
                for name, regrets in self.regrets.items():
                    if name[0] == seat:
                        regrets[:] = [max(r, 0.0) for r in regrets]
                        total = sum(regrets)
                        self.now[name] = [r / total if total else 1 / len(regrets) for r in regrets]

    def _walk(self, node: Node, seat: int, mine: float, others: float) -> float:
        if node.seat < 0:
            return node.rewards[seat]
        name, count = node.known_to_owner, len(node.actions)
        now = self.now.setdefault(name, [1 / count] * count)
        if node.seat != seat:
            pairs = [(p * chance, other) for p, follow in zip(now, node.after, strict=True) for chance, other in follow]
            return sum(p * self._walk(other, seat, mine, others * p) for p, other in pairs)
        tried = [
            sum(c * self._walk(o, seat, mine * p, others * c) for c, o in follow)
            for p, follow in zip(now, node.after, strict=True)
        ]
        mean = sum(p * t for p, t in zip(now, tried, strict=True))
        regrets, sums = self.regrets.setdefault(name, [0.0] * count), self.sums.setdefault(name, [0.0] * count)
        for i in range(count):
            regrets[i] += others * (tried[i] - mean)
            sums[i] += self.iteration * mine * now[i]
        return mean

    def average(self, node: Node) -> list[float]:
        """The average policy, uniform where it never comes."""
        sums = self.sums[node.known_to_owner]
        total = sum(sums)
        return [s / total if total else 1 / len(sums) for s in sums]
