"""Records as text: the round trip is exact, what does not fit is refused by its line, and golden games stay."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from playthroughs import FOLDER, KINDS, text_of
from strategies import random_rules

from rs_env.game import Game
from rs_env.record import from_text, replay, to_text
from rs_env.rules import Rules


def random_game(rules: Rules, seed: int, actions: int, **arguments: Any) -> Game:
    game, rng = Game(rules, seed, **arguments), random.Random(seed)
    while not game.is_over and actions:
        game.play(rng.choice(game.legal_actions()))
        actions -= 1
    return game


def test_the_round_trip_is_exact() -> None:
    rng = random.Random(1)
    for seed in range(40):
        record = random_game(random_rules(rng), seed, rng.choice((0, 1, 20, 10**6))).record()
        text = to_text(record)
        again = from_text(text)
        assert json.dumps(again) == json.dumps(record)
        assert to_text(again) == to_text(json.dumps(record)) == text


def test_given_decks_and_further_keys_are_kept() -> None:
    rules = Rules.preset("penalty", num_players=3, target=3)
    decks = [random.Random(seed).sample(rules.deck, len(rules.deck)) for seed in range(2)]
    for given in (decks, decks[:1]):
        game = random_game(rules, 4, 10**6, deck=given, dealer=1)
        record = {**game.record(), "arena": {"players": ["a", "b", "c"]}, "note": "x: y"}
        assert from_text(to_text(record)) == record
    with pytest.raises(ValueError, match="'a b' is not allowed as a key"):
        to_text({**record, "a b": 1})


def test_blanks_within_further_keys_are_kept() -> None:
    record = random_game(Rules.preset("tiny"), 1, 100).record()
    for note in ("a  b", "   ", "\\  \t\n \u2028 # \xa0  é", {"a  b": ["c    d", "  "]}):
        text = to_text({**record, "note": note})
        assert from_text(text) == {**record, "note": note}
        assert from_text(text.replace(" ", "   ")) == {**record, "note": note}


def test_blanks_comments_and_empty_lines_do_not_count() -> None:
    game = random_game(Rules.preset("tiny"), 1, 100)
    text = to_text(game.record())
    loose = "\n\n".join(["# a remark", *(f"   {line}  " for line in text.splitlines()), "# the end"])
    assert from_text(loose) == game.record()


WRONG = (
    ("rs_env.record/1", "rs_env.record/9", "line 1: a record begins with rs_env.record/1"),
    ("rules: tiny", "rules: tiniest", "line 2: .*preset='tiniest'"),
    ("rules: tiny", "rules: tiny players=2", "line 2: .*'players'"),
    ("seed: 1", "seed: one", "line 3: seed: 'one' is not JSON"),
    ("rules: tiny", "rules:", "line 2: preset='' is not allowed"),
    ("rules: tiny", "rules: tiny name=tiny", "line 2: option='name' is not allowed"),
    ("rules: tiny", "rules: tiny num_players=" + "[" * 100_000, "line 2: num_players="),
    ("rules: tiny", "rules: tiny num_players=" + "1" * 5_000, "line 2: num_players="),
    ("seed: 1", "seed: " + "1" * 5_000, "line 3: seed: .* is not JSON"),
    ("seed: 1", "seed: " + "[" * 100_000, "line 3: seed: .* is not JSON"),
    ("seed: 1\n", "", "line .*: seed is missing"),
    ("seed: 1\n", "seed: 1\nseed: 1\n", "line 4: 'seed: 1' is not allowed here"),
    ("seat 0: ", "seat 0: Qc ", "line 9: 4 cards are not allowed: seat 0 is dealt 3"),
    ("deal 1, ", "deal 2, ", "line .*: 'deal 2, .*' is not what the game gives: 'deal 1, "),
    ("  1:  ", "  1:  x ", "line 11: .* is not a list of seats and actions"),
    ("  2:  ", "  3:  ", "line 12: '3: .*' is not what the game gives: '2: "),
)


@pytest.mark.parametrize(("old", "new", "message"), WRONG, ids=range(len(WRONG)))
def test_what_does_not_fit_is_refused_by_its_line(old: str, new: str, message: str) -> None:
    deck = "Qc Qd Kc Kd Ac Ad"
    text = to_text(random_game(Rules.preset("tiny"), 1, 100, deck=deck, dealer=0).record())
    assert old in text
    with pytest.raises(ValueError, match=message):
        from_text(text.replace(old, new, 1))


def test_wrong_actions_and_results_are_refused_by_their_line() -> None:
    rules = Rules.preset("tiny")
    lines = to_text(random_game(rules, 1, 100, deck="Qc Qd Kc Kd Ac Ad", dealer=0).record()).splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("  1:"))
    seat, card, *rest = lines[first].split(":")[1].split()
    for trick, message in (
        (f"{1 - int(seat)} {card}", f"seat {1 - int(seat)} is not to act: it is the turn of seat {seat}"),
        (f"{seat} 2s", "'2s' is not allowed"),
        (f"{seat} pickup", "'pickup' is not allowed"),
    ):
        wrong = "\n".join([*lines[:first], f"  1:  {trick}  {' '.join(rest)}", *lines[first + 1 :]])
        with pytest.raises(ValueError, match=rf"line {first + 1}: .*{message}"):
            from_text(wrong)
    with pytest.raises(ValueError, match=rf"line {len(lines) - 1}: 'scores: .*' is not what the game gives"):
        from_text("\n".join([*lines[:-2], "scores: [5.0, 5.0]", lines[-1]]))
    with pytest.raises(ValueError, match=rf"line {len(lines) - 1}: the text must end with 'rewards"):
        from_text("\n".join(lines[:-1]))
    with pytest.raises(ValueError, match="text: a dict is not allowed"):
        from_text({})  # type: ignore[arg-type]
    for empty in ("", "# nothing", "rs_env.record/1"):
        with pytest.raises(ValueError, match="line 1: "):
            from_text(empty)


# Golden games


@pytest.mark.parametrize("kind", KINDS)
def test_golden_playthroughs(kind: str) -> None:
    path: Path = FOLDER / f"{kind}.txt"
    golden = path.read_text(encoding="utf-8")
    record = from_text(golden)
    assert record["over"] and replay(record).is_over
    assert text_of(kind) == golden, "PYTHONPATH=. python tests/playthroughs.py writes them anew"


def test_there_is_a_golden_game_of_each_kind() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(KINDS)
