"""The table in a terminal of 80 x 24 characters, drawn by rich; a prompt takes cards, numbers and a few words."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from rs_env.agent import wants_memories
from rs_env.baselines import as_agent
from rs_env.cards import NUM_ACTIONS, PICKUP, SUIT_NAMES, action_text, parse_action, suit_of
from rs_env.render.table import Seat, Table
from rs_env.web.keeper import Keeper
from rs_env.web.minds import Mind
from rs_env.web.session import Session
from rs_env.web.story import Event
from rs_env.web.thinking import Position, chances, choice, memories_after, opinion, position_of

_SIGNS, _PLAIN_SIGNS = "♣♦♥♠", "cdhs"
_COLOURS = ("green", "blue", "red", "bold")
_NAME = 16  # characters of a name
_EVENTS = 6  # lines of what was played

_HELP = """\
7c, 7C or a number  play that card       p  pick up the trick
k  where the cards can be                h  ask an agent for a hint
u  undo, back to your last decision      q  leave; the record is kept
Ctrl-C gives up a hint that takes long, and else leaves.
After the end: n  new cards, s  same cards from another seat, q  leave."""


def play_in_terminal(session: Session, folder: Path | None, pace: float, adviser: str | None) -> None:
    """Play until the person leaves. folder: for records, None: nowhere. pace: seconds that an agent takes at least.
    adviser: who gives hints. Raises ValueError for several persons, who need a table in the browser.
    """
    if len(session.persons) > 1:
        raise ValueError(f"people={len(session.persons)} is not allowed: one person at most sits at a terminal")
    _Terminal(Console(highlight=False), session, folder, pace, adviser).run()


class _Terminal:
    def __init__(
        self, console: Console, session: Session, folder: Path | None, pace: float, adviser: str | None
    ) -> None:
        self._console, self._session, self._folder = console, session, folder
        self._pace = pace if console.is_terminal else 0.0
        self._adviser = None if adviser is None else as_agent(adviser)
        self._keeper = Keeper(session, folder)
        self._mind = Mind()
        self._number = session.persons[0] if session.persons else None
        self._complete = _completion()
        self._message: str | Text = ""  # below the table, until the next one is drawn

    def run(self) -> None:
        """Play until the person leaves."""
        try:
            while self._next():
                pass
        except EOFError:
            self._console.print()
        finally:
            self._mind.end()
            self._save()

    def _save(self) -> None:
        if (write := self._keeper.work()) is not None:
            write()

    def _next(self) -> bool:
        """One action, or one command; whether to go on."""
        session, question = self._session, self._session.question()
        if question is not None:
            begin = time.monotonic()
            try:
                session.answer(question, self._mind.think(choice, question.agent, question.position))
            except Exception as error:  # an agent may fail in any way; the game ends with it
                session.fail(question, error)
            time.sleep(max(0.0, begin + self._pace - time.monotonic()))
            if self._number is None:
                self._draw()
            return True
        self._draw()
        if session.game.is_over or session.failure:
            self._save()
            return self._after_the_end()
        return self._turn()

    def _turn(self) -> bool:
        legal = self._session.game.legal_actions()
        self._complete([action_text(action) for action in legal])
        answer = self._ask("your turn (? for help)")
        if answer == "?":
            self._message = _HELP
        elif answer == "q":
            return False
        elif answer == "k":
            self._tell_chances()
        elif answer == "h":
            self._tell_hint()
        elif answer == "u":
            self._undo()
        else:
            self._play(answer, legal)
        return True

    def _play(self, answer: str, legal: Sequence[int]) -> None:
        try:
            action = chosen(answer, legal)
        except ValueError as error:
            self._message = Text(str(error), style="yellow")
            return
        assert self._number is not None
        self._session.play(self._number, action, self._session.version)

    def _after_the_end(self) -> bool:
        self._complete(["n", "s", "q"])
        answer = self._ask("n: new cards, s: same cards from another seat, q: leave")
        if answer in ("n", "s"):
            self._session.deal(same=answer == "s")
            self._keeper = Keeper(self._session, self._folder)
        elif answer == "u":
            self._undo()
        return answer != "q"

    def _ask(self, prompt: str) -> str:
        return self._console.input(Text(f"{prompt}: ", style="bold")).strip()

    def _undo(self) -> None:
        if self._session.can_undo:
            self._session.undo()
        else:
            self._message = "There is nothing to undo."

    def _tell_hint(self) -> None:
        if self._adviser is None:
            self._message = "There is no agent to ask: --advisers names some."
            return
        try:
            told = self._mind.think(opinion, self._adviser, self._position())
        except KeyboardInterrupt:
            self._message = "Given up."
            return
        except Exception as error:  # an agent may fail in any way; the game goes on without its hint
            self._message = Text(f"{self._adviser.name} failed: {type(error).__name__}: {error}", style="yellow")
            return
        numbers = sorted(told["numbers"].items(), key=lambda item: -item[1])
        shown = "  ".join(f"{action} {number:.3f}" for action, number in numbers)
        self._message = Text(
            f"{told['agent']} takes {told['choice']}" + (f" ({told['kind']}: {shown})" if shown else "")
        )
        if told["why"]:
            self._message.append(f"\n{told['why'][0]}", style="dim")

    def _position(self) -> Position:
        """What the adviser is asked, with what it remembers of earlier deals."""
        assert self._adviser is not None
        position, sitting = position_of(self._session.game), self._session.sitting
        if not sitting.games or not wants_memories(self._adviser):
            return position
        rows = self._mind.think(memories_after, self._adviser, sitting)
        return position._replace(memories=rows[position.views["seat"]])

    def _tell_chances(self) -> None:
        seat = self._session.seat_of(self._number or 0)
        names, lines = self._session.names(), []
        for other, row in enumerate(chances(self._session.game.view(seat))):
            if other != seat:
                told = " ".join(f"{card}:{100 * chance:.0f}" for card, chance in row.items())
                lines.append(f"{_short(names[other])}: {told or 'no cards'}")
        self._message = "Chances in percent, if all deals that fit are equally likely\n" + "\n".join(lines)

    def _draw(self) -> None:
        console, session = self._console, self._session
        table, names = session.table(self._number), session.names()
        unicode = _shows_signs(console)
        own = None if self._number is None else session.seat_of(self._number)
        if console.is_terminal:
            console.clear()
        console.print(_headline(table, unicode))
        for seat in table.seats:
            console.print(_seat_line(seat, seat.number == own, unicode))
        console.print(Text(f"out of play: {len(table.dead)} cards", style="dim"))
        console.rule(style="dim")
        for event in session.story.events[-_EVENTS:]:
            console.print(event_line(event, names, unicode))
        if own is not None and table.turn == own:
            console.print(_choices(table.legal, unicode))
        if table.result is not None:
            console.print(_result(table, session))
        if session.failure:
            console.print(Text(f"The game has ended. {session.failure}", style="bold red"))
        if self._message:
            console.print(self._message)
            self._message = ""


def chosen(answer: str, legal: Sequence[int]) -> int:
    """The legal action that an answer names: a card such as ``7c``, its number among the legal ones, or ``p``. Raises
    ValueError, saying what is allowed.
    """
    text = answer.strip()
    if text.lower() in ("p", "pickup"):
        action = PICKUP
    elif text.isdecimal() and 1 <= int(text) <= len(legal):
        action = legal[int(text) - 1]
    else:
        try:
            action = parse_action(text[:-1].upper().replace("10", "T") + text[-1:].lower())
        except ValueError:
            action = NUM_ACTIONS
    if action not in legal:
        allowed = ", ".join(f"{number} or {action_text(each)}" for number, each in enumerate(legal, 1))
        raise ValueError(f"{text!r} is not allowed: you may play {allowed}")
    return action


def event_line(event: Event, names: Sequence[str], unicode: bool = False) -> Text:
    """An event in one line."""
    line = Text(f"{_short(names[event.seat])}: ")
    if event.action == PICKUP:
        line.append("picks up" if event.takes == (event.seat,) else "cannot follow")
    else:
        line.append_text(card_text(event.action, unicode))
    if event.what in ("ruffed", "silent", "noticed"):
        line.append(f" {event.what}")
    takers = [_short(names[seat]) for seat in event.takes if seat != event.seat]
    if takers:
        line.append(f"  {', '.join(takers)} {'take' if len(takers) > 1 else 'takes'} the cards back", style="dim")
    if event.out:
        line.append(f"  {', '.join(_short(names[seat]) for seat in event.out)} out", style="bold yellow")
    if event.scores:
        line.append("  deal over: " + " ".join(f"{score:g}" for score in event.scores), style="bold")
    elif event.ends:
        line.append(f"  {_short(names[event.leads])} leads", style="dim")
    return line


def card_text(card: int, unicode: bool) -> Text:
    """A card with the sign of its suit, in its colour."""
    text = action_text(card)
    suit = suit_of(card)
    return Text(text[0] + (_SIGNS if unicode else _PLAIN_SIGNS)[suit], style=_COLOURS[suit])


def _shows_signs(console: Console) -> bool:
    with contextlib.suppress(UnicodeEncodeError, LookupError):
        _SIGNS.encode(console.encoding)
        return True
    return False


def _headline(table: Table, unicode: bool) -> Text:
    line = Text(f"{table.rules} {' '.join(table.facts)}", style="bold", overflow="ellipsis", no_wrap=True)
    line.append(f"  action {table.actions} of {table.limit}", style="dim")
    if table.totals is not None:
        line.append(f"  deal {table.deal}, {' '.join(f'{total:g}' for total in table.totals)} to {table.target:g}")
    for word, suit in (("trump", table.trump), ("led", table.led), ("barred", table.barred)):
        if suit is not None:
            line.append(f"  {word} {SUIT_NAMES[suit]}", style=_COLOURS[suit])
    return line


def _seat_line(seat: Seat, own: bool, unicode: bool) -> Text:
    line = Text(">" if seat.is_turn else "D" if seat.is_dealer else " ", no_wrap=True, overflow="ellipsis")
    line.append(f" {'You' if own else _short(seat.name):{_NAME}} ", style="bold" if seat.is_turn else "")
    line.append_text(card_text(seat.played, unicode) if seat.played is not None else Text("--", style="dim"))
    line.append(f" {seat.size:2d} ")
    if seat.place is not None:
        line.append(f"place {seat.place}", style="bold yellow")
    for place, card in enumerate(seat.cards):
        line.append("  " if place and suit_of(seat.cards[place - 1]) != suit_of(card) else " ")
        line.append_text(card_text(card, unicode))
    signs = _SIGNS if unicode else _PLAIN_SIGNS
    for word, suits in (("no", seat.excluded), ("has", seat.held)):
        if suits:
            line.append(f"  {word} {''.join(signs[suit] for suit in suits)}", style="dim")
    return line


def _choices(legal: Sequence[int], unicode: bool) -> Text:
    line = Text("")
    for number, action in enumerate(legal, 1):
        line.append(f"{number}:", style="dim")
        line.append_text(Text("pick up (p)") if action == PICKUP else card_text(action, unicode)).append("  ")
    return line


def _result(table: Table, session: Session) -> Text:
    assert table.result is not None
    scores = table.result.scores or ()
    told = ", ".join(f"{seat.name} {score:g}" for seat, score in zip(table.seats, scores, strict=True))
    won = ", ".join(f"{each['name']} {each['wins']:g}" for each in session.tally())
    limit = "stopped by the limit. " if table.result.truncated else ""
    return Text(f"The end: {limit}{told}\nGames won: {won}", style="bold")


def _short(name: str) -> str:
    return name if len(name) <= _NAME else name[: _NAME - 1] + "~"


def _completion() -> Callable[[Sequence[str]], None]:
    """What sets the words that the tab key completes; does nothing where there is no readline."""
    try:
        import readline
    except ImportError:
        return lambda words: None

    def set_words(words: Sequence[str]) -> None:
        def complete(text: str, number: int) -> str | None:
            fitting = [word for word in words if word.lower().startswith(text.lower())]
            return fitting[number] if number < len(fitting) else None

        readline.set_completer(complete)

    readline.parse_and_bind("tab: complete")
    return set_words
