"""The policy and value network, and a critic that sees all."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rs_env.baselines.general import general_spec, sometimes_there
from rs_env.baselines.networks import USUAL_HAND_SIZE, suit_columns
from rs_env.baselines.suspicion import suspicion_size
from rs_env.cards import NUM_ACTIONS, NUM_CARDS, NUM_RANKS, NUM_SUITS
from rs_env.engine.layout import Kind, Layout
from rs_env.engine.observation import observation_spec, state_spec


class BySuit(nn.Module):
    """What is common to networks that read each suit with the same weights.

    layout: of the vectors that it reads. hidden: width of each layer. layers: number of layers that see one suit
    together with a summary of all. extra: entries in percent after those of the layout, which belong to no suit.

    Without trumps the rules do not know one suit from another: what is learnt of one is learnt of all. A part of a suit
    is its 13 ranks in each section of cards, its entry in each section of suits, and all that belongs to no suit. The
    summary is the mean over suits (M. Zaheer et al., "Deep Sets", NeurIPS 2017).
    """

    scale: Tensor

    def __init__(self, layout: Layout, hidden: int, layers: int, extra: int = 0) -> None:
        super().__init__()
        self.layout, self.extra = layout, extra
        self.register_buffer("scale", _scale(layout, extra), persistent=False)
        self._card_parts = [part.slice for part in layout.of_kind(Kind.CARDS, Kind.CARD)]
        self._suit_parts = [part.slice for part in layout.of_kind(Kind.SUITS, Kind.SUIT)]
        self._other_parts = [part.slice for part in layout.of_kind(Kind.SEATS, Kind.SEAT, Kind.COUNT)]
        self._extra_part = slice(layout.size, layout.size + extra)
        by_suit = sum(part.stop - part.start for part in self._card_parts + self._suit_parts) // NUM_SUITS
        common = sum(part.stop - part.start for part in self._other_parts)
        self.first = _orthogonal(nn.Linear(by_suit + common + extra, hidden), 2**0.5)
        self.body = nn.ModuleList(_orthogonal(nn.Linear(2 * hidden, hidden), 2**0.5) for _ in range(layers))

    def features(self, vectors: Tensor) -> Tensor:
        """What the layers make of each suit, float32 (B, 4, hidden), of vectors int8 (B, D)."""
        features = torch.relu(_in_two_parts(self.first, *self._by_suit(vectors.float() / self.scale)))
        for layer in self.body:
            assert isinstance(layer, nn.Linear)
            features = torch.relu(_in_two_parts(layer, features, features.mean(1)))
        return features

    def _by_suit(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The entries (B, D) of a vector: those of each suit (B, 4, F), and those of none (B, G)."""
        batch = len(x)
        cards = torch.cat([x[:, part] for part in self._card_parts], 1).view(batch, -1, NUM_SUITS, NUM_RANKS)
        suits = torch.cat([x[:, part] for part in self._suit_parts], 1).view(batch, -1, NUM_SUITS)
        common = torch.cat([x[:, part] for part in (*self._other_parts, self._extra_part)], 1)
        return torch.cat([cards.transpose(1, 2).flatten(2), suits.transpose(1, 2)], -1), common


class PolicyValueNet(BySuit):
    """A network of kind "suits": from observations to action probabilities and the expected reward of the seat that
    observes.

    num_players: which observation it reads. hidden, layers: see `BySuit`. One network plays every seat, since
    observations are egocentric.
    """

    suspects = False
    """Whether it reads who sits there, see `SuspectsNet`."""

    general = False
    """Whether it plays any number of players and reads the rules, see `GeneralNet`."""

    def __init__(self, num_players: int, hidden: int, layers: int, extra: int = 0) -> None:
        super().__init__(general_spec() if self.general else observation_spec(num_players), hidden, layers, extra)
        self.card_head = _orthogonal(nn.Linear(hidden, NUM_RANKS), 0.01)
        self.pickup_head = _orthogonal(nn.Linear(hidden, NUM_ACTIONS - NUM_CARDS), 0.01)
        self.value_head = _orthogonal(nn.Linear(hidden, 1), 1.0)

    def forward(self, observation: Tensor, action_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probabilities (B, 53), minus infinity where the mask is 0, and values (B,).

        observation: int8 (B, D + extra). action_mask: int8 (B, 53) with at least one 1 in each row.
        """
        features = self.features(observation)
        summary = features.mean(1)
        logits = torch.cat([self.card_head(features).flatten(1), self.pickup_head(summary)], -1).float()
        value = self.value_head(summary).squeeze(-1).float()  # as logits, in full also where layers are not
        return logits.masked_fill(action_mask == 0, -torch.inf).log_softmax(-1), value


class SuspectsNet(PolicyValueNet):
    """A network of kind "suspects", which knows who sits there: after the observation it reads how likely each other
    seat is of each type of player, as `rs_env.baselines.suspicion` tells from the public history.
    """

    suspects = True

    def __init__(self, num_players: int, hidden: int, layers: int) -> None:
        super().__init__(num_players, hidden, layers, suspicion_size(num_players))


class GeneralNet(PolicyValueNet):
    """A network of kind "general": the same weights play any number of players by any rules, which it reads as numbers
    behind the observation, see `rs_env.baselines.general`.

    What it makes of other seats, of the rules and of what only some rules have begins at zero. So a seat or a rule that
    training has never met counts for nothing, rather than as much as weights drawn at random let it.
    """

    general = True

    def __init__(self, num_players: int, hidden: int, layers: int) -> None:
        super().__init__(num_players, hidden, layers)
        columns, _ = suit_columns(general_spec())
        with torch.no_grad():
            self.first.weight[:, torch.from_numpy(sometimes_there()[columns[0]])] = 0.0


class CentralCritic(BySuit):
    """From global states, hidden cards and all, to the expected reward of each seat.

    It serves to train a policy, which never sees them (R. Lowe et al. 2017, arXiv:1706.02275). hidden, layers: see
    `BySuit`.
    """

    def __init__(self, num_players: int, hidden: int, layers: int) -> None:
        super().__init__(state_spec(num_players), hidden, layers)
        self.value_head = _orthogonal(nn.Linear(hidden, num_players), 1.0)

    def forward(self, state: Tensor, seat: Tensor) -> Tensor:
        """Values (B,) of these seats, int64 (B,), in these states, int8 (B, S)."""
        return self.value_head(self.features(state).mean(1)).gather(1, seat[:, None]).squeeze(1).float()


def _in_two_parts(layer: nn.Linear, by_suit: Tensor, common: Tensor) -> Tensor:
    """What the layer makes of each suit's entries (B, 4, F) followed by common ones (B, G): the common part, which is
    the same for all suits, is computed once.
    """
    width = by_suit.shape[-1]
    once = nn.functional.linear(common, layer.weight[:, width:], layer.bias)
    return nn.functional.linear(by_suit, layer.weight[:, :width]) + once[:, None]


def _scale(spec: Layout, extra: int) -> Tensor:
    """What vectors are divided by: their bounds, but for hand sizes, which are rarely near theirs; percents by 100."""
    scale = torch.tensor(spec.high, dtype=torch.float32)
    scale[spec["hand_sizes"]] = USUAL_HAND_SIZE
    return torch.cat([scale, torch.full((extra,), 100.0)])


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
