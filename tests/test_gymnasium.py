"""The Gymnasium environments: one learner among opponents, single and batched."""

from __future__ import annotations

import random
import warnings
from functools import partial

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from hidden import resampled
from strategies import preset_rules

import rs_env
from rs_env import Game, IllegalActionError, Rules
from rs_env.baselines import make_agent
from rs_env.envs.gymnasium_single import RollingStoneEnv
from rs_env.envs.gymnasium_vector import RollingStoneVectorEnv
from rs_env.rules import PRESETS

ID = "rs_env/RollingStone-v0"


class LowestCard:
    """An agent that is not compiled: the lowest legal action."""

    name = "lowest"

    def reset(self, seed: int | None) -> None:
        pass

    def act(self, views: np.ndarray) -> np.ndarray:
        return np.array([int(legal & -legal).bit_length() - 1 for legal in views["legal"].tolist()])


@pytest.mark.parametrize("illegal_action", ["penalise", "random"])
@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_check_env(preset: str, illegal_action: str) -> None:
    env = gymnasium.make(
        ID, rules=preset, illegal_action=illegal_action, opponents="random", max_actions=60, max_deals=2
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped, skip_render_check=True)


@pytest.mark.parametrize("rules", [pytest.param(rules, id=name) for name, rules in preset_rules()])
def test_every_rule_set_plays_to_the_end(rules: Rules) -> None:
    env = RollingStoneEnv(rules, learner_seat=None, opponents="random", max_actions=40, max_deals=3)
    rng = np.random.default_rng(3)
    for seed in range(3):
        observation, info = env.reset(seed=seed)
        done = False
        while not done:
            assert env.observation_space.contains(observation)
            assert env.game.turn == env.learner_seat
            legal = np.flatnonzero(info["action_mask"])
            assert legal.tolist() == env.game.legal_actions() == np.flatnonzero(env.action_masks()).tolist()
            observation, reward, terminated, truncated, info = env.step(rng.choice(legal))
            done = terminated or truncated
        assert not info["action_mask"].any()
        assert reward == env.game.rewards()[env.learner_seat]
        assert (terminated, truncated) == (env.game.terminated, env.game.truncated)
        with pytest.raises(gymnasium.error.ResetNeeded):
            env.step(0)


def test_opponents_sit_clockwise_from_the_learner_and_see_only_views() -> None:
    seen: dict[str, set[int]] = {}

    class Spy(LowestCard):
        def __init__(self, name: str) -> None:
            self.name = name

        def act(self, views: np.ndarray) -> np.ndarray:
            seen.setdefault(self.name, set()).update(views["seat"].tolist())
            return super().act(views)

    env = RollingStoneEnv(opponents=[Spy("left"), Spy("across"), Spy("right")], learner_seat=2)
    for seed in range(4):
        _, info = env.reset(seed=seed)
        for _ in range(15):
            *_, terminated, truncated, info = env.step(int(np.flatnonzero(info["action_mask"])[0]))
            if terminated or truncated:
                break
    assert seen == {"left": {3}, "across": {0}, "right": {1}}


def test_skip_forced_leaves_only_decisions() -> None:
    env = RollingStoneEnv(skip_forced=True, opponents="random")
    for seed in range(5):
        _, info = env.reset(seed=seed)
        while info["action_mask"].any():
            assert info["action_mask"].sum() > 1
            *_, info = env.step(int(np.flatnonzero(info["action_mask"])[-1]))


def test_illegal_actions() -> None:
    def illegal_of(info: dict) -> int:
        return int(np.flatnonzero(info["action_mask"] == 0)[0])

    env = RollingStoneEnv(illegal_action="penalise")
    observation, info = env.reset(seed=1)
    after, reward, terminated, truncated, info = env.step(illegal_of(info))
    assert (reward, terminated, truncated, info["illegal_action"]) == (-1.0, True, False, True)
    assert np.array_equal(observation, after) and not info["action_mask"].any() and not env.action_masks().any()

    env = RollingStoneEnv(illegal_action="raise")
    _, info = env.reset(seed=1)
    before = env.game.states.tobytes()
    with pytest.raises(IllegalActionError):
        env.step(illegal_of(info))
    assert env.game.states.tobytes() == before

    env = RollingStoneEnv(illegal_action="random", skip_forced=True)
    _, info = env.reset(seed=1)
    hand = set(env.game.hands[0])
    *_, info = env.step(illegal_of(info))
    assert info["illegal_action"] and set(env.game.hands[0]) != hand


def test_seeds_decks_and_options() -> None:
    env = RollingStoneEnv(opponents="random")
    first, _ = env.reset(seed=5)
    second, _ = env.reset()
    again, _ = env.reset(seed=5)
    assert np.array_equal(first, again) and not np.array_equal(first, second)
    assert env.game.decks[0] == Game(seed=5).decks[0]
    deck = Game(seed=99).decks[0]
    env.reset(options={"deck": deck, "dealer": 3})
    assert env.game.decks[0] == deck and env.game.dealer == 3
    with pytest.raises(ValueError, match="dealer=4"):
        env.reset(options={"dealer": 4})
    with pytest.warns(UserWarning, match="nonsense"):
        env.reset(options={"nonsense": 1})


def test_what_is_hidden_does_not_show() -> None:
    env = RollingStoneEnv(opponents="random", skip_forced=True)
    rng = random.Random(0)
    for seed in range(20):
        observation, _ = env.reset(seed=seed)
        env.game = resampled(env.game, env.learner_seat, rng)
        assert np.array_equal(env._observation(), observation)


