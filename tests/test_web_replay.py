"""Looking back: positions, what agents make of them, and where games come from."""

from __future__ import annotations

import html
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_sitting import Diary

from rs_env import Game, Rules, belief, make_agent, write_records
from rs_env.arena import league
from rs_env.arena.report import write_report
from rs_env.baselines.rule_based import RuleBasedAgent
from rs_env.baselines.tips import MEANINGS, weights_of
from rs_env.cards import action_text, members
from rs_env.rules import PRESETS
from rs_env.web.messages import presets, rules_form
from rs_env.web.replay import Library, Replay
from rs_env.web.session import Session
from rs_env.web.story import story_of
from rs_env.web.thinking import chances, choice, memories_after, opinion, position_of


def game_played(rules: Rules, seed: int = 0) -> Game:
    rng, game = np.random.default_rng(seed), Game(rules, seed)
    while not game.is_over:
        game.play(int(rng.choice(game.legal_actions())))
    return game


def test_any_position_is_that_of_the_game_in_any_order_and_view() -> None:
    game = game_played(Rules.preset("penalty", num_players=3, target=8))
    replay, rng = Replay(story_of(game), ["a", "b", "c"]), np.random.default_rng(1)
    actions = [action for deal in game.history for _, action in deal]
    assert replay.length == len(actions)
    for at in [*rng.integers(0, replay.length, 12).tolist(), replay.length, 0]:
        there = Game(game.rules, 0)
        for action in actions[:at]:
            there.play(action)
        open_table, seen = replay.position(at, None), replay.position(at, 1)
        assert [seat["cards"] for seat in open_table["seats"]] == [
            [action_text(c) for c in hand] for hand in there.hands
        ]
        assert seen["viewer"] == 1 and seen["seats"][1]["cards"] == open_table["seats"][1]["cards"]
        assert seen["seats"][0]["cards"] == [action_text(card) for card in there.known[0]]
        assert open_table["deal"] == min(there.deals_done + 1, game.deals_done) and seen["seats"][2]["name"] == "c"
        position = replay.question(at)
        assert (position is None) == (there.is_over or len(there.legal_actions()) < 2)
        if position is not None:
            assert position[0][0].tobytes() == there.view(there.turn).tobytes()
    json.dumps(replay.outline())
    for wrong in (-1, replay.length + 1):
        with pytest.raises(ValueError, match=f"at={wrong}"):
            replay.position(wrong, None)
    with pytest.raises(ValueError, match="seat=3"):
        replay.position(0, 3)


def test_no_way_back_is_long(monkeypatch: Any) -> None:
    game = game_played(Rules.preset("penalty", num_players=3, target=8))
    replay, played, plays = Replay(story_of(game)), [0], Game.play
    assert replay.length > 200

    def counted(self: Game, action: int | str) -> None:
        played[0] += 1
        plays(self, action)

    monkeypatch.setattr(Game, "play", counted)
    for at in range(replay.length, 0, -23):
        played[0] = 0
        assert replay.position(at, None)["seats"]
        assert played[0] < 50


def test_a_name_with_nothing_to_be_seen_is_that_of_the_seat(tmp_path: Path) -> None:
    game = game_played(Rules(num_players=2))
    write_records(tmp_path / "a.jsonl", [{**game.record(), "players": ["\u202e", "x\u202ey"]}])
    shown = Library(tmp_path / "a.jsonl").game(0)
    assert shown.outline()["names"] == ["seat 0", "xy"]
    assert [seat["name"] for seat in shown.position(0, None)["seats"]] == ["seat 0", "xy"]


