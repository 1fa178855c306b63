"""Write the pictures of the pages anew; needs Pillow."""

from __future__ import annotations

import random
from pathlib import Path

from rs_env import Game
from rs_env.render import save

FOLDER = Path(__file__).parent / "pictures"
SIZE = (720, 480)


def played(game: Game, actions: int) -> Game:
    """The game with so many more random actions, or at its end."""
    rng = random.Random(0)
    while not game.is_over and actions:
        game.play(rng.choice(game.legal_actions()))
        actions -= 1
    return game


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    middle = played(Game("trump", seed=6, num_players=5), 23)
    save(middle, FOLDER / "table.png", size=SIZE)
    save(middle, FOLDER / "seat.png", seat=2, size=SIZE, theme="light", names=["Ann", "Bob", "Cid", "Dan", "Eve"])
    save(played(Game(hand_size=4, seed=16), 1000), FOLDER / "deal.gif", size=(480, 320))
