"""The PettingZoo environments: PettingZoo's own tests, spaces, rewards, ends, options and errors."""

from __future__ import annotations

import json
import random
import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pettingzoo
import pytest
from gymnasium import spaces
from hidden import global_state, observe
from pettingzoo import AECEnv
from pettingzoo.test import api_test, parallel_api_test, render_test, seed_test
from pettingzoo.test.state_test import state_test
from strategies import preset_rules

import rs_env
from rs_env import Game, IllegalActionError, Rules, SelfPlayVectorEnv
from rs_env.cards import NUM_ACTIONS, PICKUP, cards_text, parse_action
from rs_env.render import render_text

CASES = [pytest.param(rules, id=f"{name}-{rules.num_players}") for name, rules in preset_rules()]
MAKERS = [rs_env.raw_env, rs_env.env, rs_env.parallel_env]
AEC_MAKERS = [rs_env.raw_env, rs_env.env]
SHORT = Rules(num_players=3, max_actions=7)  # is truncated
DATA = Path(__file__).parent / "data"

# Every warning that PettingZoo's tests may give, with the reason why it stands.
EXPECTED = {
    "Observation is not a NumPy array": "it is a dict with the action mask, as in PettingZoo's card games, which the"
    " tests know by name",
    "Observation space for each agent probably should be gymnasium.spaces.box or"
    " gymnasium.spaces.discrete": "for the same reason",
    "reset options 'options' ignored: allowed are deck, dealer": "ours: the tests reset with an option of that name",
    "[WARNING]: Illegal move made, game terminating with current player losing. \nobs['action_mask'] contains a mask"
    " of all legal moves that can be chosen.": "the test of state() samples actions without the mask",
}


def seeded(make: Callable[..., Any], rules: Rules, **options: Any) -> Any:
    """An environment whose action spaces give the same samples in every run."""
    env = make(rules, **options)
    for number, agent in enumerate(env.possible_agents):
        env.action_space(agent).seed(number)
    return env


def started(make: Callable[..., Any] = rs_env.env, rules: Rules | str = "rolling_stone", seed: int = 0) -> Any:
    """An environment after ``reset(seed)``."""
    env = make(rules)
    env.reset(seed=seed)
    return env


def game_of(env: Any) -> Game:
    """The game inside an environment."""
    return env.unwrapped.game


def legal_of(env: AECEnv) -> list[int]:
    """Legal actions of the agent to act, by its mask."""
    return np.flatnonzero(env.observe(env.agent_selection)["action_mask"]).tolist()


def play_on(env: AECEnv, rng: random.Random, most: int = 10**6) -> None:
    """Take up to `most` random actions, so long as nobody is done."""
    for _ in range(most):
        if any(env.terminations.values()) or any(env.truncations.values()):
            return
        env.step(rng.choice(legal_of(env)))


def everything(env: AECEnv) -> tuple[Any, ...]:
    """What must not change when an action or a reset is refused."""
    raw: Any = env.unwrapped
    flags = (raw.agents, raw.agent_selection, raw.rewards, raw._cumulative_rewards, raw.terminations, raw.truncations)
    infos = {agent: info["action_mask"].tolist() for agent, info in raw.infos.items()}
    return raw.game.states.tobytes(), str(raw.game.history), str(flags), infos


# PettingZoo's tests


