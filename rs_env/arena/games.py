"""The games of a comparison as one array of records, and as JSON lines that `rs_env.replay` plays again.

A line is a record of `rs_env.record` with two keys more. ``arena``: the kind of table, the deals of a sitting if there
are several, the players by name, and the fields of `games_dtype` that the record does not have. ``digest``, always the
last: SHA-256 of the line before it, 16 hexadecimal digits of it, so that a line which is not as it was written is not
believed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cache, partial

import numpy as np

from rs_env.arena.play import Outcomes
from rs_env.arena.tables import TABLES
from rs_env.cards import NUM_ACTIONS, action_text, cards_text
from rs_env.engine import entry
from rs_env.engine.history import ACTION, NEXT_DEAL, SHOWN
from rs_env.engine.state import NOBODY, STATE, compile_rules
from rs_env.game import RECORD_FORMAT
from rs_env.rules import Rules

UNITS = 840
"""What a win counts in `credit`: divisible by every number of players, so that shares add up exactly."""

_FIELDS: dict[str, tuple[type, bool]] = {  # name: type, and whether there is one for each seat
    "deal": (np.int64, False),
    "seating": (np.int16, True),
    "credit": (np.int32, True),
    "winner": (np.int8, False),
    "rewards": (np.float64, True),
    "places": (np.float64, True),
    "cards": (np.int8, True),
    "pickups": (np.int32, True),
    "decisions": (np.int32, True),
    "actions": (np.int64, False),
    "truncated": (np.bool_, False),
}
_IN_RECORD = {
    "deal": "index",
    "rewards": "rewards",
    "truncated": "truncated",
}  # fields that a record has, and their names there
_DIGEST = ',"digest":"'
_TEXTS = [action_text(action) for action in range(NUM_ACTIONS)]


def games_dtype(n: int) -> np.dtype[np.void]:
    """Records of finished games of n players.

    Fields of shape (n,), an entry for each seat: `seating`, the players by number; `credit`, who won, in 840ths
    (`UNITS`): the first player out, in a match the one with the best total, equals sharing it, and where nobody has won
    every seat gets an n-th; `rewards`, `places`, `cards`, `pickups` and `decisions` of `rs_env.arena.Outcomes`. Of the
    game: `deal`, the index of its decks; `winner`, `actions` and `truncated` of `Outcomes`.
    """
    return np.dtype([(name, kind, (n,) if for_each_seat else ()) for name, (kind, for_each_seat) in _FIELDS.items()])


def games_of(rules: Rules, seating: np.ndarray, deals: np.ndarray, outcomes: Outcomes) -> np.ndarray:
    """The games (G,) with these outcomes."""
    games = np.zeros(len(deals), games_dtype(rules.num_players))
    given = {"deal": deals, "seating": seating, "credit": _credit(rules, outcomes)}
    for name in _FIELDS:
        games[name] = given[name] if name in given else getattr(outcomes, name)
    return games


def _credit(rules: Rules, outcomes: Outcomes) -> np.ndarray:
    n = rules.num_players
    wins = outcomes.winner[:, None] == np.arange(n) if rules.target is None else outcomes.rewards
    credit = np.rint(UNITS * wins).astype(np.int32)
    credit[credit.sum(1) == 0] = UNITS // n
    return credit


def lines_of(
    rules: Rules, seed: int, table: str, sitting: int, names: Sequence[str], games: np.ndarray, outcomes: Outcomes
) -> list[str]:
    """The games as lines of JSON; `names` are those of the players, `sitting` is how many deals they sit together."""
    head = {"format": RECORD_FORMAT, "rules": rules.to_dict(), "seed": seed, "first_deal": 0, "given": 0, "over": True}
    compiled, deck = compile_rules(rules), cache(partial(_deck, rules, seed))
    worth = np.zeros((2, rules.num_players))
    lines = []
    for g, game in enumerate(games):
        entry.outcome(compiled, outcomes.states, g, *worth)
        actions = _actions_by_deal(outcomes.log[g, : outcomes.logged[g]])
        decks = [deck(int(game["deal"]), number) for number in range(len(actions))]
        values = {name: game[name].tolist() for name in _FIELDS}
        record = {
            **head,
            **{key: values.pop(name) for name, key in _IN_RECORD.items()},
            "dealer": decks[0][0],
            "decks": [text for _, text in decks],
            "actions": actions,
            "out": [seat for seat in outcomes.states["out"][g].tolist() if seat != NOBODY],
            "scores": worth[0].tolist(),
            "arena": {
                "table": table,
                **({"sitting": sitting} if sitting > 1 else {}),
                "players": [names[player % len(names)] for player in values["seating"]],
                **values,
            },
        }
        body = json.dumps(record, separators=(",", ":"))[:-1]
        lines.append(f'{body}{_DIGEST}{_digest_of(body)}"}}\n')
    return lines


def _digest_of(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()[:16]


def _actions_by_deal(log: np.ndarray) -> list[str]:
    """The actions of a game as a text for each deal."""
    deals: list[list[str]] = [[]]
    for event in log.tolist():
        if event == NEXT_DEAL:
            deals.append([])
        elif event < SHOWN:
            deals[-1].append(_TEXTS[event & ACTION])
    return [" ".join(deal) for deal in deals]


def _deck(rules: Rules, seed: int, index: int, deal: int) -> tuple[int, str]:
    """The deck of a deal as text, and who would deal it if it were the first."""
    state = np.zeros(1, STATE)
    entry.begin(compile_rules(rules), state, 0, np.uint64(seed), np.uint64(index), deal, NOBODY)
    return int(state["dealer"][0]), cards_text(state["deck"][0, : len(rules.deck)].tolist())


def game_of_line(line: str, rules: Rules, players: int, sitting: int = 1) -> tuple[str, np.void]:
    """The kind of table and the game of a line, between `players` players in sittings of so many deals. Raises
    ValueError, with the reason, for any other line.
    """
    body, found, tail = line.rpartition(_DIGEST)
    if not found or tail != f'{_digest_of(body)}"}}\n':
        raise ValueError("it is not as it was written")
    try:
        record = json.loads(line)
        arena = record["arena"]
        values = tuple(record[_IN_RECORD[name]] if name in _IN_RECORD else arena[name] for name in _FIELDS)
        game: np.void = np.array([values], games_dtype(rules.num_players))[0]
        table = arena["table"]
        if record["rules"] != rules.to_dict() or table not in TABLES or arena.get("sitting", 1) != sitting:
            raise ValueError("it is of other rules, other sittings or an unknown kind of table")
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise ValueError(f"it is no game of this arena ({error!r})") from None
    seating, credit = game["seating"], game["credit"]
    if not 0 <= seating.min() <= seating.max() < 2 * players or not 0 <= credit.min() <= credit.sum() <= UNITS:
        raise ValueError(f"it is no game of this arena (seating={seating.tolist()}, credit={credit.tolist()})")
    return table, game
