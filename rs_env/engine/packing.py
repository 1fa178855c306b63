"""Packed observations: the same content as the plain ones in a quarter of the memory.

A packed observation is a row of 64-bit words: first one word for each set of cards, in the order of the sections from
``hand`` to ``known``; then the set of legal actions (53 bits, the action mask); then the remaining sections as they
are, one byte an entry, padded to whole words. `unpack` works on NumPy arrays and on torch tensors of any device.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rs_env.cards import NUM_ACTIONS, NUM_CARDS
from rs_env.engine.bits import store
from rs_env.engine.jit import njit
from rs_env.engine.observation import WORD, encode_counts, encode_sets, observation_spec, put_card_word, put_cards_word


def num_sets(num_players: int) -> int:
    """Number of sets of cards in an observation: hand, trick of each seat, dead, known of each other seat."""
    return 2 * num_players + 1


def packed_size(num_players: int) -> int:
    """Number of words W of a packed observation."""
    counts = observation_spec(num_players).size - NUM_CARDS * num_sets(num_players)
    return num_sets(num_players) + 1 + -(-counts // WORD)


def unpack(packed: Any, num_players: int) -> tuple[Any, Any]:
    """The observation (B, D) and action mask (B, 53), both int8, of packed observations (B, W) of dtype int64.

    Takes and returns NumPy arrays or torch tensors, the latter on the device of the argument.
    """
    spec = observation_spec(num_players)
    if packed.ndim != 2 or packed.shape[1] != packed_size(num_players):
        raise ValueError(
            f"packed: shape {tuple(packed.shape)} is not allowed: for {num_players} players it must be (B, {packed_size(num_players)})"
        )
    sets, rows = num_sets(num_players), packed.shape[0]
    counts = spec.size - NUM_CARDS * sets
    if isinstance(packed, np.ndarray):
        positions: Any = np.arange(NUM_ACTIONS)
        cards = (packed[:, :sets, None] >> positions[:NUM_CARDS] & 1).astype(np.int8).reshape(rows, sets * NUM_CARDS)
        rest = np.ascontiguousarray(packed[:, sets + 1 :]).view(np.int8)[:, :counts]
        return np.concatenate([cards, rest], 1), (packed[:, sets, None] >> positions & 1).astype(np.int8)
    import torch

    positions = torch.arange(NUM_ACTIONS, device=packed.device)
    cards = (packed[:, :sets, None] >> positions[:NUM_CARDS] & 1).to(torch.int8).reshape(rows, sets * NUM_CARDS)
    rest = packed[:, sets + 1 :].contiguous().view(torch.int8)[:, :counts]
    return torch.cat([cards, rest], 1), (packed[:, sets, None] >> positions & 1).to(torch.int8)


@njit(inline="always")
def encode_packed(rules, public, n, seat, hand, legal, row, offset):
    """Write a packed observation from byte `offset` of a row on; the arguments are those of
    `rs_env.engine.observation.encode`.
    """
    offset = encode_sets(public, n, seat, hand, row, offset, put_card_word, put_cards_word)
    store(row, offset, legal)
    encode_counts(rules, public, n, seat, row, offset + WORD, 1)
