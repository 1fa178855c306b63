"""A search that is decided ends early."""

from __future__ import annotations

import numpy as np
import pytest

from rs_env.baselines.search import new_memory
from rs_env.baselines.tree import NODE, Tree, is_decided


def tree_of(visits: list[int]) -> Tree:
    """A root with one child for each number of visits, for actions 0, 1, ..."""
    nodes = np.zeros(len(visits) + 1, NODE)
    nodes["first_child"][0] = 1
    nodes["visits"][1:] = visits
    nodes["action"][1:] = np.arange(len(visits))
    nodes["next_sibling"][1:-1] = np.arange(2, len(visits) + 1)
    return Tree(nodes, np.zeros(1, np.int64), 0.5)


@pytest.mark.parametrize(
    ("visits", "left", "decided"),
    [([10, 4], 11, True), ([10, 4], 12, False), ([4, 10, 7], 5, True), ([4, 10, 7], 6, False), ([5, 5], 0, False)],
)
def test_a_search_is_decided_when_the_second_action_needs_most_of_the_rest(
    visits: list[int], left: int, decided: bool
) -> None:
    assert is_decided(tree_of(visits), new_memory(), left) is decided


def test_a_sure_loss_decides_nothing() -> None:
    memory = new_memory()
    memory.losses[0] = 10
    assert not is_decided(tree_of([10, 4]), memory, 2)
