"""How a run has gone, as one picture; needs matplotlib, which is not required for anything else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agents.log import METRICS

CURVES = "curves.png"
Lines = list[dict[str, Any]]
_PANELS: dict[str, Callable[[str], bool]] = {
    "win share": lambda name: name.startswith("evaluation/win_share_"),
    "capped share": lambda name: name.startswith("evaluation/capped_") or name == "charts/capped_share",
    "losses": lambda name: name in ("losses/policy_loss", "losses/value_loss", "losses/new_policy_loss"),
    "entropy": lambda name: name == "losses/entropy",
    "decisions per second": lambda name: name == "charts/SPS",
}
"""Titles of the panels, and which metrics each shows."""


def draw_curves(folder: Path) -> str:
    """Draw the metrics of a run, or of its stages one after the other, to ``curves.png``; what to say of it."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        return "no curves are drawn: that needs matplotlib (pip install matplotlib)"
    lines, ends = lines_of(folder)
    figure = Figure(figsize=(9, 2.4 * len(_PANELS)), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, (title, shows) in zip(figure.subplots(len(_PANELS), sharex=True), _PANELS.items(), strict=True):
        for name in sorted({name for line in lines for name in line if shows(name)}):
            points = [(line["decisions"], line[name]) for line in lines if name in line]
            axes.plot(*zip(*points, strict=True), label=name.split("/")[1], marker="." if len(points) < 40 else "")
        for end in ends[:-1]:
            axes.axvline(end, color="grey", linestyle=":")
        axes.set_title(title)
        axes.grid(alpha=0.3)
        if axes.lines:
            axes.legend(fontsize="small")
    axes.set_xlabel("decisions")
    figure.savefig(folder / CURVES, dpi=100)
    return f"curves: {folder / CURVES}"


def lines_of(folder: Path) -> tuple[Lines, list[int]]:
    """The metrics of a run, or of its stages with decisions counted on from one to the next; and where each ends."""
    found = [folder / METRICS] if (folder / METRICS).exists() else sorted(folder.glob(f"*-*/{METRICS}"))
    lines: Lines = []
    ends: list[int] = []
    for path in found:
        before = ends[-1] if ends else 0
        for text in path.read_text(encoding="utf-8").splitlines():
            line = json.loads(text)
            lines.append({**line, "decisions": before + line["decisions"]})
        ends.append(lines[-1]["decisions"] if lines else 0)
    return lines, ends