def test_games_come_from_files_from_folders_and_from_the_arena(tmp_path: Path) -> None:
    records = [game_played(Rules(num_players=2), seed).record() for seed in range(3)]
    write_records(tmp_path / "a.jsonl", records[:2])
    write_records(tmp_path / "b.jsonl", records[2:])
    with (tmp_path / "a.jsonl").open("a", encoding="utf-8") as file:
        file.write('\n{"format": 1}\n')
    assert len(Library(tmp_path / "b.jsonl")) == 1
    library = Library(tmp_path)
    assert len(library) == 4
    for number, record in ((0, records[0]), (1, records[1]), (3, records[2])):
        outline = library.game(number).outline()
        assert outline["length"] == len(record["actions"][0].split()) and outline["names"] == ["seat 0", "seat 1"]
    with pytest.raises(ValueError, match=r"a\.jsonl, line 4: record: .*missing"):
        library.game(2)
    with pytest.raises(ValueError, match="game=4"):
        library.game(4)
    played_there = league(["random", "heuristic"], Rules(num_players=2), deals=4, out=tmp_path / "the arena")
    _, report = write_report(played_there, tmp_path / "the arena")
    command = f"python -m rs_env watch '{tmp_path / 'the arena'}'"
    text = report.read_text(encoding="utf-8")
    assert html.escape(command) in text and '<a href="games.jsonl">' in text
    played = Library(tmp_path / "the arena")
    assert len(played) >= 4 and sorted(played.game(0).names) == ["heuristic", "random"]


def test_a_path_without_a_game_is_refused_at_once_and_told_why(tmp_path: Path) -> None:
    (tmp_path / "nothing").mkdir()
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "text").write_text("\nhello\n{}\n")
    (tmp_path / "bytes").write_bytes(bytes(range(255, 0, -1)))
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.jsonl").write_text("[1]\n")
    for name, why in (
        ("nowhere", "there is no such file or folder"),
        ("nothing", "no file in it has games"),
        ("empty", "it is empty"),
        ("text", "text, line 2: record: not a JSON object"),
        ("bytes", "bytes, line 1: 'utf-8' codec"),
        ("folder", r"a\.jsonl, line 1: record=\[1\]"),
    ):
        with pytest.raises(
            ValueError, match=rf"^games='{tmp_path / name}' is not allowed: .*{why}.*; it must be a file"
        ):
            Library(tmp_path / name)
    write_records(tmp_path / "text", [game_played(Rules(num_players=2)).record()])
    assert len(Library(tmp_path / "text")) == 3  # what is wrong with a line is told where somebody asks for it


@pytest.mark.parametrize("name", ["heuristic", "random", "pimc:worlds=4", "ismcts:iterations=20"])
def test_an_opinion_is_of_the_legal_actions_and_the_choice_is_that_of_the_agent(name: str) -> None:
    game, agent = Game(Rules(), 5), make_agent(name)
    while len(game.legal_actions()) < 2:
        game.play(game.legal_actions()[0])
    told = opinion(agent, position_of(game))
    assert told["agent"] == name and told["choice"] == action_text(int(agent.act(np.array([game.view(game.turn)]))[0]))
    assert list(told["numbers"]) == [action_text(action) for action in game.legal_actions()]
    if told["kind"] == "values":
        assert told["numbers"][told["choice"]] == max(told["numbers"].values())
    else:
        assert sum(told["numbers"].values()) == pytest.approx(1, abs=1e-3)
    assert choice(agent, position_of(game)) in game.legal_actions()


def test_an_opinion_tells_why_by_the_tips_that_speak_for_the_choice() -> None:
    game = Game(Rules(num_players=2, suits=2, ranks=3), deck="Kc Qc Qd Ac Kd Ad", dealer=0)
    game.play("Kc")  # the other player, last to play, has Qc and Ac
    last, duck = (" ".join(MEANINGS[tip].split()) for tip in ("last", "duck"))
    assert opinion(make_agent("heuristic"), position_of(game))["why"] == [last]
    assert opinion(make_agent("low"), position_of(game))["why"] == [duck]
    assert opinion(make_agent("random"), position_of(game))["why"] == ["It plays at random."]
    assert "plays each of them on" in opinion(make_agent("pimc:worlds=2"), position_of(game))["why"][0]
    game = Game(Rules(num_players=2, suits=2, ranks=3), deck="Kc Qc Qd Ac Ad Kd", dealer=1)
    alike = RuleBasedAgent("alike", weights_of(block=1.0))
    assert "it draws" in opinion(alike, position_of(game))["why"][0]


class Wanting:
    """Chooses the lowest action, if it is told the history."""

    name = "wanting"

    def reset(self, seed: int | None) -> None: ...

    def act(self, views: np.ndarray, histories: Any = None) -> np.ndarray:
        assert len(histories) == len(views)
        return np.array([members(legal)[0] for legal in views["legal"]])


