"""What must hold of every batch and every step, from the text of the rules, in NumPy over the records of all games.

It calls no function of the engine: sets of cards become arrays of truth values, and every rule is written anew.
"""

from __future__ import annotations

import numpy as np

from rs_env import Rules
from rs_env.cards import NUM_CARDS, PICKUP

SUITS = np.arange(NUM_CARDS) // 13
NO_CARD = -1


def cards_of(sets: np.ndarray) -> np.ndarray:
    """Sets of cards, uint64 (...), as truth values (..., 52)."""
    return (sets[..., None] >> np.arange(NUM_CARDS, dtype=np.uint64) & 1).astype(bool)


def seats_of(sets: np.ndarray, n: int) -> np.ndarray:
    """Sets of seats (B,) as truth values (B, n)."""
    return (sets[:, None] >> np.arange(n, dtype=sets.dtype) & 1).astype(bool)


def played_of(states: np.ndarray, n: int) -> np.ndarray:
    """Each seat's card in the trick or -1, (B, n)."""
    return np.ascontiguousarray(states["played"]).view(np.int8).reshape(len(states), 8)[:, :n]


def check_positions(rules: Rules, states: np.ndarray, mask: np.ndarray) -> None:
    """Every card is in one place; hands have the sizes that they are said to have; legal is what the rules say."""
    places = np.concatenate([cards_of(states["hand"]), cards_of(states["trick"])[:, None]], 1)
    places = np.concatenate([places, cards_of(states["dead"])[:, None]], 1)
    deck = np.isin(np.arange(NUM_CARDS), rules.deck)
    assert (places.sum(1) == deck).all(), "a card is missing, or there twice"
    assert (places[:, :8].sum(2) == states["hand_size"]).all()
    on_table = played_of(states, rules.num_players)
    assert ((on_table != NO_CARD).sum(1) == places[:, 8].sum(1)).all()
    assert (cards_of(states["known"]) <= places[:, :8]).all(), "a card is known where it is not"
    assert (states["actions"] < rules.action_limit).all()
    assert (mask == legal(rules, states)).all()


def legal(rules: Rules, states: np.ndarray) -> np.ndarray:
    """The mask of the seats to act, (B, 53)."""
    games = np.arange(len(states))
    hand = cards_of(states["hand"][games, states["turn"]])
    leads = (states["trick"] == 0)[:, None]
    lead = played_of(states, rules.num_players)[games, states["leader"]]
    follows = hand & (lead[:, None] // 13 == SUITS)
    trumps = hand & (states["trump"][:, None] == SUITS)
    can_follow = follows.any(1, keepdims=True)
    anytime = trumps if rules.trump_play == "anytime" else follows
    ruffs = trumps if rules.trump_play == "ruff" else np.zeros_like(hand)
    void = ruffs if rules.silent_catch is None else hand
    cards = np.where(can_follow, follows | anytime, void)
    cards = np.where(leads, hand & (states["barred"][:, None] != SUITS), cards)
    return np.concatenate([cards, ~leads & ~can_follow], 1)


def check_step(rules: Rules, before: np.ndarray, actions: np.ndarray, after: np.ndarray) -> None:
    """One action of each game did what the rules say; games that the action ended, or a deal of theirs, are left out.
    Rules without silent plays only: those leave to chance what an action does.
    """
    assert rules.silent_catch is None
    goes_on = before["deal"] == after["deal"]
    before, actions, after = before[goes_on], actions[goes_on], after[goes_on]
    assert (after["actions"] == before["actions"] + 1).all()
    picked = actions == PICKUP
    _check_pickups(rules, before[picked], after[picked])
    _check_cards(rules, before[~picked], actions[~picked], after[~picked])


def _check_pickups(rules: Rules, before: np.ndarray, after: np.ndarray) -> None:
    """The leavers take back the own card; the first of them, or the void player, takes all others."""
    n, games, void = rules.num_players, np.arange(len(before)), before["turn"]
    played, still_in = played_of(before, n), seats_of(before["still_in"], n)
    hands = cards_of(before["hand"])[:, :n]
    leaves = still_in & (played != NO_CARD) & ~hands.any(2)
    own = np.arange(NUM_CARDS) == played[..., None]
    order = np.where(leaves, (np.arange(n) - before["leader"][:, None].astype(int)) % n, n)
    taker = np.where(leaves.any(1) & (rules.broken_exit == "leaver"), order.argmin(1), void)
    hands |= own & leaves[..., None]
    hands[games, taker] |= (own & ~leaves[..., None]).any(1)
    assert (cards_of(after["hand"])[:, :n] == hands).all()
    assert (after["turn"] == void).all() and (after["leader"] == void).all()
    assert (after["trick"] == 0).all() and (after["dead"] == before["dead"]).all()
    lead = played[games, before["leader"]]
    assert (after["barred"] == (lead // 13 if rules.lead_after_pickup == "other_suit" else -1)).all()


def _check_cards(rules: Rules, before: np.ndarray, actions: np.ndarray, after: np.ndarray) -> None:
    """The card lies on the table, and the next plays; or all have played, the trick is dead, and its winner leads."""
    n, games, mover = rules.num_players, np.arange(len(before)), before["turn"]
    card = np.arange(NUM_CARDS) == actions[:, None]
    hands = cards_of(before["hand"])
    hands[games, mover] &= ~card
    assert (cards_of(after["hand"]) == hands).all()
    played = played_of(before, n).astype(int)
    played[games, mover] = actions
    wait = seats_of(before["still_in"], n) & (played == NO_CARD)
    trick, dead = cards_of(before["trick"]) | card, cards_of(before["dead"])
    done = ~wait.any(1, keepdims=True)
    assert (cards_of(after["trick"]) == trick & ~done).all()
    assert (cards_of(after["dead"]) == dead | trick & done).all()
    led = played[games, before["leader"]][:, None] // 13
    wins = np.where(played == NO_CARD, -1, played % 13 + 13 * (played // 13 == led))
    wins = np.where((played != NO_CARD) & (played // 13 == before["trump"][:, None]), wins + 26, wins)
    begin = np.where(done[:, 0], wins.argmax(1), mover)
    may_act = np.where(done, seats_of(after["still_in"], n), wait)
    assert (after["turn"] == next_seat(begin, may_act)).all()
    assert (after["leader"] == np.where(done[:, 0], after["turn"], before["leader"])).all()
    assert (after["barred"] == -1).all()


def next_seat(begin: np.ndarray, among: np.ndarray) -> np.ndarray:
    """The first seat clockwise from `begin` that is one of these, (B,)."""
    n = among.shape[1]
    return np.where(among, (np.arange(n) - begin[:, None].astype(int)) % n, n).argmin(1)


def check_rewards(rules: Rules, rewards: np.ndarray, terminated: np.ndarray, truncated: np.ndarray) -> None:
    """What is paid, (B, n), at the end and before it."""
    assert not (terminated & truncated).any()
    assert (rewards[~(terminated | truncated)] == 0).all()
    total = rewards.sum(1)
    if rules.target is not None:
        assert np.allclose(total[terminated], 1) and (rewards[truncated] == 0).all()
    elif rules.scoring == "win":
        assert (total[terminated] == 1).all() and np.isin(total[truncated], (0, 1)).all()
    elif rules.scoring == "places":
        assert np.allclose(total[terminated | truncated], rules.num_players / 2)
    elif rules.scoring == "cards":
        assert (total <= 0).all() and (total >= -len(rules.deck)).all()
