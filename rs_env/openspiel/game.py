"""Game and state for OpenSpiel; what they mean is told in `rs_env.openspiel`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyspiel  # type: ignore[import-not-found, import-untyped, unused-ignore]

from rs_env import belief
from rs_env.cards import NUM_ACTIONS, NUM_CARDS, action_text, cards_text, members, set_of
from rs_env.engine import entry, play
from rs_env.engine.jit import njit
from rs_env.engine.observation import observation_spec
from rs_env.engine.state import RUNNING, STATE, TERMINATED, compile_rules
from rs_env.engine.types import Action, RulesArray, States
from rs_env.engine.view import empty_views
from rs_env.openspiel.observer import RollingStoneObserver, has_information_tensor
from rs_env.rules import MAX_PLAYERS, MIN_PLAYERS, OPTIONS, Rules, as_rules
from rs_env.solve.histories import chance_branches

NAME = "python_rolling_stone"

_MOST = 2**31 - 1  # what OpenSpiel's counts can hold
_DEFAULTS = Rules().to_dict()
_UNSET: dict[str, Any] = {
    "preset": "rolling_stone",
    "merge_deals": False,
    **{name: {bool: False, str: ""}.get(type(value), -1) for name, value in _DEFAULTS.items()},
    "silent_catch": -1.0,
    "target": -1.0,
}


# Game


def load_game(
    rules: Rules | str | Mapping[str, Any] = "rolling_stone", merge_deals: bool = False, **overrides: Any
) -> Any:
    """The OpenSpiel game of a rule set: a `Rules`, a preset's name or a mapping of options, with some options changed.

    Raises ValueError as `Rules` does.
    """
    options = as_rules(rules, **overrides).to_dict()
    parameters = {name: value for name, value in options.items() if value != _DEFAULTS[name]}
    return pyspiel.load_game(NAME, parameters | ({"merge_deals": True} if merge_deals else {}))


class RollingStoneGame(pyspiel.Game):
    """The game of a rule set. ``rules``: the rule set. ``merge_deals``: how it is dealt, see the module."""

    def __init__(self, params: Mapping[str, Any] | None = None) -> None:
        given = {name: value for name, value in (params or {}).items() if value != _UNSET[name]}
        self.rules = Rules.preset(
            given.get("preset", _UNSET["preset"]), **{name: given[name] for name in OPTIONS if name in given}
        )
        self.merge_deals = bool(given.get("merge_deals", False))
        self.compiled = compile_rules(self.rules)
        self.branches = chance_branches(self.rules)
        self.shows_trump = self.rules.trump == "last_dealt"
        self.deal_length = len(self.rules.deck) + (self.merge_deals and self.shows_trump)  # chance nodes of one deal
        super().__init__(_game_type(has_information_tensor(self.rules)), _game_info(self.rules), given)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return pyspiel.load_game, (NAME, self.get_parameters())

    def new_initial_state(self) -> RollingStoneState:
        """The state before the dealer is drawn."""
        return RollingStoneState(self)

    def max_chance_nodes_in_history(self) -> int:
        """One for the dealer, and for each deal those of the cards and one for each action that may be a silent
        play.
        """
        silent = self.rules.action_limit if len(self.branches) == 2 else 0
        return min(_MOST, 1 + _most_deals(self.rules) * (self.deal_length + silent))

    def make_py_observer(
        self, iig_obs_type: Any = None, params: Mapping[str, Any] | None = None
    ) -> RollingStoneObserver:
        """A `RollingStoneObserver`."""
        return RollingStoneObserver(
            self.rules, iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False), params
        )

    def seat_of(self, place: int, dealer: int) -> int:
        """The seat that card number `place` of the deck goes to."""
        return (dealer + 1 + place) % self.rules.num_players


def _game_type(with_information_tensor: bool) -> Any:
    return pyspiel.GameType(
        short_name=NAME,
        long_name="Rolling Stone",
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
        chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
        information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
        utility=pyspiel.GameType.Utility.GENERAL_SUM,
        reward_model=pyspiel.GameType.RewardModel.TERMINAL,
        max_num_players=MAX_PLAYERS,
        min_num_players=MIN_PLAYERS,
        provides_information_state_string=True,
        provides_information_state_tensor=with_information_tensor,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification=_UNSET,
    )


def _game_info(rules: Rules) -> Any:
    low, high = _utility_bounds(rules)
    return pyspiel.GameInfo(
        num_distinct_actions=NUM_ACTIONS,
        max_chance_outcomes=NUM_CARDS,
        num_players=rules.num_players,
        min_utility=low,
        max_utility=high,
        max_game_length=min(_MOST, _most_deals(rules) * rules.action_limit),
    )


def _most_deals(rules: Rules) -> int:
    return 1 if rules.target is None else rules.max_deals


def _utility_bounds(rules: Rules) -> tuple[float, float]:
    """Bounds of the rewards: of a deal those where one seat is out and another has all cards, of a match the shares of
    1.
    """
    if rules.target is not None:
        return 0.0, 1.0
    states = np.zeros(1, STATE)
    states["status"] = TERMINATED
    states["num_out"] = 1  # seat 0
    states["still_in"] = (1 << rules.num_players) - 2
    states["hand"][0, 1] = set_of(rules.deck)
    states["hand_size"][0, 1] = len(rules.deck)
    outcome = np.zeros((2, rules.num_players))
    entry.outcome(compile_rules(rules), states, 0, outcome[0], outcome[1])
    return float(outcome[1].min()), float(outcome[1].max())


# State


class _Position:
    """What a state has beside OpenSpiel's own history, copied as a whole.

    states: an array of the engine's record. dealt: outcomes of this deal's chance nodes so far, None before there is a
    dealer. silent: the states after an unnoticed and after a noticed silent play while chance decides between them,
    else None. start: length of the history before this deal. hands: the cards each seat was dealt, as sets. private:
    for each seat, the text of what it was dealt. public: the text of what everybody has seen.
    """

    def __init__(self) -> None:
        self.states = np.zeros(1, STATE)
        self.dealt: tuple[int, ...] | None = None
        self.silent: list[np.ndarray] | None = None
        self.start = 0
        self.hands: tuple[int, ...] = ()
        self.private: tuple[str, ...] = ()
        self.public = ""

    def __deepcopy__(self, memo: dict[int, Any]) -> _Position:
        return copy.copy(self)  # no array is ever written to once it is here


class RollingStoneState(pyspiel.State):
    """A state of the game; see OpenSpiel for the methods."""

    def __init__(self, game: RollingStoneGame) -> None:
        super().__init__(game)
        self._at = _Position()

    def current_player(self) -> int:
        """The seat to act, or OpenSpiel's number for chance or for the end."""
        if self.is_terminal():
            return int(pyspiel.PlayerId.TERMINAL)
        if self._at.silent is not None or self.is_dealing():
            return int(pyspiel.PlayerId.CHANCE)
        return int(self._at.states["turn"][0])

    def is_terminal(self) -> bool:
        """Whether the deal or match is over."""
        return self._at.states["status"].item() != RUNNING

    def is_dealing(self) -> bool:
        """Whether the dealer or a card has yet to be drawn."""
        dealt = self._at.dealt
        return not self.is_terminal() and (dealt is None or len(dealt) < self.get_game().deal_length)

    def returns(self) -> list[float]:
        """Reward of each seat: zeros until the end."""
        result = np.zeros((2, self.num_players()))
        entry.outcome(self.get_game().compiled, self._at.states, 0, result[0], result[1])
        return result[1].tolist()

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """(outcome, probability) of each outcome of a chance node."""
        game, at = self.get_game(), self._at
        if at.silent is not None:
            return [(outcome, probability) for outcome, (probability, _) in enumerate(game.branches)]
        deck, dealt = game.rules.deck, at.dealt
        if dealt is None:
            return _shares(range(game.rules.num_players))
        if not game.merge_deals:
            return _shares(set(deck) - set(dealt))
        places = [game.seat_of(i, self._dealer()) for i in range(len(deck))]
        if len(dealt) == len(deck):
            return _shares(card for card, seat in zip(deck, dealt, strict=True) if seat == places[-1])
        for seat in dealt:
            places.remove(seat)
        return _shares(places)

    def _legal_actions(self, player: int) -> list[int]:
        return members(entry.legal(self.get_game().compiled, self._at.states, 0))

    def _apply_action(self, action: int) -> None:
        at = self._at
        if at.silent is not None:
            at.states, at.silent = at.silent[action], None
            at.public += event(None, action)
            self._deal_next()
        elif at.dealt is None:
            at.states = _first_states(self.get_game(), action)
            self._open_deal()
        elif self.is_dealing():
            at.dealt = (*at.dealt, action)
            if not self.is_dealing():
                self._close_deal(at.dealt)
        else:
            self._play(action)

    def _play(self, action: int) -> None:
        at = self._at
        at.public += event(action, 0)
        after = [at.states.copy() for _ in self.get_game().branches]
        for (_, compiled), states in zip(self.get_game().branches, after, strict=True):
            _step(compiled, states, action)
        if len(after) == 2 and after[0] != after[1]:
            at.silent = after
        else:
            at.states = after[0]
            self._deal_next()

    def _deal_next(self) -> None:
        """Where the engine has gone on to the next deal of a match, let chance deal it instead."""
        if self._at.states["actions"].item() == 0:
            self._open_deal()

    def _open_deal(self) -> None:
        self._at.dealt = ()
        self._at.start = len(self.history()) + 1  # the action that leads here is not yet in the history

    def _close_deal(self, dealt: tuple[int, ...]) -> None:
        """Give the engine the deck that chance has dealt, and write down what is seen before the first play."""
        game, at = self.get_game(), self._at
        at.states = at.states.copy()
        entry.deal_deck(
            game.compiled, at.states, 0, np.array(self._deck_of_seats(dealt) if game.merge_deals else dealt, np.int8)
        )
        at.hands = tuple(at.states["hand"][0, : self.num_players()].tolist())
        before = at.private or ("",) * len(at.hands)
        at.private = tuple(text + hand_text(hand) for text, hand in zip(before, at.hands, strict=True))
        at.public += opening(game.rules, at.states[0])

    def _deck_of_seats(self, dealt: Sequence[int]) -> list[int]:
        """A deck in dealing order, from the seat of each card and, with a shown trump, the last card."""
        game = self.get_game()
        deck = game.rules.deck
        piles: list[list[int]] = [[] for _ in range(self.num_players())]
        for card, seat in zip(deck, dealt, strict=False):
            piles[seat].append(card)
        return self._deal_piles(piles, dealt[-1] if game.shows_trump else None)

    def _deal_piles(self, piles: list[list[int]], last: int | None) -> list[int]:
        """The deck from which each seat gets its pile, with that card as the last one."""
        game = self.get_game()
        seats = [game.seat_of(i, self._dealer()) for i in range(len(game.rules.deck))]
        if last is not None:
            piles[seats[-1]].remove(last)
            piles[seats[-1]].append(last)
        cards = [iter(pile) for pile in piles]
        return [next(cards[seat]) for seat in seats]

    def _dealer(self) -> int:
        return self._at.states["dealer"].item()

    def _action_to_string(self, player: int, action: int) -> str:
        if player != pyspiel.PlayerId.CHANCE:
            return action_text(action)
        game, dealt = self.get_game(), self._at.dealt
        if self._at.silent is not None:
            return "noticed" if action else "not noticed"
        is_seat = dealt is None or (game.merge_deals and len(dealt) < len(game.rules.deck))
        return f"seat {action}" if is_seat else action_text(action)

    def __str__(self) -> str:
        at = self._at
        return f"dealt {at.dealt};{';'.join(at.private)};{at.public}"

    # Information

    def view(self, player: int) -> np.ndarray:
        """What a player may know once the cards are dealt: an array of one record of dtype `VIEW`."""
        views = empty_views(self.get_game().rules, 1)
        entry.view(self._at.states, 0, player, views)
        return views

    def observation(self, player: int) -> np.ndarray:
        """The player's observation of `rs_env.engine.observation`, int8."""
        game = self.get_game()
        observation, mask = np.empty(observation_spec(self.num_players()).size, np.int8), np.empty(NUM_ACTIONS, np.int8)
        entry.observe(game.compiled, self._at.states, 0, player, observation, mask)
        return observation

    def information_text(self, player: int) -> str:
        """The player's information state: what it was dealt, and all that everybody has seen."""
        return information_text(player, self._at.private[player] if self._at.private else "", self._at.public)

    def deal_so_far(self, player: int) -> tuple[int, list[int], int | None, list[tuple[int, int]]]:
        """Of the running deal: the dealer, the player's cards at its start, the card shown, and (player, action) of
        each play.
        """
        game, at = self.get_game(), self._at
        shown = at.states["deck"][0, len(game.rules.deck) - 1].item() if game.shows_trump else None
        plays = [(item.player, item.action) for item in self.full_history()[at.start + game.deal_length :]]
        return self._dealer(), members(at.hands[player]), shown, plays

    def resample_from_infostate(self, player_id: int, sampler: Callable[[], float]) -> RollingStoneState:
        """A state drawn uniformly from those with the same information state of this player.

        sampler: gives numbers in [0, 1). Unseen cards have been in their hands since they were dealt, so a draw of the
        hands as they are now (`rs_env.belief`) tells what was dealt, and the same actions are played again from there.
        Deals of a match that are over stay as they were: what is left of them are the totals, which everybody knows.
        Raises ValueError at chance nodes, where something is under way that no hand shows yet.
        """
        if self.is_chance_node():
            raise ValueError(
                "a chance node has no states to draw: resample_from_infostate needs a player to act, or the end"
            )
        game, at = self.get_game(), self._at
        rng = np.random.default_rng([int(sampler() * 2**53) for _ in range(2)])
        now = belief.sample(self.view(player_id)[0], 1, rng)["hand"][0].tolist()
        unseen = (at.states["hand"] & ~at.states["known"])[0].tolist()
        known = at.states["known"][0].tolist()
        hands = [
            dealt if seat == player_id else (dealt & ~unseen[seat]) | (now[seat] & ~known[seat])
            for seat, dealt in enumerate(at.hands)
        ]
        history = self.history()
        history[at.start : at.start + game.deal_length] = self._outcomes_for(hands, rng)
        state = game.new_initial_state()
        for action in history:
            state.apply_action(action)
        return state

    def _outcomes_for(self, hands: Sequence[int], rng: np.random.Generator) -> list[int]:
        """Outcomes of a deal's chance nodes that deal these hands, each in random order, and show the same card."""
        game = self.get_game()
        shown = self.deal_so_far(0)[2]
        if not game.merge_deals:
            return self._deal_piles([rng.permutation(members(hand)).tolist() for hand in hands], shown)
        seats = seats_of(game.rules.deck, hands)
        return seats if shown is None else [*seats, shown]


