"""Long random play with random rules of every kind: states stay possible, and the batch and `Game` stay the same game.

make test ARGS="-m soak"    # a minute, 40 million actions; left out otherwise
"""

from __future__ import annotations

import random

import numpy as np
import pytest
from strategies import random_rules

from rs_env import Game, Rules, SelfPlayVectorEnv
from rs_env.engine.validation import check_states
from rs_env.rules import MAX_PLAYERS, MIN_PLAYERS

GAMES = 64
RULE_SETS = 300  # for each number of players
STEPS = 300
MIRRORED = 4  # games of the batch that are played by `Game`, too


def rules_for(players: int, rng: random.Random) -> Rules:
    while (rules := random_rules(rng)).num_players != players:
        pass
    return rules


def random_actions(mask: np.ndarray, rng: np.random.Generator, stubborn: bool) -> np.ndarray:
    """Legal actions, which avoid picking up where that can be avoided if they are stubborn."""
    wish = mask * rng.uniform(1, 2, mask.shape)
    if stubborn:
        wish[:, -1] = np.minimum(wish[:, -1], 0.5)
    return wish.argmax(1)


def check_same(game: Game, env: SelfPlayVectorEnv, i: int, observation: np.ndarray, mask: np.ndarray) -> None:
    assert game.states.tobytes() == env.states[i : i + 1].tobytes()
    seen, legal = game.observation_for(game.turn)  # type: ignore[arg-type]
    assert np.array_equal(seen, observation)
    assert np.array_equal(legal, mask)
    assert game.legal_actions() == np.flatnonzero(mask).tolist()


def soak(rules: Rules, seed: int, skip_forced: bool) -> int:
    """Play and check after every step; how many games came to an end."""
    rng = np.random.default_rng(seed)
    env = SelfPlayVectorEnv(GAMES, rules, seed=seed, skip_forced=skip_forced)
    batch = env.reset()
    mirrors = {} if skip_forced else {i: Game.of_state(rules, env.states[i]) for i in range(MIRRORED)}
    ended = 0
    for step in range(STEPS):
        check_states(rules, env.states)
        assert batch.action_mask is not None
        for i, game in mirrors.items():
            check_same(game, env, i, batch.observation[i], batch.action_mask[i])
        actions = random_actions(batch.action_mask, rng, stubborn=bool(step % 4))
        batch = env.step(actions)
        ended += int((batch.terminated | batch.truncated).sum())
        for i, game in mirrors.items():
            game.play(int(actions[i]))
            assert (game.terminated, game.truncated) == (batch.terminated[i], batch.truncated[i])
            if game.is_over:
                assert batch.rewards[i].tolist() == np.float32(game.rewards()).tolist()
                mirrors[i] = Game.of_state(rules, env.states[i])
    return ended


@pytest.mark.soak
@pytest.mark.parametrize("players", range(MIN_PLAYERS, MAX_PLAYERS + 1))
def test_any_rules_at_length(players: int) -> None:
    rng, ended = random.Random(players), 0
    for number in range(RULE_SETS):
        rules = rules_for(players, rng)
        try:
            ended += soak(rules, rng.getrandbits(32), skip_forced=number % 2 == 1)
        except BaseException:
            print(f"rule set {number} of {players} players: {rules}")
            raise
    assert ended > RULE_SETS * GAMES
