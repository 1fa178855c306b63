"""Trained networks as players by name: ``make_agent("checkpoint:PATH")``, ``make_agent("net")``, and
``make_agent("search")``, a search guided by them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import numpy as np

from rs_env.agent import Agent, Shown, own, seeds_for
from rs_env.baselines.checkpoints import read_network
from rs_env.baselines.guided import begin, go_on, new_side_by_side, show, viewers
from rs_env.baselines.networks import Network, check_temperature, probabilities
from rs_env.baselines.suspicion import Suspicion
from rs_env.checks import check_seed, check_whole, check_within
from rs_env.encoding import draws, pick
from rs_env.engine.observation import observation_spec
from rs_env.engine.state import RULES, compile_rules
from rs_env.engine.view import VIEW, as_views
from rs_env.history import Histories
from rs_env.rules import Rules, as_rules

PRETRAINED = Path(__file__).parent / "pretrained"
"""Folder of the networks of the package: files PRESET-PLAYERS.safetensors, such as rolling_stone-4."""

_RAREST = 1e-30  # probability: of less the logarithm is not asked for
_LIMITS = ("max_actions", "percent_per_action", "max_deals")
_BYTES = np.concatenate(  # of a record of rules: all but its limits, and what lies between fields
    [
        np.arange(RULES.fields[name][1], RULES.fields[name][1] + RULES[name].itemsize)  # type: ignore[index]
        for name in RULES.names or ()
        if name not in _LIMITS
    ]
)
_RULES_OF_VIEW = VIEW.fields["rules"][1] + _BYTES  # type: ignore[index]


class Networks(Protocol):
    """Which network plays which views."""

    suspects: bool
    """Whether some network reads who sits there."""

    def groups(self, views: np.ndarray) -> list[tuple[Network, np.ndarray]]:
        """Networks, and for each the indices of the views that it plays. Raises ValueError where there is none."""


class OneNetwork:
    """The network of a checkpoint file or run folder, for any rules with its number of players; one of kind "general"
    for any rules.
    """

    def __init__(self, path: str | Path) -> None:
        self._path, self._network = path, read_network(path)
        self.suspects = self._network.suspects

    def groups(self, views: np.ndarray) -> list[tuple[Network, np.ndarray]]:
        """All views in one group."""
        players, own = views["rules"]["num_players"], self._network.num_players
        wrong = np.flatnonzero(players != (players if own is None else own))
        if len(wrong):
            raise ValueError(
                f"views[{wrong[0]}]: {players[wrong[0]]} players are not allowed: the network {self._path} plays with"
                f" {own}"
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
        self.suspects = any(network.suspects for network in self._networks)
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


def _seen(
    network: Network, views: np.ndarray, histories: Histories | None, suspicion: Suspicion | None
) -> tuple[np.ndarray, np.ndarray]:
    """All that a network reads of these views, int8 (G, D), and their action masks, int8 (G, 53)."""
    observation, mask = network.look(views)
    if suspicion is None or not network.suspects:
        return observation, mask
    return np.concatenate([observation, suspicion.of(views, histories)], 1), mask


@own
class NetworkAgent(Shown):
    """Plays by the policy of networks.

    temperature: 1 samples from the policy as it was learnt, below 1 prefers its likelier actions more, 0 takes the
    likeliest. Deterministic players loop for ever in many deals, so 0 is best kept for single moves.
    """

    needs = ("a network in a file, which safetensors reads",)

    def __init__(self, name: str, networks: Networks, temperature: float) -> None:
        self.name = name
        self._networks = networks
        self._temperature = check_temperature(temperature)
        self._suspicion = Suspicion() if networks.suspects else None
        self.reset(0)

    def reset(self, seed: int | None) -> None:
        """Draw from this seed from now on."""
        self._seed = np.uint64(check_seed(seed))

    def act(self, views: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
        """One legal action for each view. Raises ValueError for views that no network of the agent plays."""
        return self._act(views, seeds, None)

    def _act(self, views: np.ndarray, seeds: np.ndarray | None, histories: Histories | None) -> np.ndarray:
        views = as_views(views)
        actions, drawn = np.zeros(len(views), np.int64), draws(views, seeds_for(views, self._seed, seeds))
        for network, indices in self._networks.groups(views) if len(views) else []:
            told = None if histories is None else histories[indices]
            observation, mask = _seen(network, views[indices], told, self._suspicion)
            logits, _ = network.evaluate(observation)
            if self._temperature == 0:
                actions[indices] = np.where(mask, logits, -np.inf).argmax(-1)
                continue
            cumulated = probabilities(logits, mask, self._temperature).astype(np.float64).cumsum(-1)
            actions[indices] = pick(cumulated, drawn[indices])
        return actions


@own
class SuspectingNetworkAgent(NetworkAgent):
    """The same where some network reads who sits there: it asks for histories. Without them nobody is suspected."""

    def act(self, views: np.ndarray, seeds: np.ndarray | None = None, histories: Histories | None = None) -> np.ndarray:
        """As `NetworkAgent.act`. Raises ValueError for histories that do not lead to their views, too."""
        return self._act(views, seeds, histories)


@own
class Guided(Shown):
    """Flat Monte Carlo guided by networks, see `rs_env.baselines.guided`.

    worlds: sampled for each decision. horizon: actions of a play-out after which the seat's next decision ends it.
    temperature: of the policy in play-outs. prior: weight of the logarithm of the policy, in units of utility. least:
    actions less likely than this, as a share of the likeliest one's probability, are not tried.
    """

    needs = ("a network in a file, which safetensors reads",)

    def __init__(
        self,
        networks: Networks,
        *,
        worlds: int,
        horizon: int,
        temperature: float,
        prior: float,
        least: float,
    ) -> None:
        self.name = "search"
        self._networks = networks
        self._worlds = check_whole("worlds", worlds, 1, 1 << 14)
        self._horizon = check_whole("horizon", horizon, 0, 1 << 24)
        self._temperature = check_temperature(temperature, zero=False)
        self._prior = check_within("prior", prior, 1000.0)
        self._least = check_within("least", least, 1.0)
        self._suspicion = Suspicion() if networks.suspects else None
        self._outs = new_side_by_side(0)
        self.reset(0)

    def reset(self, seed: int | None) -> None:
        """Draw from this seed from now on."""
        self._seed = np.uint64(check_seed(seed))

    def act(self, views: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
        """One legal action for each view. Raises ValueError for views that no network of the agent plays."""
        return self._act(views, seeds, None)

    def _act(self, views: np.ndarray, seeds: np.ndarray | None, histories: Histories | None) -> np.ndarray:
        views = as_views(views)
        actions, seeds = np.zeros(len(views), np.int64), seeds_for(views, self._seed, seeds)
        for network, indices in self._networks.groups(views) if len(views) else []:
            told = None if histories is None else histories[indices]
            observation, mask = _seen(network, views[indices], told, self._suspicion)
            policy = probabilities(network.evaluate(observation)[0], mask, 1.0)
            for i, seen, row, legal in zip(indices.tolist(), observation, policy, mask == 1, strict=True):
                tried = np.flatnonzero(legal & (row >= self._least * row.max()))
                if len(tried) > 1:
                    means = self._means(network, views[i : i + 1], seeds[i : i + 1], tried, seen)
                    if means is None:
                        raise ValueError(f"views[{i}]: no deal of the hidden cards agrees with it")
                    tried = tried[[(means + self._prior * np.log(np.maximum(row[tried], _RAREST))).argmax()]]
                actions[i] = tried[0]
        return actions

    def _means(
        self, network: Network, view: np.ndarray, seed: np.ndarray, tried: np.ndarray, seen: np.ndarray
    ) -> np.ndarray | None:
        """The mean utility of each action that is tried in the one view; None where no deal agrees with it. seen: what
        the network reads of the view.
        """
        count, seat = self._worlds * len(tried), int(view["seat"][0])
        if count > len(self._outs.states):
            self._outs = new_side_by_side(count)
        if not begin(view, seed, tried, self._worlds, self._outs):
            return None
        rules = view["rules"]
        rows = np.empty((count, observation_spec(int(rules["num_players"][0])).size), np.int8)
        suspicion = self._suspicion if network.suspects else None
        own, nobody = seen[rows.shape[1] :], None if suspicion is None else suspicion.of(view, None)[0]
        while (shown := show(self._outs, count, seat, self._horizon, rows)) > 0:
            read = network.read(rows[:shown], rules)
            if nobody is not None:  # the seat goes on to suspect what it does, the others are taken to suspect nobody
                searching = viewers(self._outs, shown, seat) == seat
                read = np.concatenate([read, np.where(searching[:, None], own, nobody)], 1)
            logits, values = network.evaluate(read)
            go_on(self._outs, shown, logits, values, self._temperature)
        return self._outs.worth[:count].reshape(self._worlds, len(tried)).mean(0)


@own
class SuspectingGuided(Guided):
    """The same where some network reads who sits there: it asks for histories."""

    def act(self, views: np.ndarray, seeds: np.ndarray | None = None, histories: Histories | None = None) -> np.ndarray:
        """As `Guided.act`. Raises ValueError for histories that do not lead to their views, too."""
        return self._act(views, seeds, histories)


def checkpoint(path: str, *, temperature: float = 0.5) -> Agent:
    """The player of a checkpoint file or run folder."""
    return _player("checkpoint", OneNetwork(path), temperature)


def net(*, temperature: float = 0.5) -> Agent:
    """The player of the networks that come with the package."""
    return _player("net", Pretrained(), temperature)


def _player(name: str, networks: Networks, temperature: float) -> Agent:
    kind = SuspectingNetworkAgent if networks.suspects else NetworkAgent
    return kind(name, networks, temperature)


def search(
    *,
    checkpoint: str = "",
    worlds: int = 32,
    horizon: int = 8,
    temperature: float = 1.0,
    prior: float = 0.05,
    least: float = 0.05,
) -> Agent:
    """The search that is guided by the network of a checkpoint, or by the networks that come with the package."""
    networks: Networks = OneNetwork(checkpoint) if checkpoint else Pretrained()
    kind = SuspectingGuided if networks.suspects else Guided
    return kind(networks, worlds=worlds, horizon=horizon, temperature=temperature, prior=prior, least=least)
