"""Decks and dealers that callers give: cards in dealing order, for a match several of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from rs_env.cards import cards_text, parse_cards
from rs_env.checks import check_whole
from rs_env.engine.state import NOBODY
from rs_env.rules import Rules

Deck = str | Iterable[int | str]


def check_decks(rules: Rules, deck: Deck | Sequence[Deck] | None) -> list[np.ndarray]:
    """The decks given as int8 arrays. Raises ValueError unless each is exactly the rule set's cards."""
    if deck is None:
        return []
    if not isinstance(deck, Iterable):
        raise ValueError(
            f"deck={deck!r} is not allowed: it must be cards in dealing order, ids or text, or in a match a list of"
            " decks"
        )
    entries: list[Any] = deck.split() if isinstance(deck, str) else list(deck)
    several = bool(entries) and all(isinstance(entry, Iterable) and not _is_card(entry) for entry in entries)
    if several and rules.target is None and len(entries) > 1:
        raise ValueError(
            f"deck: {len(entries)} decks are not allowed: only a match (target={rules.target}) has more than one deal"
        )
    return [np.array(_check_deck(rules, one), np.int8) for one in (entries if several else [entries])]


def _is_card(entry: object) -> bool:
    return isinstance(entry, str) and " " not in entry.strip()


def _check_deck(rules: Rules, deck: Deck) -> list[int]:
    try:
        cards = parse_cards(deck)
    except (TypeError, ValueError) as error:
        raise ValueError(f"deck: {error}; given was {deck!r}") from None
    if sorted(cards) != list(rules.deck):
        missing = cards_text(sorted(set(rules.deck) - set(cards)))
        surplus = cards_text(sorted(set(cards) - set(rules.deck)))
        raise ValueError(
            f"deck={cards_text(cards)!r} is not allowed: it must be the {len(rules.deck)} cards of the rule set, each"
            " once"
            f" (missing: {missing or 'none'}; not in the rule set: {surplus or 'none'}; {len(cards)} given)"
        )
    return cards


def check_dealer(rules: Rules, dealer: int | None) -> int:
    """The dealer's seat, NOBODY for None. Raises ValueError for anything but a seat."""
    if dealer is None:
        return NOBODY
    return check_whole("dealer", dealer, 0, rules.num_players - 1)
