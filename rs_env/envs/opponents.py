"""The agents on the other seats of the Gymnasium environments, with draws that belong to each game.

Game i of a batch must play as it would alone, whoever else is playing: what an opponent draws may depend on the game's
own seed only. An agent that draws by the seeds it is handed (`rs_env.agent.draws_by_seed`), as all of this
package do, is one object for all games and is asked in batches. Any other agent with a state of its own, random or
remembered, gets a copy for each game: the first game plays with the object itself, unless another environment does so
already.
"""

from __future__ import annotations

import copy
import warnings
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from rs_env.agent import Agent, ask, draws_by_seed, wants_histories
from rs_env.baselines import as_agent
from rs_env.baselines.rule_based import RuleBasedAgent
from rs_env.engine.rng import game_key
from rs_env.history import Histories

_STREAM = 0x0DD0_BEAD_5EA7_0000
# By the id of an agent: the opponents of the environment that plays with the object itself.
_in_use: weakref.WeakValueDictionary[int, Opponents] = weakref.WeakValueDictionary()


def opponent_seed(seed: int, place: int) -> int:
    """Seed of the opponent `place` seats after the one on the learner's left, in a game with this seed."""
    return int(game_key(np.uint64(seed ^ _STREAM), np.uint64(place)))


def agents_of(opponents: str | Agent | Sequence[str | Agent], count: int) -> list[Agent]:
    """One agent for each of `count` places, from one for all or a list. Raises ValueError for anything but agents, and
    for other numbers.
    """
    several = isinstance(opponents, Sequence) and not isinstance(opponents, str)
    listed: list[Any] = list(opponents) if several else [opponents] * count  # type: ignore[arg-type]
    if len(listed) != count:
        raise ValueError(
            f"opponents: {len(listed)} are not allowed: there must be one, or one for each of the {count} other seats"
        )
    return [as_agent(agent) for agent in listed]


class Opponents:
    """The opponents of `num_games` games; place k is that of the seat k + 1 after the learner's.

    seeds: uint64 (num_games, places), what each game's opponents draw from, for compiled code too. want_histories:
    for each place, whether `act` is to be given the histories of the games.
    """

    def __init__(self, agents: Sequence[Agent], num_games: int) -> None:
        self.agents = list(agents)
        self.want_histories = [wants_histories(agent) for agent in self.agents]
        self.seeds = np.zeros((num_games, len(self.agents)), np.uint64)
        own: dict[int, list[Agent]] = {}  # an agent that was given for several places is one object in each game
        for agent in self.agents:
            if id(agent) not in own and not draws_by_seed(agent):
                own[id(agent)] = self._for_each_game(agent, num_games)
        self._own = [own.get(id(agent)) for agent in self.agents]

    def _for_each_game(self, agent: Agent, num_games: int) -> list[Agent]:
        if getattr(agent, "__dict__", None) == {}:  # without a state there is nothing to keep apart
            return [agent] * num_games
        used = id(agent) in _in_use
        _in_use.setdefault(id(agent), self)
        if num_games == 1 and not used:
            return [agent]
        where = "because another environment plays with it" if used else f"in {num_games - 1} of the {num_games} games"
        warnings.warn(
            f"opponent {agent.name!r} is copied {where}, since its act has no parameter `seeds`; give it one to share"
            " the object",
            stacklevel=5,
        )
        try:
            copies = [copy.deepcopy(agent) for _ in range(num_games - (not used))]
        except Exception as error:
            raise ValueError(
                f"opponent {agent.name!r} is not allowed in several games: it cannot be copied ({error})"
            ) from None
        return copies if used else [agent, *copies]

    def reset(self, game: int, seed: int) -> None:
        """Begin a game's draws anew, from its seed."""
        for place, own in enumerate(self._own):
            self.seeds[game, place] = opponent_seed(seed, place)
            if own is not None:
                own[game].reset(int(self.seeds[game, place]))

    def act(self, place: int, games: np.ndarray, views: np.ndarray, histories: Histories | None = None) -> np.ndarray:
        """The choices of the opponents at a place, int64 (k,), in these games (indices (k,)), from their views (k,) and
        histories.
        """
        own = self._own[place]
        if own is None:
            return ask(self.agents[place], views, self.seeds[games, place], histories)
        if own[0] is own[-1]:
            return ask(own[0], views, histories=histories)
        each = [slice(k, k + 1) for k in range(len(games))]
        return np.concatenate(
            [
                ask(own[game], views[k], histories=None if histories is None else histories[k])
                for game, k in zip(games.tolist(), each, strict=True)
            ]
        )

    def compiled_weights(self, place: int) -> np.ndarray | None:
        """The weights of a rule-based player, which compiled code can play itself; None for any other."""
        agent = self.agents[place]
        return agent.weights if type(agent) is RuleBasedAgent else None
