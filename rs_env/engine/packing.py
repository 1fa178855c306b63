"""Packed observations: the same content as the plain ones in a quarter of the memory.

A packed observation is a row of 64-bit words: first one word for each row of the sections of cards, in their order;
then the set of legal actions (53 bits, the action mask); then the other sections as they are, one byte an entry, padded
to whole words. `unpack` works on NumPy arrays and on torch tensors of any device.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from rs_env.cards import NUM_ACTIONS, NUM_CARDS
from rs_env.engine.bits import store
from rs_env.engine.encoder import WORD, encoder_of
from rs_env.engine.jit import njit
from rs_env.engine.layout import Kind
from rs_env.engine.observation import SECTIONS, observation_spec

_CARDS = (Kind.CARDS, Kind.CARD)
_encode_cards = encoder_of([section for section in SECTIONS if section.kind in _CARDS], packed=True)
_encode_others = encoder_of([section for section in SECTIONS if section.kind not in _CARDS])


def num_sets(num_players: int) -> int:
    """Number of sets of cards in an observation."""
    return sum(part.rows for part in observation_spec(num_players).of_kind(*_CARDS))


def packed_size(num_players: int) -> int:
    """Number of words W of a packed observation."""
    sets = num_sets(num_players)
    others = observation_spec(num_players).size - NUM_CARDS * sets
    return sets + 1 + -(-others // WORD)


@cache
def _order(num_players: int) -> list[int] | None:
    """Where each entry of an observation stands among those of the cards and then the others; None if at its place."""
    parts = list(observation_spec(num_players).sections.values())
    in_cards = np.concatenate([np.full(part.size, part.section.kind in _CARDS) for part in parts])
    places = np.argsort(np.argsort(~in_cards, kind="stable"))
    return None if (places == np.arange(len(places))).all() else places.tolist()


def unpack(packed: Any, num_players: int) -> tuple[Any, Any]:
    """The observation (B, D) and action mask (B, 53), both int8, of packed observations (B, W) of dtype int64.

    Takes and returns NumPy arrays or torch tensors, the latter on the device of the argument.
    """
    size = observation_spec(num_players).size
    if packed.ndim != 2 or packed.shape[1] != packed_size(num_players):
        raise ValueError(
            f"packed: shape {tuple(packed.shape)} is not allowed: for {num_players} players it must be"
            f" (B, {packed_size(num_players)})"
        )
    sets, rows = num_sets(num_players), packed.shape[0]
    if isinstance(packed, np.ndarray):
        positions: Any = np.arange(NUM_ACTIONS)
        bits = (packed[:, : sets + 1, None] >> positions & 1).astype(np.int8)
        others = np.ascontiguousarray(packed[:, sets + 1 :]).view(np.int8)
        concatenate: Any = np.concatenate
    else:
        import torch

        positions = torch.arange(NUM_ACTIONS, device=packed.device)
        bits = (packed[:, : sets + 1, None] >> positions & 1).to(torch.int8)
        others = packed[:, sets + 1 :].contiguous().view(torch.int8)
        concatenate = torch.cat
    cards = bits[:, :sets, :NUM_CARDS].reshape(rows, sets * NUM_CARDS)
    observation, order = concatenate([cards, others], 1)[:, :size], _order(num_players)
    return observation if order is None else observation[:, order], bits[:, sets]


@njit(inline="always")
def encode_packed(rules, public, n, seat, hand, legal, row, offset):
    """Write a packed observation from byte `offset` of a row on; the arguments are those of
    `rs_env.engine.observation.encode`.
    """
    offset = _encode_cards(rules, public, hand, n, np.int64(seat), row, offset)
    store(row, offset, legal)
    _encode_others(rules, public, hand, n, np.int64(seat), row, offset + WORD)
