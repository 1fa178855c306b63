"""A table: the game, who sits at it, what agents are asked and what they answer. It knows no network and no clock.

Nothing in it runs by itself. `Session.question` tells whether an agent is to be asked; whoever runs the table lets it
be answered, in a thread if need be, and hands the answer to `Session.answer`, which drops it where the table has moved
on. `Session.version` changes with the position, and so names it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rs_env.agent import Agent, wants_histories
from rs_env.arena.players import agent_seed
from rs_env.arena.sitting import Memories
from rs_env.baselines import as_agent
from rs_env.checks import check_seed
from rs_env.describe import rule_sentences
from rs_env.engine.view import as_one_view
from rs_env.game import Game
from rs_env.history import Histories
from rs_env.render.seen import table_of_view
from rs_env.render.table import Table, last_of_game, table_of_game
from rs_env.rules import Rules
from rs_env.web.story import Story
from rs_env.web.thinking import Position, Sitting, choice

PERSON = "person"
"""What stands for a person among the names of agents."""


@dataclass(frozen=True)
class Player:
    """Who sits at a table. agent: as `make_agent` takes it, None for a person."""

    name: str
    agent: str | None


@dataclass(frozen=True)
class Question:
    """What an agent is asked: everything that it may know, and nothing of the table itself."""

    version: int
    agent: Agent
    position: Position

    def ask(self) -> int:
        """The agent's action. Raises whatever the agent raises, and ValueError for an illegal action."""
        return choice(self.agent, self.position)


