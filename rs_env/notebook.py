"""Games and agents in notebooks: a table of HTML for each position, a slider through all of them, and an agent's card.

The HTML needs no library and loads nothing. Where scripts are not run the slider stays where it is.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from rs_env.cards import SUIT_NAMES, action_text, suit_of

MOST_PAGES = 2000
"""So many pages a slider shows at most."""

_SIGNS, _COLOURS = "♣♦♥♠", ("#1a7f37", "#0969da", "#cf222e", "inherit")
_numbers = itertools.count()

_SCRIPT = (
    "const pages=this.parentElement.querySelectorAll(':scope>div');"
    "pages.forEach((page,i)=>page.style.display=i==this.value?'block':'none');"
)


def game_html(game: Any) -> str:
    """The position with all hands open, a row for each seat; the seat to act is marked.

    game: a `rs_env.Game`, which itself is shown by this, so that its class cannot be named here.
    """
    on_table = dict(game.trick_plays)
    rows = []
    for seat, hand in enumerate(game.hands):
        place = f" (out, place {game.out.index(seat) + 1})" if seat in game.out else ""
        name = f"seat {seat}{place}"
        played = [on_table[seat]] if seat in on_table else []
        rows.append((f"<b>▶ {name}</b>" if seat == game.turn else name, _cards(played), str(len(hand)), _cards(hand)))
    facts = [
        f"action {game.num_actions} of {game.rules.action_limit}",
        f"dealer {game.dealer}",
        f"leader {game.leader}",
    ]
    if game.rules.target is not None:
        facts.insert(0, f"deal {game.deals_done + (not game.is_over)} to {game.rules.target:g}")
    facts += [f"{word} {SUIT_NAMES[suit]}" for word, suit in _suits_of(game) if suit is not None]
    if game.is_over:
        scores = ", ".join(f"{score:g}" for score in game.scores())
        facts.append(f"<b>{'stopped by the limit' if game.truncated else 'over'}, scores {scores}</b>")
    table = "".join(
        f"<tr>{''.join(f'<td style={_CELL}>{entry}</td>' for entry in row)}</tr>"
        for row in (
            ("", "<b>trick</b>", "<b>cards</b>", "<b>hand</b>"),
            *rows,
            ("out of play", "", "", _cards(game.dead)),
        )
    )
    return f"<div>{', '.join(facts)}</div><table>{table}</table>"


_CELL = '"text-align:left;padding:2px 8px"'


def _suits_of(game: Any) -> Iterable[tuple[str, int | None]]:
    return ("trump", game.trump), ("led", game.led_suit), ("barred", game.barred_suit)


def _cards(cards: Iterable[int]) -> str:
    """Cards with the sign of each suit, in a colour for each."""
    return " ".join(
        f'<span style="color:{_COLOURS[suit]}">{" ".join(action_text(card)[0] + _SIGNS[suit] for card in group)}</span>'
        for suit, group in itertools.groupby(cards, suit_of)
    )


def slider_html(pages: Sequence[str]) -> str:
    """Pages of HTML of which a slider shows one, the last one at first.

    Raises ValueError for none, and for more than 2,000 of them.
    """
    if not 1 <= len(pages) <= MOST_PAGES:
        raise ValueError(f"pages: {len(pages)} of them are not allowed: there must be 1 to {MOST_PAGES}")
    last = len(pages) - 1
    name = f"rs-env-{next(_numbers)}"
    shown = "".join(
        f'<div style="display:{"block" if i == last else "none"}">{page}</div>' for i, page in enumerate(pages)
    )
    slider = (
        f'<label for="{name}">position</label> <input id="{name}" type="range" min="0" max="{last}" value="{last}"'
        f' style="width:60%" oninput="{_SCRIPT}">'
    )
    return f"<div>{slider if last else ''}{shown}</div>"


def agent_html(name: str, about: str, options: Mapping[str, Any], needs: Sequence[str]) -> str:
    """An agent: its name, what it is in a sentence, its options with their values, and what it needs beside views."""
    rows = "".join(
        f"<tr><td style={_CELL}>{escape(option)}</td><td style={_CELL}>{escape(str(value))}</td></tr>"
        for option, value in options.items()
    )
    table = f"<table>{rows}</table>" if rows else ""
    listed = f"<div>needs {escape(', '.join(needs))}</div>" if needs else ""
    return f"<div><b>{escape(name)}</b></div><div>{escape(about)}</div>{table}{listed}"
