"""The table as text, as ``render_mode="ansi"`` returns it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rs_env.cards import SUIT_NAMES, action_text, cards_text, suit_of
from rs_env.render.shapes import RED_SUITS
from rs_env.render.table import Last, Seat, Table, table_of_game

_RED, _BOLD, _PLAIN = "\x1b[31m", "\x1b[1m", "\x1b[0m"


def render_text(game: Any, seat: int | None = None, colour: bool = False) -> str:
    """The position with all hands open, or as one seat knows it, one line for each seat; the seat to act is marked
    ``>``.

    game: a `rs_env.Game`. colour: with the escape sequences of terminals, red suits red and the seat to act bold.
    """
    return text_of_table(table_of_game(game, seat=seat), colour)


def text_of_table(table: Table, colour: bool = False) -> str:
    """A table as text, as `render_text` gives it. Of a seat's table it also tells the last action, and what everybody
    knows of the hidden cards: how many they are, and suits that are not (or surely) among them.
    """
    is_open = table.viewer is None
    lines = [_headline(table)]
    if not is_open and table.last is not None:
        lines.append(f"  {last_text(table.last, table.seats)}")
    lines += [_line(table, seat, colour) for seat in table.seats]
    lines.append(f"  dead: {_by_suit(table.dead, colour) or 'none'}")
    if not is_open and table.legal:
        lines.append(f"  legal: {cards_text(table.legal)}")
    if table.result is not None:
        scores = "" if table.result.scores is None else ", scores: " + _numbers(table.result.scores)
        lines.append(f"  {'truncated' if table.result.truncated else 'over'}{scores}")
    return "\n".join(lines)


def last_text(last: Last, seats: Sequence[Seat]) -> str:
    """The last action in words: ``"seat 2 led 7c"``."""
    name, card = seats[last.seat].name, action_text(last.action)
    told = {
        "picked up": f"{name} picked up",
        "noticed": f"{name} played {card} silently and was noticed",
        "silent": f"{name} played {card} silently",
    }.get(last.what, f"{name} {last.what} {card}")
    if last.what == "picked up":
        told += f" {cards_text(card for _, card in last.trick)}" if last.trick else ""
    elif last.trick and last.what != "noticed":
        told += ", which ended the trick"
    return told + (", which ended the deal" if last.ended_deal else "")


def _headline(table: Table) -> str:
    parts = [f"action {table.actions} of {table.limit}", f"dealer {table.dealer}", f"leader {table.leader}"]
    if table.totals is not None:
        parts.insert(0, f"deal {table.deal}, totals {_numbers(table.totals)} to {table.target:g}")
    for word, suit in (("trump", table.trump), ("led", table.led), ("barred", table.barred)):
        if suit is not None:
            parts.append(f"{word} {SUIT_NAMES[suit]}")
    return ", ".join(parts)


def _line(table: Table, seat: Seat, colour: bool) -> str:
    played = "--" if seat.played is None else _card(seat.played, colour)
    hidden = f"{seat.backs} hidden" + _knowledge(seat) if seat.backs else ""
    hand = "  ".join(filter(None, (_by_suit(seat.cards, colour), hidden)))
    you = " (you)" if seat.number == table.viewer else ""
    place = "" if seat.place is None else f"  out, place {seat.place}"
    start = f"{'>' if seat.is_turn else ' '} {seat.name}"
    if colour and seat.is_turn:
        start = f"{_BOLD}{start}{_PLAIN}"
    return f"{start}{you} [{played}] {seat.size:2d}: {hand}{place}"


def _knowledge(seat: Seat) -> str:
    told = [f"no {SUIT_NAMES[suit]}" for suit in seat.excluded] + [f"some {SUIT_NAMES[suit]}" for suit in seat.held]
    return f" ({', '.join(told)})" if told else ""


def _by_suit(cards: Sequence[int], colour: bool) -> str:
    """Sorted cards with a wider gap between suits."""
    suits: dict[int, list[int]] = {}
    for card in cards:
        suits.setdefault(suit_of(card), []).append(card)
    return "  ".join(" ".join(_card(card, colour) for card in group) for group in suits.values())


def _card(card: int, colour: bool) -> str:
    return f"{_RED}{action_text(card)}{_PLAIN}" if colour and suit_of(card) in RED_SUITS else action_text(card)


def _numbers(values: Sequence[float]) -> str:
    return " ".join(f"{value:g}" for value in values)
