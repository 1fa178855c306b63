"""How good is an agent: the same deals for everybody, seats rotated, intervals from means per deal."""

from rs_env.arena.best_response import BestResponse, best_response
from rs_env.arena.duel import Duel, duel
from rs_env.arena.imitation import fit_type
from rs_env.arena.league import League, Standing, league
from rs_env.arena.play import Outcomes, play_games
from rs_env.arena.settings import How
from rs_env.solve.responder import SearchResponder

__all__ = [
    "BestResponse",
    "Duel",
    "How",
    "League",
    "Outcomes",
    "SearchResponder",
    "Standing",
    "best_response",
    "duel",
    "fit_type",
    "league",
    "play_games",
]
