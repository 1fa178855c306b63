"""What pages send, and what they are told once: every message is checked here before anybody acts on it.

A message is a JSON object with the key ``type`` and the fields of its type in `MESSAGES`. Answers have a type too:
``hello`` once, ``state`` after every change, else the type of the message, or ``error`` with a text, or ``stopped``,
with the type of a question that was given up: by ``stop``, or because the table has moved on.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable
from typing import Any, get_args, get_type_hints

from rs_env import rules as _rules
from rs_env.checks import check_whole
from rs_env.rules import MAX_PLAYERS, PRESETS, Rules

LARGEST = 8192
"""Bytes of a message; more closes the connection."""

PACES = (0.0, 0.3, 0.8, 1.5, 3.0)
"""Seconds that an agent takes at least for an action, as the page offers them."""

_LONGEST_TEXT = 200
_LONGEST_NAME = 20
_MOST = (1 << 53) - 1  # what JavaScript tells apart


def read(text: str) -> dict[str, Any]:
    """The message of a text. Raises ValueError, naming the field, the value and what is allowed."""
    if len(text) > LARGEST:
        raise ValueError(f"message of {len(text)} characters is not allowed: {LARGEST} at most")
    try:
        message = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"message: not JSON ({error})") from None
    if not isinstance(message, dict):
        raise ValueError("message: not a JSON object")
    kind = message.get("type")
    if not isinstance(kind, str) or kind not in MESSAGES:
        raise ValueError(f"type={_shown(kind)} is not allowed: it must be one of {', '.join(MESSAGES)}")
    checks = MESSAGES[kind]
    if message.keys() != {"type", *checks}:
        raise ValueError(f"{kind}: its fields must be {', '.join(['type', *checks])}")
    return {"type": kind, **{name: check(name, message[name]) for name, check in checks.items()}}


def _shown(value: object) -> str:
    return repr(value)[:60]


def _whole(name: str, value: Any) -> int:
    return check_whole(name, value, 0, _MOST)


def _optional_whole(name: str, value: Any) -> int | None:
    return None if value is None else _whole(name, value)


def _seat(name: str, value: Any) -> int | None:
    return None if value is None else check_whole(name, value, 0, MAX_PLAYERS - 1)


def _switch(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{name}={_shown(value)} is not allowed: it must be true or false")
    return value


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_TEXT:
        raise ValueError(
            f"{name}={_shown(value)} is not allowed: it must be a text of at most {_LONGEST_TEXT} characters"
        )
    return value


def _name(name: str, value: Any) -> str:
    told = " ".join(value.split()) if isinstance(value, str) else ""
    if not 0 < len(told) <= _LONGEST_NAME or not told.isprintable():
        raise ValueError(f"{name}={_shown(value)} is not allowed: it must be 1 to {_LONGEST_NAME} printable characters")
    return told


def _pace(name: str, value: Any) -> float:
    if isinstance(value, bool) or value not in PACES:
        raise ValueError(f"{name}={_shown(value)} is not allowed: it must be one of {', '.join(map(str, PACES))}")
    return float(value)


def _texts(name: str, value: Any) -> list[str]:
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_PLAYERS:
        raise ValueError(f"{name}={_shown(value)} is not allowed: it must be a list of 1 to {MAX_PLAYERS} texts")
    return [_text(name, each) for each in value]


def _two(name: str, value: Any) -> list[str]:
    if len(_texts(name, value)) != 2:
        raise ValueError(f"{name}={_shown(value)} is not allowed: it must be a list of two agents")
    return list(value)


def _rule_set(name: str, value: Any) -> Rules:
    if not isinstance(value, dict):
        raise ValueError(f"{name}={_shown(value)} is not allowed: it must be an object of options")
    return Rules.from_dict(value)


MESSAGES: dict[str, dict[str, Callable[[str, Any], Any]]] = {
    # of whoever has a seat
    "play": {"action": _text, "version": _whole},
    "auto": {"on": _switch},
    "name": {"name": _name},
    # of everybody
    "hint": {"agent": _text},
    "know": {"seat": _seat},
    "stop": {},
    # of whoever runs the table
    "pause": {"on": _switch},
    "pace": {"seconds": _pace},
    "undo": {},
    "deal": {"same": _switch},
    "setup": {"rules": _rule_set, "players": _texts, "seed": _optional_whole},
    # looking back: at a game that is over, and at records
    "game": {"game": _whole},
    "position": {"game": _whole, "at": _whole, "seat": _seat},
    "chances": {"game": _whole, "at": _whole, "seat": _seat},
    "think": {"game": _whole, "at": _whole, "agents": _texts},
    "compare": {"game": _whole, "agents": _two},
}
"""The fields of each type of message, and what checks and converts the value of each."""


def rules_form() -> list[dict[str, Any]]:
    """The options of `Rules` as a page needs them for a form: name, kind, default, choices, whether it may be empty,
    and what it is in words.
    """
    kinds = {name: get_args(hint) or (hint,) for name, hint in get_type_hints(Rules).items()}
    told = dict(re.findall(r"^    (\w+): .*\n        (.*)$", Rules.__doc__ or "", re.MULTILINE))
    form = []
    for field in dataclasses.fields(Rules):
        parts = kinds[field.name]
        choices = [part for part in parts if isinstance(part, str)] or list(getattr(_rules, field.name.upper(), ()))
        kind = "choice" if choices else next(kind.__name__ for kind in (bool, int, float) if kind in parts)
        form.append(
            {
                "name": field.name,
                "kind": kind,
                "choices": choices,
                "default": field.default,
                "optional": type(None) in parts,
                "told": told.get(field.name, ""),
            }
        )
    return form


def presets() -> dict[str, dict[str, Any]]:
    """The options of every preset, all of them."""
    return {name: Rules.preset(name).to_dict() for name in PRESETS}
