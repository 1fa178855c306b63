"""Spaces and forms of observations: scaled, flat, masks of waiting seats, sampling by masks; names and options of the
constructors."""

from __future__ import annotations

import copy
import inspect
import pickle
import random
import warnings
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.wrappers import TimeAwareObservation
from pettingzoo.test import api_test, parallel_api_test
from pettingzoo.utils.conversions import aec_to_parallel
from strategies import preset_rules

import rs_env
from rs_env import Game, Rules, SelfPlayVectorEnv
from rs_env.cards import NUM_ACTIONS, PICKUP
from rs_env.engine import batch
from rs_env.engine.observation import ObservationSpec, observation_spec, state_spec
from rs_env.envs import gymnasium_kernels
from rs_env.envs.gymnasium_single import RollingStoneEnv
from rs_env.envs.gymnasium_vector import RollingStoneVectorEnv
from rs_env.rules import OPTIONS

RULES = [pytest.param(rules, id=f"{name}-{rules.num_players}") for name, rules in preset_rules()]
CONSTRUCTORS: dict[str, Callable[..., Any]] = {
    "raw_env": rs_env.raw_env,
    "env": rs_env.env,
    "parallel_env": rs_env.parallel_env,
    "RollingStoneEnv": RollingStoneEnv,
    "RollingStoneVectorEnv": lambda *rules, **options: RollingStoneVectorEnv(2, *rules, **options),
    "SelfPlayVectorEnv": lambda *rules, **options: SelfPlayVectorEnv(2, *rules, **options),
    "Game": Game,
}


def by_hand(observation: np.ndarray, layout: Any) -> np.ndarray:
    """Each entry divided by its bound, section by section."""
    parts = [observation[layout[name]].astype(np.float64) / section.high for name, section in layout.sections.items()]
    return np.concatenate(parts).astype(np.float32)


def play(env: Any, rng: random.Random, steps: int) -> None:
    for _ in range(steps):
        if env.unwrapped.game.is_over:
            return
        env.step(rng.choice(env.unwrapped.game.legal_actions()))


# Scaled observations


@pytest.mark.parametrize("rules", RULES)
def test_scaled_observations_are_the_plain_ones_divided_by_their_bounds(rules: Rules) -> None:
    plain, scaled = rs_env.raw_env(rules), rs_env.raw_env(rules, observation_dtype="float32")
    layout, n = observation_spec(rules.num_players), rules.num_players
    for env in (plain, scaled):
        env.reset(seed=5)
    for _ in range(4):
        for env in (plain, scaled):
            play(env, random.Random(1), 17)
        for agent in plain.possible_agents:
            seen = scaled.observe(agent)
            assert scaled.observation_space(agent).contains(seen)
            assert np.array_equal(seen["observation"], by_hand(plain.observe(agent)["observation"], layout))
            assert np.array_equal(seen["action_mask"], plain.observe(agent)["action_mask"])
            assert layout.decode(seen["observation"]) == layout.decode(plain.observe(agent)["observation"])
        assert scaled.state_space.contains(scaled.state())
        assert np.array_equal(scaled.state(), by_hand(plain.state(), state_spec(n)))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("rules", RULES)
def test_scaled_batches_are_the_plain_ones_divided_by_their_bounds(rules: Rules, threads: int) -> None:
    plain = SelfPlayVectorEnv(5, rules, seed=3)
    scaled = SelfPlayVectorEnv(5, rules, seed=3, num_threads=threads, observation_dtype=np.float32)
    a, b = plain.reset(3), scaled.reset(3)
    for _ in range(25):
        assert b.observation.dtype == np.float32
        assert np.array_equal(b.observation, [by_hand(row, plain.layout) for row in a.observation])
        assert np.array_equal(a.action_mask, b.action_mask)
        assert scaled.observation_space.contains(b.observation)
        actions = plain.random_actions()
        a, b = plain.step(actions), scaled.step(actions, out=scaled.new_batch())


def test_scaled_gymnasium_observations_are_the_plain_ones_divided_by_their_bounds() -> None:
    plain, scaled = (RollingStoneEnv(opponents="random", observation_dtype=dtype) for dtype in ("int8", "float32"))
    vec = RollingStoneVectorEnv(1, opponents="random", observation_dtype="float32")
    a, info = plain.reset(seed=2)
    b, c = scaled.reset(seed=2)[0], vec.reset(seed=2)[0]
    for _ in range(12):
        expected = by_hand(a, plain.layout)
        assert scaled.observation_space.contains(b) and vec.observation_space.contains(c)
        assert np.array_equal(b, expected) and np.array_equal(c[0], expected)
        action = int(info["action_mask"].argmax())
        a, _, terminated, truncated, info = plain.step(action)
        b, c = scaled.step(action)[0], vec.step([action])[0]
        if terminated or truncated:
            break


