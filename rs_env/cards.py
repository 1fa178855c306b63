"""Cards, suits and actions: their numbers and their text.

A card is the integer ``13 * suit + rank``. Suits are clubs 0, diamonds 1, hearts 2, spades 3; ranks are
2, 3, ..., 10, J, Q, K, A = 0..12, the ace being high. An action is a card (0..51: play it) or `PICKUP` (52).
Text is rank then suit: ``2c``, ``Td``, ``Ah``; the other action is ``pickup``.

A *set of cards* is a 64-bit integer with bit ``card`` set for each member; a *set of actions* may also have bit 52.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

NUM_SUITS = 4
NUM_RANKS = 13
NUM_CARDS = NUM_SUITS * NUM_RANKS
PICKUP = NUM_CARDS
NUM_ACTIONS = NUM_CARDS + 1

RANKS = "23456789TJQKA"
SUITS = "cdhs"
SuitName = Literal["clubs", "diamonds", "hearts", "spades"]
SUIT_NAMES: tuple[SuitName, ...] = get_args(SuitName)

_IDS = {rank + suit: NUM_RANKS * s + r for s, suit in enumerate(SUITS) for r, rank in enumerate(RANKS)}
_TEXTS = (*_IDS, "pickup")


def suit_of(card: int) -> int:
    """Suit 0..3 of a card."""
    return card // NUM_RANKS


def rank_of(card: int) -> int:
    """Rank 0..12 of a card; 12 is the ace."""
    return card % NUM_RANKS


def action_text(action: int) -> str:
    """``"7c"`` for a card, ``"pickup"`` for `PICKUP`. Raises ValueError outside 0..52."""
    if not 0 <= action < NUM_ACTIONS:
        raise ValueError(f"action {action!r} is not in 0..{PICKUP}")
    return _TEXTS[action]


def parse_action(text: str) -> int:
    """The inverse of `action_text`, e.g. ``"Td"`` -> 21. Raises ValueError for anything else."""
    if text == "pickup":
        return PICKUP
    if text not in _IDS:
        raise ValueError(f"card {text!r} is not a rank of {RANKS} followed by a suit of {SUITS}, such as '7c'")
    return _IDS[text]


def cards_text(cards: Iterable[int]) -> str:
    """Cards in the given order, separated by spaces."""
    return " ".join(action_text(card) for card in cards)


def parse_cards(cards: str | Iterable[int | str]) -> list[int]:
    """Card ids of ``"7c Td"``, ``["7c", "Td"]`` or ``[5, 21]``, in that order. Raises ValueError or TypeError for
    anything else.
    """
    ids = []
    for card in cards.split() if isinstance(cards, str) else cards:
        card_id = parse_action(card) if isinstance(card, str) else card
        if isinstance(card_id, bool) or not hasattr(card_id, "__index__") or not 0 <= card_id < NUM_CARDS:
            raise ValueError(f"card {card!r} is not a card: allowed are ids 0..{NUM_CARDS - 1} and texts such as '7c'")
        ids.append(int(card_id))
    return ids


def set_of(cards: Iterable[int]) -> int:
    """The 64-bit set with these cards."""
    bits = 0
    for card in cards:
        bits |= 1 << card
    return bits


def members(bits: int) -> list[int]:
    """Sorted cards (or actions, or suits) of a set."""
    bits = int(bits)
    return [i for i in range(bits.bit_length()) if bits >> i & 1]
