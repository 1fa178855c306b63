"""Trained networks as players by name: ``make_agent("checkpoint:PATH")``, ``make_agent("net")``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Protocol

import numpy as np

from rs_env.agent import Agent, own, seeds_for
from rs_env.baselines.checkpoints import read_network
from rs_env.baselines.networks import Network, probabilities
from rs_env.checks import check_seed
from rs_env.encoding import draws, observations
from rs_env.engine.state import RULES, compile_rules
from rs_env.engine.view import VIEW, as_views
from rs_env.rules import Rules, as_rules

PRETRAINED = Path(__file__).parent / "pretrained"
"""Folder of the networks of the package: files PRESET-PLAYERS.safetensors, such as rolling_stone-4."""

_TEMPERATURES = "0, or finite and at least 0.001"
_LIMITS = ("max_actions", "percent_per_action", "max_deals")
_BYTES = np.concatenate(  # of a record of rules: all but its limits, and what lies between fields
    [
        np.arange(offset, offset + kind.itemsize)
        for name, (kind, offset) in RULES.fields.items()  # type: ignore[union-attr]
        if name not in _LIMITS
    ]
)
_RULES_OF_VIEW = VIEW.fields["rules"][1] + _BYTES  # type: ignore[index]


class Networks(Protocol):
    """Which network plays which views."""

    def groups(self, views: np.ndarray) -> list[tuple[Network, np.ndarray]]:
        """Networks, and for each the indices of the views that it plays. Raises ValueError where there is none."""


class OneNetwork:
    """The network of a checkpoint file or run folder, for any rules with its number of players."""

    def __init__(self, path: str | Path) -> None:
        self._path, self._network = path, read_network(path)

    def groups(self, views: np.ndarray) -> list[tuple[Network, np.ndarray]]:
        """All views in one group."""
        players = views["rules"]["num_players"]
        wrong = np.flatnonzero(players != self._network.num_players)
        if len(wrong):
            raise ValueError(
                f"views[{wrong[0]}]: {players[wrong[0]]} players are not allowed: the network {self._path} plays with"
                f" {self._network.num_players}"
            )
        return [(self._network, np.arange(len(views)))]


class Pretrained:
    """The networks of the package, each for the rules that it has learnt, whatever their limits of actions and
    deals. Raises ValueError for a file that does not fit.
    """

    def __init__(self) -> None:
        paths = sorted(PRETRAINED.glob("*.safetensors"))
        self._names = [path.stem for path in paths]
        self._networks = [read_network(path) for path in paths]
        self._rules = [compile_rules(rules_of(name)).view(np.uint8)[_BYTES] for name in self._names]

    def groups(self, views: np.ndarray) -> list[tuple[Network, np.ndarray]]:
        """A group for each set of rules."""
        records = views.view(np.uint8).reshape(len(views), VIEW.itemsize)[:, _RULES_OF_VIEW]
        fits = np.array([(records == rules).all(1) for rules in self._rules], np.bool_).reshape(-1, len(views))
        unknown = np.flatnonzero(~fits.any(0))
        if len(unknown):
            players = views["rules"]["num_players"][unknown[0]]
            known = " and ".join(f"{name.replace('-', ' with ')} players" for name in self._names) or "none"
            raise ValueError(
                f"views[{unknown[0]}]: there is no pretrained network for these rules with {players} players; rules"
                f" with one: {known}. 'checkpoint:PATH' plays any rules with its network's number of players"
            )
        return [(network, np.flatnonzero(row)) for network, row in zip(self._networks, fits, strict=True) if row.any()]


def rules_of(name: str) -> Rules:
    """The rules of a pretrained network by its name. Raises ValueError for other names."""
    preset, _, players = name.rpartition("-")
    return as_rules(preset, num_players=int(players))


def check_temperature(name: str, value: float) -> float:
    """The temperature. Raises ValueError, naming it, for one by which logits cannot be divided."""
    if value != 0 and not 0.001 <= value < math.inf:
        raise ValueError(f"{name}={value!r} is not allowed: it must be {_TEMPERATURES}")
    return value


@own
class NetworkAgent:
    """Plays by the policy of networks.

    temperature: 1 samples from the policy as it was learnt, below 1 prefers its likelier actions more, 0 takes the
    likeliest. Deterministic players loop for ever in many deals, so 0 is best kept for single moves.
    """

    def __init__(self, name: str, networks: Networks, temperature: float) -> None:
        self.name = name
        self._networks = networks
        self._temperature = check_temperature("temperature", temperature)
        self.reset(0)

    def reset(self, seed: int | None) -> None:
        """Draw from this seed from now on."""
        self._seed = np.uint64(check_seed(seed))

    def act(self, views: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
        """One legal action for each view. Raises ValueError for views that no network of the agent plays."""
        views = as_views(views)
        actions, drawn = np.zeros(len(views), np.int64), draws(views, seeds_for(views, self._seed, seeds))
        for network, indices in self._networks.groups(views) if len(views) else []:
            observation, mask = observations(views[indices])
            logits, _ = network.evaluate(observation)
            if self._temperature == 0:
                actions[indices] = np.where(mask, logits, -np.inf).argmax(-1)
                continue
            cumulated = probabilities(logits, mask, self._temperature).astype(np.float64).cumsum(-1)
            # The first action whose cumulated probability is above the draw: one that is possible, for the sum rises
            # only there.
            actions[indices] = (cumulated <= drawn[indices, None] * cumulated[:, -1:]).sum(-1)
        return actions


def checkpoint(path: str, *, temperature: float = 0.5) -> Agent:
    """The player of a checkpoint file or run folder."""
    return NetworkAgent("checkpoint", OneNetwork(path), temperature)


def net(*, temperature: float = 0.5) -> Agent:
    """The player of the networks that come with the package."""
    return NetworkAgent("net", Pretrained(), temperature)
