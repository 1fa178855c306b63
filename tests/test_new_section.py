"""A new section of the observation is one entry of a list: everything else finds it by itself.

A copy of the package gets two more entries and is used in a process of its own, since all that is derived from the list
is made at import.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SEEN = """
    Section(
        "left",
        Kind.CARDS,
        About.TABLE,
        "cards not dead",
        lambda rules, public, hand, seat: rules.deck & ~public.dead,
    ),
    Section("dealer", Kind.SEAT, About.TABLE, "who dealt", lambda rules, public, hand, seat: public.dealer),
    Section(
        "known_sizes",
        Kind.COUNT,
        About.OTHERS,
        "number of known cards",
        lambda rules, public, hand, seat: popcount(public.known[seat]),
        high=52,
    ),
"""
LAST = '    Section("trumps", Kind.CARDS, About.EACH, "hands", lambda rules, public, hand, seat: public.known[seat]),\n'
USE = """
import numpy as np, torch
import rs_env
from rs_env.encoding import observations
from rs_env.engine.observation import table
from agents.networks import PolicyValueNet

n = 5
spec = rs_env.ObservationSpec(n)
plain, packed = (rs_env.SelfPlayVectorEnv(3, num_players=n, seed=1, packed=packed) for packed in (False, True))
for step in range(60):
    actions = plain.random_actions()
    batch, words = plain.step(actions), packed.step(actions)
    for found, expected in zip(rs_env.packing.unpack(words.observation, n), (batch.observation, batch.action_mask)):
        assert (found == expected).all()
    for seat, row in zip(batch.current_player, batch.observation):
        assert (row >= 0).all() and (row <= spec.high).all()
env = rs_env.raw_env(num_players=n)
env.reset(seed=3)
for step in range(60):
    env.step(env.game.legal_actions()[0])
game, layout = env.game, env.layout
for seat in range(n):
    row = env.observe(f"player_{seat}")["observation"]
    said = layout.decode(row)
    clockwise = [(seat + k) % n for k in range(n)]
    assert said["hand"] == game.hands[seat] and said["dead"] == game.dead
    assert said["left"] == sorted(set(game.rules.deck) - set(game.dead))
    assert said["dealer"] == clockwise.index(game.dealer)
    assert said["known_sizes"] == [len(game.known[other]) for other in clockwise[1:]]
    assert said["trumps"] == [game.known[other] for other in clockwise]
    assert said["progress"] == 100 * game.num_actions // game.rules.action_limit
view = game.view(game.turn)
assert (observations(view)[0][0] == env.observe(env.agent_selection)["observation"]).all()
assert sum(map(any, game.known)) > 1
state = rs_env.engine.observation.state_spec(n).decode(env.state())
assert state["known_sizes"] == [len(known) for known in game.known] and state["dealer"] == game.dealer
assert all(f"| `{name}` |" in table() for name in ("left", "dealer", "known_sizes", "trumps"))

# The network reads every entry: to change one changes what it answers.
torch.manual_seed(0)
network = PolicyValueNet(n, 16, 1)
base = torch.zeros(1, spec.size, dtype=torch.int8)
mask = torch.ones(1, 53, dtype=torch.int8)
value = network(base, mask)[1]
for place in range(spec.size):
    other = base.clone()
    other[0, place] = 1
    assert (network(other, mask)[1] != value).all(), place
print("done")
"""


def test_new_sections_are_found_everywhere(tmp_path: Path) -> None:
    for package in ("rs_env", "agents"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    path = tmp_path / "rs_env" / "engine" / "observation.py"
    text = path.read_text(encoding="utf-8")
    assert text.count('    Section(\n        "excluded",') == 1
    text = text.replace('    Section(\n        "excluded",', SEEN + '    Section(\n        "excluded",')
    text = text.replace("\n)\n\nSTATE_SECTIONS", f"\n{LAST})\n\nSTATE_SECTIONS")
    text = text.replace("import EMPTY\n", "import EMPTY, popcount\n")
    path.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", USE],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "done\n", done.stderr
