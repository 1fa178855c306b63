"""Game records: one JSON object for each game, one line for each record, and their replay.

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
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rs_env.cards import cards_text
from rs_env.checks import check_whole
from rs_env.game import RECORD_FORMAT, Game
from rs_env.rules import Rules

_KEYS = ("format", "rules", "seed", "index", "first_deal", "dealer", "decks", "actions")
_RESULT_KEYS = ("over", "truncated", "out", "scores", "rewards")


def replay(record: dict[str, Any] | str) -> Game:
    """The game of a record, played again to where the record ends.

    Raises ValueError, naming the field, for a record that is malformed, has an illegal action or ends otherwise than it
    says.
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
    result = game.record()
    for key in _RESULT_KEYS:
        value = result[key]
        if record[key] != value:
            raise ValueError(f"{key}={record[key]!r} is not what the replay gives: {value!r}")
    return game


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
