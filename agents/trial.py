"""A run of a sweep, as any worker trains it, and what the runs of a setting come to."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from scipy.stats import bootstrap, trim_mean  # type: ignore[import-untyped]

from agents.config import TrainConfig
from agents.curves import lines_of
from agents.run import CONFIG, EVALUATION, STAGES, Run
from agents.stages import StagedRun

RESAMPLES = 2000
_SHARE = "evaluation/win_share_"


def train_one(configs: Sequence[TrainConfig], staged: bool, folder: Path) -> dict[str, float]:
    """Train and evaluate a run, or what is missing of it; its win share against each opponent, by
    each rule set where there are several.

    Raises ValueError where the folder holds a run of other settings.
    """
    file = folder / (STAGES if staged else CONFIG)
    begun = file.exists()
    if begun:
        told = json.loads(file.read_text(encoding="utf-8"))
        before = tuple(TrainConfig.from_dict(values) for values in (told if staged else [told]))
        if before != tuple(configs):
            raise ValueError(f"{folder} holds a run of other settings: give another folder")
    if not (begun and (folder / EVALUATION).exists()):
        if staged:
            run: Run | StagedRun = StagedRun.resume(folder) if begun else StagedRun(configs, folder)
        else:
            run = Run.resume(folder) if begun else Run(configs[0], folder)
        console = Console(file=io.StringIO())
        if not run.train(console):
            raise KeyboardInterrupt
        run.evaluate(console)
    duels = json.loads((folder / EVALUATION).read_text(encoding="utf-8"))
    return {
        " ".join([duel["opponent"], *([duel["rules"]] if "rules" in duel else [])]): duel["win_share"] for duel in duels
    }


# What they come to


def interquartile_mean(values: np.ndarray) -> tuple[float, tuple[float, float] | None]:
    """The mean of the middle half of values (N,), and its 95 % interval; None for fewer than three."""
    found = float(trim_mean(values, 0.25))
    if len(values) < 3:
        return found, None
    if np.ptp(values) == 0:
        return found, (found, found)
    interval = bootstrap(
        (values,),
        lambda sample, axis: trim_mean(sample, 0.25, axis=axis),
        n_resamples=RESAMPLES,
        method="percentile",
        random_state=0,
    ).confidence_interval
    return found, (float(interval.low), float(interval.high))


def result_of_setting(
    values: dict[str, Any], shares: Sequence[dict[str, float]], folders: Sequence[Path]
) -> dict[str, Any]:
    """What is told of a setting: the win shares of its runs, what they come to, and its curve on the way."""
    means = np.array([np.mean(list(share.values())) for share in shares])
    result, interval = interquartile_mean(means)
    curve = [
        {"decisions": d, "seeds": len(v), **_told(*interquartile_mean(v))} for d, v in _on_the_way(folders).items()
    ]
    return {"settings": values, "win_shares": list(shares), **_told(result, interval), "curve": curve}


def _told(mean: float, interval: tuple[float, float] | None) -> dict[str, Any]:
    return {"interquartile_mean": mean, "interval": interval}


def _on_the_way(folders: Sequence[Path]) -> dict[int, np.ndarray]:
    """Mean win shares while training, of all runs, by the decisions made."""
    found: dict[int, list[float]] = {}
    for folder in folders:
        for line in lines_of(folder)[0]:
            shares = [value for name, value in line.items() if name.startswith(_SHARE)]
            if shares:
                found.setdefault(line["decisions"], []).append(float(np.mean(shares)))
    return {decisions: np.array(values) for decisions, values in sorted(found.items())}
