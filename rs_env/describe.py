"""A seat's situation in words, and the action that an answer in words names: for language models, and for people.

The texts are made of a view (`rs_env.engine.view.VIEW`), so nothing is in them that the seat may not know.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from rs_env.cards import NUM_RANKS, PICKUP, RANKS, SUIT_NAMES, SUITS, action_text, cards_text, members, suit_of
from rs_env.engine.state import LAST_DEALT, NO_CARD, NO_SUIT, NO_TRUMP
from rs_env.engine.view import as_one_view
from rs_env.scorings import Basis

_REWARDS = {
    Basis.WIN: "The winner gets 1 point, the others nothing.",
    Basis.PLACE: "The sooner a player is out, the more points it gets.",
    Basis.OWN_HAND: "Each player counts the cards that are left in its own hand.",
    Basis.ALL_HANDS: "The winner counts the cards that are left in all hands, the others nothing.",
}


def describe_rules(view: Any) -> str:
    """The rules that are played, as a text of some sentences for somebody who does not know the game.

    view: any seat's, one record of dtype `rs_env.engine.view.VIEW`. Raises ValueError for anything else.
    """
    rules = as_one_view(view)[0]["rules"]
    told = [
        f"You play the card game Rolling Stone with {rules['num_players']} players, seats 0 to"
        f" {rules['num_players'] - 1}, clockwise.",
        "A card is written as its rank and its suit: 7c is the seven of clubs, Td the ten of diamonds, Ah the ace of"
        " hearts; the ranks are 2 to 9, T, J, Q, K, A, and the ace is high.",
        f"The deck has the cards {cards_text(members(rules['deck']))}.",
        *rule_sentences(view),
    ]
    return " ".join(told)


def rule_sentences(view: Any) -> list[str]:
    """The sentences of `describe_rules` that tell how it is played, without seats and how cards are written."""
    rules = as_one_view(view)[0]["rules"]
    told = [
        "The leader of a trick plays any card. The others, clockwise, must follow suit if they can.",
        *_void(rules),
        "When everybody has played, the trick leaves the game, and its highest card of the led suit"
        f"{_or_trump(rules)} leads the next.",
        *_leaving(rules),
        f"A deal ends after {rules['max_actions']} actions at the latest; then nobody who still has cards has won.",
        _REWARDS[Basis(int(rules["basis"]))],
    ]
    if rules["low_is_good"]:
        told.append("These are penalty points: few are good.")
    if rules["target"]:
        told.append(f"Deals are played, and their points added up, until somebody has {rules['target']:g}.")
    return told


def _void(rules: np.void) -> Iterable[str]:
    yield (
        "A player who cannot follow suit picks up the whole trick, plays nothing, and leads the next trick; the later"
        " players of that trick do not play to it."
    )
    if rules["bar_suit"]:
        yield "After such a pickup the suit of that trick may not be led."
    if rules["trump"] != NO_TRUMP:
        suit = "the suit of the last card dealt" if rules["trump"] == LAST_DEALT else SUIT_NAMES[rules["trump"]]
        yield f"Trump is {suit}."
    if rules["ruff"]:
        yield "A player who cannot follow may play a trump instead of picking up."
    if rules["anytime"]:
        yield "A player who can follow may play a trump instead."
    if rules["silent_catch"] >= 0:
        yield (
            "A player who cannot follow may also play another card silently; with probability"
            f" {rules['silent_catch']:g} the table notices that, and then the player takes the trick and as many dead"
            " cards as it has."
        )


def _or_trump(rules: np.void) -> str:
    return ", or its highest trump if there is one," if rules["trump"] != NO_TRUMP else ""


def _leaving(rules: np.void) -> Iterable[str]:
    yield "The aim is to be the first without cards."
    if rules["immediate"]:
        yield "A player is out at once with the last card."
    else:
        taker = "the player who picks up" if rules["void_takes"] else "the player whose last card it was"
        yield (
            "A last card counts only when its trick is completed; if somebody picks that trick up, its cards go to"
            f" {taker}, and whoever gets cards back is in the game again."
        )
    if rules["play_on"]:
        yield "The others play on for the next places."


def describe(view: Any) -> str:
    """What a seat knows, as text of one line for each fact: the table, its hand, the trick, what is known of every
    other hand, the cards that are out of play, and the legal actions by name.

    view: one record of dtype `rs_env.engine.view.VIEW`; of a seat that is not to act, it says whose turn it is. Raises
    ValueError for anything else.
    """
    v = as_one_view(view)[0]
    n, seat = int(v["rules"]["num_players"]), int(v["seat"])
    lines = [
        f"You are seat {seat} of {n}. Dealer: seat {v['dealer']}."
        f" Actions so far: {v['actions']} of at most {v['rules']['max_actions']}.",
        *_match(v, n),
        *_trump(v),
        f"Your hand ({v['hand_size'][seat]}): {_cards(v['hand'])}.",
        _trick(v, n),
        *(_others_hand(v, (seat + k) % n) for k in range(1, n)),
        f"Out of play: {_cards(v['dead'])}.",
        _choice(v),
    ]
    return "\n".join(lines)


def _match(v: np.void, n: int) -> Iterable[str]:
    if v["rules"]["target"]:
        totals = ", ".join(f"seat {i} {v['totals'][i]:g}" for i in range(n))
        yield f"Deal {v['deals_done'] + 1} of the match. Totals: {totals}."


def _trump(v: np.void) -> Iterable[str]:
    if v["trump"] != NO_SUIT:
        yield f"Trump: {SUIT_NAMES[v['trump']]}."
    if v["barred"] != NO_SUIT:
        yield f"This suit may not be led now: {SUIT_NAMES[v['barred']]}."


def _trick(v: np.void, n: int) -> str:
    cards = np.array([v["played"]]).view(np.int8)
    order = [(int(v["leader"]) + k) % n for k in range(n)]
    played = [f"seat {i} {action_text(int(cards[i]))}" for i in order if cards[i] != NO_CARD]
    if not played:
        return f"The trick is empty: seat {v['leader']} leads."
    after = [f"seat {i}" for i in order if v["pending"] >> i & 1 and i != v["turn"]]
    rest = f" Yet to play after that: {', '.join(after)}." if after else ""
    return f"Trick, {SUIT_NAMES[v['led']]} led: {', '.join(played)}. Seat {v['turn']} is to act.{rest}"


def _others_hand(v: np.void, seat: int) -> str:
    if seat in v["out"]:
        return f"Seat {seat} is out."
    size, known, gone = int(v["hand_size"][seat]), members(v["known"][seat]), members(v["excluded"][seat])
    facts = [f"{size} card{'s' if size != 1 else ''}"]
    if known:
        facts.append(f"surely {cards_text(known)}")
    if len(known) < size and gone:
        facts.append(f"{'besides ' if known else ''}no {' and no '.join(SUIT_NAMES[suit] for suit in gone)}")
    if held := members(v["held"][seat]):
        facts.append(f"besides at least one of {', '.join(SUIT_NAMES[suit] for suit in held)}")
    return f"Seat {seat}: {', '.join(facts)}."


def _choice(v: np.void) -> str:
    if not v["legal"]:
        return f"It is the turn of seat {v['turn']}." if v["status"] == 0 else "The game is over."
    return f"It is your turn. Legal actions: {' '.join(action_text(action) for action in members(v['legal']))}."


def _cards(cards: Any) -> str:
    """Cards of a set, with a bar between suits."""
    suits: dict[int, list[int]] = {}
    for card in members(cards):
        suits.setdefault(suit_of(card), []).append(card)
    return " | ".join(cards_text(group) for group in suits.values()) or "none"


_RANK_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "jack", "queen", "king", "ace")
_SIGNS = "♣♦♥♠"
_RANK_IDS = {"10": RANKS.index("T")} | {
    name: i for names in (RANKS.lower(), _RANK_WORDS) for i, name in enumerate(names)
}
_SUIT_IDS = {
    name: i
    for names in (SUITS, _SIGNS, SUIT_NAMES, [name.removesuffix("s") for name in SUIT_NAMES])
    for i, name in enumerate(names)
}
# In running text the letters of a card begin with a capital, and "As it is low" is no ace of spades.
_SUIT = f"[{SUITS}{SUITS.upper()}{_SIGNS}]"
_NAMED = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(?P<pickup>(?i:pick(?:s|ing)?[ _-]?up))"
    rf"|(?P<rank>10|[2-9TJQK]|A(?={_SUIT}(?!\s+[a-z])))(?P<suit>{_SUIT})"
    rf"|(?P<rank_word>(?i:10|[{RANKS}]|{'|'.join(_RANK_WORDS)}))(?i: of )"
    rf"(?P<suit_word>(?i:{'|'.join(name + '?' for name in SUIT_NAMES)}))"
    r")(?![A-Za-z0-9])"
)


def parse_action(answer: str, view: Any) -> int:
    """The action, 0..52, that an answer in words names last: ``"7c"``, ``"10♣"``, ``"the seven of clubs"``, ``"pick
    up"``, alone or in a sentence.

    view: that of the seat that answers. Raises TypeError for an answer that is no text, and ValueError, naming what
    may be answered, where it names no action, or last one that is not legal.
    """
    if not isinstance(answer, str):
        raise TypeError(f"answer={answer!r} is not allowed: it must be a text")
    legal = members(as_one_view(view)[0]["legal"])
    allowed = " ".join(action_text(action) for action in legal) or "none, since it is not this seat's turn"
    action = _last_named(answer)
    if action is None:
        raise ValueError(f"answer {answer[-80:]!r} names no action: allowed are {allowed}")
    if action not in legal:
        raise ValueError(
            f"answer {answer[-80:]!r} names {action_text(action)}, which is not legal: allowed are {allowed}"
        )
    return action


def _last_named(answer: str) -> int | None:
    alone = answer.strip(" \t\r\n.!\"'`*")
    if len(alone) == 2 and alone[0].lower() in _RANK_IDS and alone[1].lower() in _SUIT_IDS:
        return NUM_RANKS * _SUIT_IDS[alone[1].lower()] + _RANK_IDS[alone[0].lower()]
    found = None
    for found in _NAMED.finditer(answer):  # noqa: B007  the last one counts
        pass
    if found is None or found["pickup"]:
        return PICKUP if found else None
    rank, suit = (found["rank"] or found["rank_word"]).lower(), (found["suit"] or found["suit_word"]).lower()
    return NUM_RANKS * _SUIT_IDS[suit] + _RANK_IDS[rank]
