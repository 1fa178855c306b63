"""A game as text: the table with open cards, as ``render_mode="ansi"`` returns it."""

from __future__ import annotations

from typing import Any

from rs_env.cards import SUIT_NAMES, action_text, cards_text, suit_of


def render_text(game: Any) -> str:
    """The position with all hands open, one line for each seat; the seat to act is marked ``>``.

    game: a `rs_env.Game`, which itself is drawn by this, so that its class cannot be named here.
    """
    lines = [_headline(game)]
    on_table = dict(game.trick_plays)
    for seat, hand in enumerate(game.hands):
        mark = ">" if seat == game.turn else " "
        card = action_text(on_table[seat]) if seat in on_table else "--"
        lines.append(f"{mark} seat {seat} [{card}] {len(hand):2d}: {_by_suit(hand)}{_standing(game, seat)}")
    lines.append(f"  dead: {_by_suit(game.dead) or 'none'}")
    if game.is_over:
        scores = " ".join(f"{score:g}" for score in game.scores())
        lines.append(f"  {'truncated' if game.truncated else 'over'}, scores: {scores}")
    return "\n".join(lines)


def _headline(game: Any) -> str:
    parts = [
        f"action {game.num_actions} of {game.rules.action_limit}",
        f"dealer {game.dealer}",
        f"leader {game.leader}",
    ]
    if game.rules.target is not None:
        totals = " ".join(f"{total:g}" for total in game.scores())
        deal = game.deals_done + (not game.is_over)
        parts.insert(0, f"deal {deal}, totals {totals} to {game.rules.target:g}")
    for word, suit in (("trump", game.trump), ("led", game.led_suit), ("barred", game.barred_suit)):
        if suit is not None:
            parts.append(f"{word} {SUIT_NAMES[suit]}")
    return ", ".join(parts)


def _by_suit(cards: list[int]) -> str:
    """Sorted cards with a wider gap between suits."""
    suits: dict[int, list[int]] = {}
    for card in cards:
        suits.setdefault(suit_of(card), []).append(card)
    return "  ".join(cards_text(group) for group in suits.values())


def _standing(game: Any, seat: int) -> str:
    return f"  out, place {game.out.index(seat) + 1}" if seat in game.out else ""
