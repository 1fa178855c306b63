"""Information-set Monte Carlo tree search for any number of players ("ismcts").

One tree, whose branches are actions, since all actions are public. Every iteration samples a world that agrees with the
view, goes down the tree by the actions that are legal in that world (UCB with counts of how often an action was
available), adds one node, plays out, and adds to each node on the way the utility of the seat that moved into it: every
seat looks after itself. (P. I. Cowling, E. J. Powley, D. Whitehouse, "Information Set Monte Carlo Tree Search", IEEE
TCIAIG 4(2), 2012: SO-ISMCTS.)

A seat that is known to play by a policy does so in the tree too: only those that look ahead choose by the bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rs_env.baselines.search import (
    UNDECIDED,
    Memory,
    PlayOuts,
    action_by_policy,
    assign_policies,
    best_action,
    clear_totals,
    play_out,
    utility,
    without_search,
)
from rs_env.baselines.tips import at_random
from rs_env.engine import play
from rs_env.engine.belief import draw
from rs_env.engine.bits import EMPTY, bit
from rs_env.engine.jit import njit
from rs_env.engine.rng import advance, mix
from rs_env.engine.state import RUNNING
from rs_env.engine.types import Action, ActionSet, Array, Number, Real, Seat, Stream, Views
from rs_env.engine.view import view_key

NODE = np.dtype(
    [
        ("tried", np.uint64),  # actions that have a child
        ("value", np.float64),  # sum of utilities for the seat that moved here
        ("visits", np.int32),
        ("available", np.int32),  # how often the action was legal when its parent was visited
        ("first_child", np.int32),  # 0: none
        ("next_sibling", np.int32),
        ("action", np.int8),
        ("seat", np.int8),  # that moved here
    ],
    align=True,
)


class Tree(NamedTuple):
    """Memory for the tree of one search."""

    nodes: Array
    """Of dtype `NODE`; the first one is the root."""

    path: Array
    """Int64: the nodes from the root down to the one that is played out from."""

    exploration: float
    """The factor of the confidence bound."""


@njit
def _select(tree: Tree, node: Number, legal: ActionSet) -> Number:
    """The child with the highest upper confidence bound among the legal ones, all of which exist."""
    best, best_bound = np.int64(0), -np.inf
    child = np.int64(tree.nodes[node].first_child)
    while child != 0:
        c = tree.nodes[child]
        if legal & bit(c.action):
            bound = c.value / c.visits + tree.exploration * np.sqrt(np.log(c.available) / c.visits)
            if bound > best_bound:
                best, best_bound = child, bound
        child = np.int64(c.next_sibling)
    return best


@njit
def _child_of(nodes: Array, node: Number, action: Action) -> Number:
    """The child for this action, which exists."""
    child = np.int64(nodes[node].first_child)
    while nodes[child].action != action:
        child = np.int64(nodes[child].next_sibling)
    return child


@njit
def _count_available(nodes: Array, node: Number, legal: ActionSet) -> None:
    """Note of all children that are legal now that they could have been chosen, whichever is."""
    child = np.int64(nodes[node].first_child)
    while child != 0:
        if legal & bit(nodes[child].action):
            nodes[child].available += 1
        child = np.int64(nodes[child].next_sibling)


@njit
def _add_child(nodes: Array, size: Number, parent: Number, action: Action, seat: Seat) -> None:
    """Make node number `size` a child."""
    c = nodes[size]
    c.tried = EMPTY
    c.value = 0.0
    c.visits = 0
    c.available = 1
    c.first_child = 0
    c.action = action
    c.seat = seat
    c.next_sibling = nodes[parent].first_child
    nodes[parent].first_child = size
    nodes[parent].tried |= bit(action)


@njit
def clear_tree(tree: Tree, memory: Memory) -> None:
    """Begin a search: the root is alone."""
    clear_totals(memory)
    tree.nodes[0].tried = EMPTY
    tree.nodes[0].first_child = 0


@njit
def iterate(how: PlayOuts, memory: Memory, tree: Tree, size: Number, stream: Stream) -> tuple[Number, Number]:
    """One iteration in the world ``memory.states[0]``; returns the size of the tree after it, and how many actions were
    played.

    ``memory.losses`` counts of each action at the root how often it lost before the seat's next turn.
    """
    rules, s = memory.rules_array[0], memory.states[0]
    nodes, path = tree.nodes, tree.path
    node, depth = np.int64(0), 0
    while s.status == RUNNING and depth < path.shape[0]:
        legal = play.options(rules, s)
        untried = legal & ~nodes[node].tried
        seat = np.int64(s.turn)
        _count_available(nodes, node, legal)
        if not how.looks_ahead[memory.policies[seat]]:
            action, stream = action_by_policy(how, memory, s, legal, stream)
        elif untried == EMPTY:
            action = np.int64(nodes[_select(tree, node, legal)].action)
        else:
            stream = advance(stream)
            action = at_random(untried, stream)
        if not untried & bit(action):
            node = _child_of(nodes, node, action)
        elif size < nodes.shape[0]:
            _add_child(nodes, size, node, action, seat)
            node = size
            size += 1
        else:
            break
        path[depth] = node
        depth += 1
        play.step(rules, s, action)
        was_noticed = s.hand[seat] & bit(action)  # the card went back: what follows is no part of this branch
        if nodes[node].visits == 0 or was_noticed:
            break
    taken = depth + play_out(how, memory, s, stream)
    first = nodes[path[0]]
    memory.losses[first.action] += taken <= rules.num_players and s.num_out > 0 and s.out[0] != first.seat
    for i in range(depth):
        c = nodes[path[i]]
        c.visits += 1
        c.value += utility(rules, s, np.int64(c.seat), taken)
    return size, taken


@njit
def is_decided(tree: Tree, memory: Memory, left: Real) -> bool:
    """Whether `left` more iterations are not likely to change which action at the root is chosen most: the second one
    would have to be chosen in three of four.
    """
    first, second, sure_loss = 0, 0, False
    child = np.int64(tree.nodes[0].first_child)
    while child != 0:
        c = tree.nodes[child]
        if c.visits > first:
            first, second, sure_loss = c.visits, first, memory.losses[c.action] == c.visits
        elif c.visits > second:
            second = c.visits
        child = np.int64(c.next_sibling)
    return first - second > 0.5 * left and not sure_loss


@njit
def put_sure_losses_last(tree: Tree, memory: Memory) -> None:
    """Forget the visits of an action at the root that lost at once whenever it was taken: then it is chosen only where
    all others do so too.
    """
    child = np.int64(tree.nodes[0].first_child)
    while child != 0:
        c = tree.nodes[child]
        c.visits *= memory.losses[c.action] < c.visits
        child = np.int64(c.next_sibling)


@njit
def most_visited(tree: Tree, memory: Memory, legal: ActionSet, stream: Stream) -> Action:
    """The action at the root that was chosen most; equals are drawn at random."""
    clear_totals(memory)
    child = np.int64(tree.nodes[0].first_child)
    while child != 0:
        memory.totals[tree.nodes[child].action] = tree.nodes[child].visits
        child = np.int64(tree.nodes[child].next_sibling)
    return best_action(memory.totals, legal, stream)


@njit(cache=True, nogil=True)
def ismcts_all(
    views: Views, seeds: Array, iterations: Number, how: PlayOuts, memory: Memory, tree: Tree, actions: Array
) -> None:
    """Write the most visited action for each view, after so many iterations."""
    for i in range(views.shape[0]):
        view = views[i]
        stream = view_key(view, seeds[i])
        actions[i] = without_search(view, memory)
        if actions[i] != UNDECIDED:
            continue
        clear_tree(tree, memory)
        size = 1
        for iteration in range(iterations):
            assign_policies(how, memory, np.int64(view.seat), iteration)
            stream = draw(view, memory.beliefs[0], stream, memory.states[0])
            size, _ = iterate(how, memory, tree, size, mix(stream))
        actions[i] = most_visited(tree, memory, view.legal, stream)
