"""Positions of random games, what a seat sees in them, and the same positions with all that it cannot know drawn
anew."""

from __future__ import annotations

import itertools
import random

import numpy as np

from rs_env.cards import NUM_ACTIONS, set_of, suit_of
from rs_env.engine.observation import observation_spec, state_spec
from rs_env.game import Game
from rs_env.rules import Rules

_UNWRITTEN = 77  # no observation and no mask has it, so that an entry that was left out shows
_MARGIN = 64


def positions(rules: Rules, seed: int, most: int) -> list[Game]:
    """A random game at its start, at its end and at up to `most` random moments between."""
    rng = random.Random(seed)
    game = Game(rules, seed=seed)
    start, between = game.clone(), []
    for number in itertools.count(1):
        game.play(rng.choice(game.legal_actions()))
        if game.is_over:
            return [start, *between, game]
        if len(between) < most:
            between.append(game.clone())
        elif (place := rng.randrange(number)) < most:  # reservoir sampling: all moments are equally likely to stay
            between[place] = game.clone()
    raise AssertionError


class Guarded:
    """An int8 array for the engine to fill, with margins that it must leave alone: compiled code does not check
    bounds."""

    def __init__(self, size: int) -> None:
        self._memory = np.full(size + 2 * _MARGIN, _UNWRITTEN, np.int8)
        self.array = self._memory[_MARGIN:-_MARGIN]

    def filled(self) -> np.ndarray:
        """The array, once it has been written to."""
        assert (self._memory[:_MARGIN] == _UNWRITTEN).all()
        assert (self._memory[-_MARGIN:] == _UNWRITTEN).all()
        return self.array


def observe(game: Game, seat: int) -> tuple[np.ndarray, np.ndarray]:
    """A seat's observation and action mask."""
    observation, mask = Guarded(observation_spec(game.num_players).size), Guarded(NUM_ACTIONS)
    game.observe_into(seat, observation.array, mask.array)
    return observation.filled(), mask.filled()


def global_state(game: Game) -> np.ndarray:
    """The global state vector."""
    state = Guarded(state_spec(game.num_players).size)
    game.global_state_into(state.array)
    return state.filled()


def unseen_places(game: Game, seat: int) -> list[tuple[int, int]]:
    """(other seat, card) for each card of another hand that `seat` has not seen there."""
    hands, known = game.hands, game.known
    return [
        (other, card) for other, hand in enumerate(hands) if other != seat for card in hand if card not in known[other]
    ]


def resampled(game: Game, seat: int, rng: random.Random) -> Game:
    """A copy of the game with other unseen cards in the other hands, another deck and other chance to come.

    From the true deal by random exchanges between places that may hold each other's card, which keeps hand sizes,
    excluded suits and held suits as they are.
    """
    places = unseen_places(game, seat)
    owners, cards = [owner for owner, _ in places], [card for _, card in places]
    barred, held = game.excluded, [(other, suit) for other, suits in enumerate(game.held) for suit in suits]
    for i in 2 * list(range(len(cards))):
        j = rng.randrange(len(cards))
        if suit_of(cards[i]) not in barred[owners[j]] and suit_of(cards[j]) not in barred[owners[i]]:
            cards[i], cards[j] = cards[j], cards[i]
            lie_there = {(owner, suit_of(card)) for owner, card in zip(owners, cards, strict=True)}
            if any(pair not in lie_there for pair in held if pair[0] != seat):
                cards[i], cards[j] = cards[j], cards[i]
    other = game.clone()
    hands = [set_of(hand) for hand in game.known]
    hands[seat] = set_of(game.hands[seat])
    for owner, card in zip(owners, cards, strict=True):
        hands[owner] |= 1 << card
    other.states["hand"][0, : game.num_players] = hands
    size = len(game.rules.deck)
    other.states["deck"][0, :size] = rng.sample(other.states["deck"][0, :size].tolist(), size)
    other.states["key"], other.states["chance"] = rng.getrandbits(64), rng.getrandbits(64)
    return other