@pytest.mark.parametrize("dtype", [np.int8, np.dtype("int8"), "int8", np.float32, np.dtype("float32"), "float32"])
def test_dtypes_are_taken_in_every_form(dtype: Any) -> None:
    env = rs_env.raw_env(observation_dtype=dtype, flat=True)
    env.reset(seed=1)
    assert env.observe("player_0").dtype == env.observation_space("player_0").dtype == np.dtype(dtype)
    for made in (RollingStoneEnv(observation_dtype=dtype), RollingStoneVectorEnv(2, observation_dtype=dtype)):
        assert made.reset(seed=1)[0].dtype == made.observation_space.dtype == np.dtype(dtype)
    vec = SelfPlayVectorEnv(2, observation_dtype=dtype)
    assert vec.reset().observation.dtype == vec.observation_space.dtype == np.dtype(dtype)


def test_packed_observations_are_not_scaled() -> None:
    with pytest.raises(ValueError, match="observation_dtype='float32'"):
        SelfPlayVectorEnv(2, packed=True, observation_dtype="float32")


@pytest.mark.parametrize("packed", [False, True])
def test_batches_have_the_spaces_of_their_arrays(packed: bool) -> None:
    vec = SelfPlayVectorEnv(3, packed=packed)
    batch = vec.reset()
    for _ in range(20):
        assert vec.observation_space.contains(batch.observation)
        assert all(vec.single_observation_space.contains(row) for row in batch.observation)
        batch = vec.step(vec.random_actions())
    assert vec.action_space.contains(vec.random_actions())
    assert vec.single_action_space == spaces.Discrete(NUM_ACTIONS)
    assert vec.action_space == spaces.MultiDiscrete([NUM_ACTIONS] * 3)


# Sampling by masks


@pytest.mark.parametrize("dtype", [np.int8, np.bool_])
def test_masks_of_bools_and_bytes_are_sampled_alike(dtype: type) -> None:
    mask = np.zeros(NUM_ACTIONS, dtype)
    mask[[3, 20, PICKUP]] = 1
    space, batch = rs_env.raw_env().action_space("player_0"), SelfPlayVectorEnv(2).action_space
    space.seed(0)
    batch.seed(0)
    assert {int(space.sample(mask)) for _ in range(100)} == {3, 20, PICKUP}
    rows = np.stack([mask, np.eye(NUM_ACTIONS, dtype=dtype)[7]])
    samples = [batch.sample(rows) for _ in range(100)]
    assert {int(a) for a, _ in samples} == {3, 20, PICKUP}
    assert {int(b) for _, b in samples} == {7}
    assert all(batch.contains(sample) for sample in samples)


def test_batch_of_masks_that_does_not_fit_is_refused() -> None:
    space = SelfPlayVectorEnv(2).action_space
    for mask in (np.ones((3, NUM_ACTIONS), np.int8), np.ones((2, NUM_ACTIONS)), np.ones(NUM_ACTIONS, bool)):
        with pytest.raises(ValueError, match="mask"):
            space.sample(mask)


def test_action_spaces_are_seeded_by_numpy_integers() -> None:
    space = rs_env.raw_env().action_space("player_0")
    draws = []
    for seed in (5, np.int64(5), np.uint8(5)):
        space.seed(seed)
        draws.append([int(space.sample(np.ones(NUM_ACTIONS, bool))) for _ in range(20)])
    assert draws[0] == draws[1] == draws[2]
    batch = SelfPlayVectorEnv(4).action_space
    samples = []
    for seed in (5, np.int64(5), np.array(5)):
        batch.seed(seed)
        samples.append(batch.sample().tolist())
    assert samples[0] == samples[1] == samples[2]
    for refused in (space, batch):
        for seed in (True, -1, 2**64, 1.0):
            with pytest.raises(ValueError, match="seed="):
                refused.seed(seed)  # type: ignore[arg-type]


def test_bounds_become_tensors_without_a_warning() -> None:
    torch = pytest.importorskip("torch")
    for layout in (observation_spec(4), state_spec(3), RollingStoneEnv().layout):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            high, low = torch.as_tensor(layout.high), torch.as_tensor(layout.low)
        high += 1  # what is handed out is the caller's own
        assert (layout.high == high.numpy() - 1).all() and (layout.low == low.numpy()).all()


