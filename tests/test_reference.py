"""Engine and reference side by side on random deals: after every action everything public and private must be the same.

``RS_ENV_REFERENCE_DEALS`` sets the number of random deals.
"""

from __future__ import annotations

import copy
import os
import random
from collections import Counter
from typing import Any, NamedTuple

import pytest
from reference import ReferenceGame
from strategies import preset_rules, random_action, random_rules, random_style

from rs_env.cards import PICKUP, action_text, suit_of
from rs_env.game import Game
from rs_env.rules import Rules

DEFAULT_DEALS = 500
DEALS = int(os.environ.get("RS_ENV_REFERENCE_DEALS", DEFAULT_DEALS))

RARE_EVENTS = (
    "leaver took back",
    "several leavers took back",
    "several leavers went out",
    "void took what a leaver left",
    "last card of one who is out was picked up",
    "silent play noticed",
    "silent play noticed, with a leaver in the trick",
    "silent play noticed, with several leavers in the trick",
    "last card played silently was noticed",
    "last card played silently was not noticed",
    "draw exhausted the dead",
    "ruff",
    "anytime trump",
    "trick won by a trump of another suit",
    "barred lead",
    "trick won by one who is out",
    "play went on with a mid-trick exit",
    "deal ended with a full trick on the table",
    "deal truncated",
    "deal truncated, with a leaver in the trick",
    "deal truncated after somebody was out",
    "deal ended by its last allowed action",
    "match truncated",
    "match ended on equal totals",
    "uneven deal",
)


@pytest.mark.parametrize(
    "rules", [pytest.param(rules, id=f"{name}-{rules.num_players}") for name, rules in preset_rules()]
)
def test_engine_agrees_on_presets(rules: Rules) -> None:
    compare_game(rules, 0, "any", Counter(), most_actions=400)  # random matches of many players are long


@pytest.mark.parametrize("num_players", [4, 6, 7, 8])
def test_engine_adds_up_places_exactly(num_players: int) -> None:
    # Places are worth thirds, fifths and so on. Added up in floating point in another order these give another total,
    # so that a match at its target would go on, or equal totals would not share the reward.
    events: Counter[str] = Counter()
    rules: dict[str, Any] = {
        "scoring": "places",
        "play_on": True,
        "going_out": "immediate",
        "hand_size": 2,
        "max_actions": 10,
    }
    for seed in range(150):
        target = (1, 1.5, 2, 3)[seed % 4]
        compare_game(Rules(num_players=num_players, target=target, max_deals=6, **rules), seed, "any", events)
    assert events["match ended on equal totals"] >= 3


def test_engine_agrees_on_random_rules() -> None:
    events: Counter[str] = Counter()
    for seed in range(DEALS):
        rng = random.Random(seed)
        compare_game(random_rules(rng), seed, random_style(rng), events)
    print(f"{DEALS} games:", ", ".join(f"{name} {count}" for name, count in sorted(events.items())))
    if DEALS >= DEFAULT_DEALS:  # fewer may lack some
        assert [name for name in RARE_EVENTS if not events[name]] == []


class Before(NamedTuple):
    """What stood on the table before an action, to tell afterwards what was rare about it."""

    hand: list[int]
    trick: list[tuple[int, int]]
    leavers: list[int]
    num_in_trick: int  # players who would play to the trick if nobody broke it
    num_dead: int
    out: list[int]
    led_suit: int | None
    barred: int | None
    trump: int | None
    num_actions: int
    deals_done: int

    @classmethod
    def of(cls, reference: ReferenceGame) -> Before:
        trick, out = list(reference.trick), list(reference.out)
        return cls(
            hand=list(reference.hands[reference.turn]),  # type: ignore[index]
            trick=trick,
            leavers=[seat for seat, _ in trick if not reference.hands[seat] and seat not in out],
            num_in_trick=len(reference.trick_order),
            num_dead=len(reference.dead),
            out=out,
            led_suit=reference.led_suit,
            barred=reference.barred,
            trump=reference.trump,
            num_actions=reference.num_actions,
            deals_done=reference.deals_done,
        )


