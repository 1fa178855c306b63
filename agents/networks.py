"""The policy and value network."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn

from rs_env.cards import NUM_ACTIONS
from rs_env.observation import observation_spec


class PolicyValueNet(nn.Module):
    """A multilayer perceptron from observations to action logits and the expected reward of the seat that observes.

    num_players: which observation it reads. hidden: width of each hidden layer. layers: number of hidden layers.
    One network plays every seat, since observations are egocentric.
    """

    high: Tensor

    def __init__(self, num_players: int, hidden: int, layers: int) -> None:
        super().__init__()
        spec = observation_spec(num_players)
        self.register_buffer("high", torch.tensor(spec.high, dtype=torch.float32), persistent=False)
        widths = [spec.size] + [hidden] * layers
        body: list[nn.Module] = []
        for before, after in pairwise(widths):
            body += [_orthogonal(nn.Linear(before, after), 2**0.5), nn.ReLU()]
        self.body = nn.Sequential(*body)
        self.policy_head = _orthogonal(nn.Linear(hidden, NUM_ACTIONS), 0.01)
        self.value_head = _orthogonal(nn.Linear(hidden, 1), 1.0)

    def forward(self, observation: Tensor, action_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probabilities (B, 53), minus infinity where the mask is 0, and values (B,).

        observation: int8 (B, D). action_mask: int8 (B, 53) with at least one 1 in each row.
        """
        features = self.body(observation.float() / self.high)
        logits = self.policy_head(features).masked_fill(action_mask == 0, -torch.inf)
        return logits.log_softmax(-1), self.value_head(features).squeeze(-1)


def sample(log_probs: Tensor, generator: torch.Generator) -> Tensor:
    """Actions (B,) drawn from log-probabilities (B, A)."""
    return torch.multinomial(log_probs.exp(), 1, generator=generator).squeeze(-1)


def entropy(log_probs: Tensor) -> Tensor:
    """Entropy (B,) in nats of masked log-probabilities (B, A)."""
    return -(log_probs.exp() * log_probs.clamp_min(-1e9)).sum(-1)


def _orthogonal(layer: nn.Linear, gain: float) -> nn.Linear:
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer
