"""Batches of games: the same as single games, whatever their number, the threads and the form of the observations."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from hidden import observe
from strategies import preset_rules

import rs_env
from rs_env import Batch, Game, IllegalActionError, Rules, SelfPlayVectorEnv
from rs_env.cards import NUM_ACTIONS
from rs_env.engine.packing import unpack

PRESETS = [pytest.param(Rules.preset(name), id=name) for name in dict(preset_rules())]
# So short that many episodes end, by the rules and by the deal limit.
SHORT_CASES = [
    pytest.param(replace(rules, max_actions=20), id=f"{name}-{rules.num_players}") for name, rules in preset_rules()
]
SHORT_PRESETS = [pytest.param(Rules.preset(name, max_actions=20), id=name) for name in dict(preset_rules())]


def moves(batch: Batch, rng: random.Random) -> np.ndarray:
    """A random legal action in each game."""
    return np.array([rng.choice(np.flatnonzero(mask).tolist()) for mask in batch.action_mask])


def assert_same(first: Batch, second: Batch, games: slice = slice(None)) -> None:
    """Batches must be equal; `games`: which rows of the second are the first."""
    for field in fields(Batch):
        np.testing.assert_array_equal(getattr(first, field.name), getattr(second, field.name)[games], field.name)


class SingleGames:
    """Game `index` of a batch, one after the other: the next begins as soon as one has ended."""

    def __init__(self, rules: Rules, seed: int, index: int) -> None:
        self.game = Game(rules, seed=seed, index=index)
        self.ended = 0

    def play(self, action: int) -> Game:
        """The game after the action, over or not."""
        game = self.game
        game.play(int(action))
        if game.is_over:
            self.ended += 1
            self.game = Game(game.rules, game.seed, index=game.index, first_deal=game.first_deal + len(game.decks))
        return game


def assert_shows(batch: Batch, i: int, game: Game) -> None:
    """Row `i` shows the game as its seat to act sees it."""
    assert batch.action_mask is not None
    assert batch.current_player[i] == game.turn
    observation, mask = observe(game, int(batch.current_player[i]))
    assert np.array_equal(batch.observation[i], observation)
    assert np.array_equal(batch.action_mask[i], mask)


def assert_result(batch: Batch, i: int, game: Game) -> None:
    """Row `i` has the rewards and the end of the game."""
    assert batch.rewards[i].tolist() == np.array(game.rewards(), np.float32).tolist()
    assert (batch.terminated[i], batch.truncated[i]) == (game.terminated, game.truncated)


# Like single games


@pytest.mark.parametrize("rules", SHORT_CASES + PRESETS)
def test_batch_equals_single_games(rules: Rules) -> None:
    rng = random.Random(0)
    vec = SelfPlayVectorEnv(3, rules, seed=11)
    singles = [SingleGames(rules, 11, i) for i in range(3)]
    aec = rs_env.raw_env(rules)
    aec.reset(seed=11)
    batch = vec.reset(11)
    episodes = 3 if rules.max_actions else 1  # those that are not cut short are long
    while min(single.ended for single in singles) < episodes:
        for i, single in enumerate(singles):
            assert_shows(batch, i, single.game)
        assert aec.agent_selection == f"player_{batch.current_player[0]}"
        seen = aec.observe(aec.agent_selection)
        assert np.array_equal(seen["observation"], batch.observation[0])
        assert np.array_equal(seen["action_mask"], batch.action_mask[0])
        actions = moves(batch, rng)
        batch = vec.step(actions)
        for i, single in enumerate(singles):
            assert_result(batch, i, single.play(actions[i]))
        aec.step(int(actions[0]))
        assert np.array_equal(np.array(list(aec.rewards.values()), np.float32), batch.rewards[0])
        assert (set(aec.terminations.values()), set(aec.truncations.values())) == (
            {batch.terminated[0]},
            {batch.truncated[0]},
        )
        if batch.terminated[0] or batch.truncated[0]:
            aec.reset()


@pytest.mark.parametrize("rules", SHORT_PRESETS)
def test_threads_and_number_of_games_make_no_difference(rules: Rules) -> None:
    rng = random.Random(0)
    vec = SelfPlayVectorEnv(7, rules, seed=5)
    others = [SelfPlayVectorEnv(7, rules, seed=5, num_threads=threads) for threads in (2, 3)]
    larger = SelfPlayVectorEnv(12, rules, seed=5)
    batch = vec.reset(5)
    for _ in range(60):
        actions = moves(batch, rng)
        more = larger.random_actions().copy()
        more[:7] = actions
        batch = vec.step(actions)
        for other in others:
            assert_same(batch, other.step(actions))
            assert other.states.tobytes() == vec.states.tobytes()
        assert_same(batch, larger.step(more), slice(7))
        assert larger.states[:7].tobytes() == vec.states.tobytes()
    for other in others:
        other.close()


def test_random_actions_do_not_depend_on_the_number_of_games() -> None:
    few, many = SelfPlayVectorEnv(3, seed=5), SelfPlayVectorEnv(8, seed=5)
    for _ in range(50):
        first, second = few.random_actions(), many.random_actions()
        assert first.tolist() == second[:3].tolist()
        few.step(first)
        many.step(second)


def test_games_and_seeds_differ() -> None:
    decks = {SelfPlayVectorEnv(2, seed=seed).states["deck"][i].tobytes() for seed in (0, 1) for i in (0, 1)}
    assert len(decks) == 4


# Forced turns


@pytest.mark.parametrize("rules", SHORT_CASES + PRESETS)
def test_skip_forced_is_to_play_forced_turns_oneself(rules: Rules) -> None:
    rng = random.Random(0)
    vec = SelfPlayVectorEnv(2, rules, seed=11, skip_forced=True)
    singles = [SingleGames(rules, 11, i) for i in range(2)]
    batch = vec.reset(11)
    assert batch.action_mask is not None
    skipped = 0
    for _ in range(60):
        actions = moves(batch, rng)
        batch = vec.step(actions)
        for i, single in enumerate(singles):
            game = single.play(actions[i])
            while not game.is_over and len(game.legal_actions()) == 1:
                game = single.play(game.legal_actions()[0])
                skipped += 1
            assert_result(batch, i, game)
            assert_shows(batch, i, single.game)
            assert game.is_over or batch.action_mask[i].sum() >= 2
    assert (
        skipped or len(rules.deck) == rules.num_players
    )  # of one card each there is nothing to choose and little to skip


@pytest.mark.parametrize(
    "rules",
    [
        Rules(num_players=2, suits=1, ranks=2),
        Rules(num_players=2, suits=2, ranks=1),  # both void in the other's suit: goes on to the deal limit
        Rules(num_players=4, hand_size=1),
        Rules(num_players=8, suits=1, ranks=8, going_out="immediate", play_on=True),
        Rules(num_players=2, suits=2, ranks=1, scoring="cards", target=10, max_deals=5),
    ],
)
def test_skip_forced_ends_an_episode_without_a_choice_in_one_step(rules: Rules) -> None:
    vec = SelfPlayVectorEnv(6, rules, skip_forced=True)
    for _ in range(20):
        batch = vec.step(vec.random_actions())
        assert (batch.terminated ^ batch.truncated).all()


# Packed observations


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize("rules", SHORT_CASES)
def test_packed_observations_unpack_to_the_plain_ones(rules: Rules, library: str) -> None:
    convert: Callable[[np.ndarray], Any] = np.asarray if library == "numpy" else pytest.importorskip("torch").from_numpy
    plain, packed = SelfPlayVectorEnv(5, rules, seed=2), SelfPlayVectorEnv(5, rules, seed=2, packed=True)
    batch, words = plain.reset(2), packed.reset(2)
    for _ in range(30):
        observation, mask = unpack(convert(words.observation), rules.num_players)
        assert type(observation) is type(mask) is type(convert(words.observation))
        for unpacked, expected in ((observation, batch.observation), (mask, batch.action_mask)):
            assert np.asarray(unpacked).dtype == np.int8
            assert np.array_equal(np.asarray(unpacked), expected)
        actions = plain.random_actions()
        batch, words = plain.step(actions), packed.step(actions)
        for name in ("current_player", "rewards", "terminated", "truncated"):
            assert np.array_equal(getattr(batch, name), getattr(words, name))


def test_packed_observations_have_no_mask_of_their_own() -> None:
    assert SelfPlayVectorEnv(2, packed=True).reset().action_mask is None


@pytest.mark.parametrize("shape", [(5, 3), (20,), (2, 20, 1)])
def test_unpack_refuses_wrong_shapes(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="packed: shape"):
        unpack(np.zeros(shape, np.int64), 4)


# Buffers


def test_out_is_filled_and_the_own_buffers_are_left_alone() -> None:
    vec, plain = SelfPlayVectorEnv(4, seed=1), SelfPlayVectorEnv(4, seed=1)
    own = vec.reset(1)
    before = copy.deepcopy(own)
    for _ in range(30):
        buffer = vec.new_batch()
        for field in fields(Batch):
            getattr(buffer, field.name)[:] = 1
        actions = vec.random_actions()
        assert vec.step(actions, out=buffer) is buffer
        assert_same(buffer, plain.step(actions))
        assert_same(before, own)
    assert_same(vec.reset(out=vec.new_batch()), plain.reset())


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("n", range(2, 9))
def test_nothing_is_written_beyond_the_buffers(n: int, packed: bool) -> None:
    vec = SelfPlayVectorEnv(3, Rules(num_players=n, max_actions=10), packed=packed)
    around, inside = SelfPlayVectorEnv(5, vec.rules, packed=packed).new_batch(), vec.new_batch()
    for field in fields(Batch):
        array = getattr(around, field.name)
        if array is not None:
            array[:] = 1
            setattr(inside, field.name, array[1:-1])
    before = copy.deepcopy(around)
    for _ in range(30):
        vec.step(vec.random_actions(), out=inside)
    for field in fields(Batch):
        if getattr(around, field.name) is not None:
            assert np.array_equal(getattr(around, field.name)[[0, -1]], getattr(before, field.name)[[0, -1]])


def test_without_out_the_buffers_are_used_again() -> None:
    vec = SelfPlayVectorEnv(4)
    assert vec.step(vec.random_actions()).observation is vec.step(vec.random_actions()).observation


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", [field.name for field in fields(Batch)])
@pytest.mark.parametrize(
    "spoil",
    [
        lambda a: a[:-1].copy(),
        lambda a: a.astype(np.float64),
        lambda a: np.repeat(a, 2, axis=0)[::2],
        lambda _: None,
        lambda a: a.tolist(),
    ],
    ids=["short", "float64", "not contiguous", "missing", "list"],
)
def test_wrong_out_is_refused_and_changes_nothing(spoil: Callable[[Any], Any], name: str, packed: bool) -> None:
    vec = SelfPlayVectorEnv(4, packed=packed)
    buffer = vec.new_batch()
    if getattr(buffer, name) is None:
        spoil = lambda _: np.zeros((4, NUM_ACTIONS), np.int8)  # noqa: E731  a mask where there is none
    setattr(buffer, name, spoil(getattr(buffer, name)))
    before = vec.states.tobytes()
    with pytest.raises(ValueError, match=f"out.{name}"):
        vec.step(vec.random_actions(), out=buffer)
    assert vec.states.tobytes() == before


def test_buffers_that_share_memory_are_refused() -> None:
    vec = SelfPlayVectorEnv(53)  # as many as actions
    buffer = vec.new_batch()
    memory = np.zeros((53, 54), np.int8)
    buffer.action_mask, buffer.current_player = memory[:, :53].copy(), memory.reshape(-1)[:53]
    assert vec.reset(out=buffer) is buffer
    buffer.action_mask = memory.reshape(-1)[: 53 * 53].reshape(53, 53)
    before = vec.states.tobytes()
    for _ in range(2):
        with pytest.raises(ValueError, match=r"out\.action_mask and out\.current_player share memory"):
            vec.step(vec.random_actions(), out=buffer)
    assert vec.states.tobytes() == before


def test_actions_that_lie_in_the_buffers_are_played_as_they_were() -> None:
    vec, plain = SelfPlayVectorEnv(8, packed=True), SelfPlayVectorEnv(8, packed=True)
    buffer = vec.new_batch()
    for _ in range(20):
        actions = vec.random_actions(out=buffer.observation.reshape(-1)[:8])
        assert actions.tolist() == plain.random_actions().tolist()
        expected = plain.step(actions.copy())
        assert np.array_equal(vec.step(actions, out=buffer).observation, expected.observation)
        assert vec.states.tobytes() == plain.states.tobytes()


# Reset and restore


@pytest.mark.parametrize("rules", SHORT_PRESETS)
def test_restored_games_go_on_identically(rules: Rules) -> None:
    rng = random.Random(0)
    vec, other = SelfPlayVectorEnv(4, rules, seed=1), SelfPlayVectorEnv(4, rules, seed=2)
    batch = vec.reset(1)
    for _ in range(25):
        batch = vec.step(moves(batch, rng))
    states, shown = vec.states.copy(), copy.deepcopy(batch)
    played = []
    for _ in range(40):
        actions = moves(batch, rng)
        batch = vec.step(actions)
        played.append((actions, copy.deepcopy(batch)))
    for env in (vec, other):
        back = env.restore(states)
        for name in ("observation", "action_mask", "current_player"):
            assert np.array_equal(getattr(back, name), getattr(shown, name))
        for actions, batch in played:
            assert_same(batch, env.step(actions))
    assert states.tobytes() != vec.states.tobytes()  # played on a copy


@pytest.mark.parametrize(
    "begin",
    [lambda vec: vec.reset(), lambda vec: vec.reset(3), lambda vec: vec.restore(vec.states.copy())],
    ids=["reset", "reset with a seed", "restore"],
)
def test_a_batch_that_begins_ends_nothing(begin: Callable[[SelfPlayVectorEnv], Batch]) -> None:
    vec = SelfPlayVectorEnv(4, Rules(max_actions=1, scoring="cards"))
    batch = vec.step(vec.random_actions())
    assert batch.truncated.all()
    assert batch.rewards.any()
    batch = begin(vec)
    assert not batch.truncated.any()
    assert not batch.terminated.any()
    assert not batch.rewards.any()


def test_reset_with_the_seed_begins_anew_and_without_goes_on() -> None:
    vec = SelfPlayVectorEnv(3, seed=4)
    first = copy.deepcopy(vec.reset(4))
    following = vec.reset()
    assert not np.array_equal(following.observation, first.observation)
    assert [Game(seed=4, index=i, first_deal=1).hands[int(following.current_player[i])] for i in range(3)] == [
        np.flatnonzero(row[:52]).tolist() for row in following.observation
    ]
    assert_same(first, vec.reset(4))


def test_wrong_states_are_refused_and_change_nothing() -> None:
    vec = SelfPlayVectorEnv(3)
    before = vec.states.tobytes()
    for states in (vec.states[:2].copy(), np.zeros(3), vec.states.tolist(), None):
        with pytest.raises(ValueError, match="states"):
            vec.restore(states)
    assert vec.states.tobytes() == before


def test_metadata_names_the_autoreset() -> None:
    assert SelfPlayVectorEnv.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP


# Actions


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("wrong", [-1, NUM_ACTIONS, 10**6, -(2**40), None])
@pytest.mark.parametrize("where", [0, 2, 4])
def test_an_illegal_action_is_refused_and_changes_no_game(where: int, wrong: int | None, packed: bool) -> None:
    vec, untouched = (SelfPlayVectorEnv(5, seed=6, packed=packed) for _ in range(2))
    actions = vec.random_actions().copy()
    legal = SelfPlayVectorEnv(5, seed=6).reset(6).action_mask
    actions[where] = np.flatnonzero(legal[where] == 0)[0] if wrong is None else wrong  # type: ignore[index]
    before = vec.states.tobytes()
    with pytest.raises(IllegalActionError, match=rf"actions\[{where}\]={actions[where]} "):
        vec.step(actions)
    assert vec.states.tobytes() == before
    good = untouched.random_actions()
    for _ in range(5):  # and all goes on as if nothing had been
        assert_same_without_mask(vec.step(good), untouched.step(good))
        good = untouched.random_actions()


def assert_same_without_mask(first: Batch, second: Batch) -> None:
    for name in ("observation", "current_player", "rewards", "terminated", "truncated"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name), name)


@pytest.mark.parametrize(
    "actions",
    [np.zeros(3, np.int64), np.zeros((4, 1), np.int64), np.zeros(4), np.zeros(4, bool), 0, ["7c"] * 4, None],
    ids=["too few", "matrix", "float", "bool", "scalar", "text", "None"],
)
def test_actions_of_wrong_form_are_refused_and_change_nothing(actions: Any) -> None:
    vec = SelfPlayVectorEnv(4)
    before = vec.states.tobytes()
    with pytest.raises(ValueError, match="actions"):
        vec.step(actions)
    assert vec.states.tobytes() == before


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64])
def test_integer_actions_of_any_type_are_taken(dtype: type) -> None:
    vec, other = SelfPlayVectorEnv(4), SelfPlayVectorEnv(4)
    for _ in range(20):
        actions = vec.random_actions()
        assert_same(vec.step(actions), other.step(actions.astype(dtype)))


@pytest.mark.parametrize("rules", SHORT_CASES)
def test_random_actions_are_legal(rules: Rules) -> None:
    vec = SelfPlayVectorEnv(8, rules)
    batch = vec.reset()
    for _ in range(40):
        actions = vec.random_actions()
        assert batch.action_mask is not None
        assert batch.action_mask[np.arange(8), actions].all()
        batch = vec.step(actions)


def test_random_actions_are_uniform() -> None:
    vec = SelfPlayVectorEnv(2000, seed=9)
    legal = np.flatnonzero(vec.restore(np.repeat(vec.states[:1], 2000)).action_mask[0])  # type: ignore[index]
    assert len(legal) == 8
    across_games = vec.random_actions().copy()
    across_draws = np.array([vec.random_actions()[0] for _ in range(2000)])
    for draws in (across_games, across_draws):
        counts = np.bincount(draws, minlength=NUM_ACTIONS)[legal]
        assert counts.sum() == 2000
        chi_square = ((counts - 250) ** 2 / 250).sum()
        assert chi_square < 24.3  # exceeded by chance once in a thousand seeds, at 7 degrees of freedom


def test_random_actions_are_written_to_out() -> None:
    vec, other = SelfPlayVectorEnv(4), SelfPlayVectorEnv(4)
    out = np.zeros(4, np.int64)
    assert vec.random_actions(out) is out
    assert out.tolist() == other.random_actions().tolist()


def read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    "out",
    [
        np.zeros(3, np.int64),
        np.zeros(4),
        np.zeros((4, 1), np.int64),
        [0] * 4,
        np.zeros(8, np.int64)[::2],
        read_only(np.zeros(4, np.int64)),
    ],
    ids=["short", "float", "matrix", "list", "strided", "read-only"],
)
def test_wrong_out_of_random_actions_is_refused(out: np.ndarray) -> None:
    with pytest.raises(ValueError, match="out"):
        SelfPlayVectorEnv(4).random_actions(out)


# Construction


@pytest.mark.parametrize("name", ["num_envs", "num_threads"])
@pytest.mark.parametrize("value", [0, -1, 2.0, "2", True])
def test_wrong_numbers_are_refused(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{name}={value!r}"):
        SelfPlayVectorEnv(**{"num_envs": 2, name: value})


@pytest.mark.parametrize(
    ("options", "named"), [({"rules": "whist"}, "whist"), ({"seed": -1}, "seed"), ({"seed": 1.5}, "seed")]
)
def test_wrong_rules_and_seeds_are_refused(options: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        SelfPlayVectorEnv(2, **options)


def test_first_reset_shows_the_first_decks_and_the_second_the_next() -> None:
    vec = SelfPlayVectorEnv(3, seed=5)
    first = vec.reset().observation.copy()
    assert np.array_equal(first, SelfPlayVectorEnv(3, seed=99).reset(5).observation)
    assert vec.states["deck"][0, :32].tolist() == Game(seed=5).decks[0]
    vec.reset()
    assert vec.states["deck"][0, :32].tolist() == Game(seed=5, first_deal=1).decks[0]
