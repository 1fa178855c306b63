"""Where everything lies in a picture of the table, for any size, number of seats and hands.

The seat of the viewer, or seat 0 of an open table, sits at the bottom; the others follow clockwise. What is laid out
here is drawn by Pillow (`rs_env.render.picture`), as SVG (`rs_env.render.svg`) and in a window.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rs_env.cards import PICKUP, rank_of, suit_of
from rs_env.checks import check_whole
from rs_env.render.shapes import (
    CARD_RATIO,
    RANK_NAMES,
    RED_SUITS,
    Box,
    CardShape,
    Colour,
    Shape,
    SuitShape,
    Text,
    elided,
    mixed,
    text_width,
)
from rs_env.render.table import Seat, Table
from rs_env.render.text import last_text
from rs_env.render.themes import COLOURS, Theme, check_theme

DEFAULT_SIZE = (960, 640)
_SMALLEST, _LARGEST = 160, 4096

# In units of a picture of the default size; others are scaled, and have more of them one way.
_HEADER, _FOOTER, _OWN, _PANEL, _GAP, _MARGIN = 58.0, 30.0, 146.0, 112.0, 8.0, 14.0
_WIDEST_PANEL = 380.0
_NAME_LINE = 26.0
_CENTRE = 308.0  # that the panels leave free in the middle
_INDEX = 0.42  # of a card's width: what of it must stay free for rank and suit to be seen
_ROW = 0.48  # of a card's height, likewise
_LIFT = 0.1  # of a card's height: how far a legal card is lifted
_AROUND = {  # how many of the other seats sit on the left, at the top, on the right
    1: (0, 1, 0),
    2: (1, 0, 1),
    3: (1, 1, 1),
    4: (1, 2, 1),
    5: (1, 3, 1),
    6: (2, 2, 2),
    7: (2, 3, 2),
}


@dataclass(frozen=True)
class Scene:
    """A picture of the table.

    size: width and height in pixels. ground: the colour of all that is not covered. shapes: in the order in which they
    are drawn. targets: (action, x, y, width, height) of what may be chosen by pointing at it, the topmost last.
    """

    size: tuple[int, int]
    ground: Colour
    shapes: tuple[Shape, ...]
    targets: tuple[tuple[int, float, float, float, float], ...]

    def action_at(self, x: float, y: float) -> int | None:
        """The legal action to which a place belongs, or None."""
        for action, left, top, width, height in reversed(self.targets):
            if left <= x < left + width and top <= y < top + height:
                return action if action >= 0 else None
        return None


def check_size(size: Sequence[int] | None, name: str = "size") -> tuple[int, int]:
    """Width and height; None: 960 and 640. Raises ValueError unless they are whole numbers in 160..4096."""
    if size is None:
        return DEFAULT_SIZE
    if isinstance(size, str) or not isinstance(size, Sequence) or len(size) != 2:
        raise ValueError(f"{name}={size!r} is not allowed: it must be (width, height) in pixels, or None")
    width, height = (
        check_whole(f"{edge} of {name}", value, _SMALLEST, _LARGEST)
        for edge, value in zip(("width", "height"), size, strict=True)
    )
    return width, height


def scene_of(table: Table, size: Sequence[int] | None = None, theme: str = "dark", marked: int | None = None) -> Scene:
    """The picture of a table.

    size: width and height in pixels, 160..4096; None: 960 and 640. theme: ``"dark"`` or ``"light"``. marked: an action
    to be shown as chosen, if it is a legal one. Raises ValueError for anything else.
    """
    return _Layout(table, check_size(size), COLOURS[check_theme(theme)], marked).scene()


class _Layout:
    """Collects the shapes of one picture, in units."""

    def __init__(self, table: Table, size: tuple[int, int], theme: Theme, marked: int | None) -> None:
        self.table, self.size, self.theme, self.marked = table, size, theme, marked
        self.unit = min(size[0] / DEFAULT_SIZE[0], size[1] / DEFAULT_SIZE[1])
        self.width, self.height = size[0] / self.unit, size[1] / self.unit
        taller = min(self.height / DEFAULT_SIZE[1], 2.0)  # hands have a share of what height there is more
        self.own_height, self.panel_height = _OWN * taller, _PANEL * taller
        self.bottom = table.viewer or 0
        self.shapes: list[Shape] = []
        self.targets: list[tuple[int, float, float, float, float]] = []

    def scene(self) -> Scene:
        """All of it, in pixels."""
        self._header()
        self._footer()
        n = len(self.table.seats)
        own_top = self.height - _FOOTER - self.own_height
        panels = self._panels(n - 1, own_top)
        self._centre(panels, own_top)
        for k, panel in enumerate(panels, 1):
            self._seat(self.table.seats[(self.bottom + k) % n], *panel)
        self._seat(self.table.seats[self.bottom], _MARGIN, own_top, self.width - 2 * _MARGIN, self.own_height)
        unit = self.unit
        targets = tuple(
            (action, x * unit, y * unit, width * unit, height * unit) for action, x, y, width, height in self.targets
        )
        return Scene(self.size, self.theme.ground, tuple(_scaled(shape, unit) for shape in self.shapes), targets)

    # Header and footer

    def _header(self) -> None:
        table, theme = self.table, self.theme
        told = f"action {table.actions} of {table.limit}"
        if table.deal is not None:
            told = f"deal {table.deal} to {table.target:g}, {told}"
        right = self.width - _MARGIN
        self._text(right, 18, told, 15, theme.quiet, "end")
        title = ", ".join((table.rules.capitalize(), *table.facts)).replace("_", " ").replace("=", " ")
        free = right - _MARGIN - text_width(told, 15) - 20
        self._text(_MARGIN, 18, elided(title, 18, free), 18, theme.ink)
        x = right
        for word, suit in (("trump", table.trump), ("led", table.led), ("barred", table.barred)):
            if suit is not None:
                x = self._chip(x, word, suit) - 10
        said = "" if table.last is None else last_text(table.last, table.seats)
        self._text(_MARGIN, 43, elided(said, 14, x - _MARGIN - 10), 14, theme.quiet)

    def _chip(self, right: float, word: str, suit: int) -> float:
        """A word and a suit, up to `right`; where it begins."""
        theme = self.theme
        width = text_width(word, 13) + 32
        self._add(Box(right - width, 31, width, 24, 12, theme.panel, theme.line))
        self._text(right - width + 10, 43, word, 13, theme.ink)
        crossed = theme.accent if word == "barred" else None
        self._add(SuitShape(right - 15, 43, 15, suit, self._suit_colour(suit), crossed))
        return right - width

    def _footer(self) -> None:
        """The dead cards, suit by suit."""
        dead, y = self.table.dead, self.height - _FOOTER / 2 + 1
        if not dead:
            self._text(_MARGIN, y, "no dead cards", 13, self.theme.quiet)
            return
        suits = {suit: [card for card in dead if suit_of(card) == suit] for suit in range(4)}
        wanted = 13.0
        texts = {suit: " ".join(RANK_NAMES[rank_of(card)] for card in cards) for suit, cards in suits.items() if cards}
        needed = sum(text_width(text, wanted) + 34 for text in texts.values()) + 45
        size = wanted * min(1.0, (self.width - 2 * _MARGIN) / needed)
        x = _MARGIN
        self._text(x, y, "dead", size, self.theme.quiet)
        x += text_width("dead", size) + size
        for suit, text in texts.items():
            self._add(SuitShape(x + size / 2, y, size, suit, self._suit_colour(suit)))
            x += 1.35 * size
            self._text(x, y, text, size, self.theme.quiet)
            x += text_width(text, size) + size

    # Seats

    def _panels(self, others: int, own_top: float) -> list[tuple[float, float, float, float]]:
        """Places of the other seats' panels, clockwise from the left of the bottom: x, y, width, height."""
        left, top, right = _AROUND[others]
        width = min(_WIDEST_PANEL, (self.width - 2 * _MARGIN - 2 * _GAP) / 3, (self.width - _CENTRE) / 2 - _MARGIN)
        begin = _HEADER + (self.panel_height + _GAP if top else 0)
        room = own_top - _GAP - begin

        def column(x: float, count: int) -> list[tuple[float, float, float, float]]:
            each = room / max(count, 1)
            high = min(each - _GAP, self.own_height)
            return [(x, begin + each * (k + 0.5) - high / 2, width, high) for k in range(count)]

        # A single panel at the top may be wider: nothing stands beside it.
        wide = (2 * width + _GAP) if top == 1 else width
        span = top * wide + (top - 1) * _GAP
        start = (self.width - span) / 2
        if top == 2:  # above the middle, with the room of three
            start, wide = _MARGIN + 0.25 * width, (self.width - 2 * _MARGIN - 0.5 * width - _GAP) / 2
        row = [(start + k * (wide + _GAP), _HEADER, wide, self.panel_height) for k in range(top)]
        return [*reversed(column(_MARGIN, left)), *row, *column(self.width - _MARGIN - width, right)]

    def _seat(self, seat: Seat, x: float, y: float, width: float, height: float) -> None:
        theme = self.theme
        outline, line = (theme.accent, 3.0) if seat.is_turn else (theme.line, 1.0)
        is_out = seat.place is not None
        fill = mixed(theme.panel, theme.ground, 0.6) if is_out else theme.panel
        self._add(Box(x, y, width, height, 10, fill, outline, line))
        self._name_line(seat, x + 10, y + 15, width - 20)
        free = height - _NAME_LINE - 8
        self._hand(seat, fill, x + 10, y + _NAME_LINE, width - 20, free)

    def _name_line(self, seat: Seat, x: float, y: float, width: float) -> None:
        theme, table = self.theme, self.table
        right = x + width
        told = [f"{seat.size} card{'' if seat.size == 1 else 's'}"]
        if seat.place is not None:
            told = [f"place {seat.place}"]
        if table.result is not None and table.result.scores is not None:
            told.append(f"score {table.result.scores[seat.number]:g}")
        elif table.totals is not None:
            told.append(f"total {table.totals[seat.number]:g}")
        words = ", ".join(told)
        self._text(right, y, words, 14, theme.ink if seat.place is not None else theme.quiet, "end")
        right -= text_width(words, 14) + 8
        for suit in reversed(seat.held):
            self._add(Box(right - 17, y - 9, 18, 18, 5, None, theme.accent, 1.5))
            self._add(SuitShape(right - 8, y, 12, suit, self._suit_colour(suit)))
            right -= 22
        for suit in reversed(seat.excluded):
            self._add(SuitShape(right - 8, y, 14, suit, self._suit_colour(suit), theme.accent))
            right -= 20
        for word, is_on in (("D", seat.is_dealer), ("L", seat.is_leader and table.result is None)):
            if is_on:
                self._add(Box(x, y - 9, 18, 18, 9, theme.quiet if word == "D" else theme.accent))
                self._text(x + 9, y, word, 12, theme.ground if word == "D" else theme.on_accent, "middle")
                x += 23
        name = seat.name + (" (you)" if seat.number == table.viewer else "")
        self._text(x, y, elided(name, 16, right - x - 6), 16, theme.ink)

    def _hand(self, seat: Seat, ground: Colour, x: float, y: float, width: float, height: float) -> None:
        """The cards of a hand: those that are seen, then the backs."""
        cards: list[int | None] = [*seat.cards, *[None] * seat.backs]
        if not cards:
            return
        legal = self.table.legal if seat.is_turn and self.table.legal else None
        lift = _LIFT if legal else 0.0
        card_height, rows, step = _fitted(len(cards), width, height, lift)
        card_width, each = card_height * CARD_RATIO, math.ceil(len(cards) / rows)
        lifted = lift * card_height
        x += (width - card_width - (each - 1) * step) / 2
        for place, card in enumerate(cards):
            row, column = divmod(place, each)
            left = x + column * step
            top = y + lifted + row * _ROW * card_height
            look = self.theme.card
            if legal is not None and card is not None:
                is_legal = card in legal
                top -= lifted if is_legal else 0
                look = look if is_legal else look.faded(ground, 0.4)
                self.targets.append((card if is_legal else -1, left, top, card_width, card_height))
            self._add(CardShape(left, top, card_height, card, look))
            if card is not None and card == self.marked and legal and card in legal:
                self._add(Box(left, top, card_width, card_height, card_height * 0.09, None, self.theme.accent, 3))

    # The middle

    def _centre(self, panels: Sequence[tuple[float, float, float, float]], own_top: float) -> None:
        """The trick, each card before its seat; the pickup; the result."""
        table, theme, n = self.table, self.theme, len(self.table.seats)
        columns = [panel for panel in panels if panel[1] > _HEADER or len(panels) == 2]
        half = self.width / 2 - max([panel[2] for panel in columns] or [self.width / 5]) - _MARGIN
        top = _HEADER + (self.panel_height if any(panel[1] == _HEADER for panel in panels) else 0)
        middle_x, middle_y = self.width / 2, (top + own_top) / 2
        is_old = not table.trick and table.last is not None and table.result is None
        plays = table.last.trick if is_old and table.last is not None else table.trick
        look = theme.card.faded(theme.ground, 0.62) if is_old else theme.card
        height = min(92.0, (own_top - top) * (0.3 if n < 7 else 0.28))
        across, up = half - height * CARD_RATIO / 2 - 8, (own_top - top) / 2 - height / 2 - 6
        across, up = min(across, 2.2 * up), min(up, 2.2 * across)
        for order, (seat, card) in enumerate(plays):
            right, down = _towards(((seat - self.bottom) % n) / n)
            x, y = middle_x + across * right, middle_y + up * down
            self._add(CardShape(x - height * CARD_RATIO / 2, y - height / 2, height, card, look))
            if order == 0 and n > 2 and not is_old:  # which of them led
                self._add(Box(x - 10, y + height / 2 - 5, 20, 6, 3, theme.accent))
        if table.result is not None:
            self._pill(middle_x, middle_y, _outcome(table), 18, theme.ink, theme.panel)
        elif PICKUP in table.legal:
            count = len(table.trick)
            words = f"pick up {count} card{'s' if count > 1 else ''}"
            place = self._pill(middle_x, middle_y, words, 16, theme.on_accent, theme.accent)
            self.targets.append((PICKUP, *place))
            if self.marked == PICKUP:
                x, y, width, height = place
                self._add(Box(x - 4, y - 4, width + 8, height + 8, height / 2 + 4, None, theme.ink, 2))

    def _pill(
        self, x: float, y: float, words: str, size: float, ink: Colour, fill: Colour
    ) -> tuple[float, float, float, float]:
        """Words in a box around a middle; its place."""
        words = elided(words, size, 0.4 * self.width)
        width, height = text_width(words, size) + 1.6 * size, 2.1 * size
        place = x - width / 2, y - height / 2, width, height
        self._add(Box(*place, height / 2, fill))
        self._text(x, y, words, size, ink, "middle")
        return place

    # Small

    def _add(self, shape: Shape) -> None:
        self.shapes.append(shape)

    def _text(self, x: float, y: float, text: str, size: float, colour: Colour, anchor: str = "start") -> None:
        if text:
            self._add(Text(x, y, text, size, colour, anchor))  # type: ignore[arg-type]

    def _suit_colour(self, suit: int) -> Colour:
        return self.theme.red if suit in RED_SUITS else self.theme.black


