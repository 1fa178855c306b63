"""A game as it is told: every action with what it did, all of it seen by everybody at the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rs_env.cards import PICKUP, action_text
from rs_env.game import Game
from rs_env.render.table import what_of
from rs_env.rules import as_rules

_STEP = 50  # actions from one copy of the game to the next


@dataclass(frozen=True)
class Event:
    """One action, and what came of it.

    deal: number of the deal within the game. what: led, followed, ruffed, silent, noticed or picked up. trick: (seat,
    card) of the trick up to and with this action. ends: "completed" or "broken" where the trick ended by it, else "".
    takes: seats that took cards. leads: who leads next. out: seats that left by it. scores: of the deal, where the
    action ended it, else empty.
    """

    deal: int
    seat: int
    action: int
    what: str
    trick: tuple[tuple[int, int], ...]
    ends: str
    takes: tuple[int, ...]
    leads: int
    out: tuple[int, ...]
    scores: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; cards as text."""
        return {
            "deal": self.deal,
            "seat": self.seat,
            "action": action_text(self.action),
            "what": self.what,
            "trick": [[seat, action_text(card)] for seat, card in self.trick],
            "ends": self.ends,
            "takes": list(self.takes),
            "leads": self.leads,
            "out": list(self.out),
            "scores": list(self.scores),
        }


class Story:
    """A game that is played, and its events.

    `was_free` tells of each event whether its player had a choice: that tells of a hand, and so is for no other eyes.
    """

    def __init__(self, game: Game) -> None:
        """game: at its beginning; it is the story's own from now on."""
        self.game = game
        self.events: list[Event] = []
        self.was_free: list[bool] = []
        self._copies = [game.clone()]  # after 0, _STEP, 2 * _STEP ... actions, so that no way back is long
        self._one_deal = as_rules(game.rules, target=None)

    def play(self, action: int | str) -> Event:
        """Take an action for the seat to act. Raises IllegalActionError, with nothing changed, as `Game.play` does."""
        game, state = self.game, self.game.states[0].copy()
        free = len(game.legal_actions()) > 1
        game.play(action)
        before, after = Game.of_state(self._one_deal, state), game
        deal = int(state["deals_done"])
        taken = game.history[deal][-1][1]
        if game.deals_done > deal:  # in a match the next deal has begun: how did this one end?
            after = Game.of_state(self._one_deal, state)
            after.play(taken)
        self.events.append(_event(deal, before, taken, after))
        self.was_free.append(free)
        if len(self.events) % _STEP == 0:
            self._copies.append(game.clone())
        return self.events[-1]

    def game_at(self, count: int) -> Game:
        """The game after the first `count` actions, as a copy."""
        game = self._copies[count // _STEP].clone()
        for event in self.events[count - count % _STEP : count]:
            game.play(event.action)
        return game

    def until(self, count: int) -> Story:
        """The story of the first `count` actions, as a new one."""
        other = Story(self.game_at(count))
        other.events, other.was_free = self.events[:count], self.was_free[:count]
        other._copies = self._copies[: count // _STEP + 1]
        return other


def story_of(game: Game) -> Story:
    """The story of a game that was played."""
    story = Story(game.beginning())
    for deal in game.history:
        for _, action in deal:
            story.play(action)
    return story


def _event(deal: int, before: Game, action: int, after: Game) -> Event:
    seat = int(before.states["turn"][0])
    kept = action != PICKUP and action in after.hands[seat]
    what = what_of(action, before.led_suit, before.trump, kept)
    trick = before.trick_plays if action == PICKUP else [*before.trick_plays, (seat, action)]
    broken = what in ("picked up", "noticed")
    return Event(
        deal,
        seat,
        action,
        what,
        tuple(trick),
        "broken" if broken else "" if after.trick else "completed",
        tuple(
            seat for seat, (old, new) in enumerate(zip(before.hands, after.hands, strict=True)) if len(new) > len(old)
        ),
        after.leader,
        tuple(after.out[len(before.out) :]),
        tuple(after.scores()) if after.is_over else (),
    )
