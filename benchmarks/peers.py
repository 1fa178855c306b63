"""Random play in other libraries, those that are installed: how many actions a second.

Each function returns the measurements of one library as {name: function that plays for about a budget of seconds and
returns the number of actions}. It raises ImportError where the library, or what it needs, is missing.
"""

from __future__ import annotations

import importlib
import pkgutil
import random
import time
import warnings
from collections.abc import Callable

import numpy as np

Measurement = Callable[[float], int]


def open_spiel() -> dict[str, Measurement]:
    """OpenSpiel: rollouts inside C++, and its Python path with observation (or information state) tensor and legal
    actions.
    """
    import pyspiel

    def length(game: object, games: int = 30) -> float:
        return sum(play(game.new_initial_state(), False) for _ in range(games)) / games  # type: ignore[attr-defined]

    def play(state: object, observe: bool) -> int:
        actions = 0
        has_observation = state.get_game().get_type().provides_observation_tensor
        while not state.is_terminal():
            if state.is_chance_node():
                outcomes, weights = zip(*state.chance_outcomes(), strict=True)
                state.apply_action(random.choices(outcomes, weights)[0])
                continue
            if observe:
                (state.observation_tensor if has_observation else state.information_state_tensor)(
                    state.current_player()
                )
            state.apply_action(random.choice(state.legal_actions()))
            actions += 1
        return actions

    def rollouts(name: str) -> Measurement:
        game = pyspiel.load_game(name)
        mean = length(game)
        # One simulation of its search is so many rollouts from the position, played in C++.
        rollouts = 2000
        bot = pyspiel.MCTSBot(game, pyspiel.RandomRolloutEvaluator(rollouts, 1), 1.0, 1, 100, False, 1, False)
        state = game.new_initial_state()
        while state.is_chance_node():
            state.apply_action(random.choice(state.legal_actions()))

        def run(budget: float) -> int:
            games, end = 0, time.perf_counter() + budget
            while time.perf_counter() < end:
                bot.step(state)
                games += rollouts
            return round(games * mean)

        return run

    def observed(name: str) -> Measurement:
        game = pyspiel.load_game(name)

        def run(budget: float) -> int:
            actions, end = 0, time.perf_counter() + budget
            while time.perf_counter() < end:
                actions += play(game.new_initial_state(), True)
            return actions

        return run

    return {
        "OpenSpiel crazy_eights, C++ rollouts": rollouts("crazy_eights(players=4)"),
        "OpenSpiel hearts, C++ rollouts": rollouts("hearts"),
        "OpenSpiel hearts, Python with observations": observed("hearts"),
        "OpenSpiel leduc_poker, Python with observations": observed("leduc_poker"),
    }


def pettingzoo_classic() -> dict[str, Measurement]:
    """PettingZoo's own classic games through `raw_env` and `env`, masked sampling included."""
    import pettingzoo.classic

    modules = [module.name for module in pkgutil.iter_modules(pettingzoo.classic.__path__)]
    newest = {name.rsplit("_v", 1)[0]: name for name in sorted(modules)}
    found = {}
    for game in ("tictactoe", "connect_four", "leduc_holdem", "texas_holdem"):
        module = importlib.import_module(f"pettingzoo.classic.{newest[game]}")
        for kind in ("raw_env", "env"):
            found[f"PettingZoo {game}, {kind}"] = aec(getattr(module, kind)())
    return found


def aec(env: object) -> Measurement:
    """Any AEC environment: `last`, masked sampling and `step`."""

    def run(budget: float) -> int:
        actions, end = 0, time.perf_counter() + budget
        while time.perf_counter() < end:
            env.reset()
            for agent in env.agent_iter():
                observation, _, terminated, truncated, info = env.last()
                if terminated or truncated:
                    env.step(None)
                    continue
                mask = observation["action_mask"] if "action_mask" in observation else info["action_mask"]
                env.step(env.action_space(agent).sample(mask))
                actions += 1
        return actions

    return run


def rlcard() -> dict[str, Measurement]:
    """RLCard: one game at a time with its random agents."""
    import rlcard as library
    from rlcard.agents import RandomAgent

    def play(name: str) -> Measurement:
        env = library.make(name)
        env.set_agents([RandomAgent(num_actions=env.num_actions) for _ in range(env.num_players)])

        def run(budget: float) -> int:
            actions, end = 0, time.perf_counter() + budget
            while time.perf_counter() < end:
                trajectories, _ = env.run(is_training=False)
                actions += sum(len(t) // 2 for t in trajectories)
            return actions

        return run

    return {f"RLCard {name}": play(name) for name in ("leduc-holdem", "uno", "gin-rummy")}


def pgx() -> dict[str, Measurement]:
    """Pgx on this machine's CPU: 1024 games at once, compiled, with automatic resets and observations."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import jax
        import jax.numpy as jnp
        import pgx as library
        from pgx.experimental import auto_reset

    def play(name: str, games: int = 1024) -> Measurement:
        env = library.make(name)
        step, init = auto_reset(env.step, env.init), jax.jit(jax.vmap(env.init))

        @jax.jit
        def many(state: object, key: object) -> object:
            def one(state: object, key: object) -> tuple[object, None]:
                choose, play_on = jax.random.split(key)
                action = jax.random.categorical(choose, jnp.log(state.legal_action_mask.astype(jnp.float32)), axis=-1)
                return jax.vmap(step)(state, action, jax.random.split(play_on, games)), None

            return jax.lax.scan(one, state, jax.random.split(key, 50))[0]

        box = [many(init(jax.random.split(jax.random.PRNGKey(0), games)), jax.random.PRNGKey(1))]

        def run(budget: float) -> int:
            actions, end = 0, time.perf_counter() + budget
            while time.perf_counter() < end:
                box[0] = jax.block_until_ready(
                    many(box[0], jax.random.PRNGKey(int(np.random.default_rng().integers(1 << 30))))
                )
                actions += 50 * games
            return actions

        return run

    return {f"Pgx {name}, 1024 games": play(name) for name in ("leduc_holdem", "kuhn_poker")}


LIBRARIES: dict[str, Callable[[], dict[str, Measurement]]] = {
    "OpenSpiel": open_spiel,
    "PettingZoo classic": pettingzoo_classic,
    "RLCard": rlcard,
    "Pgx": pgx,
}
