"""Policy and value networks in NumPy alone.

A kind of network is a row of `FORMS`: which arrays it has for its sizes, and the function that computes it. The kinds,
their sizes and what they compute are those of `agents.architectures`, where networks are trained with PyTorch.

The kinds "suspects" and "general" are computed as "suits" is. They read other vectors, see
`rs_env.baselines.suspicion` and `rs_env.baselines.general`.

Each row of a batch is multiplied by itself, as a matrix with a row for each suit. So every product has the same shape
whatever the batch is, and what comes out for a view is the same to the bit in any batch; it is as quick as one large
product, for which the rows would have to be copied.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from rs_env.baselines.general import PERCENT, general_observations, general_spec, rule_entries, spread
from rs_env.baselines.suspicion import suspicion_size
from rs_env.cards import NUM_ACTIONS, NUM_CARDS, NUM_RANKS, NUM_SUITS
from rs_env.encoding import observations
from rs_env.engine.layout import Kind, Layout
from rs_env.engine.observation import observation_spec
from rs_env.rules import Rules

USUAL_HAND_SIZE = 8.0  # what hand sizes are divided by; all other entries by their bound
Arrays = Mapping[str, np.ndarray]
Columns = tuple[np.ndarray, np.ndarray]
"""Which entries of a vector a network sees with each suit, int64 (4, F), in the order of the first layer's columns; and
what they are divided by, float32 (F,).
"""


@dataclass(frozen=True)
class Form:
    """A kind of network in NumPy."""

    shapes: Callable[[Columns, int, int], dict[str, tuple[int, ...]]]
    """The shape of each array, by name, from the columns of what it reads, the width and the number of layers."""

    forward: Callable[[Arrays, Columns, np.ndarray], tuple[np.ndarray, np.ndarray]]
    """Logits (B, 53) and values (B,), float32, from the arrays, the columns and rows of them, int8 (B, D)."""

    general: bool = False
    """Whether it plays any number of players and knows the rules."""

    suspects: bool = False
    """Whether it reads who sits there, behind the observation, see `rs_env.baselines.suspicion`."""

    def columns(self, num_players: int) -> Columns:
        """Of what it reads, where it was trained with this number of players."""
        layout = general_spec() if self.general else observation_spec(num_players)
        return suit_columns(layout, suspicion_size(num_players) if self.suspects else 0)


@dataclass(frozen=True, eq=False)
class Network:
    """A trained network: who has learnt what, and how to compute it. It may be shared between threads."""

    kind: str
    rules: Rules
    """What it was trained to play."""
    arrays: Arrays
    """Its weights by name, float32."""

    @property
    def num_players(self) -> int | None:
        """The number of players whose observations it reads; None: any."""
        return None if FORMS[self.kind].general else self.rules.num_players

    @property
    def suspects(self) -> bool:
        """Whether it reads who sits there."""
        return FORMS[self.kind].suspects

    def look(self, views: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What it reads of views of its number of players, int8 (B, D), but for who sits there, and the action masks,
        int8 (B, 53).
        """
        return (general_observations if FORMS[self.kind].general else observations)(views)

    def read(self, observation: np.ndarray, rules: np.ndarray) -> np.ndarray:
        """What it reads of plain observations, int8 (B, D), but for who sits there. rules: those of all of them, one
        record of dtype `RULES` as an array.
        """
        general = FORMS[self.kind].general
        return spread(observation, int(rules["num_players"][0]), rule_entries(rules)) if general else observation

    def evaluate(self, observation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Logits (B, 53) and the expected rewards of the seats that observe (B,), both float32.

        observation: int8 (B, D), as `look` gives them, and behind it who sits there if it `suspects`.
        """
        form = FORMS[self.kind]
        return form.forward(self.arrays, form.columns(self.rules.num_players), observation)


TEMPERATURES = "finite and at least 0.001"
"""Those by which logits can be divided: by less, differences of float32 overflow. 0 stands for the likeliest action."""


def is_temperature(value: float) -> bool:
    """Whether a policy can be played at this temperature, 0 among them."""
    return value == 0 or 0.001 <= value < math.inf


def check_temperature(value: float, zero: bool = True) -> float:
    """The temperature. Raises ValueError for one that cannot be played at. zero: whether 0 is allowed."""
    if not is_temperature(value) or (value == 0 and not zero):
        allowed = f"0, or {TEMPERATURES}" if zero else TEMPERATURES
        raise ValueError(f"temperature={value!r} is not allowed: it must be {allowed}")
    return value


def probabilities(logits: np.ndarray, mask: np.ndarray, temperature: float) -> np.ndarray:
    """The policy, float32 (B, 53), at a temperature above 0; mask: int8 or bool (B, 53), at least one 1 in each row."""
    logits = np.where(mask, logits, -np.inf).astype(np.float32, copy=False)
    powers = np.exp((logits - logits.max(-1, keepdims=True)) / np.float32(temperature))
    return powers / powers.sum(-1, keepdims=True)


# All kinds are `agents.networks.PolicyValueNet`, which reads each suit with the same weights.


@cache
def suit_columns(spec: Layout, extra: int = 0) -> Columns:
    """The columns of vectors of this layout, with so many entries in percent behind them that belong to no suit."""
    cards = [np.arange(part.start, part.start + part.size) for part in spec.of_kind(Kind.CARDS, Kind.CARD)]
    suits = [np.arange(part.start, part.start + part.size) for part in spec.of_kind(Kind.SUITS, Kind.SUIT)]
    other = [np.arange(part.start, part.start + part.size) for part in spec.of_kind(Kind.SEATS, Kind.SEAT, Kind.COUNT)]
    entries = np.concatenate(
        [
            np.concatenate(cards).reshape(-1, NUM_SUITS, NUM_RANKS).transpose(1, 0, 2).reshape(NUM_SUITS, -1),
            np.concatenate(suits).reshape(-1, NUM_SUITS).T,
            np.tile(np.concatenate([*other, spec.size + np.arange(extra)]), (NUM_SUITS, 1)),
        ],
        1,
    )
    scale = np.concatenate([spec.high, np.full(extra, PERCENT)]).astype(np.float32)
    scale[spec["hand_sizes"]] = USUAL_HAND_SIZE
    return entries, scale[entries[0]]


def _suits_shapes(columns: Columns, hidden: int, layers: int) -> dict[str, tuple[int, ...]]:
    widths = {"first": (hidden, columns[0].shape[1])}
    widths |= {f"body.{layer}": (hidden, 2 * hidden) for layer in range(layers)}
    widths |= {"card_head": (NUM_RANKS, hidden), "pickup_head": (NUM_ACTIONS - NUM_CARDS, hidden)}
    widths |= {"value_head": (1, hidden)}
    shapes: dict[str, tuple[int, ...]] = {}
    for name, shape in widths.items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    return shapes


def _suits_forward(arrays: Arrays, columns: Columns, observation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    entries, scale = columns
    x = observation.take(entries, 1).astype(np.float32)
    x /= scale
    features = _relu(_linear(arrays, "first", x))
    layer = 0
    while f"body.{layer}.weight" in arrays:
        weight = arrays[f"body.{layer}.weight"]
        hidden = weight.shape[0]
        summary = features.mean(1, keepdims=True)
        # What a layer makes of the summary is the same for each suit, so it is computed once.
        summed = summary @ weight[:, hidden:].T + arrays[f"body.{layer}.bias"]
        features = features @ weight[:, :hidden].T
        features += summed
        _relu(features)
        layer += 1
    summary = features.mean(1, keepdims=True)
    cards = _linear(arrays, "card_head", features).reshape(len(x), NUM_CARDS)
    pickup = _linear(arrays, "pickup_head", summary)[:, 0]
    return np.concatenate([cards, pickup], 1), _linear(arrays, "value_head", summary).reshape(-1)


def _linear(arrays: Arrays, name: str, x: np.ndarray) -> np.ndarray:
    y = x @ arrays[f"{name}.weight"].T
    y += arrays[f"{name}.bias"]
    return y


def _relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0.0, out=x)


FORMS: dict[str, Form] = {
    "suits": Form(_suits_shapes, _suits_forward),
    "suspects": Form(_suits_shapes, _suits_forward, suspects=True),
    "general": Form(_suits_shapes, _suits_forward, general=True),
}
"""The kinds of networks that can be computed without PyTorch; names as in `agents.architectures.NETWORKS`."""
