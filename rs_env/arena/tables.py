"""Who sits where: the seatings that are played on each deal.

A seating is a row of player numbers, one for each seat. Every table is rotated through all n seats, so that on each
deal everybody is dealt every hand at it; where all players are alike, each wins exactly one game of n.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

TABLES = ("mixed", "one", "rest", "half", "matrix")


def seatings(table: str, players: int, n: int, seed: int, deal: int) -> np.ndarray:
    """The seatings (int64, (G, n)) that k `players` play on a deal, by the kind of table.

    ``mixed``: all k players, in a random order that depends on (seed, deal), fill as few tables as will seat them; free
        seats go once more to the first in that order.
    ``one``, ``rest``: player 0 on one seat and player 1 on n - 1, or the other way round. ``half``: player 0 on half of
        the seats and player 1 on the others, all such seatings; for odd n with the smaller and with the larger half.
    ``matrix``: each player r on one seat against n - 1 copies of each player c; the copies have the number k + c.
    """
    if table == "mixed":
        rng = np.random.default_rng([seed, deal])
        order = np.resize(rng.permutation(players), (-(-players // n), n))
        return _rotated(rng.permuted(order, axis=1))
    if table == "matrix":
        row, column = np.divmod(np.arange(players**2), players)
        return _rotated(np.where(np.arange(n) == 0, row[:, None], players + column[:, None]))
    sizes = {"one": {1}, "rest": {n - 1}, "half": {n // 2, n - n // 2}}[table]
    chosen = [seats for size in sorted(sizes) for seats in combinations(range(n), size)]
    return np.array([[0 if seat in seats else 1 for seat in range(n)] for seats in chosen])


def games_per_deal(table: str, players: int, n: int) -> int:
    """Number of seatings on each deal."""
    return len(seatings(table, players, n, 0, 0))


def _rotated(tables: np.ndarray) -> np.ndarray:
    """Each row (T, n) turned through all n seats: (T * n, n)."""
    n = tables.shape[1]
    return tables[:, (np.arange(n)[:, None] + np.arange(n)) % n].reshape(-1, n)
