"""Kinds of policy networks, by name, and the settings that choose one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import nn

from agents.networks import GeneralNet, PolicyValueNet, SuspectsNet
from agents.settings import check
from rs_env.baselines.general import general_spec
from rs_env.baselines.suspicion import suspicion_size
from rs_env.engine.observation import observation_spec

NETWORKS: dict[str, Callable[[int, int, int], nn.Module]] = {
    "suits": PolicyValueNet,
    "suspects": SuspectsNet,
    "general": GeneralNet,
}
"""What makes each kind of network from the number of players, the width and the number of layers.

A network takes observations, int8 (B, D), and action masks, int8 (B, 53), and gives log-probabilities (B, 53), minus
infinity where the mask is 0, and values (B,), as `agents.networks.PolicyValueNet` does.

One whose `suspects` is true reads more after each observation, one whose `general` is true reads it spread out for the
most players, with the rules behind it. The collector, the teacher and the player give them that.

Players by name need no PyTorch: they compute a network by the row of `rs_env.baselines.networks.FORMS` with the same
name, the shapes of its arrays and a forward pass in NumPy. A kind without such a row trains and plays here as any
other, while ``make_agent("checkpoint:PATH")`` refuses it.
"""


@dataclass(frozen=True)
class NetworkConfig:
    """The policy network."""

    kind: str = "suits"
    """Its architecture, one of `agents.architectures.NETWORKS`."""
    hidden: int = 128
    """Width of each layer."""
    layers: int = 2
    """Layers that see one suit together with a summary of all."""

    def __post_init__(self) -> None:
        check("network.kind", self.kind, self.kind in NETWORKS, f"one of {', '.join(map(repr, NETWORKS))}")
        check("network.hidden", self.hidden, 1 <= self.hidden <= 16384, "from 1 to 16384")
        check("network.layers", self.layers, 1 <= self.layers <= 64, "from 1 to 64")

    @property
    def suspects(self) -> bool:
        """Whether it reads who sits there."""
        return bool(getattr(NETWORKS[self.kind], "suspects", False))

    @property
    def general(self) -> bool:
        """Whether it plays any number of players and reads the rules."""
        return bool(getattr(NETWORKS[self.kind], "general", False))

    def size(self, num_players: int) -> int:
        """How many entries it reads."""
        if self.general:
            return general_spec().size
        return observation_spec(num_players).size + (suspicion_size(num_players) if self.suspects else 0)

    def make(self, num_players: int) -> nn.Module:
        """A new network of this kind and size, with weights from PyTorch's global generator."""
        return NETWORKS[self.kind](num_players, self.hidden, self.layers)