def compare_game(rules: Rules, seed: int, style: str, events: Counter[str], most_actions: int = 10**6) -> None:
    """Play one game on both sides, with actions of this style, and count in `events` what happened."""
    rng = random.Random(f"actions {seed}")
    game = Game(rules, seed=seed)
    # Should only the reference deal again, then any deck will do for the difference to show.
    reference = ReferenceGame(
        rules, [], game.dealer, more_decks=lambda deal: game.decks[min(deal, len(game.decks) - 1)]
    )
    played: list[str] = []
    check_same(game, reference, True, played)
    events["uneven deal"] += len(set(map(len, game.hands))) > 1
    while reference.turn is not None and len(played) < most_actions:
        action = random_action(rng, reference.legal_actions(), style)
        before = Before.of(reference)
        silent = reference.is_silent(action)
        noticed = play_both(game, reference, action)
        played.append(action_text(action))
        # Working out anew what is known takes long late in a long deal: there only now and then.
        with_knowledge = reference.is_over or len(played) % (1 + len(reference.events) // 200) == 0
        check_same(game, reference, with_knowledge, played)
        events.update(events_of(before, action, silent, noticed, reference))
    events["game"] += 1
    events["action"] += len(played)


def play_both(game: Game, reference: ReferenceGame, action: int) -> bool:
    """Play on both sides and say whether a silent play was noticed, which the engine draws and the reference is
    told."""
    seat, deals_done = reference.turn, game.deals_done
    silent = reference.is_silent(action)
    game.play(action)
    if game.is_over or game.deals_done == deals_done:
        noticed = silent and action in game.hands[seat]  # type: ignore[index]
    elif silent:
        # The deal is gone, and with it the hand that tells; of the two outcomes take the one with the engine's totals.
        unnoticed = copy.deepcopy(reference)
        unnoticed.play(action, noticed=False)
        noticed = bool(differences(game, unnoticed, with_knowledge=True))
    else:
        noticed = False
    reference.play(action, noticed)
    return noticed


def check_same(game: Game, reference: ReferenceGame, with_knowledge: bool, played: list[str]) -> None:
    """Fail, naming what differs, unless both sides are in the same state and no card is missing."""
    different = differences(game, reference, with_knowledge)
    where = (game.rules, game.seed, played)
    assert not different, f"{where}: (engine, reference) differ in {different}"
    # The engine's, too, now that they are known to be the same.
    cards = [card for hand in reference.hands for card in hand] + [card for _, card in reference.trick] + reference.dead
    assert sorted(cards) == list(game.rules.deck), f"{where}: cards are missing or double"


def differences(game: Game, reference: ReferenceGame, with_knowledge: bool) -> dict[str, tuple[Any, Any]]:
    """Whatever is not the same on both sides, by name."""
    state = game.states[0]
    pairs: dict[str, tuple[Any, Any]] = {
        "turn": (game.turn, reference.turn),
        "legal actions": (game.legal_actions(), reference.legal_actions()),
        "hands": (game.hands, reference.hands),
        "hand sizes": (state["hand_size"][: game.num_players].tolist(), [len(hand) for hand in reference.hands]),
        "order of the trick": (game.trick_plays, reference.trick),
        "trick": (game.trick, sorted(card for _, card in reference.trick)),
        "dead": (game.dead, sorted(reference.dead)),
        "trump": (game.trump, reference.trump),
        "barred": (game.barred_suit, reference.barred),
        "led suit": (game.led_suit, reference.led_suit),
        "out": (game.out, reference.out),
        "dealer": (game.dealer, reference.dealer),
        "number of actions": (game.num_actions, reference.num_actions),
        "over": (game.is_over, reference.is_over),
        "truncated": (game.truncated, reference.truncated),
        "terminated": (game.terminated, reference.is_over and not reference.truncated),
        "scores": (rounded(game.scores()), rounded(reference.scores())),
        "rewards": (rounded(game.rewards()), rounded(reference.rewards())),
    }
    if with_knowledge:
        pairs["known"] = (game.known, reference.known)
        pairs["excluded"] = (game.excluded, reference.excluded)
        pairs["held"] = (game.held, reference.held)
    if game.rules.silent_catch is not None:
        pairs["order of the dead"] = (state["dead_order"][: state["num_dead"]].tolist(), reference.dead)
    if game.rules.target is not None:
        pairs["deals done"] = (game.deals_done, reference.deals_done)
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def rounded(numbers: list[float]) -> list[float]:
    """Numbers without what floating point may differ in, and without minus zero."""
    return [round(number, 9) + 0.0 for number in numbers]


def events_of(before: Before, action: int, silent: bool, noticed: bool, reference: ReferenceGame) -> list[str]:
    """Names of the rare events of one action, which has led to the position of `reference`."""
    if action == PICKUP or noticed:
        happened = _when_broken(before, action, noticed, reference)
    else:
        happened = _when_laid(before, action, silent, reference)
    happened |= _when_ended(before, reference)
    return [name for name, is_so in happened.items() if is_so]


def _when_broken(before: Before, action: int, noticed: bool, reference: ReferenceGame) -> dict[str, bool]:
    leavers = len(before.leavers)
    return {
        "leaver took back": leavers > 0,
        "several leavers took back": leavers > 1,
        "void took what a leaver left": not noticed
        and reference.rules.broken_exit == "void"
        and 0 < leavers < len(before.trick),
        "last card of one who is out was picked up": any(seat in before.out for seat, _ in before.trick),
        "silent play noticed": noticed,
        "silent play noticed, with a leaver in the trick": noticed and leavers > 0,
        "silent play noticed, with several leavers in the trick": noticed and leavers > 1,
        "last card played silently was noticed": noticed and before.hand == [action],
        "draw exhausted the dead": noticed and 0 < before.num_dead < len(before.trick),
    }


def _when_laid(before: Before, card: int, silent: bool, reference: ReferenceGame) -> dict[str, bool]:
    rules = reference.rules
    last_card = before.hand == [card]
    immediate = rules.going_out == "immediate"
    full = len(before.trick) + 1 == before.num_in_trick
    deal_over = reference.deals_done > before.deals_done
    completed = full and not (deal_over and immediate and last_card)
    trumped = [suit_of(card)] + [suit_of(other) for _, other in before.trick]
    off_suit_trump = before.led_suit is not None and before.led_suit != before.trump == suit_of(card)
    leavers = len(before.leavers) + (last_card and not immediate)
    return {
        "several leavers went out": completed and leavers > 1,
        "last card played silently was not noticed": silent and last_card,
        "ruff": off_suit_trump and rules.trump_play == "ruff",
        "anytime trump": off_suit_trump and rules.trump_play == "anytime",
        "trick won by a trump of another suit": completed
        and before.led_suit != before.trump
        and before.trump in trumped,
        "barred lead": any(suit_of(other) == before.barred for other in before.hand),
        "trick won by one who is out": completed and not deal_over and reference.events[-1].seat in reference.out,
        "play went on with a mid-trick exit": immediate and last_card and not full and not deal_over,
        "deal ended with a full trick on the table": immediate and last_card and full and deal_over,
    }


def _when_ended(before: Before, reference: ReferenceGame) -> dict[str, bool]:
    if reference.deals_done == before.deals_done:
        return {}
    rules = reference.rules
    out, truncated = reference.finished[-1]
    match_over = rules.target is not None and reference.is_over
    return {
        "deal truncated": truncated,
        "deal truncated, with a leaver in the trick": truncated and len(before.leavers) > 0,
        "deal truncated after somebody was out": truncated and len(out) > 0,
        "deal ended by its last allowed action": not truncated and before.num_actions + 1 == rules.action_limit,
        "match truncated": match_over and reference.truncated,
        "match ended on equal totals": match_over and sum(reward > 0 for reward in reference.rewards()) > 1,
    }