def test_agents_get_the_history_that_they_want_and_those_without_draws_tell_their_choice_alone() -> None:
    game = Game(Rules(), 5)
    told = opinion(Wanting(), position_of(game))
    assert told["choice"] == action_text(game.legal_actions()[0]) and told["numbers"] == {} and told["kind"] == ""
    with pytest.raises(ValueError, match="the game is over"):
        position_of(game_played(Rules(num_players=2)))


def test_agents_that_remember_are_asked_with_what_they_remembered_and_choose_what_they_chose(tmp_path: Path) -> None:
    rules = Rules(num_players=3, suits=3, ranks=4, max_actions=60)
    league([Diary(), "random", "heuristic"], rules, deals=6, sitting=3, matrix_deals=0, seed=7, out=tmp_path / "arena")
    library, agents = Library(tmp_path / "arena"), {"diary": Diary(), "random": make_agent("random")}
    without = asked = 0
    for number in range(len(library)):
        replay = library.game(number)
        remembered = replay.outline()["remembered"]
        rows = memories_after(agents["diary"], replay.sitting) if remembered else None
        for at, event in enumerate(replay.outline()["events"]):
            position, agent = replay.question(at), agents.get(replay.names[event["seat"]])
            if position is None or agent is None:
                continue
            without += action_text(choice(agent, position)) != event["action"]
            if rows is not None and agent.name == "diary":
                position = position._replace(memories=rows[position.views["seat"]])
            assert action_text(choice(agent, position)) == event["action"]
            asked += 1
    assert {library.game(number).outline()["remembered"] for number in range(len(library))} == {0, 1, 2}
    assert asked > 80 and without > 10


def test_a_table_tells_which_deals_its_agents_remember(tmp_path: Path) -> None:
    session, diary, records = Session(Rules(num_players=2, suits=2), ["random", "heuristic"], 5), Diary(), []
    session._agents[1] = diary
    session._sit_down()
    for same in (False, False, True, False):
        while (question := session.question()) is not None:
            session.answer(question, question.ask())
        records.append(session.record())
        session.deal(same)
    for number, record in enumerate(records):
        write_records(tmp_path / f"{number}.jsonl", [record])
    library = Library(tmp_path)
    assert [len(library.game(number).sitting.games) for number in range(4)] == [0, 1, 2, 0]
    there = pickle.loads(pickle.dumps(library.game(2).sitting))  # agents are asked in other processes
    rows = memories_after(Diary(), there)
    assert rows["number"][1] == next(memory for seat, memory, _ in reversed(diary.asked) if seat == 1 and memory)
    (tmp_path / "1.jsonl").unlink()
    assert len(Library(tmp_path).game(1).sitting.games) == 0  # one is missing: nothing is better than half of it


def test_chances_are_the_exact_marginals() -> None:
    game = Game(Rules(num_players=3), 5)
    for _ in range(9):
        game.play(game.legal_actions()[0])
    exact = belief.marginals(game.view(1))
    for seat, row in enumerate(chances(game.view(1))):
        assert sum(row.values()) == pytest.approx(len(game.hands[seat]), abs=1e-2)
        for card in range(52):
            assert row.get(action_text(card), 0.0) == pytest.approx(exact[seat, card], abs=1e-4)


def test_the_form_has_every_option_with_its_words_and_a_preset_fills_it() -> None:
    form = {option["name"]: option for option in rules_form()}
    assert {name: option["default"] for name, option in form.items()} == Rules().to_dict()
    assert all(option["told"].endswith(".") for option in form.values())
    assert form["trump"]["choices"][-1] == "last_dealt" and form["scoring"]["kind"] == "choice"
    assert {name for name, option in form.items() if option["kind"] == "bool"} == {"play_on"}
    assert {name for name, option in form.items() if option["optional"]} == {
        name for name, value in Rules().to_dict().items() if value is None
    }
    assert presets().keys() == PRESETS.keys()
    for name, options in presets().items():
        assert Rules.from_dict(options) == Rules.preset(name)
