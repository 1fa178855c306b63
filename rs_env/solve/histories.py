"""All histories of one deal, level by level: what a `rs_env.solve.exact.GameTree` is grown from."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from rs_env.cards import NUM_ACTIONS
from rs_env.engine import entry, play
from rs_env.engine.bits import bit, popcount
from rs_env.engine.jit import njit
from rs_env.engine.state import STATE, compile_rules
from rs_env.engine.types import Array, RulesArray, States
from rs_env.rules import Rules


def chance_branches(rules: Rules) -> list[tuple[float, np.ndarray]]:
    """Compiled rules under which no play depends on chance, each with its probability.

    One entry, the rules themselves, unless silent plays may or may not be noticed; then the first notices none and the
    second all of them. A play depends on chance exactly where the two lead to different states.
    """
    catch = rules.silent_catch
    if catch is None or catch in (0.0, 1.0):
        return [(1.0, compile_rules(rules))]
    return [
        (p, compile_rules(dataclasses.replace(rules, silent_catch=to))) for p, to in ((1 - catch, 0.0), (catch, 1.0))
    ]


@dataclass
class Level:
    """Nodes of one level, see `GameTree`; ``public`` numbers what everybody has seen."""

    states: np.ndarray
    parent: np.ndarray
    action: np.ndarray
    outcome: np.ndarray
    chance: np.ndarray
    root: np.ndarray
    public: np.ndarray

    def __post_init__(self) -> None:
        self.information_set = np.full(len(self.states), -1)


def _hand_counts(rules: Rules) -> list[int]:
    """Number of cards dealt to the first seat after the dealer, the second, and so on."""
    n = rules.num_players
    return [len(range(first, len(rules.deck), n)) for first in range(n)]


def count_deals(rules: Rules) -> int:
    """Number of nodes of the first level."""
    counts = _hand_counts(rules)
    deals = rules.num_players * math.factorial(len(rules.deck)) // math.prod(map(math.factorial, counts))
    return deals * (counts[_last_place(rules)] if rules.trump == "last_dealt" else 1)


def _last_place(rules: Rules) -> int:
    """How many seats after the first one the last card is dealt to."""
    return (len(rules.deck) - 1) % rules.num_players


def _hands(cards: tuple[int, ...], counts: Sequence[int]) -> Iterator[list[tuple[int, ...]]]:
    """All ways to give so many cards to one player after the other."""
    if not counts:
        yield []
        return
    for hand in combinations(cards, counts[0]):
        rest = tuple(card for card in cards if card not in hand)
        yield from ([hand, *others] for others in _hands(rest, counts[1:]))


def _decks(rules: Rules) -> Iterator[list[int]]:
    """A deck, in dealing order, for each deal; where the last card is shown, one for each card that this can be."""
    n, last = rules.num_players, _last_place(rules)
    for hands in _hands(rules.deck, _hand_counts(rules)):
        for shown in hands[last] if rules.trump == "last_dealt" else hands[last][-1:]:
            hands[last] = (*(card for card in hands[last] if card != shown), shown)
            yield [hands[i % n][i // n] for i in range(len(rules.deck))]


def first_level(rules: Rules) -> Level:
    """The first level: every deal from every dealer."""
    compiled, n = compile_rules(rules), rules.num_players
    decks = np.array(list(_decks(rules)), np.int8)
    dealers, states = np.repeat(np.arange(n), len(decks)), np.zeros(n * len(decks), STATE)
    for i, dealer in enumerate(dealers.tolist()):
        entry.begin(compiled, states, i, np.uint64(0), np.uint64(0), 0, dealer)
        entry.deal_deck(compiled, states, i, decks[i % len(decks)])
    shown = states["deck"][:, len(rules.deck) - 1] if rules.trump == "last_dealt" else 0
    none = np.full(len(states), -1)
    return Level(
        states, none, none, none * 0, np.ones(len(states)), np.arange(len(states)), dealers * NUM_ACTIONS + shown
    )


def count_children(compiled: np.ndarray, states: np.ndarray) -> int:
    """Number of nodes of the level after these states, under the compiled rules of one branch of chance."""
    counts = np.zeros(len(states), np.int64)
    _count_actions(compiled, states, counts)
    return int(counts.sum())


def next_level(branches: list[tuple[float, np.ndarray]], level: Level) -> Level:
    """The level after this one; parents are counted within this one."""
    total = count_children(branches[0][1], level.states)
    parent, action = np.empty(total, np.int64), np.empty(total, np.int64)
    outcome, chance = np.zeros(total, np.int64), np.ones(total)
    states, *others = (np.empty(total, STATE) for _ in branches)
    for (_, compiled), after in zip(branches, (states, *others), strict=True):
        _expand(compiled, level.states, after, parent, action)
    for noticed in others:  # one or none
        differ = np.flatnonzero(states != noticed)
        chance[differ] = branches[0][0]
        states = np.concatenate([states, noticed[differ]])
        parent, action = np.concatenate([parent, parent[differ]]), np.concatenate([action, action[differ]])
        outcome = np.repeat([0, 1], [total, len(differ)])
        chance = np.concatenate([chance, np.full(len(differ), branches[1][0])])
    seen = (level.public[parent] * NUM_ACTIONS + action) * 2 + outcome
    public = np.unique(seen, return_inverse=True)[1]
    return Level(states, parent, action, outcome, chance, level.root[parent], public)


@njit(cache=True, nogil=True)
def _count_actions(rules_array: RulesArray, states: States, counts: Array) -> None:
    for i in range(states.shape[0]):
        counts[i] = popcount(play.legal_actions(rules_array[0], states[i]))


@njit(cache=True, nogil=True)
def _expand(rules_array: RulesArray, states: States, children: States, parent: Array, action: Array) -> None:
    """Write the state after each legal action of each state."""
    k = 0
    for i in range(states.shape[0]):
        legal = play.legal_actions(rules_array[0], states[i])
        for a in range(NUM_ACTIONS):
            if legal & bit(a):
                children[k] = states[i]
                play.step(rules_array[0], children[k], a)
                parent[k], action[k] = i, a
                k += 1
