"""Profiles of `rs_env.arena.exact` as OpenSpiel's policies and back, and OpenSpiel's CFR."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyspiel  # type: ignore[import-not-found, import-untyped, unused-ignore]

from rs_env.arena.exact import GameTree
from rs_env.cards import NUM_ACTIONS
from rs_env.openspiel.game import event, hand_text, information_text, load_game, opening


def information_state_strings(tree: GameTree) -> list[str]:
    """OpenSpiel's information state string of each information set of a tree."""
    texts = [""] * tree.num_sets
    public: list[str] = []
    for start, stop in zip(tree.levels[:-1], tree.levels[1:], strict=True):
        above = start - len(public)
        nodes = range(start, stop)
        public = (
            [public[tree.parent[node] - above] + event(int(tree.action[node]), int(tree.outcome[node])) for node in nodes]
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
    return pyspiel.TabularPolicy({text: [(a, row[a]) for a in range(NUM_ACTIONS) if legal[a]] for text, row, legal in rows})


def from_openspiel(tree: GameTree, policy: Any, texts: Sequence[str] | None = None) -> np.ndarray:
    """The profile, float64 (I, 53), of an OpenSpiel policy (``pyspiel.Policy``) for the game of the tree's rules.

    texts: `information_state_strings` of the tree, if they are at hand. Raises ValueError where the policy leaves out one of them.
    """
    profile = np.zeros(tree.legal.shape)
    for row, text in zip(profile, information_state_strings(tree) if texts is None else texts, strict=True):
        for action, probability in policy.action_probabilities(text).items():
            row[action] = probability
    return tree.check_profile(profile)


def cfr(tree: GameTree, checkpoints: Iterable[int], plus: bool = True) -> Iterator[tuple[int, np.ndarray]]:
    """OpenSpiel's CFR+ (or CFR) on the game of a tree: (iterations, average profile) at each of these numbers of iterations.

    CFR: M. Zinkevich et al., *Regret Minimization in Games with Incomplete Information*, 2007; CFR+: O. Tammelin, 2014. The
    profile is one for `rs_env.arena.exact.nash_conv`. Memory grows with the square of ``max_actions``, since each of OpenSpiel's
    states carries its own history.
    """
    game = pyspiel.convert_to_cached_tree(load_game(tree.rules, merge_deals=True))
    solver = (pyspiel.CFRPlusSolver if plus else pyspiel.CFRSolver)(game)
    texts = information_state_strings(tree)
    done = 0
    for checkpoint in checkpoints:
        while done < checkpoint:
            solver.evaluate_and_update_policy()
            done += 1
        yield done, from_openspiel(tree, solver.average_policy(), texts)
