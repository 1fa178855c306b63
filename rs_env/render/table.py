"""The table as data: one description of a position, of which text, picture, window and page are drawings.

`table_of_game` describes a game with all hands open, or as one seat knows it; `rs_env.render.table_of_view` describes
what a seat's view holds, and nothing hidden can be in it.

Nothing of the engine is imported here, since `rs_env.Game` draws itself by this: records are read by the names of their
fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

import numpy as np

from rs_env.cards import PICKUP, SUIT_NAMES, action_text, members, suit_of
from rs_env.rules import Rules, preset_of

What = Literal["led", "followed", "ruffed", "silent", "noticed", "picked up"]
WHAT: tuple[What, ...] = get_args(What)

_RUNNING, _TRUNCATED = 0, 2  # of the field ``status``
_NOTICED, _SHOWN = 64, 128  # of public histories, see `rs_env.history`
_LONGEST_NAME = 200


@dataclass(frozen=True)
class Seat:
    """One seat.

    number: 0..n-1, clockwise. name: of the player. size: cards in hand. cards: those of them that are face up to the
    viewer, sorted: all in an open table; else all of the viewer's own, and of others what everybody has seen there.
    backs: how many are not. known: those of the hand that everybody has seen there. excluded: suits of which the other
    cards have none. held: suits of which the cards that nobody has seen have at least one. place: 1 for the first to be
    out for good; None: still in. played: the card in the trick, or None.
    """

    number: int
    name: str
    size: int
    cards: tuple[int, ...]
    backs: int
    known: tuple[int, ...]
    excluded: tuple[int, ...]
    held: tuple[int, ...]
    place: int | None
    is_leader: bool
    is_turn: bool
    is_dealer: bool
    played: int | None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: cards as texts, suits as names."""
        return {
            **_plain(self),
            **{name: _texts(getattr(self, name)) for name in ("cards", "known")},
            **{name: _suits(getattr(self, name)) for name in ("excluded", "held")},
            "played": None if self.played is None else action_text(self.played),
        }


@dataclass(frozen=True)
class Last:
    """The last action of the game.

    seat: who took it. action: 0..52. what: one of `WHAT`. trick: (seat, card) in order of play, the trick as it lay
    when this action ended it, a silent play that was noticed included; empty where it goes on. ended_deal: the position
    is the beginning of the deal after it.
    """

    seat: int
    action: int
    what: What
    trick: tuple[tuple[int, int], ...]
    ended_deal: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: the action as a text, the trick as pairs of seat and text."""
        return {**_plain(self), "action": action_text(self.action), "trick": _plays(self.trick)}


@dataclass(frozen=True)
class Result:
    """How the deal or match ended.

    truncated: by its limit. scores, rewards: of each seat, of a match the totals; None where a view alone does not tell
    them.
    """

    truncated: bool
    scores: tuple[float, ...] | None
    rewards: tuple[float, ...] | None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return _plain(self)


@dataclass(frozen=True)
class Table:
    """A position as it lies on the table, for one viewer or open.

    rules: name of the preset. facts: what the rules change of it, such as ``"num_players=5"``. viewer: the seat whose
    knowledge this is; None: all hands are open. seats: by number. turn: the seat to act, None when it is over. legal:
    sorted actions, of the viewer where it is its turn, or of the seat to act in an open table; else empty. trick:
    (seat, card) in order of play. dead: sorted. led, trump, barred: suits 0..3, or None. leader, dealer: seats.
    actions, limit: taken in this deal, and after how many it is truncated. deal, totals, target: of a match its running
    number from 1, the totals so far and what they are played to; else None. last: None where it is not known, and
    before the first action. result: None while the game goes on.
    """

    rules: str
    facts: tuple[str, ...]
    viewer: int | None
    seats: tuple[Seat, ...]
    turn: int | None
    legal: tuple[int, ...]
    trick: tuple[tuple[int, int], ...]
    dead: tuple[int, ...]
    led: int | None
    trump: int | None
    barred: int | None
    leader: int
    dealer: int
    actions: int
    limit: int
    deal: int | None
    totals: tuple[float, ...] | None
    target: float | None
    last: Last | None
    result: Result | None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: cards and actions as texts (``"7c"``, ``"pickup"``), suits as names."""
        return {
            **_plain(self),
            "seats": [seat.to_dict() for seat in self.seats],
            "legal": _texts(self.legal),
            "trick": _plays(self.trick),
            "dead": _texts(self.dead),
            **{name: _suit(getattr(self, name)) for name in ("led", "trump", "barred")},
            "last": None if self.last is None else self.last.to_dict(),
            "result": None if self.result is None else self.result.to_dict(),
        }


