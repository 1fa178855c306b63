"""The public history in the environments: what they show of it, and agents that want it."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from asking import PLACES
from gymnasium.utils.env_checker import check_env
from hidden import positions, resampled
from models import Remembering
from pettingzoo.test import api_test, parallel_api_test
from reference import Event, ReferenceGame
from strategies import random_action, random_rules, random_style
from test_reference import play_both

import rs_env
from rs_env import Game, SelfPlayVectorEnv, raw_env
from rs_env.arena.play import play_games
from rs_env.cards import PICKUP, action_text, members, suit_of
from rs_env.envs.gymnasium_single import RollingStoneEnv
from rs_env.envs.gymnasium_vector import RollingStoneVectorEnv
from rs_env.history import Act, Histories, decode_history, recent, recent_of
from rs_env.rules import Rules

RULES = {
    "rolling_stone": Rules.preset("rolling_stone", max_actions=150),
    "silent": Rules.preset("silent", num_players=3, max_actions=80, play_on=True),
    "trump": Rules.preset("trump", num_players=5, max_actions=80),
    "match": Rules.preset("penalty", num_players=2, going_out="immediate", hand_size=4, target=6),
}
every_rule_set = pytest.mark.parametrize("rules", RULES.values(), ids=RULES)


def told(events: list[Event], num_players: int, trump: int | None, observer: int) -> list[Act]:
    """What an observer has seen of a deal, from the reference's events."""
    acts, led = [], None
    for event, after in zip(events, [*events, Event("end", 0)][1:], strict=True):
        seat = (event.seat - observer) % num_players
        if event.kind == "picked_up":
            acts.append(Act(seat, action_text(PICKUP), "picked up", False))
        elif event.kind == "noticed":
            acts.append(Act(seat, action_text(event.cards[0]), "noticed", False))
        elif event.kind == "played":
            suit = suit_of(event.cards[0])
            others = "ruffed" if suit == trump else "silent"
            what = "led" if led is None else "followed" if suit == led else others
            acts.append(Act(seat, action_text(event.cards[0]), what, after.kind == "trick_over"))
            led = suit if led is None else led
        elif event.kind == "trick_over":
            led = None
    return acts


def test_the_history_is_what_a_slow_reference_has_seen() -> None:
    seen = set()
    for seed in range(40):
        rng = random.Random(seed)
        rules, style, most = random_rules(rng), random_style(rng), rng.choice((1, 7, 1024))
        game = Game(rules, seed=seed)
        reference = ReferenceGame(rules, [], game.dealer, more_decks=lambda deal, game=game: game.decks[deal])
        for number in range(300):
            observer = rng.randrange(rules.num_players)
            shown = recent_of(game, observer, most)
            expected = told(reference.events, rules.num_players, reference.trump, observer)[-most:]
            assert decode_history(shown) == expected, (seed, number)
            assert not shown[: most - len(expected)].any()
            seen.update((act.what, act.completed) for act in expected)
            if reference.turn is None:
                break
            play_both(game, reference, random_action(rng, reference.legal_actions(), style))
    assert len(seen) == 9  # each of six, and three of them as the last of a trick


@every_rule_set
@pytest.mark.parametrize("skip_forced", [False, True])
def test_a_batch_shows_what_single_games_show(rules: Rules, skip_forced: bool) -> None:
    vec = SelfPlayVectorEnv(3, rules, seed=5, history=9, skip_forced=skip_forced)
    env = raw_env(rules, history=9)  # plays game 0
    env.reset(seed=5)
    games = [env.game, *(Game(rules, 5, index=i) for i in (1, 2))]
    batch, ended = vec.reset(), 0
    for _ in range(300):
        assert np.array_equal(env.observe(env.agent_selection)["history"], batch.history[0])
        for game, shown, events in zip(games, batch.history, vec.histories, strict=True):
            assert np.array_equal(shown, recent_of(game, game.turn, 9))
            assert np.array_equal(events, game.events)
            assert vec.single_history_space.contains(shown)
        actions = vec.random_actions().tolist()
        batch = vec.step(np.array(actions))
        for i, game in enumerate(games):
            step = env.step if i == 0 else game.play
            step(actions[i])
            while skip_forced and len(game.legal_actions()) == 1:
                step(game.legal_actions()[0])
            if game.is_over:
                games[i] = Game(rules, 5, index=i, first_deal=game.next_deal)
                ended += 1
        if env.game.is_over:
            env.reset()
            games[0] = env.game
    assert ended > 2


