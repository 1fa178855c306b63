"""Who sits there, as numbers for a network: how likely each other seat is of each type, told by the public history.

Memory of a deal in a few numbers: a network with these beside the observation needs no recurrence to know whom it
meets. They are the posterior of `rs_env.baselines.adaptive`, from few sampled worlds.
"""

from __future__ import annotations

import numpy as np

from rs_env.agent import seeds_for
from rs_env.baselines.adaptive import Worlds, remember_all, told_of
from rs_env.baselines.models import OpponentModel
from rs_env.baselines.search import new_memory
from rs_env.checks import check_whole
from rs_env.engine.state import STATE
from rs_env.engine.view import as_views_of_any_seat
from rs_env.history import Histories
from rs_env.rules import MAX_PLAYERS

SUSPECTS = ("random", "heuristic", "careless", "dumper", "longest", "low", "searcher")
"""The types, names of `rs_env.baselines.models.TYPES`, in the order of the numbers."""


def suspicion_size(num_players: int) -> int:
    """How many numbers there are for a view."""
    return (num_players - 1) * len(SUSPECTS)


class Suspicion:
    """Writes what is suspected of the other seats.

    worlds: sampled for each view. memory: newest decisions of the others that are looked at. It works in memory of its
    own, so threads need one each.
    """

    def __init__(self, worlds: int = 4, memory: int = 64) -> None:
        check_whole("worlds", worlds, 1, 1 << 16)
        self._model = OpponentModel(SUSPECTS, memory)
        self._worlds = Worlds(
            np.zeros(worlds, STATE),
            np.zeros(worlds),
            np.zeros((worlds, MAX_PLAYERS, len(SUSPECTS))),
            self._model.trace,
            1.0,
        )
        self._memory = new_memory()

    def of(self, views: np.ndarray, histories: Histories | None) -> np.ndarray:
        """How likely each other seat is of each type, in percent: int8 (B, (n - 1) * T), clockwise from the viewer, the
        types in the order of `SUSPECTS`. The worlds depend on the view alone.

        Without histories every type is as likely as it is common. Raises ValueError for views of several numbers of
        players, and for histories that do not lead to their views.
        """
        views = as_views_of_any_seat(np.atleast_1d(np.asarray(views)))
        players = np.unique(views["rules"]["num_players"])
        if len(players) > 1:
            raise ValueError(f"views: {len(players)} numbers of players are not allowed: all views must be of one")
        if not len(views):
            return np.zeros((0, 0), np.int8)
        prior = self._model.prior
        priors = np.tile(prior, (len(views), MAX_PLAYERS, 1))
        told, seeds, likely = told_of(histories, priors), seeds_for(views, np.uint64(0), None), np.empty_like(priors)
        unfit = remember_all(views, seeds, told, prior, 0.0, self._model.rating, (self._memory, self._worlds), likely)
        if unfit >= 0:
            raise ValueError(f"histories: number {unfit} does not lead to its view, or no deal agrees with that")
        percent = 100.0 * likely[:, 1 : int(players[0])].reshape(len(views), -1)
        return (percent + 0.5).astype(np.int8)
