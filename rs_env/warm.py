"""Compile ahead all that the package compiles, by using each part of it once.

`rs_env.engine.jit` tells where the code is kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rs_env.cards import NUM_ACTIONS
from rs_env.engine.jit import missed


@dataclass(frozen=True)
class Warmed:
    """A part of the package: how many functions were compiled for it, in how many seconds, and the module it lacks, if
    one.
    """

    part: str
    compiled: int
    seconds: float
    lacks: str | None = None

    def __str__(self) -> str:
        if self.lacks is not None:
            return f"{self.part:10} left out: there is no {self.lacks} here"
        return f"{self.part:10} {self.compiled:3} functions compiled, {self.seconds:.1f} s"


def warm() -> Iterator[Warmed]:
    """Use the parts one after the other; what is compiled already costs a few seconds in all."""
    for part, use in _PARTS.items():
        before, begin = len(missed()), time.perf_counter()
        lacks = None
        try:
            use()
        except ModuleNotFoundError as error:
            lacks = error.name or str(error)
        yield Warmed(part, len(missed()) - before, time.perf_counter() - begin, lacks)


def _game() -> None:
    from rs_env import Game, Rules, raw_env

    rules = Rules.preset("rolling_stone")
    game = Game(rules, deck=rules.deck, dealer=0)
    game.view(0)
    game.play(game.legal_actions()[0])
    game.rewards()
    env = raw_env(rules)
    env.reset(seed=0)
    env.step(env.game.legal_actions()[0])
    env.observe(env.possible_agents[0])
    env.state()


def _batch() -> None:
    from rs_env import SelfPlayVectorEnv

    forms: list[dict[str, Any]] = [{}, {"packed": True}, {"observation_dtype": "float32"}, {"history": 1}]
    for threads in (1, 2):
        for form in forms:
            vec = SelfPlayVectorEnv(num_envs=2, num_threads=threads, **form)
            vec.reset()
            vec.reset()  # the next decks
            vec.step(vec.random_actions())
            vec.play_randomly(1)
            vec.global_states()
            vec.restore(vec.states.copy(), histories=vec.histories if "history" in form else None)


def _gymnasium() -> None:
    import gymnasium

    name = "rs_env/RollingStone-v0"
    env = gymnasium.make(name, learner_seat=None)
    env.reset(seed=0)
    env.step(int(env.unwrapped.action_masks().argmax()))  # type: ignore[attr-defined]
    for opponents, history in (("random", 0), ("pimc:worlds=1", 0), ("random", 1), ("pimc:worlds=1", 1)):
        vec = gymnasium.make_vec(
            name, num_envs=2, vectorization_mode="vector_entry_point", opponents=opponents, history=history
        )
        _, infos = vec.reset(seed=0)
        vec.reset()
        vec.step(infos["action_mask"].argmax(1))


def _baselines() -> None:
    from rs_env import Game, belief
    from rs_env.baselines import AGENTS, guided, make_agent
    from rs_env.baselines.models import OpponentModel
    from rs_env.baselines.rule_based import RuleBasedAgent
    from rs_env.baselines.searchers import Pimc
    from rs_env.encoding import draws, observations

    game = Game("rolling_stone")
    views = np.array([game.view(game.turn or 0)])
    for name in AGENTS:
        agent = make_agent(name)
        agent.reset(0)
        if hasattr(agent, "act_states"):
            agent.act_states(game.rules, game.states)
        else:
            agent.act(views)
        if isinstance(agent, RuleBasedAgent):
            agent.policy(views)
            agent.tip_values(views)
        if isinstance(agent, Pimc):
            agent.values(views)
    outs, logits = guided.new_side_by_side(1), np.zeros((1, NUM_ACTIONS), np.float32)
    guided.begin(views, np.zeros(1, np.uint64), np.array(game.legal_actions()[:1]), 1, outs)
    guided.show(outs, 1, 0, 0, observations(views)[0])
    guided.go_on(outs, 1, logits, logits[0], 1.0)
    belief.count(views[0])
    belief.sample(views[0], 1, 0)
    belief.marginals(views[0])
    belief.weigh(views[0], game.events, OpponentModel(), 1, 0)
    observations(views)
    draws(views, np.zeros(1, np.uint64))


def _arena() -> None:
    from rs_env.arena import best_response, duel, fit_type

    duel("heuristic", "random", deals=2)
    duel("adaptive:worlds=1,iterations=1", "random", deals=4, sitting=2)
    best_response("heuristic", deals=2, worlds=1)
    fit_type("low", ["random"], deals=2)


def _exact() -> None:
    from rs_env.solve.exact import GameTree

    GameTree("tiny")


def _openspiel() -> None:
    from rs_env.openspiel import load_game

    state = load_game().new_initial_state()
    while state.is_chance_node():
        state.apply_action(state.legal_actions()[0])
    state.apply_action(state.legal_actions()[0])


_PARTS: dict[str, Callable[[], None]] = {
    "game": _game,
    "batch": _batch,
    "gymnasium": _gymnasium,
    "baselines": _baselines,
    "arena": _arena,
    "exact": _exact,
    "openspiel": _openspiel,
}
