"""Games as text, one for each kind of rule: ``PYTHONPATH=. python tests/playthroughs.py`` writes them anew."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from rs_env.game import Game
from rs_env.record import to_text
from rs_env.rules import Rules

FOLDER = Path(__file__).parent / "data" / "playthroughs"

KINDS: dict[str, tuple[dict[str, Any], int]] = {  # options, and a seed with a short game that shows them
    "completed_trick": ({"num_players": 3, "hand_size": 4}, 8),
    "broken_exit_void": ({"num_players": 3, "hand_size": 3, "broken_exit": "void"}, 317),
    "immediate": ({"num_players": 3, "hand_size": 4, "going_out": "immediate"}, 8),
    "play_on": ({"num_players": 3, "hand_size": 3, "play_on": True, "scoring": "places"}, 14),
    "other_suit": ({"num_players": 3, "hand_size": 4, "lead_after_pickup": "other_suit"}, 8),
    "trump_last_dealt": ({"num_players": 3, "hand_size": 4, "trump": "last_dealt"}, 12),
    "trump_anytime": ({"num_players": 3, "hand_size": 4, "trump": "hearts", "trump_play": "anytime"}, 81),
    "silent": ({"num_players": 3, "hand_size": 4, "silent_catch": 0.5}, 15),
    "match_of_cards": ({"num_players": 3, "hand_size": 3, "scoring": "cards", "target": 5}, 32),
    "match_of_faces": ({"num_players": 2, "hand_size": 3, "scoring": "face", "target": 60}, 93),
    "parlett": ({"num_players": 2, "hand_size": 4, "going_out": "immediate", "scoring": "parlett"}, 4),
    "limit": ({"num_players": 3, "max_actions": 20}, 5),
    "seven_players": ({"num_players": 7, "going_out": "immediate"}, 16),
    "tiny": ({"num_players": 2, "suits": 2, "ranks": 3, "going_out": "immediate"}, 3),
}


def text_of(kind: str) -> str:
    """The game of a kind, played at random."""
    options, seed = KINDS[kind]
    game, rng = Game(Rules(**options), seed), random.Random(seed)
    while not game.is_over:
        game.play(rng.choice(game.legal_actions()))
    return f"# {kind.replace('_', ' ')}, played at random\n{to_text(game.record())}"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.glob("*.txt"):
        path.unlink()
    for kind in KINDS:
        (FOLDER / f"{kind}.txt").write_text(text_of(kind), encoding="utf-8")
