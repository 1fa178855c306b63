"""What the public history is worth to the belief: who holds a hidden card, uniformly and weighed by what was played.

    python benchmarks/weighing.py                          # some minutes
    python benchmarks/weighing.py --games 20 --picture weighing.png

Games of four players of one kind each. At every decision of seat 0 from action 13 on, the probabilities of the true
holders of the hidden cards of the other seats are scored by the logarithmic loss (nats a card, less is better), and all
probabilities are sorted into tenths, so that the share that came true can be held against them (calibration).
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field

import numpy as np

from rs_env import Game, belief, make_agent
from rs_env.baselines.models import OpponentModel

KINDS = ("random", "low", "longest", "dumper", "heuristic", "pimc:worlds=32", "expert")
FIRST, LAST = 13, 80  # actions between which it is looked at
BINS = 10


@dataclass
class Scores:
    """Losses of the true holders, and for each tenth the number and sum of probabilities and of what came true."""

    losses: list[float] = field(default_factory=list)
    tenths: np.ndarray = field(default_factory=lambda: np.zeros((BINS, 3)))

    def add(self, probabilities: np.ndarray, true: np.ndarray, worlds: int) -> None:
        """Probabilities and whether they came true, of each seat and hidden card; none is taken below half a world."""
        self.losses += (-np.log(np.maximum(probabilities[true], 0.5 / worlds))).tolist()
        tenth = np.minimum((BINS * probabilities).astype(int), BINS - 1)
        for column, values in enumerate((np.ones(len(tenth)), probabilities, true)):
            self.tenths[:, column] += np.bincount(tenth, values, BINS)


def play(kind: str, games: int, worlds: int) -> tuple[Scores, Scores, float]:
    """Scores of the uniform and the weighed belief, and the mean effective sample size as a share of the worlds."""
    model, player, uniform, weighed, sizes = OpponentModel(), make_agent(kind), Scores(), Scores(), []
    player.reset(0)
    for seed in range(games):
        game = Game(seed=seed)
        while not game.is_over and game.num_actions < LAST:
            if game.turn == 0 and game.num_actions >= FIRST and len(game.legal_actions()) > 1:
                view = game.view(0)
                by_chance, found = belief.marginals(view), belief.weigh(view, game.events, model, worlds, seed)
                hidden = (by_chance > 0) & (by_chance < 1)
                true = np.array([[card in hand for card in range(52)] for hand in game.hands])
                uniform.add(by_chance[hidden], true[hidden], worlds)
                weighed.add(found.marginals[hidden], true[hidden], worlds)
                sizes.append(found.effective_size / worlds)
            game.play(int(player.act(np.array([game.view(game.turn)]))[0]))
    return uniform, weighed, float(np.mean(sizes))


def draw(results: dict[str, tuple[Scores, Scores, float]], path: str) -> None:
    """Calibration of both beliefs, a panel for each kind of player."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(results), figsize=(2.6 * len(results), 3), sharey=True)
    for axis, (kind, (uniform, weighed, _)) in zip(np.atleast_1d(axes), results.items(), strict=True):
        axis.plot([0, 1], [0, 1], color="0.8")
        for scores, name in ((uniform, "uniform"), (weighed, "weighed")):
            number, predicted, true = scores.tenths[scores.tenths[:, 0] > 20].T
            axis.plot(predicted / number, true / number, marker="o", markersize=3, label=name)
        axis.set(title=kind, xlabel="said", aspect="equal")
    np.atleast_1d(axes)[0].set(ylabel="came true")
    np.atleast_1d(axes)[0].legend()
    figure.savefig(path, dpi=120, bbox_inches="tight")


def main() -> None:
    """Play, print the table, draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=100, help="of each kind of player")
    parser.add_argument("--worlds", type=int, default=400, help="that are weighed at each decision")
    parser.add_argument("--picture", help="file to draw the calibration to")
    arguments = parser.parse_args()
    results = {kind: play(kind, arguments.games, arguments.worlds) for kind in KINDS}
    print("| players | cards | uniform | weighed | off the diagonal: uniform | weighed | effective sample |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for kind, (uniform, weighed, size) in results.items():
        off = [np.abs(s.tenths[:, 1] - s.tenths[:, 2]).sum() / s.tenths[:, 0].sum() for s in (uniform, weighed)]
        losses = " | ".join(f"{np.mean(s.losses):.3f}" for s in (uniform, weighed))
        print(f"| `{kind}` | {len(uniform.losses):,} | {losses} | {off[0]:.3f} | {off[1]:.3f} | {size:.0%} |")
    if arguments.picture:
        draw(results, arguments.picture)


if __name__ == "__main__":
    main()