def table_of_game(game: Any, names: Sequence[str] | None = None, seat: int | None = None) -> Table:
    """The table of a `rs_env.Game`, with all hands open, or as one seat knows it.

    names: of the players, by seat; None: ``"seat 0"`` and so on. Scores are told at the end, to every seat: they are
    counted at the table. Raises ValueError, naming it, for a seat that there is not and for names that do not fit.
    """
    last = last_of_game(game)
    scores = rewards = None
    if game.is_over:
        scores, rewards = game.scores(), game.rewards()
    if seat is not None:
        return table_of_record(game.view(seat), game.rules, names, last, scores, rewards)
    return table_of_record(game.states[0], game.rules, names, last, scores, rewards, legal=game.legal_actions())


def last_of_game(game: Any) -> Last | None:
    """The last action of a `rs_env.Game`; None before the first one, and where what was played is unknown."""
    played = [deal for deal in game.history if deal]
    if not played:
        return None
    deal, is_new = played[-1], not game.history[-1]
    seat, action = deal[-1]
    events = game.events
    noticed = bool(events[events < _SHOWN][-1] & _NOTICED)
    trick = _last_trick(deal, game.num_players)
    trump = game.trump
    if is_new and game.rules.trump == "last_dealt":
        trump = suit_of(game.decks[len(played) - 1][-1])
    ended = tuple(trick) if is_new or not game.trick_plays else ()
    led = suit_of(trick[0][1]) if len(trick) > 1 else None
    return Last(seat, action, what_of(action, led, trump, noticed), ended, is_new)


def _last_trick(deal: Sequence[tuple[int, int]], players: int) -> list[tuple[int, int]]:
    """The plays of the last trick of a deal, (seat, card).

    Within a trick the seats go on clockwise. Who leads the next one has acted in this one, or follows a winner who is
    out, and then sits no further on than the last who acted. So a seat that is not further on from the leader than the
    seat before it leads.
    """
    trick: list[tuple[int, int]] = []
    leader, before = 0, players
    for seat, action in deal:
        on = (seat - leader) % players
        if on <= before:
            trick, leader, on = [], seat, 0
        before = on
        if action != PICKUP:
            trick.append((seat, action))
    return trick


def what_of(action: int, led: int | None, trump: int | None, noticed: bool) -> What:
    """What an action did to a trick. led: its suit before the action, None for a lead."""
    if action == PICKUP:
        return "picked up"
    if noticed:
        return "noticed"
    if led is None:
        return "led"
    if suit_of(action) == led:
        return "followed"
    return "ruffed" if suit_of(action) == trump else "silent"