# Flat observations, waiting seats


@pytest.mark.parametrize("dtype", ["int8", "float32"])
@pytest.mark.parametrize("mark_waiting", [False, True])
def test_flat_observations_are_the_vectors_with_masks_in_the_infos(dtype: str, mark_waiting: bool) -> None:
    options = {"observation_dtype": dtype, "mark_waiting": mark_waiting}
    flat, nested = rs_env.env(flat=True, **options), rs_env.env(**options)
    for env in (flat, nested):
        env.reset(seed=4)
    for _ in range(3):
        for agent in flat.possible_agents:
            assert isinstance(flat.observation_space(agent), spaces.Box)
            assert flat.observation_space(agent).contains(flat.observe(agent))
            assert np.array_equal(flat.observe(agent), nested.observe(agent)["observation"])
            assert np.array_equal(flat.infos[agent]["action_mask"], nested.observe(agent)["action_mask"])
        for env in (flat, nested):
            play(env, random.Random(2), 9)


@pytest.mark.parametrize(
    "options",
    [{"flat": True}, {"mark_waiting": True}, {"flat": True, "mark_waiting": True, "observation_dtype": "float32"}],
)
def test_pettingzoos_tests_pass_in_every_form(options: dict[str, Any]) -> None:
    def seeded(make: Callable[..., Any]) -> Any:
        env = make(max_actions=40, **options)
        for number, agent in enumerate(env.possible_agents):
            env.action_space(agent).seed(number)
        return env

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # which ones come is tested for the default form
        api_test(seeded(rs_env.env), num_cycles=200)
        api_test(seeded(rs_env.raw_env), num_cycles=200)
        parallel_api_test(seeded(rs_env.parallel_env), num_cycles=200)


def test_no_mask_is_all_zero_where_waiting_seats_are_marked() -> None:
    env, rng = rs_env.parallel_env(mark_waiting=True, max_actions=60), random.Random(0)
    observations, infos = env.reset(seed=0)
    pickup_only = np.eye(NUM_ACTIONS, dtype=np.int8)[PICKUP]
    while env.agents:
        game = env.unwrapped.game
        for seat, agent in enumerate(env.agents):
            mask = observations[agent]["action_mask"]
            if seat == game.turn:
                assert np.flatnonzero(mask).tolist() == game.legal_actions()
            else:
                assert np.array_equal(mask, pickup_only)
            assert np.array_equal(infos[agent]["action_mask"], mask)
        actions = {
            agent: rng.choice(np.flatnonzero(observations[agent]["action_mask"]).tolist()) for agent in env.agents
        }
        played = sum(map(len, game.history))
        observations, _, _, _, infos = env.step(actions)
        assert sum(map(len, game.history)) == played + 1
    assert all(np.array_equal(seen["action_mask"], pickup_only) for seen in observations.values())


def test_marks_stay_after_an_illegal_action() -> None:
    env = rs_env.env(mark_waiting=True)
    env.reset(seed=0)
    env.step(next(a for a in range(NUM_ACTIONS) if a not in env.unwrapped.game.legal_actions()))
    assert [np.flatnonzero(env.infos[agent]["action_mask"]).tolist() for agent in env.agents] == [[PICKUP]] * 4
    assert [np.flatnonzero(env.observe(agent)["action_mask"]).tolist() for agent in env.agents] == [[PICKUP]] * 4


# Names and options


@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_unknown_keywords_are_type_errors_in_pythons_words(name: str) -> None:
    with pytest.raises(
        TypeError, match=r"\(\) got an unexpected keyword argument 'frameskip'; there are .*\brules\b.*\bmax_deals\b"
    ) as refusal:
        CONSTRUCTORS[name](frameskip=1)
    assert all(option in str(refusal.value) for option in OPTIONS)


