"""Long random play with random rules of every kind: what the rules say holds of every position and every step, and the
batch and `Game` stay the same game.

make test ARGS="-m soak tests/test_soak.py"    # 100 million actions, a quarter of an hour; left out otherwise
"""

from __future__ import annotations

import random

import numpy as np
import pytest
from invariants import check_positions, check_rewards, check_step
from strategies import random_rules

from rs_env import Game, Rules, SelfPlayVectorEnv
from rs_env.engine.validation import check_states
from rs_env.rules import MAX_PLAYERS, MIN_PLAYERS

GAMES = 256
RULE_SETS = 190  # for each of seven numbers of players
STEPS = 300  # 102,144,000 actions in all
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


def soak(rules: Rules, seed: int, skip_forced: bool, games: int = GAMES, steps: int = STEPS) -> int:
    """Play and check after every step; how many games came to an end."""
    rng = np.random.default_rng(seed)
    env = SelfPlayVectorEnv(games, rules, seed=seed, skip_forced=skip_forced)
    batch = env.reset()
    mirrors = {} if skip_forced else {i: Game.of_state(rules, env.states[i]) for i in range(MIRRORED)}
    ended = 0
    for step in range(steps):
        assert batch.action_mask is not None
        check_states(rules, env.states)
        check_positions(rules, env.states, batch.action_mask)
        for i, game in mirrors.items():
            check_same(game, env, i, batch.observation[i], batch.action_mask[i])
        before = env.states.copy()
        actions = random_actions(batch.action_mask, rng, stubborn=bool(step % 4))
        batch = env.step(actions)
        check_rewards(rules, batch.rewards, batch.terminated, batch.truncated)
        if not skip_forced and rules.silent_catch is None:
            check_step(rules, before, actions, env.states)
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


def test_any_rules_briefly() -> None:
    """The same in small, in every run of the tests: it plays 50,000 actions by 40 rule sets."""
    rng = random.Random(0)
    assert sum(soak(random_rules(rng), number, number % 2 == 1, games=16, steps=80) for number in range(40)) > 400


def broken(change: str) -> tuple[Rules, np.ndarray, np.ndarray]:
    """A batch with one thing wrong."""
    rules = Rules()
    env = SelfPlayVectorEnv(4, rules, seed=1)
    mask = env.reset().action_mask.copy()
    states = env.states.copy()
    if change == "a card twice":
        states["trick"][2] = states["hand"][2, 0] & ~(states["hand"][2, 0] - np.uint64(1))
    elif change == "a card lost":
        states["hand"][2, 0] &= states["hand"][2, 0] - np.uint64(1)
    elif change == "a pickup for a leader":
        mask[2, -1] = 1
    elif change == "a legal card missing":
        mask[2, mask[2].argmax()] = 0
    return rules, states, mask


@pytest.mark.parametrize("change", ["a card twice", "a card lost", "a pickup for a leader", "a legal card missing"])
def test_the_invariants_find_what_is_wrong(change: str) -> None:
    check_positions(*broken("nothing"))
    with pytest.raises(AssertionError):
        check_positions(*broken(change))


@pytest.mark.parametrize("field", ["turn", "leader", "dead", "trick", "actions"])
def test_the_invariants_of_a_step_find_what_is_wrong(field: str) -> None:
    rules = Rules()
    env = SelfPlayVectorEnv(64, rules, seed=1)
    batch = env.reset()
    for _ in range(9):
        before, actions = env.states.copy(), batch.action_mask.argmax(1)
        batch = env.step(actions)
        check_step(rules, before, actions, env.states)
    after = env.states.copy()
    after[field][0] ^= 1
    with pytest.raises(AssertionError):
        check_step(rules, before, actions, after)
