"""What a player sees of a state, as OpenSpiel's observer wants it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyspiel  # type: ignore[import-not-found, import-untyped, unused-ignore]

from rs_env.cards import NUM_ACTIONS, NUM_CARDS
from rs_env.engine.observation import observation_spec
from rs_env.rules import Rules

_LONGEST_TENSOR = 2000  # actions of a deal that the information state tensor has room for


def has_information_tensor(rules: Rules) -> bool:
    """Whether there is a tensor of the information state: for single deals that are not too long."""
    return rules.target is None and rules.action_limit <= _LONGEST_TENSOR


class RollingStoneObserver:
    """OpenSpiel's observer: ``tensor`` (float32), its named pieces ``dict``, ``set_from(state, player)``,
    ``string_from(state, player)``.

    The pieces are the player (n), then the sections of `rs_env.engine.observation`, each divided by its bound; with
    perfect recall also the dealer (n, clockwise from the player), the player's cards at the start of the deal (52), the
    card shown (52) and the plays of the deal (limit, 54), a row for each action: one for the action, and in the last
    place for its being noticed. That tensor does not exist for matches and for more than 2000 actions. While cards are
    dealt all is zero but the player. Raises ValueError for parameters, and for other information than that of one
    player.
    """

    def __init__(self, rules: Rules, kind: Any, params: Mapping[str, Any] | None) -> None:
        if params:
            raise ValueError(f"observation parameters {params!r} are not allowed: there are none")
        if not kind.public_info or kind.private_info != pyspiel.PrivateInfoType.SINGLE_PLAYER:
            raise ValueError(
                f"observation type {kind} is not allowed: it must have public_info=True and private_info=SINGLE_PLAYER"
            )
        self._spec, self._perfect_recall = observation_spec(rules.num_players), kind.perfect_recall
        self._high = self._spec.high
        self.tensor: np.ndarray | None = None
        self.dict: dict[str, np.ndarray] = {}
        if not self._perfect_recall or has_information_tensor(rules):
            self._lay_out(rules)

    def _lay_out(self, rules: Rules) -> None:
        n = rules.num_players
        shapes: dict[str, tuple[int, ...]] = {"player": (n,)}
        shapes |= {name: part.shape for name, part in self._spec.sections.items()}
        if self._perfect_recall:
            shapes |= {
                "dealer": (n,),
                "dealt": (NUM_CARDS,),
                "shown": (NUM_CARDS,),
                "plays": (rules.action_limit, NUM_ACTIONS + 1),
            }
        ends = np.cumsum([np.prod(shape) for shape in shapes.values()])
        self.tensor = np.zeros(ends[-1], np.float32)
        parts = np.split(self.tensor, ends[:-1])
        self.dict = {name: part.reshape(shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}

    def set_from(self, state: Any, player: int) -> None:
        """Write to the tensor what the player knows in a state. Raises ValueError where there is no tensor."""
        if self.tensor is None:
            raise ValueError(
                f"there is no information state tensor for matches and for max_actions above {_LONGEST_TENSOR}"
            )
        self.tensor.fill(0)
        self.dict["player"][player] = 1
        if state.is_dealing():
            return
        first = len(self.dict["player"])
        self.tensor[first : first + self._spec.size] = state.observation(player) / self._high
        if self._perfect_recall:
            self._recall(player, *state.deal_so_far(player))

    def _recall(
        self, player: int, dealer: int, dealt: list[int], shown: int | None, plays: list[tuple[int, int]]
    ) -> None:
        self.dict["dealer"][(dealer - player) % len(self.dict["dealer"])] = 1
        self.dict["dealt"][dealt] = 1
        if shown is not None:
            self.dict["shown"][shown] = 1
        row = -1
        for mover, action in plays:
            if mover == pyspiel.PlayerId.CHANCE:
                self.dict["plays"][row, NUM_ACTIONS] = action
            else:
                row += 1
                self.dict["plays"][row, action] = 1

    def string_from(self, state: Any, player: int) -> str:
        """What the player knows in a state, as text."""
        if self._perfect_recall:
            return state.information_text(player)
        knowledge = "dealing" if state.is_dealing() else self._spec.decode(state.observation(player))
        return f"seat {player}: {knowledge}"
