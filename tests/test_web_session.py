"""A table without a network: whose turn it is, agents, undo, deals, records."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from rs_env import Rules, replay
from rs_env.baselines import make_agent
from rs_env.cards import PICKUP
from rs_env.game import Game
from rs_env.web import minds
from rs_env.web.session import PERSON, Session
from rs_env.web.story import Story, story_of

TABLE = [PERSON, "heuristic", "random", "heuristic"]


def played(session: Session, rng: random.Random, most: int = 10_000) -> Session:
    """The session after so many actions, or at the end; persons play at random."""
    for _ in range(most):
        if session.game.is_over:
            break
        question = session.question()
        if question is not None:
            session.answer(question, question.ask())
        else:
            number = session.player_at(session.game.turn)
            session.play(number, rng.choice(session.game.legal_actions()), session.version)
    return session


def at_turn_of_person(seed: int = 0) -> Session:
    session = Session(Rules(), TABLE, seed)
    while (question := session.question()) is not None:
        session.answer(question, question.ask())
    return session


# Stories


@pytest.mark.parametrize(
    "rules",
    [
        Rules(),
        Rules.preset("silent", num_players=3, ranks=4),
        Rules.preset("schweller", play_on=True, num_players=5),
        Rules.preset("trump", num_players=3, target=2, suits=3, trump_play="ruff"),
        Rules.preset("penalty", num_players=3, broken_exit="void", suits=2),
    ],
    ids=lambda rules: f"{rules.scoring}-{rules.num_players}",
)
def test_a_story_tells_what_the_game_shows(rules: Rules) -> None:
    rng = random.Random(1)
    story, seen = Story(Game(rules, 5)), set()
    while not story.game.is_over:
        before = story.game.clone()
        action = rng.choice(before.legal_actions())
        event = story.play(action)
        after = story.game
        assert (event.seat, event.action, event.deal) == (before.turn, action, before.deals_done)
        assert dict(event.trick) == dict(before.trick_plays) | ({} if action == PICKUP else {before.turn: action})
        assert bool(event.scores) == (after.is_over or after.deals_done > before.deals_done)
        if not event.scores:
            assert event.out == tuple(after.out[len(before.out) :]) and event.leads == after.leader
            assert bool(event.ends) == (not after.trick)
            sizes = [(len(a), len(b)) for a, b in zip(before.hands, after.hands, strict=True)]
            assert event.takes == tuple(seat for seat, (a, b) in enumerate(sizes) if b > a)
        seen.add(event.what)
    assert {"led", "followed", "picked up"} <= seen
    assert ("noticed" in seen) == ("silent" in seen) == (rules.silent_catch is not None)
    if rules.target is not None:
        totals = np.sum([event.scores for event in story.events if event.scores], 0)
        assert totals.tolist() == story.game.scores()
    assert story_of(story.game).events == story.events
    half = len(story.events) // 2
    assert story.until(half).events == story.events[:half]


# Turns


def test_a_person_plays_own_legal_actions_in_the_position_that_is_shown_and_nothing_else() -> None:
    session = at_turn_of_person()
    record, legal = session.record(), session.game.legal_actions()
    illegal = next(action for action in range(53) if action not in legal)
    for number, action, version, told in (
        (0, illegal, session.version, "may take"),
        (0, "1x", session.version, "may take"),
        (0, legal[0], session.version - 1, "moved on"),
        (1, legal[0], session.version, "not your turn"),
        (9, legal[0], session.version, "not your turn"),
    ):
        with pytest.raises(ValueError, match=told):
            session.play(number, action, version)
        assert session.record() == record
    version = session.version
    session.play(0, legal[0], version)
    assert session.version == version + 1
    with pytest.raises(ValueError, match="moved on"):
        session.play(0, legal[0], version)


def test_an_answer_is_dropped_where_the_table_has_moved_on_or_pauses() -> None:
    session = Session(Rules(), ["random"] * 4, 2)
    question = session.question()
    assert question is not None
    action = question.ask()
    session.paused = True
    assert session.question() is None and not session.answer(question, action)
    session.paused = False
    assert session.answer(question, action) and not session.answer(question, action)
    assert len(session.story.events) == 1


def test_turns_without_a_choice_are_played_for_those_who_want_it() -> None:
    rng, session = random.Random(3), Session(Rules(), [PERSON] * 4, 3)
    while len(session.game.legal_actions()) > 1:
        played(session, rng, 1)
    number = session.player_at(session.game.turn)
    assert session.forced() is None and not session.take_forced(session.version)
    session.auto.add(number)
    assert session.forced() == session.game.legal_actions()[0]
    assert not session.take_forced(session.version - 1)
    assert session.take_forced(session.version)
    assert session.story.events[-1].seat == session.seat_of(number)


class Broken:
    name = "broken"

    def reset(self, seed: int | None) -> None: ...

    def act(self, views: np.ndarray) -> np.ndarray:
        raise RuntimeError("no idea")


def test_an_agent_that_fails_ends_the_game_and_the_record_is_kept() -> None:
    session = at_turn_of_person()
    session.play(0, session.game.legal_actions()[0], session.version)
    session._agents = [None, *[Broken()] * 3]
    question = session.question()
    assert question is not None
    with pytest.raises(RuntimeError) as raised:
        question.ask()
    session.fail(question, raised.value)
    assert session.failure == "broken failed: RuntimeError: no idea" and session.question() is None
    assert replay(session.record()).record().items() <= session.record().items()
    with pytest.raises(ValueError, match="the game has ended"):
        session.play(0, 0, session.version)


class Dying:
    """Stands for a process that dies of what it is asked."""

    ended = 0

    def do(self, call: bytes) -> tuple[bool, Any]:
        raise EOFError

    def end(self) -> None:
        Dying.ended += 1


def test_a_process_that_dies_is_told_and_the_next_question_has_a_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[dict[str, bool]] = []
    monkeypatch.setattr(minds, "Process", lambda **options: made.append(options) or Dying())
    mind = minds.Mind()
    for count in (1, 2):
        with pytest.raises(ChildProcessError, match="its process has ended"):
            mind.think(str, Broken())
        assert len(made) == Dying.ended == count
    assert mind.think(lambda agent: agent.name, make_agent("random")) == "random" and len(made) == 2


# Undo and new deals


def test_undo_goes_back_to_the_last_decision_and_agents_answer_as_before() -> None:
    rng, session = random.Random(0), played(Session(Rules(), TABLE, 1), random.Random(0))
    events, free = list(session.story.events), session.story.was_free
    decisions = [i for i, event in enumerate(events) if event.seat == 0 and free[i]]
    session.undo()
    assert session.story.events == events[: decisions[-1]]
    assert session.game.turn == 0 and not session.game.is_over
    session.undo()
    assert session.story.events == events[: decisions[-2]]
    for event in events[decisions[-2] :]:
        if event.seat == 0:
            session.play(0, event.action, session.version)
        else:
            question = session.question()
            assert question is not None and question.ask() == event.action
            session.answer(question, event.action)
    assert session.story.events == events
    with pytest.raises(ValueError, match="undo is not allowed"):
        played(Session(Rules(), [PERSON] * 4, 1), rng, 5).undo()


def test_the_same_cards_come_again_with_everybody_one_seat_on() -> None:
    session = Session(Rules(), TABLE, 7)
    hands, dealer = session.game.hands, session.game.dealer
    played(session, random.Random(0)).deal(same=True)
    assert session.game.hands == hands and session.game.dealer == dealer
    assert [session.seat_of(number) for number in range(4)] == [1, 2, 3, 0]
    assert session.names() == ["heuristic 2", "Player", "heuristic 1", "random"]
    assert session.table(0).viewer == 1
    session.deal(same=False)
    assert session.game.hands != hands and session.seat_of(0) == 1


def test_games_won_are_counted_by_player_wherever_they_sit() -> None:
    session, won, games = Session(Rules(), TABLE, 4), np.zeros(4), 6
    for game in range(games):
        played(session, random.Random(game))
        for seat in session.game.out[:1]:
            won[session.player_at(seat)] += 1
        assert [each["wins"] for each in session.tally()] == won.tolist()
        assert session.tally()[0]["games"] == game + 1
        session.deal(same=game % 2 == 1)
    assert [each["wins"] for each in session.tally()] == won.tolist() and won.sum() > 0


class Noting:
    """Remembers how many deals it has seen."""

    name = "noting"

    def reset(self, seed: int | None) -> None: ...

    def act(self, views: np.ndarray, memories: Any = None, histories: Any = None) -> np.ndarray:
        self.asked = memories.copy()
        assert len(histories) == len(views)
        return np.array([int(view["legal"]).bit_length() - 1 for view in views])

    def new_memories(self, count: int) -> np.ndarray:
        return np.zeros((count, 1))

    def remember(self, views: np.ndarray, histories: Any, memories: np.ndarray) -> np.ndarray:
        return memories + 1


def test_agents_remember_the_deals_of_an_evening_until_the_seats_change() -> None:
    session, noting = Session(Rules(), TABLE, 4), Noting()
    session._agents[2] = noting
    session._sit_down()
    for deals, same in ((0, False), (1, False), (2, True), (0, False)):
        played(session, random.Random(0))
        assert noting.asked == deals
        session.deal(same)


def test_a_record_is_replayed_at_any_moment() -> None:
    session = Session(Rules.preset("penalty", target=8), TABLE, 9)
    for steps in (0, 1, 30, 10_000):
        record = played(session, random.Random(steps), steps).record()
        game = replay(record)
        assert game.record().items() <= record.items() and game.hands == session.game.hands
        assert record["players"] == ["Player", "heuristic", "random", "heuristic"]


@pytest.mark.parametrize(
    ("players", "told"),
    [
        (["random"] * 3, "there must be 4"),
        (["random", "random", "random", "nobody"], "'nobody' is not known"),
        (["random", "random", "random", "sees_all"], "it sees all hands"),
    ],
)
def test_wrong_players_are_refused(players: list[str], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        Session(Rules(), players)


def test_persons_have_names_that_differ() -> None:
    session = Session(Rules(), [PERSON, PERSON, "random", "pimc:worlds=8"], 0)
    assert session.names() == ["Player 1", "Player 2", "random", "pimc"]
    session.rename(0, "Ann")
    with pytest.raises(ValueError, match="another player has it"):
        session.rename(1, "Ann")
    assert session.names()[:2] == ["Ann", "Player 2"]