def test_steps_and_random_play_are_the_same_with_and_without_a_history() -> None:
    with_log, plain = (SelfPlayVectorEnv(20, "silent", history=k, skip_forced=True) for k in (4, 0))
    for _ in range(120):
        actions = plain.random_actions()
        assert np.array_equal(with_log.random_actions(), actions)
        logged, batch = with_log.step(actions), plain.step(actions)
        assert not hasattr(batch, "history")
        for name in ("observation", "action_mask", "current_player", "rewards", "terminated", "truncated"):
            assert np.array_equal(getattr(logged, name), getattr(batch, name))
    for vec in (with_log, plain):
        vec.play_randomly(300)
    assert with_log.states.tobytes() == plain.states.tobytes()
    again = SelfPlayVectorEnv(20, "silent", history=4)  # which takes only what leads to the states
    again.restore(with_log.states, histories=with_log.histories)
    with pytest.raises(ValueError, match="kept with keep_events=True"):
        _ = plain.histories


def test_long_games_have_long_histories() -> None:
    rules = Rules(max_actions=1500)
    vec, game = SelfPlayVectorEnv(2, rules, keep_events=True), Game(rules)
    batch = vec.reset()
    while not game.is_over and game.num_actions < 700:  # the lowest card goes round in circles
        action = game.legal_actions()[0]
        assert np.array_equal(next(iter(vec.histories)), game.events)
        game.play(action)
        batch = vec.step(batch.action_mask.argmax(1))
    assert game.num_actions == 700


def test_restored_games_go_on_with_their_histories() -> None:
    vec, other = (SelfPlayVectorEnv(6, "silent", seed=seed, history=5) for seed in (1, 2))
    vec.play_randomly(30)
    states, histories = vec.states.copy(), vec.histories[:]
    shown = vec.step(vec.random_actions()).history.copy()
    actions = vec._actions.copy()
    other.restore(states, histories=histories)
    assert np.array_equal(other.step(actions).history, shown)
    before = other.states.tobytes()
    shifted = Histories(np.roll(histories.events, 1, 0), np.roll(histories.lengths, 1))
    for wrong, said in ((None, "must be given"), (shifted, "does not lead"), (histories[:2], "are not allowed")):
        with pytest.raises(ValueError, match=said):
            other.restore(states, histories=wrong)
    with pytest.raises(ValueError, match="keeps none"):
        SelfPlayVectorEnv(6, "silent").restore(states, histories=histories)
    assert other.states.tobytes() == before


@every_rule_set
def test_hidden_cards_change_nothing(rules: Rules) -> None:
    rng = random.Random(4)
    for game in positions(rules, 8, 6):
        for seat in range(rules.num_players):
            other = resampled(game, seat, rng)
            assert np.array_equal(recent_of(game, seat, 40), recent_of(other, seat, 40))


def test_agents_can_have_what_environments_show() -> None:
    games = [Game(Rules.preset("penalty"), seed=seed) for seed in range(3)]
    rng = random.Random(2)
    for game in games:
        for _ in range(250):
            game.play(rng.choice(game.legal_actions()))
    views = np.array([game.view(game.turn) for game in games])
    shown = recent(views, Histories.of(games), 12)
    assert [np.array_equal(row, recent_of(game, game.turn, 12)) for row, game in zip(shown, games, strict=True)] == [
        True
    ] * 3
    with pytest.raises(ValueError, match="number 0 does not lead"):
        recent(views[::-1], Histories.of(games), 12)
    with pytest.raises(ValueError, match="history=0"):
        recent(views, Histories.of(games), 0)
    with pytest.raises(ValueError, match="lengths must be in"):
        recent(views, Histories(np.zeros((3, 4), np.uint8), np.full(3, 5)), 1)
    assert recent(views[:0], Histories.of([]), 3).shape == (0, 3, 3)


# Interfaces


def test_pettingzoo_and_gymnasium_accept_environments_with_a_history() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of spaces that are no images
        api_test(rs_env.env("silent", history=8, max_actions=60), num_cycles=100)
        parallel_api_test(rs_env.parallel_env("trump", history=8, max_actions=60), num_cycles=50)
        check_env(RollingStoneEnv(history=8, max_actions=60), skip_render_check=True)
    assert set(rs_env.raw_env().observation_space("player_0")) == {"observation", "action_mask"}


