"""States are checked before compiled code plays on from them: none that play leads to is refused, none that is wrong is
taken."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from strategies import preset_rules, random_rules

from rs_env import Game, Rules, SelfPlayVectorEnv, belief
from rs_env.cards import set_of
from rs_env.engine.state import STATE
from rs_env.engine.validation import check_states

RULES = [pytest.param(rules, id=f"{name}-{rules.num_players}") for name, rules in preset_rules()]
ANY_VALUE_FITS = ("key", "chance")  # of streams of random numbers


def test_no_state_that_play_leads_to_is_refused() -> None:
    rng = random.Random(7)
    for seed in range(150):
        rules = random_rules(rng)
        vec = SelfPlayVectorEnv(8, rules, seed=seed)
        for _ in range(50):
            vec.step(vec.random_actions())
            check_states(rules, vec.states)


@pytest.mark.parametrize("rules", RULES)
def test_sampled_states_are_not_refused(rules: Rules) -> None:
    rng = random.Random(1)
    game = Game(rules, seed=4)
    for _ in range(40):
        game.play(rng.choice(game.legal_actions()))
        if game.is_over:
            break
        if rules.target is None or not game.deals_done:
            check_states(rules, belief.sample(game.view(game.turn), 3, np.random.default_rng(0)))  # type: ignore[arg-type]


@pytest.mark.parametrize("rules", RULES)
def test_games_go_on_from_any_state_that_is_not_refused(rules: Rules) -> None:
    """One bit of a state is flipped: it is refused, or cards and turns stay in order for as long as it is played on."""
    rng = random.Random(3)
    vec, other = SelfPlayVectorEnv(16, rules, seed=3), SelfPlayVectorEnv(1, rules)
    vec.play_randomly(9)
    refused = 0
    fields = [name for name in STATE.names if name not in ANY_VALUE_FITS]  # type: ignore[union-attr]
    for trial in range(400):
        states = vec.states[trial % 16 :][:1].copy()
        dtype, offset = STATE.fields[rng.choice(fields)][:2]  # type: ignore[index]
        states.view(np.uint8)[offset + rng.randrange(dtype.itemsize)] ^= np.uint8(1 << rng.randrange(8))
        before = other.states.tobytes()
        try:
            other.restore(states)
        except ValueError as error:
            assert "states[0]" in str(error)
            assert other.states.tobytes() == before
            refused += 1
            continue
        for _ in range(30):
            other.step(other.random_actions())
            hands = [int(hand) for hand in other.states["hand"][0]]
            assert sum(hands) + int(other.states["trick"][0]) + int(other.states["dead"][0]) == set_of(rules.deck)
            check_states(rules, other.states)
    assert refused > 300


def changed(field: str, value: int | float, place: int | None = None) -> Callable[[np.ndarray], None]:
    def change(states: np.ndarray) -> None:
        if place is None:
            states[field][1] = value
        else:
            states[field][1, place] = value

    return change


def give_a_card_twice(states: np.ndarray) -> None:
    hand = int(states["hand"][1, 1])
    states["hand"][1, 0] |= np.uint64(hand & -hand)
    states["hand_size"][1, 0] += 1


def lose_a_card(states: np.ndarray) -> None:
    states["hand"][1, 3] &= states["hand"][1, 3] - np.uint64(1)
    states["hand_size"][1, 3] -= 1


def call_a_suit_excluded(states: np.ndarray) -> None:
    hand = int(states["hand"][1, 2])
    states["excluded"][1, 2] = 1 << (hand.bit_length() - 1) // 13


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (changed("status", 1), "status"),
        (changed("still_in", 0), "still_in"),
        (changed("still_in", 0b10111), "still_in"),
        (changed("num_out", 1), "still_in, out"),
        (changed("out", 2, 0), "still_in, out"),
        (changed("played", 0), "played"),
        (changed("turn", 4), "turn"),
        (changed("leader", 7), "leader"),
        (changed("dealer", 200), "dealer"),
        (changed("pending", 0), "pending"),
        (changed("pending", 1), "pending"),
        (changed("leavers", 1), "leavers"),
        (changed("led", 4), "led"),
        (changed("led", 2), "led"),
        (changed("barred", 1), "barred"),
        (changed("trump", 0), "trump"),
        (changed("hand_size", 9, 0), "hand_size"),
        (changed("hand_size", -1, 5), "hand_size"),
        (changed("known", 1, 0), "known"),
        (changed("known", 1, 6), "known"),
        (changed("excluded", 16, 0), "excluded"),
        (changed("excluded", 1, 7), "excluded"),
        (call_a_suit_excluded, "excluded"),
        (changed("held", 1, 0), "held"),
        (changed("held", 1, 7), "held"),
        (give_a_card_twice, "hand, trick, dead"),
        (lose_a_card, "hand, trick, dead"),
        (changed("dead", 1 << 60), "hand, trick, dead"),
        (changed("actions", 1000), "actions"),
        (changed("actions", -1), "actions"),
        (changed("deal", -1), "actions, deals_done, deal"),
        (changed("deals_done", 1), "actions, deals_done"),
        (changed("totals", 1.0, 0), "totals"),
        (changed("totals", float("nan"), 0), "totals"),
        (changed("num_dead", 5), "num_dead"),
        (changed("deck", 77, 3), "deck"),
        (changed("deck", 5, 40), "deck"),
    ],
)
def test_a_wrong_state_is_refused_by_name_and_changes_nothing(change: Callable[[np.ndarray], None], said: str) -> None:
    vec = SelfPlayVectorEnv(3, seed=1)
    states, before = vec.states.copy(), vec.states.tobytes()
    change(states)
    with pytest.raises(ValueError, match=rf"states\[1\] is no state .*{said}"):
        vec.restore(states)
    assert vec.states.tobytes() == before


def test_whoever_is_to_act_leads_an_empty_trick() -> None:
    """Also where the leader named is out of the game, whom nobody would go round to."""
    rules = Rules(num_players=4, going_out="immediate", play_on=True)
    vec = SelfPlayVectorEnv(1, rules, seed=2)
    while not (vec.states["num_out"][0] and vec.states["trick"][0] == 0):
        vec.step(vec.random_actions())
    gone = int(vec.states["out"][0, 0])
    states = vec.states.copy()
    assert states["turn"][0] != gone
    check_states(rules, states)
    states["leader"][0] = gone
    with pytest.raises(ValueError, match="leader"):
        check_states(rules, states)


def test_numbers_of_decks_have_room_for_more() -> None:
    vec = SelfPlayVectorEnv(1)
    states = vec.states.copy()
    states["deal"] = 2**31 - 1
    with pytest.raises(ValueError, match="deal"):
        vec.restore(states)


def test_states_of_another_number_of_players_are_refused_though_the_deck_is_the_same() -> None:
    four = SelfPlayVectorEnv(3, Rules(num_players=4))
    two = SelfPlayVectorEnv(3, Rules(num_players=2, ranks=8))
    assert four.rules.deck == two.rules.deck
    before = two.states.tobytes()
    with pytest.raises(ValueError, match=r"states\[0\]"):
        two.restore(four.states.copy())
    assert two.states.tobytes() == before
