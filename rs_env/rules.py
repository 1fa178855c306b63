"""What is played: `Rules`, the presets, and the deck of a rule set.

Rolling Stone (Enfle, Schwellen, Schweller) in ten lines:

- Four to six players hold eight cards each; there is normally no trump. The leader plays any card and the others,
  clockwise, must follow suit.
- A player who cannot follow picks up all cards of the trick, plays none, and leads the next trick.
- When everybody has followed, the highest card of the led suit wins, the trick leaves the game, and its winner leads.
- The first player to get rid of the last card wins.

Rule pages differ and leave gaps. Each decision taken here is an option, and these are the reasons:

- *Deck*: the 2n highest ranks for n players, so that everybody gets eight. Pages that say "A to 6" for five players
  count 36 cards where they need 40. Seven players get seven each of 49 cards (no 2c 2d 2h), eight get six each of 48,
  because the pages' "7 each" would take 56 cards. Two and three players follow the same formula, for research on small
  games.
- ``going_out="completed_trick"``: a last card counts only when its trick is completed; of several leavers of one trick
  the earlier has the better place. ``"immediate"``: a player is out at once with the last card, which may still be
  picked up.
- ``broken_exit="leaver"``: when a trick with a last card in it is picked up, its leaver takes the trick and is back in
  the game. Of several, each takes back the own last card and the first also takes the rest; otherwise somebody would
  sit with no cards, neither in nor out. ``"void"``: the rest goes to the void player. In both the void player leads
  next.
- Trump: taken literally, the rules never let a trump be played to another suit, since a void player must pick up. So a
  void player may ruff instead (``trump_play="ruff"``), or only players who can follow may trump (``"anytime"``).
- Silent rule: the pages say only that the table must notice. Here the table notices a silent play with a fixed
  probability, and it costs the trick and as many dead cards as the trick has cards.
- A deal may go on for ever (D. Parlett, *The Penguin Book of Card Games*), so the deal limit ``max_actions`` truncates
  it. Only a player who was out before has won a truncated deal.

The complete specification is in ``docs/rules.md``.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np

from rs_env.cards import NUM_RANKS, NUM_SUITS, SUIT_NAMES, SuitName, rank_of, suit_of
from rs_env.scorings import SCORINGS, ScoringName

MIN_PLAYERS, MAX_PLAYERS = 2, 8

GoingOut = Literal["completed_trick", "immediate"]
BrokenExit = Literal["leaver", "void"]
LeadAfterPickup = Literal["any", "other_suit"]
Trump = Literal["none", SuitName, "last_dealt"]
TrumpPlay = Literal["ruff", "anytime"]

GOING_OUT: tuple[GoingOut, ...] = get_args(GoingOut)
BROKEN_EXIT: tuple[BrokenExit, ...] = get_args(BrokenExit)
LEAD_AFTER_PICKUP: tuple[LeadAfterPickup, ...] = get_args(LeadAfterPickup)
TRUMP: tuple[Trump, ...] = get_args(Trump)
TRUMP_PLAY: tuple[TrumpPlay, ...] = get_args(TrumpPlay)

_DEFAULT_RANKS = {2: 4, 3: 6, 4: 8, 5: 10, 6: 12, 7: 13, 8: 12}
_ACTIONS_PER_PLAYER = 250
_MAX_COUNT = 2**31 - 1


@dataclass(frozen=True, kw_only=True)
class Rules:
    """A validated, immutable, hashable rule set; the defaults are four-player Rolling Stone.

    Raises ValueError, naming the option, the value and what is allowed.
    """

    num_players: int = 4
    """Number of players, 2 to 8."""

    suits: int = NUM_SUITS
    """Play with the first so many suits of clubs, diamonds, hearts and spades, 1 to 4."""

    ranks: int | None = None
    """Play with the so many highest ranks of each suit, 1 to 13; None: as the number of players asks."""

    hand_size: int | None = None
    """Cards for each player; the lowest cards leave the deck. None: all cards are dealt."""

    going_out: GoingOut = "completed_trick"
    """When a player's last card counts: once its trick is completed, or immediately."""

    broken_exit: BrokenExit = "leaver"
    """Who takes a broken trick with somebody's last card in it: that leaver, or the void player."""

    play_on: bool = False
    """Go on for places after the first player is out."""

    lead_after_pickup: LeadAfterPickup = "any"
    """What may be led after a pickup: any suit, or only another one than that of the broken trick."""

    trump: Trump = "none"
    """The trump suit: none, a suit, or that of the last card dealt, which is shown."""

    trump_play: TrumpPlay = "ruff"
    """Who may trump: a void player instead of picking up (ruff), or a player who can follow (anytime)."""

    silent_catch: float | None = None
    """Probability, 0 to 1, that the table notices a silent play; None: silent plays are not allowed."""

    scoring: ScoringName = "win"
    """What a deal is worth: a win, places, cards left in hand, their face values, or points as Parlett counts them."""

    target: float | None = None
    """Play a match of several deals until a total is at or above this number; None: one deal."""

    max_actions: int | None = None
    """The deal limit: so many actions truncate a deal. None: 250 for each player."""

    max_deals: int = 100
    """So many deals without a winner truncate a match."""

    def __post_init__(self) -> None:
        self._check_integer("num_players", MIN_PLAYERS, MAX_PLAYERS)
        self._check_integer("suits", 1, NUM_SUITS)
        self._check_integer("ranks", 1, NUM_RANKS, optional=True)
        self._check_integer("hand_size", 1, NUM_SUITS * NUM_RANKS, optional=True)
        self._check_choice("going_out", GOING_OUT)
        self._check_choice("broken_exit", BROKEN_EXIT)
        self._check_choice("lead_after_pickup", LEAD_AFTER_PICKUP)
        self._check_choice("trump", TRUMP)
        self._check_choice("trump_play", TRUMP_PLAY)
        self._check_choice("scoring", tuple(SCORINGS))
        self._check_number("silent_catch", "a number from 0 to 1, or None", lambda x: 0 <= x <= 1)
        self._check_number(
            "target", f"a number above 0 and at most {_MAX_COUNT}, or None", lambda x: 0 < x <= _MAX_COUNT
        )
        self._check_integer("max_actions", 1, _MAX_COUNT, optional=True)
        self._check_integer("max_deals", 1, _MAX_COUNT)
        if not isinstance(self.play_on, bool | np.bool):
            raise _refusal("play_on", self.play_on, "True or False")
        object.__setattr__(self, "play_on", bool(self.play_on))
        self._check_together()

    def _check_integer(self, field: str, low: int, high: int, optional: bool = False) -> None:
        value = getattr(self, field)
        if value is None and optional:
            return
        if (
            isinstance(value, bool | np.timedelta64)
            or not isinstance(value, int | np.integer)
            or not low <= value <= high
        ):
            raise _refusal(field, value, f"a whole number from {low} to {high}" + (", or None" if optional else ""))
        object.__setattr__(self, field, int(value))

    def _check_choice(self, field: str, allowed: tuple[str, ...]) -> None:
        value = getattr(self, field)
        if not isinstance(value, str) or value not in allowed:
            raise _refusal(field, value, "one of " + ", ".join(map(repr, allowed)))
        object.__setattr__(self, field, str(value))

    def _check_number(self, field: str, allowed: str, accept: Callable[[float], bool]) -> None:
        value = getattr(self, field)
        if value is None:
            return
        is_number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
        if not is_number or not accept(value):
            raise _refusal(field, value, allowed)
        object.__setattr__(self, field, float(value))

    def _check_together(self) -> None:
        pack = self._full_pack()
        if self.hand_size is not None and self.hand_size * self.num_players > len(pack):
            most = len(pack) // self.num_players
            raise _refusal(
                "hand_size", self.hand_size, f"at most {most}: {self.num_players} players share {len(pack)} cards"
            )
        if len(pack) < self.num_players:
            raise _refusal(
                "num_players", self.num_players, f"at most {len(pack)}, the number of cards, so that everybody gets one"
            )
        if self.trump in SUIT_NAMES and SUIT_NAMES.index(self.trump) not in map(suit_of, self.deck):
            present = [name for suit, name in enumerate(SUIT_NAMES) if suit in map(suit_of, self.deck)]
            raise _refusal(
                "trump", self.trump, "'none', 'last_dealt' or a suit of the deck: " + ", ".join(map(repr, present))
            )
        if self.silent_catch is not None and self.trump != "none" and self.trump_play == "anytime":
            raise _refusal(
                "silent_catch", self.silent_catch, "None where a trump may be played at any time (trump_play='anytime')"
            )

    def _full_pack(self) -> list[int]:
        """The cards before `hand_size` takes the lowest ones out, sorted by id."""
        ranks = _DEFAULT_RANKS[self.num_players] if self.ranks is None else self.ranks
        pack = [NUM_RANKS * suit + rank for suit in range(self.suits) for rank in range(NUM_RANKS - ranks, NUM_RANKS)]
        if self.num_players == 7 and self.ranks is None and self.hand_size is None and self.suits == NUM_SUITS:
            pack = _without_lowest(pack, 3)
        return pack

    @cached_property
    def deck(self) -> tuple[int, ...]:
        """The cards in play, sorted by id."""
        pack = self._full_pack()
        if self.hand_size is not None:
            pack = _without_lowest(pack, len(pack) - self.hand_size * self.num_players)
        return tuple(pack)

    @property
    def action_limit(self) -> int:
        """Actions after which a deal is truncated: `max_actions`, or 250 for each player."""
        return _ACTIONS_PER_PLAYER * self.num_players if self.max_actions is None else self.max_actions

    def to_dict(self) -> dict[str, Any]:
        """All options as plain values that JSON can hold."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, options: Mapping[str, Any]) -> Rules:
        """The inverse of `to_dict`; missing options take their defaults. Raises ValueError for unknown ones."""
        if not isinstance(options, Mapping):
            raise _refusal("rules", options, "a mapping of option names to values")
        for name in options:
            if name not in OPTIONS:
                raise _refusal("option", name, ", ".join(OPTIONS))
        return cls(**options)

    @classmethod
    def preset(cls, name: str, **overrides: Any) -> Rules:
        """A named rule set (see `PRESETS`) with some options changed: ``Rules.preset("schweller", num_players=5)``."""
        if not isinstance(name, str) or name not in PRESETS:
            raise _refusal("preset", name, "one of " + ", ".join(map(repr, PRESETS)))
        options = {**PRESETS[name], **overrides}
        if name == "historic" and "ranks" not in overrides:
            few = overrides.get("num_players", cls.num_players) in (2, 3, 4)  # anything wrong with it is refused below
            options["ranks"] = 8 if few else NUM_RANKS
        return cls.from_dict(options)


OPTIONS = tuple(field.name for field in dataclasses.fields(Rules))


def _describe_options() -> None:
    """Add the options to the docstring of `Rules`, so that ``help(Rules)`` shows them.

    The docstrings below the attributes are their one source, for editors and the command line too. Python keeps those
    in the source only.
    """
    try:
        module = ast.parse(inspect.getsource(sys.modules[__name__]))
    except OSError:  # an installation without sources
        return
    bodies: list[list[Any]] = [node.body for node in module.body if isinstance(node, ast.ClassDef)]
    options = [
        f"    {ast.unparse(option)}\n        {below.value.value}"
        for option, below in pairwise(bodies[0])
        if isinstance(option, ast.AnnAssign)
    ]
    Rules.__doc__ = "\n".join([f"{Rules.__doc__}", *options])


_describe_options()

OTHER_NAMES = {"max_cycles": "max_actions"}
"""Names that options of `Rules` have elsewhere, here in PettingZoo; environments take them too."""

PRESETS: dict[str, dict[str, Any]] = {
    "rolling_stone": {},
    "schweller": {"going_out": "immediate"},
    "penalty": {"scoring": "cards", "target": 30},
    "face_value": {"scoring": "face", "target": 50},
    "parlett": {"going_out": "immediate", "scoring": "parlett"},
    "places": {"play_on": True, "scoring": "places"},
    "trump": {"trump": "last_dealt"},
    "silent": {"silent_catch": 0.5},
    "historic": {"going_out": "immediate"},  # and all of 8 or 13 ranks, see Rules.preset
    "tiny": {"num_players": 2, "suits": 2, "ranks": 3, "going_out": "immediate"},
}


def as_rules(rules: Rules | str | Mapping[str, Any], **overrides: Any) -> Rules:
    """`rules` itself, the preset of that name, or the rules of a `to_dict` mapping, with some options changed."""
    if isinstance(rules, str):
        return Rules.preset(rules, **overrides)
    if isinstance(rules, Rules):
        return Rules.from_dict({**rules.to_dict(), **overrides}) if overrides else rules
    if isinstance(rules, Mapping):
        return Rules.from_dict({**rules, **overrides})
    raise _refusal("rules", rules, "a Rules, a preset's name, or a mapping of options")


def preset_of(rules: Rules) -> tuple[str, dict[str, Any]]:
    """The preset that is nearest to a rule set, and the options that make the difference, with their values.

    The number of players counts least. Of presets with equally few differences it is the first.
    """
    name, changes = _nearest_preset(rules)
    return name, dict(changes)


@cache
def _nearest_preset(rules: Rules) -> tuple[str, dict[str, Any]]:
    each: dict[str, dict[str, Any]] = {}
    for name in PRESETS:
        usual = Rules.preset(name).num_players
        with suppress(ValueError):  # some have too few cards for so many players
            preset = Rules.preset(name, num_players=rules.num_players).to_dict()
            changes = {option: value for option, value in rules.to_dict().items() if value != preset[option]}
            each[name] = changes if rules.num_players == usual else {"num_players": rules.num_players, **changes}
    nearest = min(each, key=lambda name: (len(each[name].keys() - {"num_players"}), len(each[name])))
    return nearest, each[nearest]


def rules_of_call(
    caller: Callable[..., Any], rules: Rules | str | Mapping[str, Any], num_players: int | None, options: dict[str, Any]
) -> Rules:
    """The rules of ``caller(..., rules, num_players=num_players, **options)``.

    The other names of options in use elsewhere are understood, see `OTHER_NAMES`. Raises TypeError, in Python's own
    words, for a keyword that is neither an argument of the caller nor an option of `Rules`: frameworks that try
    which keywords are allowed look for that. Raises ValueError for a value that is not allowed.
    """
    if num_players is not None:
        options = {**options, "num_players": num_players}
    if not options:
        return as_rules(rules)
    for other, name in OTHER_NAMES.items():
        if other in options:
            if name in options:
                raise TypeError(f"{caller.__name__}() got {other!r} and {name!r}, two names of one option")
            options = {**options, name: options[other]}
            del options[other]
    for name in options:
        if name not in OPTIONS:
            own = [
                p.name
                for p in inspect.signature(caller).parameters.values()
                if p.kind is not p.VAR_KEYWORD and p.name != "self"
            ]
            allowed = ", ".join([*own, *(option for option in OPTIONS if option not in own)])
            raise TypeError(f"{caller.__name__}() got an unexpected keyword argument {name!r}; there are {allowed}")
    return as_rules(rules, **options)


def _without_lowest(cards: list[int], count: int) -> list[int]:
    """The cards without the lowest `count`, by rank and then by suit."""
    return sorted(sorted(cards, key=lambda card: (rank_of(card), suit_of(card)))[count:])


def _refusal(field: str, value: object, allowed: str) -> ValueError:
    return ValueError(f"{field}={value!r} is not allowed: {field} must be {allowed}")
