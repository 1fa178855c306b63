"""Records: a game read back from its record is the same to the last byte, and what is no record is refused."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from strategies import preset_rules, random_action

from rs_env.game import Game
from rs_env.record import read_records, replay, write_records
from rs_env.rules import Rules

PRESETS = [
    pytest.param(rules, id=f"{name}-{rules.num_players}")
    for name, rules in preset_rules()
    if rules.num_players in (2, 4, 5)
]

SHORT_MATCH = Rules(num_players=2, suits=1, ranks=3, scoring="cards", target=3)
SILENT = Rules.preset("silent", max_actions=200)


def random_game(rules: Rules, seed: int, actions: int = 10**6, **arguments: Any) -> Game:
    """A game with so many random actions, or at its end."""
    game = Game(rules, seed, **arguments)
    rng = random.Random(seed)
    for _ in range(actions):
        if game.is_over:
            break
        game.play(random_action(rng, game.legal_actions(), "any"))
    return game


def by_json(game: Game) -> Game:
    return replay(json.loads(json.dumps(game.record())))


def check_same(replayed: Game, game: Game) -> None:
    assert replayed.states.tobytes() == game.states.tobytes()
    assert replayed.record() == game.record()
    assert replayed.rules == game.rules


# Round trips


@pytest.mark.parametrize("actions", [0, 1, 25, 700])
@pytest.mark.parametrize("rules", PRESETS)
def test_replay_gives_the_same_state(rules: Rules, actions: int) -> None:
    game = random_game(rules, 11, actions)
    check_same(by_json(game), game)


def test_replay_of_whole_matches() -> None:
    for seed in range(5):
        game = random_game(Rules.preset("penalty", target=10), seed)
        assert game.is_over
        assert len(game.record()["decks"]) == game.deals_done >= 1
        check_same(by_json(game), game)
        check_same(replay(json.dumps(game.record())), game)


def test_replayed_game_has_the_same_future() -> None:
    # Noticed silent plays and the decks of later deals are still to be drawn.
    for rules in (SILENT, SHORT_MATCH, Rules.preset("silent", scoring="cards", target=40, max_actions=50)):
        for seed in range(5):
            game = random_game(rules, seed, 20)
            again = by_json(game)
            rng = random.Random(f"future {seed}")
            while not game.is_over:
                action = random_action(rng, game.legal_actions(), "any")
                game.play(action)
                again.play(action)
            check_same(again, game)


def test_replay_of_chosen_decks_dealer_and_game_number() -> None:
    chosen = Game("tiny", seed=5, deck="Qc Kc Ac Qd Kd Ad", dealer=1)
    check_same(by_json(chosen), chosen)
    decks = random_game(SHORT_MATCH, 3, deck=["Qc Ac Kc", "Kc Ac Qc"], dealer=1)  # and the rest by the seed
    assert len(decks.decks) > 2
    check_same(by_json(decks), decks)
    numbered = random_game(SILENT, 2**64 - 1, index=7, first_deal=3)
    check_same(by_json(numbered), numbered)


def test_record_is_readable() -> None:
    game = Game("tiny", seed=5, deck="Qc Kc Ac Qd Kd Ad", dealer=0)
    for action in ("Ac", "Kc", "Kd", "Ad", "Qd"):
        game.play(action)
    assert game.record() == {
        "format": "rs_env.record/1",
        "rules": Rules.preset("tiny").to_dict(),
        "seed": 5,
        "index": 0,
        "first_deal": 0,
        "dealer": 0,
        "decks": ["Qc Kc Ac Qd Kd Ad"],
        "actions": ["Ac Kc Kd Ad Qd"],
        "over": True,
        "truncated": False,
        "out": [0],
        "scores": [1.0, 0.0],
        "rewards": [1.0, 0.0],
    }


# Files


def test_records_are_appended_and_read_as_lines(tmp_path: Path) -> None:
    games = [random_game(Rules.preset("tiny"), seed, 3 * seed) for seed in range(3)]
    path = tmp_path / "games.jsonl"
    write_records(path, [game.record() for game in games[:2]])
    write_records(str(path), [games[2].record()])
    assert len(path.read_text(encoding="utf-8").splitlines()) == 3
    records = list(read_records(path))
    assert records == [game.record() for game in games]
    for game, record in zip(games, records, strict=True):
        check_same(replay(record), game)


@pytest.mark.parametrize("line", ["{", "", "not json", '{"format": "rs_env.record/1"'])
def test_line_that_is_no_json_is_refused_by_number(tmp_path: Path, line: str) -> None:
    path = tmp_path / "games.jsonl"
    record = json.dumps(Game("tiny").record())
    path.write_text(f"{record}\n{record}\n{line}\n{record}\n", encoding="utf-8")
    lines = read_records(path)
    assert next(lines) == next(lines) == json.loads(record)
    with pytest.raises(ValueError, match=r"games\.jsonl, line 3"):
        next(lines)


# Refusals


def record_with(**changes: Any) -> dict[str, Any]:
    """The record of a finished tiny game with some keys changed."""
    game = Game("tiny", seed=5, deck="Qc Kc Ac Qd Kd Ad", dealer=0)
    for action in ("Ac", "Kc", "Kd", "Ad", "Qd"):
        game.play(action)
    record = game.record()
    assert changes.keys() <= record.keys()
    return {**record, **changes}


def test_unchanged_record_is_accepted() -> None:
    assert replay(record_with()).is_over


@pytest.mark.parametrize("key", sorted(record_with()))
def test_missing_key_is_refused(key: str) -> None:
    record = record_with()
    del record[key]
    with pytest.raises(ValueError, match=rf"\b{key}\b.*missing"):
        replay(record)


@pytest.mark.parametrize(
    ("key", "value", "named"),
    [
        ("format", "rs_env.record/2", "format"),
        ("format", None, "format"),
        ("rules", None, "rules"),
        ("rules", "tiny", "rules"),
        ("rules", {**Rules.preset("tiny").to_dict(), "trumps": 1}, "trumps"),
        ("rules", {**Rules.preset("tiny").to_dict(), "num_players": 9}, "num_players"),
        ("rules", Rules().to_dict(), "deck"),  # of other rules
        ("seed", -1, "seed"),
        ("seed", "5", "seed"),
        ("seed", None, "seed"),
        ("index", "0", "index"),
        ("index", None, "index"),
        ("index", -1, "index"),
        ("index", 0.5, "index"),
        ("index", 2**64, "index"),
        ("first_deal", "0", "first_deal"),
        ("first_deal", None, "first_deal"),
        ("first_deal", -1, "first_deal"),
        ("dealer", 2, "dealer"),
        ("dealer", "0", "dealer"),
        ("dealer", None, "dealer"),
        ("decks", None, "decks"),
        ("decks", "Qc Kc Ac Qd Kd Ad", "decks"),
        ("decks", [], "decks"),
        ("decks", [5], "decks"),
        ("decks", ["Qc Kc Ac Qd Kd"], "deck"),
        ("decks", ["Qc Kc Ac Qd Kd Ad", "Qc Kc Ac Qd Kd Ad"], "deck"),
        ("actions", None, "actions"),
        ("actions", "Ac Kc Kd Ad Qd", "actions"),
        ("actions", [["Ac"]], "actions"),
        ("actions", [], "actions|over"),
        ("actions", ["Ac Kc xx"], r"actions\[0\]\[2\].*xx"),
        ("actions", ["Ac Qd Kd Ad Qd"], r"actions\[0\]\[1\].*Kc"),
        ("actions", ["Ac pickup"], r"actions\[0\]\[1\]"),
        ("actions", ["Ac 11"], r"actions\[0\]\[1\]"),
        ("actions", ["Ac Kc Kd Ad Qd Qc"], r"actions\[0\]\[5\].*over"),  # beyond the end
        ("actions", ["Ac Kc Kd Ad Qd", ""], r"actions\[1\]"),
        ("actions", ["Ac Kc Kd Ad Qd", "Ac"], r"actions\[1\]"),
        ("actions", ["Ac Kc Kd Ad"], "over"),  # ends before the result
        ("over", False, "over"),
        ("truncated", True, "truncated"),
        ("out", [1], "out"),
        ("out", None, "out"),
        ("scores", [0.0, 1.0], "scores"),
        ("scores", [1.0], "scores"),
        ("rewards", [1.0, -1.0], "rewards"),
    ],
)
def test_malformed_record_is_refused(key: str, value: Any, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        replay(record_with(**{key: value}))


@pytest.mark.parametrize("record", ["{", "[]", "5", [], None, 5])
def test_what_is_no_record_is_refused(record: Any) -> None:
    with pytest.raises(ValueError):
        replay(record)


@pytest.mark.parametrize("actions", [["Qc", "Qc Ac"], ["Qc Ac Qc", "Qc Ac"], [""], ["", "Qc Ac"]])
def test_deals_of_a_match_must_follow_one_another(actions: list[str]) -> None:
    game = Game(SHORT_MATCH, deck=["Qc Ac Kc", "Kc Ac Qc"], dealer=1)
    for action in ("Qc", "Ac"):
        game.play(action)
    record = game.record()
    assert record["actions"] == ["Qc Ac", ""]
    with pytest.raises(ValueError, match=r"actions|scores"):
        replay({**record, "actions": actions})


# Where the decks come from


@pytest.mark.parametrize("key", ["seed", "index", "first_deal"])
@pytest.mark.parametrize("rules", ["rolling_stone", "penalty"])
def test_a_record_of_shuffled_decks_names_where_they_come_from(rules: str, key: str) -> None:
    game = Game(rules, seed=5, index=2, first_deal=3, max_actions=20)
    while not game.is_over and game.deals_done < 3:
        game.play(game.legal_actions()[0])
    record = game.record()
    assert record["given"] == 0
    assert replay(record).states.tobytes() == game.states.tobytes()
    with pytest.raises(ValueError, match=r"decks\[0\]=.* is not what seed, index and first_deal deal"):
        replay({**record, key: record[key] + 1})


def test_given_decks_are_those_of_the_record_and_later_ones_are_shuffled() -> None:
    deck = Game(seed=77).decks[0]
    game = Game("penalty", seed=5, deck=[deck], max_actions=15)
    while game.deals_done < 2:
        game.play(game.legal_actions()[0])
    record = game.record()
    assert record["given"] == 1
    assert replay(record).states.tobytes() == game.states.tobytes()
    with pytest.raises(ValueError, match=r"decks\[1\]"):
        replay({**record, "seed": 6})
    for given in (-1, 4, 1.0, "1", None):
        with pytest.raises(ValueError, match="given="):
            replay({**record, "given": given})
    del record["given"]  # as it was once written: all decks count as given
    assert replay(record).decks == game.decks