@pytest.mark.parametrize("rules", CASES)
def test_pettingzoo_tests_pass_with_known_warnings_only(
    rules: Rules, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rs_env.render.modes.RENDER_FPS", 1000)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for make in AEC_MAKERS:
            api_test(seeded(make, rules), num_cycles=10)
            seed_test(lambda make=make: seeded(make, rules), num_cycles=10)
            render_test(
                lambda render_mode, make=make: seeded(make, rules, render_mode=render_mode, render_size=(200, 160))
            )
        parallel_api_test(seeded(rs_env.parallel_env, rules), num_cycles=20)
        state_test(seeded(rs_env.env, rules), seeded(rs_env.parallel_env, rules), num_cycles=5)
    messages = {str(warning.message) for warning in caught} | {record.getMessage() for record in caplog.records}
    assert messages == set(EXPECTED)


def test_environments_are_in_the_registry() -> None:
    if not hasattr(pettingzoo, "make"):
        pytest.skip("this PettingZoo has no registry")
    for api, kind in (("aec", pettingzoo.AECEnv), ("parallel", pettingzoo.ParallelEnv)):
        env = pettingzoo.make(api, "rs_env/rolling_stone-v0", rules="schweller", num_players=5)
        assert isinstance(env, kind)
        assert game_rules(env) == Rules.preset("schweller", num_players=5)


def game_rules(env: Any) -> Rules:
    env.reset(seed=0)
    return game_of(env).rules


# Spaces


def test_masked_sample_gives_each_allowed_action_and_no_other() -> None:
    space = rs_env.raw_env().action_space("player_0")
    space.seed(0)
    for allowed in ([7], [PICKUP], [0, PICKUP], [3, 20, 21, 51], list(range(NUM_ACTIONS))):
        mask = np.zeros(NUM_ACTIONS, np.int8)
        mask[allowed] = 1
        samples = [space.sample(mask) for _ in range(40 * len(allowed))]
        assert set(samples) == set(allowed)
        assert all(space.contains(sample) for sample in samples)


def test_sample_is_as_in_gymnasium_without_choice() -> None:
    space = rs_env.raw_env().action_space("player_0")
    assert space.sample(np.zeros(NUM_ACTIONS, np.int8)) == 0
    assert {space.sample() for _ in range(2000)} == set(range(NUM_ACTIONS))
    only = np.eye(NUM_ACTIONS)[17]
    assert {space.sample(probability=only) for _ in range(20)} == {17}


@pytest.mark.parametrize(
    "mask",
    [
        np.ones(NUM_ACTIONS, np.int64),
        np.ones(NUM_ACTIONS - 1, np.int8),
        np.ones((1, NUM_ACTIONS), np.int8),
        np.full(NUM_ACTIONS, 2, np.int8),
        np.full(NUM_ACTIONS, -1, np.int8),
        [1] * NUM_ACTIONS,
    ],
    ids=["int64", "short", "matrix", "2", "-1", "list"],
)
@pytest.mark.parametrize("probability", [None, np.eye(NUM_ACTIONS)[0]], ids=["mask", "mask-and-probability"])
def test_wrong_mask_gives_the_error_of_gymnasium(mask: Any, probability: Any) -> None:
    errors = []
    for space in (rs_env.raw_env().action_space("player_0"), spaces.Discrete(NUM_ACTIONS)):
        with pytest.raises((AssertionError, ValueError)) as refused:
            space.sample(mask, probability)
        errors.append((refused.type, str(refused.value)))
    assert errors[0] == errors[1]


def test_action_space_seeding_reproduces_samples() -> None:
    mask = np.ones(NUM_ACTIONS, np.int8)
    first, second = (rs_env.raw_env().action_space("player_0") for _ in range(2))
    draws = []
    for space, seed in ((first, 5), (second, 5), (first, 6)):
        space.seed(seed)
        draws.append([int(space.sample(mask)) for _ in range(30)])
    assert draws[0] == draws[1] != draws[2]


def test_spaces_are_equal_to_gymnasiums_and_between_agents() -> None:
    env = rs_env.env()
    assert env.action_space("player_0") == spaces.Discrete(NUM_ACTIONS) == env.action_space("player_3")
    assert env.action_space("player_0") != spaces.Discrete(NUM_ACTIONS - 1)
    assert env.observation_space("player_0") == env.observation_space("player_1")


# Observations and infos


@pytest.mark.parametrize("rules", CASES)
def test_any_agent_can_be_observed_at_any_time(rules: Rules) -> None:
    rng = random.Random(0)
    env = started(rules=rules)
    for _ in range(12):
        check_observations(env)
        play_on(env, rng, most=rng.randrange(1, 8))
    play_on(env, rng)
    check_observations(env)
    while env.agents:
        env.step(None)
        check_observations(env)


def check_observations(env: AECEnv) -> None:
    """Each agent sees what its seat sees, and gets arrays of its own."""
    game = game_of(env)
    for seat, agent in enumerate(env.possible_agents):
        observation, mask = observe(game, seat)
        for _ in range(2):
            seen = env.observe(agent)
            assert env.observation_space(agent).contains(seen)
            assert np.array_equal(seen["observation"], observation)
            assert np.array_equal(seen["action_mask"], mask)
            seen["observation"][:] = seen["action_mask"][:] = 1  # must not show in the second round
        if agent in env.agents:
            assert np.array_equal(env.infos[agent]["action_mask"], mask)
    assert np.array_equal(env.state(), global_state(game))


@pytest.mark.parametrize("harm", ["changed", "deleted"])
@pytest.mark.parametrize("make", AEC_MAKERS)
def test_harm_to_what_was_handed_out_does_none(make: Callable[..., AECEnv], harm: str) -> None:
    rng = random.Random(0)
    env, untouched = started(make), started(make)
    for _ in range(40):
        action = rng.choice(legal_of(untouched))
        seen, _, _, _, info = env.last()
        seen["action_mask"][:] = 0
        assert info["action_mask"].any()
        info["action_mask"][:] = 0
        assert env.observe(env.agent_selection)["action_mask"].any()
        if harm == "deleted":
            del seen["action_mask"], info["action_mask"]
        env.step(action)
        untouched.step(action)
    assert not any(env.terminations.values())
    assert game_of(env).history == game_of(untouched).history


# Illegal actions


NO_ACTIONS = [-1, -NUM_ACTIONS, NUM_ACTIONS, 10**20, None, 1.0, True]


def test_raw_env_refuses_illegal_actions_and_changes_nothing() -> None:
    env = started(rs_env.raw_env)
    for steps in (0, 1, 9):
        play_on(env, random.Random(0), most=steps)
        before = everything(env)
        for action in [*set(range(NUM_ACTIONS)).difference(legal_of(env)), *NO_ACTIONS]:
            with pytest.raises(IllegalActionError, match=f"action {re.escape(repr(action))} is not allowed"):
                env.step(action)
        assert everything(env) == before


def at_a_pickup(make: Callable[..., AECEnv], rules: Rules | str = "rolling_stone") -> AECEnv:
    """A position in which the pickup is the only legal action."""
    env, rng = started(make, rules), random.Random(0)
    while legal_of(env) != [PICKUP]:
        play_on(env, rng, most=1)
    return env


@pytest.mark.parametrize("action", [0, 51, -1, -NUM_ACTIONS, NUM_ACTIONS])
@pytest.mark.parametrize("rules", ["rolling_stone", "penalty"])
def test_env_ends_the_game_at_an_illegal_action(rules: str, action: int, caplog: pytest.LogCaptureFixture) -> None:
    env = at_a_pickup(rs_env.env, rules)
    game, mover = game_of(env), env.agent_selection
    before = game.states.tobytes()
    env.step(action)
    assert [record.getMessage() for record in caplog.records] == [
        message for message in EXPECTED if "Illegal" in message
    ]
    loss = {agent: -1.0 if agent == mover else 0.0 for agent in env.possible_agents}
    assert env.rewards == loss
    assert all(env.terminations.values())
    assert not any(env.observe(agent)["action_mask"].any() for agent in env.possible_agents)
    assert returns_of(env) == loss
    assert game.states.tobytes() == before


def test_infos_allow_nothing_after_an_illegal_action() -> None:
    env = at_a_pickup(rs_env.env)
    env.step(0)
    assert not any(env.infos[agent]["action_mask"].any() for agent in env.agents)


def test_env_can_be_reset_after_an_illegal_action() -> None:
    env = at_a_pickup(rs_env.env)
    env.step(0)
    env.reset()
    assert everything(env) == everything(reset_twice())
    play_on(env, random.Random(0))
    assert returns_of(env) == dict(zip(env.possible_agents, game_of(env).rewards(), strict=True))


def reset_twice() -> AECEnv:
    env = started()
    env.reset()
    return env


# Rewards and ends


def returns_of(env: AECEnv) -> dict[str, float]:
    """Sum of each agent's rewards by `last` over the rest of the episode, its last one included."""
    returns = dict.fromkeys(env.possible_agents, 0.0)
    finals = []
    for agent in env.agent_iter():
        _, reward, terminated, truncated, _ = env.last()
        returns[agent] += reward
        if terminated or truncated:
            finals.append(agent)
        env.step(None if terminated or truncated else legal_of(env)[0])
    assert sorted(finals) == env.possible_agents
    return returns


@pytest.mark.parametrize("make", AEC_MAKERS)
@pytest.mark.parametrize("rules", CASES)
def test_last_shows_each_reward_once(rules: Rules, make: Callable[..., AECEnv]) -> None:
    rng = random.Random(1)
    env = started(make, replace(rules, max_actions=60))
    seen: dict[str, list[float]] = {agent: [] for agent in env.possible_agents}
    final = []
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, _ = env.last()
        seen[agent].append(reward)
        if terminated or truncated:
            final.append((agent, terminated, truncated))
            env.step(None)
        else:
            env.step(rng.choice(np.flatnonzero(observation["action_mask"]).tolist()))
    game = game_of(env)
    assert game.is_over
    assert final == [(agent, game.terminated, game.truncated) for agent in env.possible_agents]
    assert [rewards[-1] for rewards in seen.values()] == game.rewards()
    assert not any(reward for rewards in seen.values() for reward in rewards[:-1])


@pytest.mark.parametrize("make", AEC_MAKERS)
@pytest.mark.parametrize(
    ("rules", "truncated"),
    [(SHORT, True), (Rules.preset("tiny"), False), (replace(SHORT, scoring="cards", target=50, max_deals=2), True)],
)
def test_the_cap_truncates_and_the_rules_terminate(rules: Rules, truncated: bool, make: Callable[..., AECEnv]) -> None:
    env = started(make, rules)
    play_on(env, random.Random(0))
    assert set(env.truncations.values()) == {truncated}
    assert set(env.terminations.values()) == {not truncated}


@pytest.mark.parametrize("make", AEC_MAKERS)
def test_agents_that_are_done_take_none_only(make: Callable[..., AECEnv]) -> None:
    env = started(make, SHORT)
    play_on(env, random.Random(0))
    before = everything(env)
    with pytest.raises(ValueError, match="None"):
        env.step(0)
    assert everything(env) == before


def test_step_after_the_end_warns_and_does_nothing(caplog: pytest.LogCaptureFixture) -> None:
    env = started(rules=SHORT)
    play_on(env, random.Random(0))
    while env.agents:
        env.step(None)
    before = everything(env)
    for action in (None, 0):
        env.step(action)
    assert everything(env) == before
    assert ["step() called after all agents" in record.getMessage() for record in caplog.records] == [True, True]


def test_access_before_reset_gives_pettingzoos_errors() -> None:
    env = rs_env.env()
    for name in ("agents", "num_agents", "agent_selection", "rewards", "terminations", "truncations", "infos"):
        with pytest.raises(AttributeError, match=f"{name} cannot be accessed before reset"):
            getattr(env, name)
    calls: list[Callable[[], Any]] = [
        lambda: env.step(0),
        lambda: env.observe("player_0"),
        env.state,
        env.render,
        env.agent_iter,
    ]
    for call in calls:
        with pytest.raises(AssertionError, match="reset"):
            call()


def test_unknown_agent_is_refused() -> None:
    with pytest.raises(ValueError, match="player_9"):
        started(rs_env.raw_env).observe("player_9")


# Reset


DECK = "7c 8c 9c Tc Jc Qc Kc Ac 7d 8d 9d Td Jd Qd Kd Ad 7h 8h 9h Th Jh Qh Kh Ah 7s 8s 9s Ts Js Qs Ks As"
HANDS_OF_DEALER_2 = [
    "8c Qc 8d Qd 8h Qh 8s Qs",
    "9c Kc 9d Kd 9h Kh 9s Ks",
    "Tc Ac Td Ad Th Ah Ts As",
    "7c Jc 7d Jd 7h Jh 7s Js",
]


@pytest.mark.parametrize("make", AEC_MAKERS)
@pytest.mark.parametrize(
    "deck",
    [DECK, DECK.split(), [parse_action(card) for card in DECK.split()], [DECK]],
    ids=["text", "texts", "ids", "list"],
)
def test_deck_and_dealer_are_as_asked_for(deck: Any, make: Callable[..., AECEnv]) -> None:
    env = make()
    env.reset(seed=0, options={"deck": deck, "dealer": 2})
    assert [cards_text(hand) for hand in game_of(env).hands] == HANDS_OF_DEALER_2
    assert env.agent_selection == "player_3"
    assert game_of(env).dealer == 2


def test_a_match_takes_a_list_of_decks() -> None:
    decks = [list(np.random.default_rng(seed).permutation(Rules().deck)) for seed in range(2)]
    env = rs_env.raw_env("penalty", max_actions=5)
    env.reset(options={"deck": decks, "dealer": 3})
    play_on(env, random.Random(0), most=5)
    game = game_of(env)
    assert (game.deals_done, game.decks, game.dealer) == (1, decks, 0)


@pytest.mark.parametrize(
    ("seed", "options", "named"),
    [
        (5, {"deck": DECK.replace("7c", "6c")}, "deck"),
        (5, {"deck": DECK + " 7c"}, "deck"),
        (5, {"deck": DECK[3:]}, "deck"),
        (5, {"deck": ""}, "deck"),
        (5, {"deck": list(range(32))}, "deck"),
        (5, {"deck": [DECK, DECK]}, "deck"),
        (5, {"deck": 3}, "deck"),
        (5, {"dealer": 4}, "dealer"),
        (5, {"dealer": -1}, "dealer"),
        (5, {"dealer": "0"}, "dealer"),
        (5, {"dealer": True}, "dealer"),
        (-1, None, "seed"),
        (2**64, None, "seed"),
        (0.5, None, "seed"),
        ("0", None, "seed"),
    ],
)
def test_wrong_reset_is_refused_and_changes_nothing(seed: Any, options: Any, named: str) -> None:
    env, untouched = started(rs_env.raw_env), started(rs_env.raw_env)
    for each in (env, untouched):
        play_on(each, random.Random(0), most=6)
    with pytest.raises(ValueError, match=named):
        env.reset(seed=seed, options=options)
    assert everything(env) == everything(untouched)
    env.reset()
    untouched.reset()
    assert everything(env) == everything(untouched)


def test_unknown_reset_option_warns() -> None:
    env = rs_env.env()
    with pytest.warns(UserWarning, match="'colour'"):
        env.reset(seed=0, options={"colour": "red"})
    assert everything(env) == everything(started())


@pytest.mark.parametrize("rules", [Rules(), Rules.preset("penalty", num_players=2), SHORT])
@pytest.mark.parametrize("steps", [0, 1, 60, 10**6], ids=["at once", "early", "later", "at the end"])
def test_resets_deal_as_a_batch_does(rules: Rules, steps: int) -> None:
    rng = random.Random(0)
    env, vec = rs_env.raw_env(rules), SelfPlayVectorEnv(1, rules, seed=7)
    env.reset(seed=7)
    vec.reset()  # the first one, so with the first decks
    for _ in range(4):
        assert game_of(env).hands == Game(rules, seed=7, first_deal=int(vec.states["deal"][0])).hands
        assert game_of(env).states["deck"].tolist() == vec.states["deck"].tolist()
        assert game_of(env).dealer == vec.states["dealer"][0]
        over = False
        for _ in range(steps):
            action = rng.choice(legal_of(env))
            env.step(action)
            batch = vec.step(np.array([action]))
            over = bool(batch.terminated[0] or batch.truncated[0])
            if over:  # the batch has gone on by itself
                break
        env.reset()
        if not over:
            vec.reset()


def test_resets_without_a_seed_differ_between_environments() -> None:
    deals = []
    for _ in range(2):
        env = rs_env.raw_env()
        env.reset()
        deals.append(game_of(env).hands)
    assert deals[0] != deals[1]


# Construction


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"rules": "whist"}, "whist"),
        ({"rules": 4}, "rules"),
        ({"num_players": 9}, "num_players=9"),
        ({"num_players": 1}, "num_players=1"),
        ({"num_players": 2.5}, "num_players=2.5"),
        ({"render_mode": "hologram"}, "render_mode='hologram'"),
        ({"observation_dtype": "int16"}, "observation_dtype='int16'"),
        ({"scoring": "luck"}, "scoring='luck'"),
    ],
)
def test_wrong_construction_is_refused(make: Callable[..., Any], options: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        make(**options)


@pytest.mark.parametrize("make", MAKERS)
def test_rules_by_name_object_mapping_and_override(make: Callable[..., Any]) -> None:
    rules = Rules.preset("schweller", num_players=5, scoring="parlett")
    for env in (
        make(rules),
        make(rules.to_dict()),
        make("schweller", 5, scoring="parlett"),
        make(replace(rules, num_players=3), num_players=5),
    ):
        assert game_rules(env) == rules
        assert env.possible_agents == [f"player_{seat}" for seat in range(5)]


def test_render_modes() -> None:
    text = rs_env.env(render_mode="ansi")
    text.reset(seed=0)
    assert text.render() == str(game_of(text))
    seat = rs_env.env(render_mode="ansi", render_seat=2)
    seat.reset(seed=0)
    assert seat.render() == render_text(game_of(seat), seat=2) != text.render()
    with pytest.warns(UserWarning, match="render_mode"):
        assert started().render() is None


# The parallel environment


@pytest.mark.parametrize("rules", CASES)
def test_parallel_env_plays_through(rules: Rules) -> None:
    rng = random.Random(0)
    env = rs_env.parallel_env(replace(rules, max_actions=40))
    observations, _ = env.reset(seed=0)
    returns = dict.fromkeys(env.possible_agents, 0.0)
    while env.agents:
        masks = {agent: seen["action_mask"] for agent, seen in observations.items()}
        assert [agent for agent, mask in masks.items() if mask.any()] == [f"player_{game_of(env).turn}"]
        actions = {
            agent: rng.choice(np.flatnonzero(mask).tolist()) if mask.any() else PICKUP for agent, mask in masks.items()
        }
        observations, rewards, terminations, truncations, _ = env.step(actions)
        for agent, reward in rewards.items():
            returns[agent] += reward
    game = game_of(env)
    assert list(returns.values()) == game.rewards()
    assert set(terminations.values()) == {game.terminated}
    assert set(truncations.values()) == {game.truncated}


# Recorded deals


def recorded_deals() -> list[Any]:
    """Every recorded deal, named by its file and line."""
    texts = {path.stem: path.read_text(encoding="ascii").splitlines() for path in sorted(DATA.glob("*.jsonl"))}
    return [
        pytest.param(json.loads(line), id=f"{name}-{n}")
        for name, lines in texts.items()
        for n, line in enumerate(lines, 1)
    ]


def test_recorded_deals_are_all_there() -> None:
    assert len(recorded_deals()) == 234


@pytest.mark.parametrize("deal", recorded_deals())
def test_raw_env_plays_as_recorded(deal: dict[str, Any]) -> None:
    env = rs_env.raw_env(Rules(**deal["rules"]))
    env.reset(seed=0, options={"deck": deal["decks"], "dealer": deal["dealer"]})
    for number, (seat, legal, action) in enumerate(deal["steps"]):
        assert not any(env.terminations.values()) and not any(env.truncations.values()), f"before step {number}"
        assert env.agent_selection == f"player_{seat}", f"before step {number}"
        assert cards_text(legal_of(env)) == legal, f"before step {number}"
        env.step(parse_action(action))
    assert list(env.rewards.values()) == pytest.approx(deal["rewards"], abs=1e-9)
    assert set(env.truncations.values()) == {deal["truncated"]}
    assert set(env.terminations.values()) == {not deal["truncated"]}
