"""Game records: one JSON object for each game, one line for each record, their replay, and a text form for people.

| key | meaning |
|---|---|
| ``format`` | ``"rs_env.record/1"`` |
| ``rules`` | all options of the rule set |
| ``seed``, ``index``, ``first_deal`` | where the chance comes from: game `index` of the seed, from that deck on |
| ``dealer`` | seat of the first dealer |
| ``decks`` | for each deal its deck as text, in dealing order |
| ``given`` | how many of these, the first ones, were given and not shuffled; missing where all are |
| ``actions`` | for each deal its actions as text, separated by spaces |
| ``over``, ``truncated``, ``out``, ``scores``, ``rewards`` | where it stands; checked by a replay |

Further keys, such as ``arena``, are left alone. `to_text` and `from_text` are shown in ``docs/records.md``.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rs_env.cards import PICKUP, action_text, cards_text, parse_cards
from rs_env.checks import check_whole
from rs_env.game import RECORD_FORMAT, Game
from rs_env.rules import OPTIONS, Rules, preset_of

_KEYS = ("format", "rules", "seed", "index", "first_deal", "dealer", "decks", "actions")
_RESULT_KEYS = ("over", "truncated", "out", "scores", "rewards")
_HEADER = ("rules", "seed", "index", "first_deal", "dealer", "given")  # of a text
_OWN = ("format", *_HEADER, "decks", "actions", *_RESULT_KEYS)


def replay(record: dict[str, Any] | str) -> Game:
    """The game of a record, played again to where the record ends.

    Raises ValueError, naming the field, for a record that is malformed, has an illegal action or ends otherwise than it
    says.
    """
    return deque(positions(record), maxlen=1)[0]


def positions(record: dict[str, Any] | str) -> Iterator[Game]:
    """The game of a record at its start and after each action: always the same object.

    Raises ValueError as `replay` does, at its start or where it comes to what is wrong.
    """
    if isinstance(record, str):
        try:
            record = json.loads(record)
        except (json.JSONDecodeError, RecursionError) as error:
            raise ValueError(f"record: not a JSON object ({error})") from None
    if not isinstance(record, dict):
        raise ValueError(f"record={record!r} is not allowed: it must be a JSON object")
    missing = [key for key in (*_KEYS, *_RESULT_KEYS) if key not in record]
    if missing:
        raise ValueError(f"record: {', '.join(missing)} missing")
    if record["format"] != RECORD_FORMAT:
        raise ValueError(f"format={record['format']!r} is not allowed: this version reads {RECORD_FORMAT!r}")
    for key in ("decks", "actions"):
        if not isinstance(record[key], list) or not all(isinstance(entry, str) for entry in record[key]):
            raise ValueError(f"{key}={record[key]!r} is not allowed: it must be a list of texts, one for each deal")
    rules = Rules.from_dict(record["rules"])
    if not 1 <= len(record["decks"]) <= (1 if rules.target is None else len(record["actions"])):
        raise ValueError(
            f"decks: {len(record['decks'])} do not go with {len(record['actions'])} deals of actions: there must be"
            " one for each"
        )
    for key in ("seed", "dealer"):
        if record[key] is None:
            raise ValueError(f"{key}=None is not allowed: a record names it")
    given = check_whole("given", record.get("given", len(record["decks"])), 0, len(record["decks"]))
    decks = record["decks"][:given] or None
    game = Game(rules, record["seed"], decks, record["dealer"], index=record["index"], first_deal=record["first_deal"])
    yield game
    for number, deal in enumerate(record["actions"]):
        if number != game.deals_done or game.is_over:
            raise ValueError(f"actions[{number}]: the deal before it does not lead to this one")
        dealt = cards_text(game.decks[number])
        if number < len(record["decks"]) and number >= given and record["decks"][number] != dealt:
            raise ValueError(
                f"decks[{number}]={record['decks'][number]!r} is not what seed, index and first_deal deal: {dealt!r}"
            )
        for position, action in enumerate(deal.split()):
            try:
                game.play(action)
            except ValueError as error:
                raise ValueError(f"actions[{number}][{position}]: {error}") from None
            yield game
    result = game.record()
    for key in _RESULT_KEYS:
        value = result[key]
        if record[key] != value:
            raise ValueError(f"{key}={record[key]!r} is not what the replay gives: {value!r}")


def write_records(path: str | Path, records: Iterable[dict[str, Any]]) -> None:
    """Append records to a file of JSON lines."""
    if isinstance(records, dict):
        raise ValueError("records: a single record is not allowed: give a list of them")
    with Path(path).open("a", encoding="utf-8") as file:
        for record in records:
            file.write(json.dumps(record, separators=(",", ":")) + "\n")


def read_records(path: str | Path) -> Iterator[dict[str, Any]]:
    """The records of a file of JSON lines. Raises ValueError, naming file and line, for what is not JSON in UTF-8."""
    with Path(path).open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                record = json.loads(line.decode())
            except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
                raise ValueError(f"{path}, line {number}: not a JSON object ({error})") from None
            if not isinstance(record, dict):
                raise ValueError(f"{path}, line {number}: not a JSON object but {line.decode().strip()[:40]!r}")
            yield record


# Text


def to_text(record: dict[str, Any] | str) -> str:
    """A record, as `rs_env.Game.record` gives it, as text; `from_text` is the inverse.

    Raises ValueError as `rs_env.replay` does.
    """
    game = replay(record)
    given = json.loads(record) if isinstance(record, str) else record
    further = {key: given[key] for key in given if key not in _OWN}
    for key in further:
        if not key.isidentifier():
            raise ValueError(f"{key!r} is not allowed as a key of a record that becomes a text: it must be a name")
    own = game.record()
    lines = [RECORD_FORMAT, f"rules: {_rules_text(game.rules)}"]
    lines += [f"{key}: {own[key]}" for key in _HEADER[1:] if key in own]
    lines += [f"{key}: {_json_text(value)}" for key, value in further.items()]
    again = game.beginning()
    for number, deal in enumerate(game.history):
        lines += ["", *_deal_lines(again, number, [action for _, action in deal])]
    lines += ["", *(f"{key}: {json.dumps(own[key])}" for key in _RESULT_KEYS)]
    return "\n".join(lines) + "\n"


def _json_text(value: Any) -> str:
    """A value as JSON with single blanks, since the number of blanks in a line does not count."""
    return json.dumps(value).replace("  ", " \\u0020")


def _rules_text(rules: Rules) -> str:
    """The nearest preset and what is changed of it, such as ``schweller num_players=5 trump=hearts``."""
    preset, changes = preset_of(rules)
    values = (value if isinstance(value, str) else json.dumps(value) for value in changes.values())
    return " ".join([preset, *(f"{option}={value}" for option, value in zip(changes, values, strict=True))])


def _deal_lines(game: Game, number: int, actions: list[int]) -> Iterator[str]:
    """A deal that begins in the game, which is played on to the end of these actions: the hands as they were dealt, and
    the tricks.
    """
    n, deck = game.num_players, game.decks[number]
    yield f"deal {number + 1}, dealer {game.dealer}"
    for seat in range(n):
        yield f"seat {seat}: {cards_text(deck[(seat - game.dealer - 1) % n :: n])}"
    trick: list[str] = []
    count = 0
    for action in actions:
        seat, out = game.turn or 0, len(game.out)
        game.play(action)
        is_over = game.is_over or game.deals_done > number
        noticed = "!" if not is_over and action != PICKUP and action in game.hands[seat] else ""
        trick.append(f"{seat} {action_text(action)}{noticed}")
        if is_over or not game.trick_plays:
            count += 1
            gone = "" if is_over else "".join(f"  out: {seat}" for seat in game.out[out:])
            yield f"{count:3}:  {'  '.join(trick)}{gone}"
            trick = []
    if trick:
        yield f"{count + 1:3}:  {'  '.join(trick)}  ..."


def from_text(text: str) -> dict[str, Any]:
    """The record that a text tells: ``from_text(to_text(record)) == record`` for what `rs_env.Game.record` gives.

    Empty lines, lines that begin with ``#`` and the number of blanks do not count. Raises ValueError, naming line and
    reason, for anything that `to_text` does not write.
    """
    if not isinstance(text, str):
        raise ValueError(f"text: a {type(text).__name__} is not allowed: it must be a text")
    lines = [(number, " ".join(line.split())) for number, line in enumerate(text.splitlines(), 1)]
    lines = [(number, line) for number, line in lines if line and not line.startswith("#")]
    if not lines or lines[0][1] != RECORD_FORMAT:
        raise _refused(lines[0][0] if lines else 1, f"a record begins with {RECORD_FORMAT}")
    record = _Reader(lines[1:]).record()
    expected = [line for line in (" ".join(line.split()) for line in to_text(record).splitlines()) if line]
    for (number, line), right in zip(lines, expected, strict=False):
        if line != right:
            raise _refused(number, f"{line!r} is not what the game gives: {right!r}")
    if len(lines) != len(expected):
        raise _refused(lines[-1][0], f"the text must end with {expected[-1]!r}")
    return record


def _refused(line: int, reason: object) -> ValueError:
    return ValueError(f"line {line}: {reason}")


class _Reader:
    """Reads the lines of a text, (number, line), into a record, playing the game as it goes."""

    def __init__(self, lines: list[tuple[int, str]]) -> None:
        self.header: dict[str, tuple[int, Any]] = {}
        self.deals: list[tuple[int, list[tuple[int, str]], list[tuple[int, str]]]] = []  # line, hands, tricks
        for number, line in lines:
            key, colon, rest = (part.strip() for part in line.partition(":"))
            if line.startswith("deal "):
                self.deals.append((number, [], []))
            elif self.deals and key.startswith("seat "):
                self.deals[-1][1].append((number, rest))
            elif self.deals and key.isdecimal():
                self.deals[-1][2].append((number, rest))
            elif not colon or key in self.header:
                raise _refused(number, f"{line!r} is not allowed here")
            else:
                self.header[key] = (number, rest)
        for key in ("rules", "seed", "dealer"):
            if key not in self.header:
                raise _refused(lines[-1][0] if lines else 1, f"{key} is missing")
        self.last = lines[-1][0]

    def record(self) -> dict[str, Any]:
        """The record of the game, with further keys."""
        game = self._start()
        for number, (line, _, tricks) in enumerate(self.deals):
            if number != game.deals_done or game.is_over:
                raise _refused(line, "the deal before it does not lead to this one")
            for trick in tricks:
                self._play(game, *trick)
        further = {key: self._value(key) for key in self.header if key not in _OWN}
        return {**game.record(), **further}

    def _start(self) -> Game:
        if not self.deals:
            raise _refused(self.last, "there is no deal")
        told = {key: self._value(key) for key in _HEADER[1:] if key in self.header}
        dealer, given = told["dealer"], told.get("given", len(self.deals))
        rules = self._rules()
        if not isinstance(dealer, int) or not 0 <= dealer < rules.num_players:
            raise _refused(self.header["dealer"][0], f"dealer={dealer!r} must be a seat in 0..{rules.num_players - 1}")
        if not isinstance(given, int) or not 0 <= given <= len(self.deals):
            raise _refused(self.header["given"][0], f"given={given!r} must be a number in 0..{len(self.deals)}")
        dealt = [self._deck(rules, number, (dealer + number) % rules.num_players) for number in range(given)]
        try:
            return Game(
                rules,
                told["seed"],
                dealt or None,
                dealer,
                index=told.get("index", 0),
                first_deal=told.get("first_deal", 0),
            )
        except ValueError as error:
            raise _refused(self.deals[0][0], error) from None

    def _rules(self) -> Rules:
        line, text = self.header["rules"]
        preset, *changes = text.split() or [""]
        pairs = (change.partition("=") for change in changes)
        options = {option: _plain(value) for option, _, value in pairs}
        try:
            for option in options.keys() - set(OPTIONS):
                raise ValueError(f"option={option!r} is not allowed: it must be one of {', '.join(OPTIONS)}")
            return Rules.preset(preset, **options)
        except (ValueError, TypeError, RecursionError) as error:
            raise _refused(line, error) from None

    def _deck(self, rules: Rules, number: int, dealer: int) -> list[int]:
        """The deck of a deal, from its hands."""
        line, hands, _ = self.deals[number]
        n = rules.num_players
        if len(hands) != n:
            raise _refused(line, f"there must be a hand for each of the {n} seats")
        deck = [0] * len(rules.deck)
        for seat, (at, text) in enumerate(hands):
            places = range((seat - dealer - 1) % n, len(deck), n)
            try:
                cards = parse_cards(text)
            except ValueError as error:
                raise _refused(at, error) from None
            if len(cards) != len(places):
                raise _refused(at, f"{len(cards)} cards are not allowed: seat {seat} is dealt {len(places)}")
            for place, card in zip(places, cards, strict=True):
                deck[place] = card
        return deck

    def _play(self, game: Game, line: int, trick: str) -> None:
        """Take the actions of a trick, ``0 7c  1 9c``."""
        words = trick.partition(" out:")[0].removesuffix("...").split()
        if len(words) % 2:
            raise _refused(line, f"{trick!r} is not a list of seats and actions")
        for seat, action in zip(words[::2], words[1::2], strict=True):
            if game.is_over:
                raise _refused(line, "the game is over before it")
            if seat != str(game.turn):
                raise _refused(line, f"seat {seat} is not to act: it is the turn of seat {game.turn}")
            try:
                game.play(action.removesuffix("!"))
            except ValueError as error:
                raise _refused(line, error) from None

    def _value(self, key: str) -> Any:
        line, text = self.header[key]
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:  # ValueError: also of a number with thousands of digits
            raise _refused(line, f"{key}: {text!r} is not JSON ({error})") from None


def _plain(text: str) -> Any:
    """A value of an option: what JSON takes it for, else a text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