@njit(cache=True, nogil=True)
def _step(rules_array: RulesArray, states: States, action: Action) -> None:
    play.step(rules_array[0], states[0], action)


def _first_states(game: RollingStoneGame, dealer: int) -> np.ndarray:
    states = np.zeros(1, STATE)
    entry.begin(game.compiled, states, 0, np.uint64(0), np.uint64(0), 0, dealer)
    return states


def seats_of(deck: Iterable[int], hands: Sequence[int]) -> list[int]:
    """The seat that holds each card of a deck."""
    return [next(seat for seat, hand in enumerate(hands) if hand >> card & 1) for card in deck]


def _shares(outcomes: Iterable[int]) -> list[tuple[int, float]]:
    """The outcomes and their frequencies."""
    listed = list(outcomes)
    return [(outcome, listed.count(outcome) / len(listed)) for outcome in sorted(set(listed))]


# Texts


def hand_text(hand: int) -> str:
    """What a player alone sees of a deal before the first play."""
    return f" {cards_text(members(hand))};"


def opening(rules: Rules, s: np.void) -> str:
    """What everybody sees before the first play of a deal."""
    text = f" dealer {s['dealer']}"
    if s["deals_done"]:
        text += f" totals {s['totals'][: rules.num_players].tolist()}"
    return text + (
        f" shown {action_text(int(s['deck'][len(rules.deck) - 1]))}:" if rules.trump == "last_dealt" else ":"
    )


def event(action: int | None, noticed: int) -> str:
    """What everybody sees of an action, of its being noticed, or of both."""
    return ("" if action is None else f" {action_text(action)}") + ("!" if noticed else "")


def information_text(player: int, private: str, public: str) -> str:
    """The information state string."""
    return f"seat {player}:{private}{public}"


pyspiel.register_game(_game_type(with_information_tensor=True), RollingStoneGame)
