"""`Game`: one deal or match as a friendly Python object over one engine record."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rs_env.actions import ActionTypeError, IllegalActionError, action_number
from rs_env.cards import NUM_ACTIONS, PICKUP, action_text, cards_text, members, parse_action
from rs_env.checks import check_buffer, check_seed, check_whole
from rs_env.decks import Deck, check_dealer, check_decks
from rs_env.engine import entry
from rs_env.engine.history import NEXT_DEAL, NOTICED, SHOWN
from rs_env.engine.observation import observation_spec, state_spec
from rs_env.engine.state import LAST_FIRST_DEAL, NO_CARD, NOBODY, RUNNING, STATE, TERMINATED, TRUNCATED, compile_rules
from rs_env.engine.view import empty_views
from rs_env.notebook import MOST_PAGES, game_html, slider_html
from rs_env.render.text import render_text
from rs_env.rules import Rules, rules_of_call

_DERIVED = ("_compiled", "_turn", "_status", "_deals_done", "observation", "action_mask")

RECORD_FORMAT = "rs_env.record/1"
"""Of what `Game.record` gives."""


class Game:
    """A game of Rolling Stone, played one action at a time.

    rules: a `Rules`, a preset's name or a mapping of options.
    seed: 0..2**64-1, or None for a random one. The same seed gives the same decks, dealer and noticed silent plays.
    deck: the cards in dealing order, ids or text (``"7c Td ..."``); for a match a list of such decks, one for each
        deal. Deals beyond the decks given are shuffled by the seed.
    dealer: seat of the first dealer; None: drawn by lot, by the seed.
    index, first_deal: start as game `index` of a batch with this seed, at its deck number `first_deal`.
    num_players and further keywords: options of `Rules`, in place of those of `rules`.

    ``observation`` (int8, see `rs_env.engine.observation`) and ``action_mask`` (int8, 53) are those of the seat to act
    while the game goes on; both are overwritten by the next action. Other attributes and properties give cards and
    actions as sorted lists of ids and suits as ints 0..3; seats are 0..n-1. Raises ValueError naming the argument, the
    value and what is allowed, and TypeError for an unknown keyword.
    """

    _from_the_start = True  # whether all that was played is known

    def __init__(
        self,
        rules: Rules | str | Mapping[str, Any] = "rolling_stone",
        seed: int | None = 0,
        deck: Deck | Sequence[Deck] | None = None,
        dealer: int | None = None,
        *,
        index: int = 0,
        first_deal: int = 0,
        num_players: int | None = None,
        **rule_overrides: Any,
    ) -> None:
        self.rules = rules_of_call(Game, rules, num_players, rule_overrides)
        self.num_players = self.rules.num_players
        self.seed = check_seed(seed)
        self._given_decks = check_decks(self.rules, deck)
        dealer = check_dealer(self.rules, dealer)
        self.index = check_whole("index", index, 0, (1 << 64) - 1)
        self.first_deal = check_whole("first_deal", first_deal, 0, LAST_FIRST_DEAL)
        self._compiled = compile_rules(self.rules)
        self._hold(np.zeros(1, STATE))
        self.history: list[list[tuple[int, int]]] = []
        self.decks: list[list[int]] = []
        self._events = bytearray()
        entry.begin(
            self._compiled, self.states, 0, np.uint64(self.seed), np.uint64(self.index), self.first_deal, dealer
        )
        self.first_dealer = self.dealer
        self._open_deal()

    @classmethod
    def of_state(cls, rules: Rules, state: np.void) -> Game:
        """A game at a copy of this state (a record of dtype `rs_env.engine.state.STATE`), to look at it; what was
        played before is unknown.
        """
        game = cls(rules)
        game._from_the_start = False
        game._hold(np.array([state], STATE))
        game._observe_turn()
        return game

    def _hold(self, states: np.ndarray) -> None:
        """Make an array of one state the game's own. The fields asked for at each step are looked up once."""
        self.states = states
        self._turn, self._status, self._deals_done = states["turn"], states["status"], states["deals_done"]
        self.observation = np.empty(observation_spec(self.num_players).size, np.int8)
        self.action_mask = np.empty(NUM_ACTIONS, np.int8)

    def _observe_turn(self) -> None:
        entry.observe(self._compiled, self.states, 0, self._turn.item(), self.observation, self.action_mask)

    def _open_deal(self) -> None:
        """Put in the deck that was given for this deal, if one was, and open its page of the record."""
        done = len(self.decks)
        if done < len(self._given_decks):
            entry.deal_deck(self._compiled, self.states, 0, self._given_decks[done])
        self._observe_turn()
        self.decks.append(self.states["deck"][0, : len(self.rules.deck)].tolist())
        self.history.append([])
        if done:
            self._events.append(NEXT_DEAL)
        if self.rules.trump == "last_dealt":
            self._events.append(SHOWN + self.decks[-1][-1])

    # Playing

    def legal_actions(self) -> list[int]:
        """Sorted legal actions of the seat to act, `PICKUP` (52) being the pickup; empty when the game is over."""
        return members(entry.legal(self._compiled, self.states, 0))

    def play(self, action: int | str) -> None:
        """Take an action, an id or text such as ``"7c"`` or ``"pickup"``, for the seat to act.

        Raises IllegalActionError, with nothing changed, where the rules do not allow it, and ActionTypeError, which is
        one and a TypeError too, for anything but a whole number or text.
        """
        action_id = action if type(action) is int and 0 <= action < NUM_ACTIONS else self._action_id(action)
        turn = self._turn.item()
        status = entry.take_action(self._compiled, self.states, 0, action_id, self.observation, self.action_mask)
        if status == entry.ILLEGAL:
            raise self._illegal(action)
        self.history[-1].append((turn, action_id))
        self._events.append(action_id)
        if self.rules.silent_catch is not None:
            self._note_if_noticed(turn, action_id)
        if self._deals_done.item() == len(self.decks) and status == RUNNING:
            self._open_deal()

    def _note_if_noticed(self, seat: int, action: int) -> None:
        """Mark the last event if it was a silent play that the table noticed: then the card is back in the hand."""
        is_same_deal = self._deals_done.item() < len(self.decks)
        if is_same_deal and action != PICKUP and self.states["hand"][0, seat].item() >> action & 1:
            self._events[-1] += NOTICED

    def _action_id(self, action: int | str) -> int:
        if isinstance(action, str):
            try:
                return parse_action(action)
            except ValueError:
                raise self._illegal(action) from None
        try:
            number = action_number(action)
        except ActionTypeError as error:
            raise ActionTypeError(f"{error}; {self._what_is_allowed()}") from None
        if not 0 <= number < NUM_ACTIONS:
            raise self._illegal(action)
        return number

    def _illegal(self, action: object) -> IllegalActionError:
        return IllegalActionError(f"action {action!r} is not allowed: {self._what_is_allowed()}")

    def _what_is_allowed(self) -> str:
        if self.is_over:
            return "the game is over"
        return f"seat {self.turn} may take " + ", ".join(f"{a} ({action_text(a)})" for a in self.legal_actions())

    def clone(self) -> Game:
        """An independent copy: the same position, record and future chance."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        other._hold(self.states.copy())
        other._observe_turn()
        other.decks = list(self.decks)
        other._events = bytearray(self._events)
        other.history = [list(deal) for deal in self.history]
        return other

    __copy__ = clone

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the arrays that are views of others, which a copy or a pickle would tear from them."""
        return {name: value for name, value in vars(self).items() if name not in _DERIVED}

    def __setstate__(self, values: dict[str, Any]) -> None:
        vars(self).update(values)
        self._compiled = compile_rules(self.rules)
        self._hold(self.states)
        self._observe_turn()

    def beginning(self) -> Game:
        """A new game with the same rules, decks, dealer and chance. Raises ValueError for a game that was made of a
        state, whose beginning is unknown.
        """
        if not self._from_the_start:
            raise ValueError("positions: what was played before a game that was made of a state is unknown")
        decks = self.decks[: self.given_decks] or None
        return Game(self.rules, self.seed, decks, self.first_dealer, index=self.index, first_deal=self.first_deal)

    def positions(self) -> Iterator[Game]:
        """The game after 0, 1, 2, ... of its actions, played again: one object, which goes on between.

        Raises ValueError for a game that was made of a state, whose beginning is unknown.
        """
        again = self.beginning()
        yield again
        for _, action in itertools.chain(*self.history):
            again.play(action)
            yield again

    # Position

    @property
    def turn(self) -> int | None:
        """Seat to act; None when the game is over."""
        return self._turn.item() if self._status.item() == RUNNING else None

    @property
    def dealer(self) -> int:
        """Dealer of the present deal."""
        return int(self.states["dealer"][0])

    @property
    def trump(self) -> int | None:
        """Trump suit of the present deal, or None."""
        return _optional(self.states["trump"][0])

    @property
    def led_suit(self) -> int | None:
        """Suit led to the trick, or None before the lead."""
        return _optional(self.states["led"][0])

    @property
    def barred_suit(self) -> int | None:
        """Suit that may not be led now, or None."""
        return _optional(self.states["barred"][0])

    @property
    def leader(self) -> int:
        """The seat that leads or has led the trick."""
        return int(self.states["leader"][0])

    @property
    def hands(self) -> list[list[int]]:
        """Each seat's cards."""
        return [members(hand) for hand in self.states["hand"][0, : self.num_players].tolist()]

    @property
    def known(self) -> list[list[int]]:
        """Each seat's cards in hand that everybody has seen there."""
        return [members(cards) for cards in self.states["known"][0, : self.num_players].tolist()]

    @property
    def excluded(self) -> list[list[int]]:
        """Each seat's suits in which it has once been void, so that its other cards have none of them."""
        return [members(suits) for suits in self.states["excluded"][0, : self.num_players].tolist()]

    @property
    def held(self) -> list[list[int]]:
        """Each seat's suits of which it is sure to have a card that nobody has seen: a trump at any time showed it."""
        return [members(suits) for suits in self.states["held"][0, : self.num_players].tolist()]

    @property
    def trick(self) -> list[int]:
        """Cards on the table."""
        return members(self.states["trick"][0])

    @property
    def trick_plays(self) -> list[tuple[int, int]]:
        """(seat, card) of the trick, in order of play."""
        played = self.states["played"].view(np.int8).tolist()
        seats = [(self.leader + k) % self.num_players for k in range(self.num_players)]
        return [(seat, played[seat]) for seat in seats if played[seat] != NO_CARD]

    @property
    def dead(self) -> list[int]:
        """Cards of completed tricks."""
        return members(self.states["dead"][0])

    @property
    def out(self) -> list[int]:
        """Seats out for good in the present deal, best place first."""
        return [seat for seat in self.states["out"][0].tolist() if seat != NOBODY]

    @property
    def num_actions(self) -> int:
        """Actions taken in the present deal."""
        return int(self.states["actions"][0])

    @property
    def deals_done(self) -> int:
        """Deals of a match that are over."""
        return self._deals_done.item()

    @property
    def events(self) -> np.ndarray:
        """The public history of the deal or match, uint8 (number of events,), see `rs_env.history`; a copy."""
        return np.frombuffer(bytes(self._events), np.uint8)

    @property
    def given_decks(self) -> int:
        """How many decks were given instead of shuffled."""
        return len(self._given_decks)

    @property
    def next_deal(self) -> int:
        """Number of the deck after those of this game, for ``first_deal`` of a next one."""
        return self.states["deal"].item() + 1

    def view(self, seat: int) -> np.void:
        """What a seat may know: a copy, one record of dtype `rs_env.engine.view.VIEW`."""
        seat = check_whole("seat", seat, 0, self.num_players - 1)
        views = empty_views(self.rules, 1)
        entry.view(self.states, 0, seat, views)
        return views[0]

    def observation_for(self, seat: int) -> tuple[np.ndarray, np.ndarray]:
        """A seat's observation, int8 (D,), and action mask, int8 (53,), as fresh arrays. Raises ValueError for another
        seat.
        """
        if type(seat) is not int or not 0 <= seat < self.num_players:
            seat = check_whole("seat", seat, 0, self.num_players - 1)
        observation, mask = np.empty_like(self.observation), np.empty_like(self.action_mask)
        entry.observe(self._compiled, self.states, 0, seat, observation, mask)
        return observation, mask

    def observe_into(self, seat: int, observation: np.ndarray, mask: np.ndarray) -> None:
        """Write a seat's observation and action mask to int8 arrays of shapes (D,) and (53,).

        Raises ValueError, naming the argument, for another seat and for arrays of another shape, dtype or layout in
        memory.
        """
        seat = check_whole("seat", seat, 0, self.num_players - 1)
        check_buffer("observation", observation, observation_spec(self.num_players).size)
        check_buffer("mask", mask, NUM_ACTIONS)
        entry.observe(self._compiled, self.states, 0, seat, observation, mask)

    def global_state_into(self, vector: np.ndarray) -> None:
        """Write the global state of `rs_env.engine.observation.StateSpec` to an int8 array. Raises ValueError for one
        that does not fit.
        """
        check_buffer("vector", vector, state_spec(self.num_players).size)
        entry.global_state(self._compiled, self.states, 0, vector)

    # End

    @property
    def is_over(self) -> bool:
        """Whether the deal, or the match, has ended."""
        return self._status.item() != RUNNING

    @property
    def terminated(self) -> bool:
        """Whether it ended by the rules."""
        return self._status.item() == TERMINATED

    @property
    def truncated(self) -> bool:
        """Whether it was stopped by ``max_actions`` (a match: by ``max_deals``)."""
        return self._status.item() == TRUNCATED

    def scores(self) -> list[float]:
        """Score of each seat: of a deal zeros until it is over, of a match the totals so far."""
        return self._outcome()[0]

    def rewards(self) -> list[float]:
        """Reward of each seat: zeros until the game is over."""
        return self._outcome()[1]

    def _outcome(self) -> list[list[float]]:
        result = np.zeros((2, self.num_players))
        entry.outcome(self._compiled, self.states, 0, result[0], result[1])
        return result.tolist()

    def record(self) -> dict[str, Any]:
        """The game so far as plain values for JSON; see `rs_env.record`."""
        return {
            "format": RECORD_FORMAT,
            "rules": self.rules.to_dict(),
            "seed": self.seed,
            "index": self.index,
            "first_deal": self.first_deal,
            "dealer": self.first_dealer,
            "decks": [cards_text(deck) for deck in self.decks],
            **({"given": self.given_decks} if self.given_decks < len(self.decks) else {}),
            "actions": [" ".join(action_text(action) for _, action in deal) for deal in self.history],
            "over": self.is_over,
            "truncated": self.truncated,
            "out": self.out,
            "scores": self.scores(),
            "rewards": self.rewards(),
        }

    def __str__(self) -> str:
        return render_text(self)

    def _repr_html_(self) -> str:
        """What notebooks show: all positions, with a slider; of very long games and of states the present one."""
        too_long = sum(map(len, self.history)) > MOST_PAGES - 1
        games = [self] if too_long or not self._from_the_start else self.positions()
        return slider_html([game_html(game) for game in games])

    def __repr__(self) -> str:
        state = "over" if self.is_over else f"seat {self.turn} to act"
        return f"<Game of {self.num_players}: {sum(map(len, self.history))} actions, {state}>"


def _optional(value: int) -> int | None:
    return None if value < 0 else int(value)


__all__ = ["PICKUP", "ActionTypeError", "Game", "IllegalActionError"]
