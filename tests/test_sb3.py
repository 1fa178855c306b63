"""The batch as a vector environment of stable-baselines3; skipped where that is not installed."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecMonitor

from rs_env.envs.sb3 import RollingStoneVecEnv

OPTIONS = {"num_players": 2, "opponents": "random", "illegal_action": "penalise"}


def masks(env: object) -> np.ndarray:
    return np.stack(env.env_method("action_masks"))  # type: ignore[attr-defined]


def test_it_plays_the_games_of_make_vec_env() -> None:
    ours = RollingStoneVecEnv(4, **OPTIONS)
    theirs = make_vec_env("rs_env/RollingStone-v0", 4, env_kwargs={**OPTIONS, "observation_dtype": "float32"})
    assert ours.observation_space == theirs.observation_space and ours.action_space == theirs.action_space
    ours.seed(5), theirs.seed(5)
    rng, ended, illegal = np.random.default_rng(1), 0, 0
    assert np.array_equal(ours.reset(), theirs.reset())
    for step in range(300):
        legal = masks(ours)
        assert np.array_equal(legal, masks(theirs)) and legal.dtype == bool
        actions = (legal * rng.uniform(1, 2, legal.shape)).argmax(1)
        if step % 50 == 49:
            actions[0] = (~legal[0]).argmax()  # an illegal one
        ours_now, theirs_now = ours.step(actions), theirs.step(actions)
        for mine, other in zip(ours_now[:3], theirs_now[:3], strict=True):
            assert np.array_equal(mine, other) and mine.dtype == other.dtype
        for mine, other in zip(ours_now[3], theirs_now[3], strict=True):
            assert bool(mine.get("illegal_action")) == bool(other.get("illegal_action"))
            assert bool(mine.get("TimeLimit.truncated")) == bool(other.get("TimeLimit.truncated"))
            illegal += bool(mine.get("illegal_action"))
            if "terminal_observation" in other:
                ended += 1
                assert np.array_equal(mine["terminal_observation"], other["terminal_observation"])
                assert (mine["episode"]["r"], mine["episode"]["l"]) == (other["episode"]["r"], other["episode"]["l"])
    assert ended > 20 and illegal == 6


def test_single_games_have_masks_and_shared_attributes() -> None:
    env = RollingStoneVecEnv(3)
    env.reset()
    assert env.has_attr("action_masks") and not env.has_attr("nonsense")
    assert len(env.env_method("action_masks", indices=[0, 2])) == 2 and len(env.get_attr("rules", 1)) == 1
    with pytest.raises(AttributeError, match="cannot be set"):
        env.set_attr("rules", None)
    with pytest.raises(AttributeError, match="action_masks"):
        env.env_method("close")
    with pytest.warns(UserWarning, match="Monitor"):
        VecMonitor(env)


def test_stable_baselines3_draws_the_tables_that_it_makes() -> None:
    pytest.importorskip("PIL")
    env = make_vec_env("rs_env/RollingStone-v0", 3, seed=2, env_kwargs={"render_size": (300, 200)})
    assert env.render_mode == "rgb_array"
    env.reset()
    picture = env.render()
    assert picture is not None and picture.shape == (400, 600, 3)
    tables = [picture[:200, :300], picture[:200, 300:], picture[200:, :300]]
    assert len({table.tobytes() for table in tables}) == 3 and not picture[200:, 300:].any()
    for table, drawn in zip(tables, env.env_method("render"), strict=True):
        assert np.array_equal(table, drawn)
    env.close()


def test_what_it_does_not_take_is_refused() -> None:
    for wrong in ({"autoreset_mode": "NextStep"}, {"render_mode": "ansi"}, {"nonsense": 1}):
        with pytest.raises(TypeError, match=next(iter(wrong))):
            RollingStoneVecEnv(2, **wrong)