def _fitted(count: int, width: float, height: float, lift: float) -> tuple[float, int, float]:
    """The largest cards with which so many fit into a box: their height, the number of rows, and from one card of a row
    to the next.
    """
    best = (0.0, 1, 0.0)
    for rows in range(1, 7):
        card_height = height / (1 + lift + _ROW * (rows - 1))
        each = math.ceil(count / rows)
        card_width = card_height * CARD_RATIO
        if each > 1:
            card_width = min(card_width, width / (1 + _INDEX * (each - 1)))
        step = min(card_width * 1.06, (width - card_width) / max(each - 1, 1))
        if card_width / CARD_RATIO > best[0] + 1e-9:
            best = (card_width / CARD_RATIO, rows, step)
    return best


def _towards(share: float) -> tuple[float, float]:
    """Where a seat's card lies, that share of the way around from the bottom: right and down of the middle, at most 1.
    On an oval with corners, so that the cards of many seats do not cover each other.
    """
    turn = math.tau * (0.25 + share)
    right, down = (math.copysign(abs(part) ** 0.6, part) for part in (math.cos(turn), math.sin(turn)))
    return right, down


def _outcome(table: Table) -> str:
    """How it ended, in a few words."""
    assert table.result is not None
    end = "stopped by the limit" if table.result.truncated else "over"
    rewards = table.result.rewards
    if rewards is None or max(rewards) == min(rewards):
        return end
    best = [seat.name for seat in table.seats if rewards[seat.number] == max(rewards)]
    return f"{' and '.join(best)} {'wins' if len(best) == 1 else 'win'}"


def _scaled(shape: Shape, unit: float) -> Shape:
    """The shape in pixels."""
    match shape:
        case Box(x, y, width, height, radius, fill, outline, line):
            return Box(x * unit, y * unit, width * unit, height * unit, radius * unit, fill, outline, line * unit)
        case Text(x, y, text, size, colour, anchor):
            return Text(x * unit, y * unit, text, size * unit, colour, anchor)
        case SuitShape(x, y, size, suit, colour, crossed):
            return SuitShape(x * unit, y * unit, size * unit, suit, colour, crossed)
        case CardShape(x, y, height, card, look):
            return CardShape(x * unit, y * unit, height * unit, card, look)