def test_a_gymnasium_batch_shows_what_single_environments_show() -> None:
    arguments: dict[str, Any] = {"rules": "silent", "opponents": "random", "max_actions": 30, "history": 6}
    vec = RollingStoneVectorEnv(2, learner_seat=None, observation_dtype="float32", **arguments)
    singles = [RollingStoneEnv(learner_seat=None, observation_dtype="float32", **arguments) for _ in range(2)]
    shown, infos = vec.reset(seed=3)
    each = [env.reset(seed=3 + i)[0] for i, env in enumerate(singles)]
    finals = 0
    for _ in range(40):
        assert vec.observation_space.contains(shown)
        for i, row in enumerate(each):
            assert all(np.array_equal(shown[name][i], row[name]) for name in ("observation", "history"))
        actions = infos["action_mask"].argmax(1)
        shown, *_, infos = vec.step(actions)
        for i, env in enumerate(singles):
            each[i], _, terminated, truncated, _ = env.step(int(actions[i]))
            if terminated or truncated:
                assert np.array_equal(infos["final_obs"][i]["history"], each[i]["history"])
                each[i] = env.reset()[0]
                finals += 1
    assert finals > 3


@pytest.mark.parametrize("make", [raw_env, rs_env.env, RollingStoneEnv, RollingStoneVectorEnv, SelfPlayVectorEnv])
@pytest.mark.parametrize("history", [-1, 1025, 2.5, "8", True])
def test_wrong_lengths_are_refused(make: Callable[..., Any], history: Any) -> None:
    first = (1,) if make in (RollingStoneVectorEnv, SelfPlayVectorEnv) else ()
    with pytest.raises(ValueError, match="history="):
        make(*first, history=history)


def test_a_flat_observation_has_no_history() -> None:
    with pytest.raises(ValueError, match="history=3 is not allowed with flat=True"):
        raw_env(flat=True, history=3)


def test_only_histories_can_be_decoded() -> None:
    with pytest.raises(ValueError, match=r"must be \(K, 3\)"):
        decode_history(np.zeros((4, 2)))


# Agents


@pytest.mark.parametrize("ask_it", PLACES)
def test_whoever_asks_hands_over_histories_that_lead_to_the_views(ask_it: Callable[[Any], None]) -> None:
    ask_it(Remembering())


class Lowest:
    name = "lowest"

    def reset(self, seed: int | None) -> None: ...

    def act(self, views: np.ndarray) -> np.ndarray:
        return np.array([members(legal)[0] for legal in views["legal"].tolist()])


@every_rule_set
def test_an_agent_with_histories_plays_the_same_game_everywhere(rules: Rules) -> None:
    seating = np.ones((1, rules.num_players), np.int64)
    seating[0, 0] = 0
    games = []
    for seed in (20, 21, 22):
        env = RollingStoneEnv(rules, opponents=Remembering())
        _, info = env.reset(seed=seed)
        while info["action_mask"].any():
            *_, info = env.step(int(info["action_mask"].argmax()))
        arena = play_games(rules, [Lowest(), Remembering()], seating, seed, np.arange(1))
        assert np.array_equal(env.game.events, arena.log[0, : arena.logged[0]])
        games.append(env.game)
    vec = RollingStoneVectorEnv(3, rules, opponents=Remembering())
    _, infos = vec.reset(seed=20)
    going = np.ones(3, np.bool_)
    while going.any():
        events, _, lengths = vec._log
        for i in np.flatnonzero(going):
            assert np.array_equal(events[i, : lengths[i]], games[i].events[: lengths[i]])
        _, rewards, terminated, truncated, infos = vec.step(infos["action_mask"].argmax(1))
        ended = going & (terminated | truncated)
        assert all(rewards[i] == games[i].rewards()[0] for i in np.flatnonzero(ended))
        going &= ~ended


def test_a_learner_that_is_resumed_hands_over_the_same_histories() -> None:
    torch = pytest.importorskip("torch")
    from agents.collector import Collector
    from agents.company import Company
    from agents.learner import LearnerConfig

    def collector() -> Collector:
        return Collector(LearnerConfig(rules=Rules(max_actions=40)), 5, 30, Company.one_among(Remembering(), 4))

    def collect(collector: Collector, iteration: int) -> list[bytes]:
        collector.collect(lambda t, games: collector.rollout.action_mask[t, games].argmax(1), iteration)
        return [collector.rollout.action.tobytes(), collector.rollout.observation.tobytes()]

    whole, resumed = collector(), collector()
    collect(whole, 0)
    tensors = whole.tensors()
    resumed.restore(tensors)
    assert collect(whole, 1) == collect(resumed, 1)
    assert {"games", "events", "lengths"} <= set(tensors)
    for name in ("events", "lengths"):
        with pytest.raises(ValueError, match=f"{name}: missing"):
            resumed.restore({key: value for key, value in tensors.items() if key != name})
    with pytest.raises(ValueError, match="does not lead"):
        resumed.restore({**tensors, "lengths": torch.zeros(5, dtype=torch.int64)})
