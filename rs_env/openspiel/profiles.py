"""Profiles of `rs_env.solve.exact` as OpenSpiel's policies and back, and OpenSpiel's CFR."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyspiel  # type: ignore[import-not-found, import-untyped, unused-ignore]

from rs_env.cards import NUM_ACTIONS
from rs_env.openspiel.game import RollingStoneState, event, hand_text, information_text, load_game, opening, seats_of
from rs_env.solve.exact import GameTree


def information_state_strings(tree: GameTree) -> list[str]:
    """OpenSpiel's information state string of each information set of a tree."""
    texts = [""] * tree.num_sets
    public: list[str] = []
    for start, stop in zip(tree.levels[:-1], tree.levels[1:], strict=True):
        above = start - len(public)
        nodes = range(start, stop)
        public = (
            [
                public[tree.parent[node] - above] + event(int(tree.action[node]), int(tree.outcome[node]))
                for node in nodes
            ]
            if start
            else [opening(tree.rules, tree.states[node]) for node in nodes]
        )
        for node in start + np.flatnonzero(tree.first[tree.information_set[start:stop]] == np.arange(start, stop)):
            seat = tree.seat[tree.information_set[node]]
            hand = int(tree.dealt[tree.root[node], seat])
            texts[tree.information_set[node]] = information_text(seat, hand_text(hand), public[node - start])
    return texts


def to_openspiel(tree: GameTree, profile: np.ndarray) -> Any:
    """A profile as a ``pyspiel.TabularPolicy`` for `load_game` of the tree's rules."""
    rows = zip(information_state_strings(tree), tree.check_profile(profile).tolist(), tree.legal.tolist(), strict=True)
    return pyspiel.TabularPolicy(
        {text: [(a, row[a]) for a in range(NUM_ACTIONS) if legal[a]] for text, row, legal in rows}
    )


def information_states(tree: GameTree) -> Iterator[tuple[int, RollingStoneState]]:
    """A state of each information set of a tree: pairs of the set's number and the state, which is at its owner's turn.

    The game is `load_game` of the tree's rules with ``merge_deals=True``; its information state strings are those
    without.
    """
    game = load_game(tree.rules, merge_deals=True)
    states: list[RollingStoneState] = []
    for start, stop in zip(tree.levels[:-1], tree.levels[1:], strict=True):
        above = start - len(states)
        nodes = range(start, stop)
        states = (
            [
                _state_after(states[tree.parent[node] - above], int(tree.action[node]), int(tree.outcome[node]))
                for node in nodes
            ]
            if start
            else [_state_of_deal(game, tree, node) for node in nodes]
        )
        for node, state in zip(nodes, states, strict=True):
            number = int(tree.information_set[node])
            if number >= 0 and tree.first[number] == node:
                yield number, state


def _state_of_deal(game: Any, tree: GameTree, node: int) -> RollingStoneState:
    deck, hands = tree.rules.deck, tree.dealt[tree.root[node]].tolist()
    state = game.new_initial_state()
    state.apply_action(int(tree.states[node]["dealer"]))
    for seat in seats_of(deck, hands):
        state.apply_action(seat)
    if state.is_dealing():  # which card is shown
        state.apply_action(int(tree.states[node]["deck"][len(deck) - 1]))
    return state


def _state_after(state: RollingStoneState, action: int, noticed: int) -> RollingStoneState:
    after = state.child(action)
    if after.is_chance_node():
        after.apply_action(noticed)
    return after


def from_openspiel(tree: GameTree, policy: Any, texts: Sequence[str] | None = None) -> np.ndarray:
    """The profile, float64 (I, 53), of a policy for OpenSpiel's game of the tree's rules, with or without merged deals.

    policy: a ``pyspiel.TabularPolicy`` is asked by information state strings. Anything else is asked by states:
    ``action_probabilities(state)`` gives a dict from actions to probabilities, as do all policies of OpenSpiel in C++
    and Python, those of sampled CFR (MCCFR), which know no strings, among them.
    texts: `information_state_strings` of the tree, if they are at hand; only tables need them.
    Raises TypeError for an object without such a method, ValueError where an answer is no distribution over the legal
    actions, which includes tables that leave an information set out.
    """
    if not callable(getattr(policy, "action_probabilities", None)):
        raise TypeError(
            f"policy={policy!r} is not allowed: it must have OpenSpiel's method action_probabilities(state)"
        )
    questions: Iterable[tuple[int, Any]]
    if isinstance(policy, pyspiel.TabularPolicy):
        questions = enumerate(information_state_strings(tree) if texts is None else texts)
    else:
        questions = information_states(tree)
    profile = np.zeros(tree.legal.shape)
    for number, question in questions:
        for action, probability in policy.action_probabilities(question).items():
            profile[number, action] = probability
    return tree.check_profile(profile)


def cfr(tree: GameTree, checkpoints: Iterable[int], plus: bool = True) -> Iterator[tuple[int, np.ndarray]]:
    """OpenSpiel's CFR+ (or CFR) on the game of a tree: (iterations, average profile) at each of these numbers of
    iterations.

    CFR: M. Zinkevich et al., *Regret Minimization in Games with Incomplete Information*, 2007; CFR+: O. Tammelin, 2014.
    The profile is one for `rs_env.solve.exact.nash_conv`. Memory grows with the square of ``max_actions``, since each
    of OpenSpiel's states carries its own history.
    """
    game = pyspiel.convert_to_cached_tree(load_game(tree.rules, merge_deals=True))
    solver = (pyspiel.CFRPlusSolver if plus else pyspiel.CFRSolver)(game)
    texts = information_state_strings(tree)
    done = 0
    for checkpoint in checkpoints:
        while done < checkpoint:
            solver.evaluate_and_update_policy()
            done += 1
        yield done, from_openspiel(tree, solver.tabular_average_policy(), texts)