class Session:
    """A table with its players, from deal to deal.

    rules: what is played. players: one name for each seat, `PERSON` or an agent as `make_agent` takes it. seed: of
    decks and draws, None: a fresh one. Raises ValueError for another number of players, and for what is no agent.

    A player who sat on seat s at first sits on seat (s + shift) % n. `auto`: numbers of persons whose turns without a
    choice are played for them. `sitting`: the deals that agents remember. `told`: the rules in sentences.
    """

    def __init__(self, rules: Rules, players: Sequence[str], seed: int | None = None) -> None:
        if len(players) != rules.num_players:
            raise ValueError(
                f"players={list(players)!r} is not allowed: there must be {rules.num_players}, one for each seat"
            )
        self.rules, self.seed = rules, check_seed(seed)
        self._agents: list[Agent | None] = [None if name == PERSON else as_agent(name) for name in players]
        for agent in self._agents:
            if agent is not None:
                agent.reset(agent_seed(self.seed, agent.name))
        self.players = _named(players)
        self.persons = [number for number, player in enumerate(self.players) if player.agent is None]
        self.shift = 0
        self.paused, self.failure = False, ""
        self.auto: set[int] = set()
        self.version = 0
        self._index = 0
        self._wins = [0.0] * len(players)
        self._deals = 0
        self._story = Story(Game(rules, self.seed))
        self.told = rule_sentences(self.game.view(0))
        self._sittings, self.sitting = 0, Sitting()
        self._sit_down()

    @property
    def game(self) -> Game:
        """The game that is played, which only `Session` itself changes."""
        return self._story.game

    @property
    def story(self) -> Story:
        """The game with its events, for those who look back."""
        return self._story

    # Seats

    def seat_of(self, number: int) -> int:
        """Where player `number` sits now."""
        return (number + self.shift) % self.rules.num_players

    def player_at(self, seat: int) -> int:
        """The number of the player on a seat."""
        return (seat - self.shift) % self.rules.num_players

    def names(self) -> list[str]:
        """The players' names, by seat."""
        return [self.players[self.player_at(seat)].name for seat in range(self.rules.num_players)]

    def rename(self, number: int, name: str) -> None:
        """Give person `number` another name. Raises ValueError where another player has it."""
        if any(player.name == name for other, player in enumerate(self.players) if other != number):
            raise ValueError(f"name={name!r} is not allowed: another player has it")
        self.players[number] = Player(name, None)

    # What is played

    def play(self, number: int, action: int | str, version: int) -> None:
        """Let person `number` take an action in the position `version`.

        Raises ValueError, with nothing changed, where the table has moved on, for somebody whose turn it is not, and
        for an action that is not legal.
        """
        if self.failure:
            raise ValueError(f"the game has ended: {self.failure}")
        if version != self.version:
            raise ValueError(f"version={version} is not allowed: the table has moved on to {self.version}")
        if number not in self.persons or self.game.turn != self.seat_of(number):
            raise ValueError(f"action {action!r} is not allowed: it is not your turn")
        self._take(action)

    def _take(self, action: int | str) -> None:
        self._story.play(action)
        self.version += 1

    def forced(self) -> int | None:
        """The only legal action of a person who wants such turns to be played; None where there is none to take."""
        turn = self.game.turn
        if turn is None or self.failure or self.paused or self.player_at(turn) not in self.auto:
            return None
        legal = self.game.legal_actions()
        return legal[0] if len(legal) == 1 else None

    def take_forced(self, version: int) -> bool:
        """Take the action that `forced` tells, if the position is still `version`; whether it was taken."""
        action = self.forced()
        if version != self.version or action is None:
            return False
        self._take(action)
        return True

    def question(self) -> Question | None:
        """What an agent is to be asked now; None where a person is to act, in a pause and at the end."""
        turn = self.game.turn
        if turn is None or self.paused or self.failure:
            return None
        number = self.player_at(turn)
        agent = self._agents[number]
        if agent is None:
            return None
        memories = self._memories.of(number, np.array([0]), np.array([number]))
        histories = Histories.of([self.game]) if wants_histories(agent) else None
        return Question(self.version, agent, Position(as_one_view(self.game.view(turn)), histories, memories))

    def answer(self, question: Question, action: int) -> bool:
        """Take what an agent answered, unless the table has moved on or pauses; whether it was taken."""
        if question.version != self.version or self.paused or self.failure:
            return False
        self._take(action)
        return True

    def fail(self, question: Question, error: BaseException) -> None:
        """End the game because an agent could not answer; the record stays as it is."""
        if question.version == self.version:
            self.failure = f"{question.agent.name} failed: {type(error).__name__}: {error}"
            self.version += 1

    # From deal to deal

    @property
    def can_undo(self) -> bool:
        """Whether one person sits against agents and has decided something."""
        return self._last_decision() is not None

    def _last_decision(self) -> int | None:
        """The number of the last event in which the only person had a choice."""
        if len(self.persons) != 1:
            return None
        seat, story = self.seat_of(self.persons[0]), self._story
        events = zip(story.events, story.was_free, strict=True)
        return max((i for i, (event, free) in enumerate(events) if free and event.seat == seat), default=None)

    def undo(self) -> None:
        """Go back to the last decision of the person. Raises ValueError where `can_undo` is False."""
        last = self._last_decision()
        if last is None:
            raise ValueError("undo is not allowed: it needs one person against agents, who has decided something")
        self._story = self._story.until(last)
        self.failure = ""
        self.version += 1

    def deal(self, same: bool) -> None:
        """Begin a new game: with the next cards, or with the same cards and everybody one seat further on."""
        if self.game.is_over:
            for number, won in enumerate(self._won()):
                self._wins[number] += won
            self._deals += 1
            self._let_remember()
        if same:
            self.shift = (self.shift + 1) % self.rules.num_players
            self._sit_down()  # memories are of players who keep their seats
        else:
            self._index += 1
        self._story = Story(Game(self.rules, self.seed, index=self._index))
        self.failure = ""
        self.version += 1

    def _let_remember(self) -> None:
        """Let agents remember the deal that is over."""
        if self.shift or self.rules.target is not None:
            return
        histories = Histories.of([self.game])
        for number, agent in enumerate(self._agents):
            if agent is not None:
                self._memories.add(number, agent, self.rules, self.game.states, histories)
        self.sitting = Sitting((*self.sitting.games, self.game))

    def _won(self) -> list[float]:
        """What each player, by number, has won of the game that is over: 1 for the winner, who may share it."""
        if self.rules.target is not None:
            rewards = self.game.rewards()
        else:
            rewards = [float(seat in self.game.out[:1]) for seat in range(self.rules.num_players)]
        return [rewards[self.seat_of(number)] for number in range(self.rules.num_players)]

    def _sit_down(self) -> None:
        """Agents know nothing of one another."""
        seating = np.array([[-1 if agent is None else number for number, agent in enumerate(self._agents)]])
        nobody = next(agent for agent in (*self._agents, as_agent("random")) if agent is not None)  # in persons' places
        self._memories = Memories([agent or nobody for agent in self._agents], seating)
        self.sitting = Sitting()
        self._sittings += 1

    # What is shown

    def table(self, number: int | None) -> Table:
        """The table as player `number` may see it, or somebody who only watches (None).

        All hands are open when the game is over, and to watchers of agents alone. Watchers of persons see what
        everybody sees.
        """
        names, game = self.names(), self.game
        if game.is_over or (number is None and not self.persons):
            return table_of_game(game, names)
        if number is not None:
            return table_of_game(game, names, self.seat_of(number))
        view = game.view(0)
        view["hand"], view["legal"] = view["known"][0], 0  # what everybody knows of a hand
        return table_of_view(view, self.rules, names, last_of_game(game))

    def tally(self) -> list[dict[str, Any]]:
        """Games won by each player in all games so far, by number."""
        over = self.game.is_over
        now = self._won() if over else [0.0] * len(self.players)
        games = self._deals + over
        return [
            {"name": player.name, "wins": wins + won, "games": games}
            for player, wins, won in zip(self.players, self._wins, now, strict=True)
        ]

    def record(self) -> dict[str, Any]:
        """The record of the game, with the names of the players by seat, and with the number of the deal in the sitting
        of which agents remember the earlier ones.
        """
        players = [self.players[self.player_at(seat)] for seat in range(self.rules.num_players)]
        return {
            **self.game.record(),
            "players": [player.agent or player.name for player in players],
            "sitting": {"name": f"{self.seed}-{self._sittings}", "deal": len(self.sitting.games)},
        }

    def __repr__(self) -> str:
        turn = self.game.turn
        return f"<Session of {self.names()}, version {self.version}, {'over' if turn is None else f'seat {turn}'}>"


def _named(players: Sequence[str]) -> list[Player]:
    """Players with names that differ: persons are numbered, and agents of the same name too."""
    shown = ["Player" if name == PERSON else name.partition(":")[0] for name in players]
    counts: dict[str, int] = {}
    named = []
    for name, given in zip(shown, players, strict=True):
        counts[name] = counts.get(name, 0) + 1
        unique = f"{name} {counts[name]}" if shown.count(name) > 1 else name
        named.append(Player(unique, None if given == PERSON else given))
    return named


__all__ = ["PERSON", "Player", "Question", "Session"]
