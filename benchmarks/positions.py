"""Do searches find the one right move? Positions with hidden cards, searched for in random games on a small deck.

    python benchmarks/positions.py                 # 50 positions of each kind, about two minutes of one core

Two kinds, each with at least one wrong move: a *forced win* (after some move the seat can force a win in every deal of
the hidden cards, with all hands open), and a *block* (after the right moves nobody else can force a win in any deal,
after all other moves somebody can in every one). There are no wins in one to find: who plays a last card has no choice.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

from rs_env import Game, Rules, belief, make_agent
from rs_env.agent import ask
from rs_env.baselines.endgame import PLIES, REACH, forced_winner
from rs_env.cards import members
from rs_env.engine import play
from rs_env.engine.jit import njit
from rs_env.engine.state import NOBODY, STATE, compile_rules
from rs_env.history import Histories

RULES = Rules(num_players=3, suits=3, ranks=4)
KINDS = ("forced win", "block")
AGENTS = ("random", "heuristic", "low", "longest", "dumper", "pimc", "expert", "ismcts", "adaptive")
MOST_DEALS = 60  # of the hidden cards; positions with more are passed over


@njit
def after(rules_array: np.ndarray, worlds: np.ndarray, action: int, states: np.ndarray, found: np.ndarray) -> None:
    """Write, for each world, who has won after an action or can force that, or `NOBODY`."""
    untried = np.zeros(PLIES + 1, np.uint64)
    for i in range(worlds.shape[0]):
        states[0] = worlds[i]
        s = states[0]
        play.step(rules_array[0], s, action)
        if s.num_out > 0:
            found[i] = s.out[0]
        else:
            found[i] = forced_winner(rules_array[0], states, untried, 0, 52)


def kind_of(game: Game) -> tuple[str, set[int]] | None:
    """What kind of position it is for the seat to act, and its right moves; None where it is neither."""
    seat = game.turn
    view = game.view(seat)
    legal = members(int(view["legal"]))
    near = min(view["hand_size"][: RULES.num_players]) <= REACH
    if len(legal) < 2 or not near or not 2 <= belief.count(view) <= MOST_DEALS:
        return None
    worlds = belief.sample(view, 10 * belief.count(view), 0)
    worlds = worlds[np.unique(worlds["hand"], axis=0, return_index=True)[1]]
    if len(worlds) != belief.count(view):
        return None
    results = {}
    for action in legal:
        results[action] = np.zeros(len(worlds), np.int64)
        after(compile_rules(RULES), worlds, action, np.zeros(PLIES + 2, STATE), results[action])
    forced = {a for a, found in results.items() if (found == seat).all()}
    safe = {a for a, found in results.items() if ((found == NOBODY) | (found == seat)).all()}
    lost = {a for a, found in results.items() if ((found != NOBODY) & (found != seat)).all()}
    if forced:
        return (KINDS[0], forced) if forced != set(legal) else None
    return (KINDS[1], safe) if safe and lost and len(safe) + len(lost) == len(legal) else None


def positions(count: int) -> Iterator[tuple[str, set[int], Game]]:
    """So many positions of each kind, one of a kind from a game at most."""
    missing, seed = dict.fromkeys(KINDS, count), 0
    while any(missing.values()):
        rng, game, seen = np.random.default_rng(seed), Game(RULES, seed=seed), set()
        while not game.is_over and len(seen) < len(KINDS):
            found = kind_of(game)
            if found and found[0] not in seen and missing[found[0]]:
                seen.add(found[0])
                missing[found[0]] -= 1
                yield (*found, game.clone())
            game.play(int(rng.choice(game.legal_actions())))
        seed += 1


def main() -> None:
    """Search and print a table: the share of right moves over all positions and seeds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=50, help="positions of each kind")
    parser.add_argument("--seeds", type=int, default=10, help="asked at each position")
    options = parser.parse_args()
    found = list(positions(options.count))
    chance = {kind: [len(right) / len(g.legal_actions()) for k, right, g in found if k == kind] for kind in KINDS}
    print("| player | " + " | ".join(f"{kind} (guessing: {np.mean(chance[kind]):.0%})" for kind in KINDS) + " |")
    print("|---|" + "---:|" * len(KINDS))
    for name in AGENTS:
        agent, hits = make_agent(name), {kind: [] for kind in KINDS}
        for kind, right, game in found:
            views, histories = np.array([game.view(game.turn)]), Histories.of([game])
            for seed in range(options.seeds):
                agent.reset(seed)
                hits[kind].append(int(ask(agent, views, histories=histories)[0]) in right)
        print(f"| `{name}` | " + " | ".join(f"{np.mean(hits[kind]):.0%}" for kind in KINDS) + " |", flush=True)


if __name__ == "__main__":
    main()