def table_of_record(
    record: Any,
    rules: Rules,
    names: Sequence[str] | None,
    last: Last | None,
    scores: Sequence[float] | None = None,
    rewards: Sequence[float] | None = None,
    legal: Sequence[int] | None = None,
) -> Table:
    """The table of a state, open, with the legal actions of the seat to act; or of a view, which has its own.

    Both have the same public fields.
    """
    n = rules.num_players
    is_open = legal is not None
    turn = int(record["turn"]) if record["status"] == _RUNNING else None
    leader, dealer = int(record["leader"]), int(record["dealer"])
    names = _checked_names(names, n)
    played, out = _played(record["played"], n), record["out"].tolist()
    known = [members(cards) for cards in record["known"].tolist()[:n]]
    viewer, shown = None, known
    if is_open:
        shown = [members(cards) for cards in record["hand"].tolist()[:n]]
    else:
        viewer = int(record["seat"])
        shown = [*known[:viewer], members(record["hand"]), *known[viewer + 1 :]]
    seats = [
        Seat(
            number=seat,
            name=names[seat],
            size=(size := int(record["hand_size"][seat])),
            cards=tuple(shown[seat]),
            backs=size - len(shown[seat]),
            known=tuple(known[seat]),
            excluded=tuple(members(record["excluded"][seat])),
            held=tuple(members(record["held"][seat])),
            place=out.index(seat) + 1 if seat in out else None,
            is_leader=seat == leader,
            is_turn=seat == turn,
            is_dealer=seat == dealer,
            played=played[seat],
        )
        for seat in range(n)
    ]
    in_order = [(leader + k) % n for k in range(n)]
    is_match, is_over = rules.target is not None, turn is None
    totals = tuple(record["totals"][:n].tolist()) if is_match else None
    result = None
    if is_over:
        told = totals if scores is None else tuple(scores)
        truncated = bool(record["status"] == _TRUNCATED)
        result = Result(truncated, told, None if rewards is None else tuple(rewards))
    name, changes = preset_of(rules)
    return Table(
        rules=name,
        facts=tuple(f"{option}={_number(value)}" for option, value in changes.items()),
        viewer=viewer,
        seats=tuple(seats),
        turn=turn,
        legal=tuple(members(record["legal"]) if legal is None else legal),
        trick=tuple((seat, card) for seat in in_order if (card := played[seat]) is not None),
        dead=tuple(members(record["dead"])),
        led=_optional(record["led"]),
        trump=_optional(record["trump"]),
        barred=_optional(record["barred"]),
        leader=leader,
        dealer=dealer,
        actions=int(record["actions"]),
        limit=rules.action_limit,
        deal=int(record["deals_done"]) + (not is_over) if is_match else None,
        totals=totals,
        target=rules.target,
        last=last,
        result=result,
    )


def shown_name(name: str) -> str:
    """What can be seen of a player's name, in one line; it may be empty."""
    return "".join(filter(str.isprintable, " ".join(name.split())))[:_LONGEST_NAME]


def _checked_names(names: Sequence[str] | None, players: int) -> list[str]:
    """The names of all players. Raises ValueError unless they are so many texts."""
    if names is None:
        return [f"seat {seat}" for seat in range(players)]
    if isinstance(names, str) or len(names) != players or not all(isinstance(name, str) for name in names):
        raise ValueError(f"names={names!r} is not allowed: there must be a text for each of the {players} seats")
    shown = [shown_name(name) for name in names]
    if not all(shown):
        raise ValueError(f"names={names!r} is not allowed: the name of seat {shown.index('')} has nothing to be seen")
    return shown


def _played(packed: Any, players: int) -> list[int | None]:
    """Each seat's card in the trick, from the field ``played``."""
    return [_optional(card) for card in np.array([packed], np.uint64).view(np.int8).tolist()[:players]]


def _optional(value: Any) -> int | None:
    return None if value < 0 else int(value)


def _number(value: Any) -> str:
    """A value of an option, a whole number without a point."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def _plain(described: Any) -> dict[str, Any]:
    """The fields as they are, tuples as lists."""
    values = {field.name: getattr(described, field.name) for field in fields(described)}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def _texts(actions: Sequence[int]) -> list[str]:
    return [action_text(action) for action in actions]


def _plays(plays: Sequence[tuple[int, int]]) -> list[list[Any]]:
    return [[seat, action_text(card)] for seat, card in plays]


def _suit(suit: int | None) -> str | None:
    return None if suit is None else SUIT_NAMES[suit]


def _suits(suits: Sequence[int]) -> list[str]:
    return [SUIT_NAMES[suit] for suit in suits]
