"""Information-set Monte Carlo tree search for any number of players ("ismcts").

One tree, whose branches are actions, since all actions are public. Every iteration samples a world that agrees with the
view, goes down the tree by the actions that are legal in that world (UCB with counts of how often an action was
available), adds one node, plays out, and adds to each node on the way the utility of the seat that moved into it: every
seat looks after itself. (P. I. Cowling, E. J. Powley, D. Whitehouse, "Information Set Monte Carlo Tree Search", IEEE
TCIAIG 4(2), 2012: SO-ISMCTS.)
"""

from __future__ import annotations

import numpy as np

from rs_env.baselines.search import UNDECIDED, best_action, play_out, utility, without_search
from rs_env.baselines.tips import NUM_CHANCES, at_random
from rs_env.belief import draw
from rs_env.engine import play
from rs_env.engine.bits import EMPTY, bit
from rs_env.engine.jit import njit
from rs_env.engine.rng import advance, mix
from rs_env.engine.state import RUNNING
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


@njit
def _select(tree, node, legal, exploration):
    """The child with the highest upper confidence bound among the legal ones, all of which exist."""
    best, best_bound = np.int64(0), -np.inf
    child = np.int64(tree[node].first_child)
    while child != 0:
        c = tree[child]
        if legal >> np.uint64(c.action) & np.uint64(1):
            c.available += 1
            bound = c.value / c.visits + exploration * np.sqrt(np.log(c.available) / c.visits)
            if bound > best_bound:
                best, best_bound = child, bound
        child = np.int64(c.next_sibling)
    return best


@njit
def _add_child(tree, size, parent, action, seat):
    """Make node number `size` a child."""
    c = tree[size]
    c.tried = EMPTY
    c.value = 0.0
    c.visits = 0
    c.available = 1
    c.first_child = 0
    c.action = action
    c.seat = seat
    c.next_sibling = tree[parent].first_child
    tree[parent].first_child = size
    tree[parent].tried |= bit(action)


@njit
def _iterate(rules, weights, noise, limit, exploration, tree, size, path, s, stream, chances):
    """One iteration in the world `s`; returns the size of the tree after it."""
    node, depth = np.int64(0), 0
    while s.status == RUNNING and depth < path.shape[0]:
        legal = play.options(rules, s)
        untried = legal & ~tree[node].tried
        seat = np.int64(s.turn)
        if untried == EMPTY:
            node = _select(tree, node, legal, exploration)
        elif size < tree.shape[0]:
            stream = advance(stream)
            _add_child(tree, size, node, at_random(untried, stream), seat)
            node = size
            size += 1
        else:
            break
        path[depth] = node
        depth += 1
        action = np.int64(tree[node].action)
        play.step(rules, s, action)
        noticed = s.hand[seat] >> np.uint64(action) & np.uint64(
            1
        )  # the card went back: what follows is no part of this branch
        if tree[node].visits == 0 or noticed:
            break
    taken = play_out(rules, weights, noise, s, limit, stream, chances)
    for i in range(depth):
        c = tree[path[i]]
        c.visits += 1
        c.value += utility(rules, s, np.int64(c.seat), depth + taken)
    return size


@njit(cache=True, nogil=True)
def ismcts_all(
    views, seeds, iterations, exploration, weights, noise, limit, rules, beliefs, states, tree, path, actions
):
    """Write the most visited action for each view; `rules`, `beliefs`, `states`, `tree` and `path` are memory to work
    in.
    """
    chances, totals = np.empty(NUM_CHANCES), np.empty(64)
    for i in range(views.shape[0]):
        view = views[i]
        stream = view_key(view, seeds[i])
        actions[i] = without_search(view, rules, beliefs[0])
        if actions[i] != UNDECIDED:
            continue
        tree[0].tried, tree[0].first_child, size = EMPTY, 0, 1
        for _ in range(iterations):
            stream = draw(view, beliefs[0], stream, states[0])
            size = _iterate(
                rules[0], weights, noise, limit, exploration, tree, size, path, states[0], mix(stream), chances
            )
        totals[:] = 0.0
        child = np.int64(tree[0].first_child)
        while child != 0:
            totals[tree[child].action] = tree[child].visits
            child = np.int64(tree[child].next_sibling)
        actions[i] = best_action(totals, view.legal, stream)