@pytest.mark.parametrize(
    "make", [gymnasium.make, lambda *a, **k: gymnasium.make_vec(*a, vectorization_mode="vector_entry_point", **k)]
)
def test_gymnasium_passes_the_type_error_on(make: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'frameskip'"):
        make("rs_env/RollingStone-v0", frameskip=1)


@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_every_constructor_takes_players_and_options_of_the_rules(name: str) -> None:
    made = CONSTRUCTORS[name]("schweller", num_players=5, max_cycles=77, scoring="parlett")
    if hasattr(made, "reset"):
        made.reset(seed=0)
    rules = made.rules if hasattr(made, "rules") else made.unwrapped.rules
    assert rules == Rules.preset("schweller", num_players=5, max_actions=77, scoring="parlett")


@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_two_names_of_one_option_are_refused(name: str) -> None:
    with pytest.raises(TypeError, match="'max_cycles' and 'max_actions'"):
        CONSTRUCTORS[name](max_cycles=5, max_actions=5)


def test_spec_is_gymnasiums_alone_and_the_layout_ours() -> None:
    for env in (rs_env.raw_env(), RollingStoneEnv(), RollingStoneVectorEnv(2), SelfPlayVectorEnv(2)):
        assert isinstance(env.layout, ObservationSpec)
        assert not isinstance(getattr(env, "spec", None), ObservationSpec)
    assert gymnasium.make("rs_env/RollingStone-v0").spec.id == "rs_env/RollingStone-v0"


def test_turn_based_games_are_not_parallelizable() -> None:
    assert rs_env.raw_env().metadata["is_parallelizable"] is False
    with pytest.raises(AssertionError, match="parallelizable"):
        aec_to_parallel(rs_env.env())


def test_the_spec_tells_how_many_steps_a_game_has_at_most() -> None:
    env = gymnasium.make("rs_env/RollingStone-v0", max_actions=90, opponents="random")
    assert env.spec.max_episode_steps == 90
    timed = TimeAwareObservation(env)
    observation, info = timed.reset(seed=1)
    assert timed.observation_space.contains(observation)
    done = False
    while not done:
        observation, _, terminated, truncated, info = timed.step(int(info["action_mask"].argmax()))
        done = terminated or truncated
        assert timed.observation_space.contains(observation)
    assert (terminated, truncated) == (env.unwrapped.game.terminated, env.unwrapped.game.truncated)
    match = gymnasium.make("rs_env/RollingStone-v0", rules="penalty", max_actions=90, max_deals=7)
    assert match.spec.max_episode_steps == 630
    assert gymnasium.make("rs_env/RollingStone-v0", max_episode_steps=5).spec.max_episode_steps == 5
    remade = gymnasium.make(match.spec)
    assert remade.unwrapped.rules == match.unwrapped.rules


# Copies and pickles


def copies(env: Any) -> list[Any]:
    return [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]


def signatures() -> int:
    """How many specialisations of the batched environments' kernels have been compiled."""

    kernels = [
        value
        for module in (batch, gymnasium_kernels)
        for value in vars(module).values()
        if hasattr(value, "signatures")
    ]
    return sum(len(kernel.signatures) for kernel in kernels)


@pytest.mark.parametrize("threads", [1, 2])
def test_copies_of_a_batch_go_on_alike_and_compile_nothing(threads: int) -> None:
    vec = SelfPlayVectorEnv(4, "penalty", seed=2, num_threads=threads)
    vec.play_randomly(3)
    vec.step(vec.random_actions())
    vec.reset()
    before = signatures()
    for other in copies(vec):
        assert other.states.tobytes() == vec.states.tobytes()
        reference = copy.deepcopy(vec)
        for _ in range(5):
            actions = reference.random_actions()
            assert np.array_equal(other.step(actions).observation, reference.step(actions).observation)
        other.restore(other.states.copy())
        other.reset()
    assert signatures() == before


def test_copies_of_gymnasiums_batch_go_on_alike_and_compile_nothing() -> None:
    vec = RollingStoneVectorEnv(3, opponents=["heuristic", "pimc:worlds=2", "random"])
    _, infos = vec.reset(seed=2)
    vec.step(infos["action_mask"].argmax(1))
    before = signatures()
    for other in copies(vec):
        reference = copy.deepcopy(vec)
        for _ in range(5):
            actions = reference.action_masks().argmax(1)
            (a, *_), (b, *_) = other.step(actions), reference.step(actions)
            assert np.array_equal(a, b)
        other.reset(seed=1)
    assert signatures() == before


def test_copies_of_a_game_are_independent() -> None:
    game = Game(seed=1)
    for other in (copy.copy(game), copy.deepcopy(game), game.clone()):
        before = game.states.tobytes()
        other.play(other.legal_actions()[0])
        assert game.states.tobytes() == before and game.history == [[]]


def test_options_of_the_constructors_are_documented() -> None:
    for make in (rs_env.raw_env, RollingStoneEnv, SelfPlayVectorEnv):
        for parameter in inspect.signature(make).parameters:
            assert parameter in ("rule_overrides", "self") or parameter in (make.__doc__ or ""), (make, parameter)