def test_a_batch_that_was_refused_can_be_closed() -> None:
    batch = RollingStoneVectorEnv.__new__(RollingStoneVectorEnv)
    with pytest.raises(ValueError, match="num_envs=0"):
        batch.__init__(0)  # type: ignore[misc]
    batch.close()  # as Gymnasium 1.1 does with whatever is thrown away


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"opponents": "nobody"}, "nobody"),
        ({"opponents": ["random"]}, "opponents: 1 are not allowed"),
        ({"learner_seat": 4}, "learner_seat=4"),
        ({"illegal_action": "ignore"}, "illegal_action='ignore'"),
        ({"rules": "whist"}, "whist"),
        ({"num_players": 1}, "num_players=1"),
        ({"render_mode": "hologram"}, "render_mode='hologram'"),
        ({"observation_dtype": "float64"}, "observation_dtype='float64'"),
        ({"observation_dtype": None}, "observation_dtype=None"),
    ],
)
def test_bad_arguments_are_refused_by_name(arguments: dict, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        RollingStoneEnv(**arguments)
    with pytest.raises(ValueError, match=said):
        RollingStoneVectorEnv(2, **arguments)


def test_a_rule_set_without_decisions_is_told() -> None:
    env = RollingStoneEnv(Rules(num_players=2, suits=1, ranks=2), skip_forced=True, opponents="random")
    with pytest.raises(RuntimeError, match="nothing to decide"):
        env.reset(seed=0)


@pytest.mark.parametrize(
    "opponents",
    ["random", "heuristic", ["heuristic", "random", "heuristic"], ["heuristic", LowestCard(), "random"]],
    ids=["random", "heuristic", "several", "one that is not compiled"],
)
@pytest.mark.parametrize("illegal_action", ["penalise", "random"])
@pytest.mark.parametrize("skip_forced", [False, True])
def test_vector_environment_is_gymnasiums_own_of_single_ones(
    opponents: object, illegal_action: str, skip_forced: bool
) -> None:
    """Step by step the same as Gymnasium's SyncVectorEnv with same-step autoreset, illegal actions included."""
    arguments = {
        "rules": "schweller", "opponents": opponents, "learner_seat": 1, "skip_forced": skip_forced,
        "illegal_action": illegal_action, "max_actions": 60,
    }  # fmt: skip
    ours = gymnasium.make_vec(ID, num_envs=3, vectorization_mode="vector_entry_point", **arguments)
    theirs = SyncVectorEnv([partial(RollingStoneEnv, **arguments)] * 3, autoreset_mode=AutoresetMode.SAME_STEP)
    assert ours.metadata["autoreset_mode"] == theirs.metadata["autoreset_mode"]
    assert ours.observation_space == theirs.observation_space and ours.single_action_space == theirs.single_action_space
    (a, info_a), (b, info_b) = ours.reset(seed=11), theirs.reset(seed=11)
    rng = np.random.default_rng(0)
    ended = 0
    for _ in range(150):
        assert np.array_equal(a, b)
        assert same_infos(info_a, info_b), (info_a, info_b)
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in info_a["action_mask"]])
        actions[rng.random(3) < 0.02] = 7  # not in this deck, so illegal
        a, *rest_a, info_a = ours.step(actions)
        b, *rest_b, info_b = theirs.step(actions)
        for x, y in zip(rest_a, rest_b, strict=True):
            assert np.array_equal(x, y) and x.dtype == y.dtype
        ended += int((rest_a[1] | rest_a[2]).sum())
    assert ended > 5


def same_infos(a: dict, b: dict) -> bool:
    """Equal keys and values, entries that are masked out not counted."""
    if a.keys() != b.keys():
        return False
    for key, value in a.items():
        if key.startswith("_"):
            if not np.array_equal(value, b[key]):
                return False
        elif isinstance(value, dict):
            if not same_infos(value, b[key]):
                return False
        elif not all(np.array_equal(x, y) for x, y, shown in zip(value, b[key], a[f"_{key}"], strict=True) if shown):
            return False
    return True


def test_vector_environment_refuses_bad_actions_and_seeds() -> None:
    env = RollingStoneVectorEnv(3, illegal_action="raise")
    env.reset(seed=0)
    before = env.states.tobytes()
    for actions in ([0, 1], [0.0, 1.0, 2.0], [[0], [1], [2]]):
        with pytest.raises(ValueError, match="actions"):
            env.step(np.array(actions))
    with pytest.raises(IllegalActionError, match=r"actions\[1\]=-1"):
        env.step(np.array([int(np.flatnonzero(env.action_masks()[0])[0]), -1, 99]))
    assert env.states.tobytes() == before
    with pytest.raises(ValueError, match="2 seeds"):
        env.reset(seed=[1, 2])
    with pytest.raises(ValueError, match="num_envs=0"):
        RollingStoneVectorEnv(0)


def test_better_opponents_win_more_often_against_a_random_learner() -> None:
    """The opponents named really play: a random learner wins a quarter against its like and less against heuristics."""

    def share(opponent: str) -> float:
        env = RollingStoneVectorEnv(64, opponents=opponent)
        _, infos = env.reset(seed=0)
        rng = np.random.default_rng(1)
        rewards, games = 0.0, 0
        while games < 1200:
            scores = np.where(infos["action_mask"] == 1, rng.random(infos["action_mask"].shape), -1.0)
            _, reward, terminated, truncated, infos = env.step(scores.argmax(1))
            rewards, games = rewards + reward.sum(), games + int((terminated | truncated).sum())
        return rewards / games

    assert 0.2 < share("random") < 0.3
    assert share("heuristic") < 0.15


def test_made_by_name() -> None:
    env = gymnasium.make(ID, rules="schweller", num_players=5, opponents="random", render_mode="ansi")
    env.reset(seed=0)
    assert "seat 4" in env.render()
    assert rs_env.make_agent("random").name == make_agent("random").name == "random"
