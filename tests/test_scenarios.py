"""The rules by example, in card text small enough to check by hand, in the order of the rules page; see `card_text`."""

from __future__ import annotations

from typing import Any

import pytest
from card_text import deck_of, go, legal, play, refuses, shown, table

from rs_env.cards import cards_text
from rs_env.game import Game
from rs_env.rules import Rules

# 2. Deal


def test_cards_are_dealt_from_the_left_of_the_dealer_who_is_followed_by_the_first_leader() -> None:
    game = Game(table(3, 2, 3), deck="Qc Kc Ac Qd Kd Ad", dealer=1)
    assert shown(game.hands) == "Kc Kd / Ac Ad / Qc Qd"
    assert (game.dealer, game.leader, game.turn) == (1, 2, 2)


def test_uneven_deal() -> None:
    game = Game(table(4, 2, 3), deck="Qc Kc Ac Qd Kd Ad", dealer=2)
    assert shown(game.hands) == "Kc Ad / Ac / Qd / Qc Kd"
    assert game.turn == 3


# 3. Play


def test_leader_plays_any_card_and_may_not_pick_up() -> None:
    game = play(table(3, 2, 3), "Qc Ad / Kc Kd / Ac Qd")
    assert legal(game) == "Qc Ad"
    assert refuses(game, "pickup")


def test_who_can_follow_must() -> None:
    game = play(table(3, 3, 4), "Qc Jd Qd Kd / Jc Kc Ad Jh / Ac Qh Kh Ah", "Qc")
    assert game.turn == 1
    assert legal(game) == "Jc Kc"
    assert refuses(game, "Ad")
    assert refuses(game, "pickup")


def test_void_player_takes_the_whole_trick_and_leads() -> None:
    game = play(table(3, 2, 3), "Qc Kc / Ac Ad / Qd Kd", "Qc Ac")
    assert legal(game) == "pickup"
    go(game, "pickup |")
    assert shown(game.hands) == "Kc / Ad / Qc Ac Qd Kd"
    assert game.dead == []
    assert (game.leader, game.turn) == (2, 2)


def test_later_seats_do_not_play_to_a_broken_trick() -> None:
    game = play(table(4, 2, 4), "Jc Kd / Qd Ad / Qc Kc / Ac Jd", "Jc pickup |")
    assert shown(game.hands) == "Kd / Jc Qd Ad / Qc Kc / Ac Jd"
    assert game.turn == 1


def test_suit_of_a_broken_trick_may_be_led_again() -> None:
    game = play(table(2, 2, 3), "Qc Kc Ac / Qd Kd Ad", "Qc pickup |")
    assert legal(game) == "Qc Qd Kd Ad"


def test_other_suit_bars_the_suit_of_a_broken_trick_for_one_lead() -> None:
    game = play(table(2, 2, 3, lead_after_pickup="other_suit"), "Qc Kc Ac / Qd Kd Ad", "Qc pickup |")
    assert (legal(game), game.barred_suit) == ("Qd Kd Ad", 0)
    assert refuses(game, "Qc")
    go(game, "Qd pickup |")
    assert (legal(game), game.barred_suit) == ("Kc Ac", 1)
    go(game, "Kc")
    assert (legal(game), game.barred_suit) == ("Qc", None)
    go(game, "Qc |")
    assert legal(game) == "Ac Qd"


@pytest.mark.parametrize(
    ("hands", "winner"), [("Ac Qd / Qc Kd / Kc Ad", 0), ("Kc Qd / Ac Kd / Qc Ad", 1), ("Qc Qd / Kc Kd / Ac Ad", 2)]
)
def test_highest_card_of_the_led_suit_wins_and_leads(hands: str, winner: int) -> None:
    clubs = [hand.split()[0] for hand in hands.split("/")]
    game = play(table(3, 2, 3), hands, " ".join(clubs) + " |")
    assert cards_text(game.dead) == "Qc Kc Ac"
    assert (game.leader, game.turn) == (winner, winner)


# 4. Leaving and winning: completed_trick

# Seat 1 leaves with Ac before seat 2, who has no clubs.
LEAVER = "Kc Kd / Ac / Ad"


def test_last_card_counts_when_its_trick_is_completed() -> None:
    game = play(table(3, 1, 4), "Jc Qc / Kc / Ac", "Jc Kc")
    assert game.hands[1] == []
    assert (game.out, game.is_over) == ([], False)
    go(game, "Ac")
    assert (game.terminated, game.truncated, game.turn) == (True, False, None)
    # The first to play the last card, not the player who took the trick with it.
    assert game.out == [1, 2]
    assert game.scores() == [0.0, 1.0, 0.0]


def test_leavers_of_one_trick_are_placed_by_their_order_in_it() -> None:
    game = play(table(3, 2, 3, scoring="places"), "Qc Qd / Kc Kd / Ac Ad", "Qc Kc Ac | Ad Qd Kd")
    assert game.out == [2, 0, 1]
    assert game.scores() == [0.5, 0.0, 1.0]


@pytest.mark.parametrize(("broken_exit", "hands"), [("leaver", "Kd / Kc Ac / Ad"), ("void", "Kd / Ac / Kc Ad")])
def test_leaver_of_a_broken_trick_is_back_in_the_game(broken_exit: str, hands: str) -> None:
    game = play(table(3, 2, 2, broken_exit=broken_exit), LEAVER, "Kc Ac pickup |")
    assert shown(game.hands) == hands
    assert (game.out, game.dead, game.is_over) == ([], [], False)
    assert game.turn == 2  # also where no card came to that seat


@pytest.mark.parametrize(
    ("broken_exit", "hands"), [("leaver", "Qd / Qc Kc / Ac / Kd / Ad"), ("void", "Qd / Kc / Ac / Qc Kd / Ad")]
)
def test_several_leavers_of_a_broken_trick(broken_exit: str, hands: str) -> None:
    game = play(table(5, 2, 3, broken_exit=broken_exit), "Qc Qd / Kc / Ac / Kd / Ad", "Qc Kc Ac pickup |")
    assert shown(game.hands) == hands
    assert (game.out, game.turn) == ([], 3)


def test_first_leaver_is_the_first_in_the_trick_not_at_the_table() -> None:
    # Seats 4 and 0 leave, in this order.
    game = play(table(5, 2, 3), "Ac / Kd / Ad / Qc Qd / Kc", "Qc Kc Ac pickup |", first=3)
    assert shown(game.hands) == "Ac / Kd / Ad / Qd / Qc Kc"
    assert game.turn == 1


@pytest.mark.parametrize("broken_exit", ["leaver", "void"])
def test_void_player_leads_also_when_every_card_of_the_trick_goes_back(broken_exit: str) -> None:
    rules = Rules(num_players=3, suits=2, hand_size=1, broken_exit=broken_exit)
    game = play(rules, "Ac / Ad / Kd", "Ac pickup |")
    assert shown(game.hands) == "Ac / Ad / Kd"
    assert game.turn == 1


# 4. Leaving and winning: immediate


def test_immediate_exit_ends_the_deal_in_mid_trick() -> None:
    game = play(table(3, 2, 2, going_out="immediate"), LEAVER, "Kc Ac")
    assert (game.terminated, game.out) == (True, [1])
    # The cards of the trick are in no hand and not dead.
    assert shown(game.hands) == "Kd / - / Ad"
    assert cards_text(game.trick) == "Kc Ac"
    assert game.dead == []


def test_immediate_exit_leaves_also_a_full_trick_on_the_table() -> None:
    game = play(table(2, 1, 3, going_out="immediate"), "Qc Kc / Ac", "Qc Ac")
    assert (game.terminated, game.out) == (True, [1])
    assert cards_text(game.trick) == "Qc Ac"
    assert game.dead == []


def test_card_of_an_immediate_leaver_may_be_picked_up() -> None:
    game = play(table(3, 2, 2, going_out="immediate", play_on=True), LEAVER, "Kc Ac")
    assert (game.out, game.turn) == ([1], 2)
    go(game, "pickup |")
    assert shown(game.hands) == "Kd / - / Kc Ac Ad"
    assert (game.out, game.turn) == ([1], 2)
    go(game, "Kc")
    assert game.turn == 0  # seat 1 stays out


# 4. Playing on for places


def test_play_on_with_completed_trick_places_all_leavers_of_the_last_trick() -> None:
    rules = table(3, 1, 5, play_on=True, scoring="places")
    game = play(rules, "Jc Ac / Tc Kc / Qc", "Ac Tc Qc |")
    assert (game.out, game.is_over, game.turn) == ([2], False, 0)
    go(game, "Jc")
    assert (game.out, game.is_over) == ([2], False)
    go(game, "Kc")
    assert (game.out, game.terminated) == ([2, 0, 1], True)
    assert game.scores() == [0.5, 0.0, 1.0]


def test_play_on_with_immediate_ends_in_mid_trick_when_one_is_left() -> None:
    rules = table(3, 1, 5, play_on=True, scoring="places", going_out="immediate")
    game = play(rules, "Jc Ac / Tc Kc / Qc", "Ac Tc Qc | Jc")
    assert (game.out, game.terminated) == ([2, 0], True)
    assert shown(game.hands) == "- / Kc / -"
    assert cards_text(game.trick) == "Jc"
    assert game.scores() == [0.5, 0.0, 1.0]


def test_last_one_in_gets_the_last_place() -> None:
    game = play(table(3, 1, 4, play_on=True, scoring="places"), "Jc Qc / Kc / Ac", "Jc Kc Ac |")
    assert (game.out, game.terminated) == ([1, 2], True)
    assert game.scores() == [0.0, 1.0, 0.5]


@pytest.mark.parametrize("going_out", ["completed_trick", "immediate"])
def test_next_player_in_leads_for_a_winner_who_is_out(going_out: str) -> None:
    game = play(table(4, 1, 6, play_on=True, going_out=going_out), "9c Tc / Jc Qc / Ac / Kc", "9c Jc Ac Kc |")
    assert game.out == [2, 3]
    assert (game.leader, game.turn) == (0, 0)


# 4. Truncation


def test_deal_is_truncated_after_max_actions() -> None:
    game = play(table(3, 2, 2, max_actions=2), LEAVER, "Kc Ac")
    assert (game.is_over, game.truncated, game.terminated, game.turn) == (True, True, False, None)
    # A leaver whose trick is not completed is not out, and nobody has won.
    assert game.out == []
    assert game.scores() == game.rewards() == [0.0, 0.0, 0.0]
    assert shown(game.hands) == "Kd / - / Ad"
    assert game.dead == []


def test_deal_that_ends_by_its_last_allowed_action_is_terminated() -> None:
    hands = "Qc Kc / Ac"
    assert play(table(2, 1, 3, max_actions=1), hands, "Qc").truncated
    game = play(table(2, 1, 3, max_actions=2), hands, "Qc Ac")
    assert (game.terminated, game.truncated) == (True, False)
    assert game.scores() == [0.0, 1.0]


def test_pickups_and_noticed_cards_count_as_actions() -> None:
    assert play(table(3, 2, 2, max_actions=3), LEAVER, "Kc Ac pickup").truncated
    assert play(table(3, 2, 2, max_actions=3, silent_catch=1), LEAVER, "Kc Ac Ad").truncated
    assert not play(table(3, 2, 2, max_actions=4), LEAVER, "Kc Ac pickup").is_over
    assert not play(table(3, 2, 2, max_actions=4, silent_catch=1), LEAVER, "Kc Ac Ad").is_over


def test_who_was_out_before_has_won_a_truncated_deal() -> None:
    rules = table(3, 1, 5, play_on=True, max_actions=4)
    game = play(rules, "Jc Ac / Tc Kc / Qc", "Ac Tc Qc | Jc")
    assert game.truncated
    assert game.scores() == game.rewards() == [0.0, 0.0, 1.0]


# 5. Scores

# Seven players, clubs only: seat 6 is out first; of each other rank of value one card is left.
LAST_CARDS = "3c Ac / 4c Kc / 5c Qc / 6c Jc / 7c Tc / 8c 2c / 9c"


@pytest.mark.parametrize("going_out", ["completed_trick", "immediate"])
@pytest.mark.parametrize(
    ("scoring", "scores", "sign"),
    [
        ("win", [0, 0, 0, 0, 0, 0, 1], 1),
        ("places", [*[(7 - 4.5) / 6] * 6, 1], 1),  # places 2 to 7, shared
        ("cards", [1, 1, 1, 1, 1, 1, 0], -1),
        ("face", [11, 4, 3, 2, 10, 2, 0], -1),
        ("parlett", [0, 0, 0, 0, 0, 0, 1 + 10 + 10 + 10 + 10 + 2], 1),
    ],
)
def test_scores(scoring: str, scores: list[float], sign: int, going_out: str) -> None:
    game = play(table(7, 1, 13, scoring=scoring, going_out=going_out), LAST_CARDS, "3c 4c 5c 6c 7c 8c")
    assert game.scores() == game.rewards() == [0.0] * 7
    go(game, "9c")
    assert game.out == [6]
    assert game.scores() == pytest.approx(scores)
    assert game.rewards() == pytest.approx([sign * score for score in scores])


@pytest.mark.parametrize(
    ("scoring", "scores"),
    [
        ("win", [0, 0, 0]),
        ("parlett", [0, 0, 0]),
        ("places", [0.25, 1, 0.25]),  # no card, then places 2 and 3 shared
        ("cards", [1, 0, 1]),
        ("face", [4, 0, 11]),
    ],
)
def test_scores_of_a_truncated_deal(scoring: str, scores: list[float]) -> None:
    game = play(table(3, 2, 2, max_actions=2, scoring=scoring), LEAVER, "Kc Ac")
    assert game.truncated
    assert game.scores() == scores


def test_places_rank_who_is_out_before_fewest_cards() -> None:
    rules = table(3, 2, 2, going_out="immediate", play_on=True, scoring="places", max_actions=3)
    game = play(rules, LEAVER, "Kc Ac pickup")
    assert (game.out, game.truncated, shown(game.hands)) == ([1], True, "Kd / - / Kc Ac Ad")
    assert game.scores() == [0.5, 1.0, 0.0]


# 5. Matches


def match(num_players: int, ranks: int, deals: list[str], **options: Any) -> Game:
    """A match with clubs only: the hands of each deal, dealt by the last seat, then by seat 0, and so on."""
    decks = [deck_of(hands, first % num_players) for first, hands in enumerate(deals)]
    return Game(table(num_players, 1, ranks, **options), deck=decks, dealer=num_players - 1)


def test_match_adds_up_and_goes_on_with_the_next_dealer_until_the_target() -> None:
    game = match(2, 3, ["Qc Kc / Ac", "Ac / Qc Kc", "Qc Kc / Ac"], scoring="cards", target=2)
    assert (game.dealer, game.turn) == (1, 0)
    go(game, "Qc Ac |")
    assert (game.scores(), game.rewards(), game.deals_done, game.is_over) == ([1.0, 0.0], [0.0, 0.0], 1, False)
    assert (game.dealer, game.turn, shown(game.hands)) == (0, 1, "Ac / Qc Kc")
    go(game, "Qc Ac |")
    assert (game.scores(), game.is_over) == ([1.0, 1.0], False)
    assert (game.dealer, game.turn) == (1, 0)
    go(game, "Qc Ac |")
    # The lowest total wins; exactly at the target is enough.
    assert (game.scores(), game.rewards()) == ([2.0, 1.0], [0.0, 1.0])
    assert (game.terminated, game.truncated, game.deals_done, game.turn) == (True, False, 3, None)


def test_highest_total_wins_where_high_is_good() -> None:
    game = go(match(2, 3, ["Qc Kc / Ac"], scoring="parlett", target=9.5), "Qc Ac")
    assert (game.scores(), game.rewards(), game.terminated) == ([0.0, 10.0], [0.0, 1.0], True)


def test_equal_totals_share_the_reward_of_a_match() -> None:
    game = go(match(3, 4, ["Jc Qc / Kc / Ac"], scoring="cards", target=1), "Jc Kc Ac")
    assert (game.scores(), game.rewards()) == ([1.0, 0.0, 0.0], [0.0, 0.5, 0.5])


def test_match_is_truncated_after_max_deals() -> None:
    game = go(match(2, 3, ["Qc Kc / Ac", "Ac / Qc Kc"], scoring="cards", target=9, max_deals=2), "Qc Ac | Qc")
    assert not game.is_over
    go(game, "Ac")
    assert (game.truncated, game.terminated, game.deals_done) == (True, False, 2)
    assert (game.scores(), game.rewards()) == ([1.0, 1.0], [0.0, 0.0])


def test_match_that_reaches_its_target_in_the_last_allowed_deal_is_terminated() -> None:
    game = go(match(2, 3, ["Qc Kc / Ac"], scoring="cards", target=1, max_deals=1), "Qc Ac")
    assert (game.terminated, game.truncated, game.rewards()) == (True, False, [0.0, 1.0])


def test_truncated_deal_is_scored_and_does_not_end_the_match() -> None:
    game = go(match(2, 3, ["Qc Kc / Ac", "Ac / Qc Kc"], scoring="cards", target=9, max_actions=1), "Qc")
    assert (game.scores(), game.is_over, game.deals_done) == ([1.0, 1.0], False, 1)
    assert (game.dealer, game.turn, game.num_actions, shown(game.hands)) == (0, 1, 0, "Ac / Qc Kc")


def test_knowledge_dead_cards_and_trump_start_afresh_with_each_deal() -> None:
    decks = [deck_of("Qc Kd / Kc Ac / Qd Ad"), deck_of("Qd Kc / Kd Ad / Qc Ac", 1)]
    rules = table(
        3, 2, 3, trump="last_dealt", scoring="cards", target=99, max_actions=7, lead_after_pickup="other_suit"
    )
    game = go(Game(rules, deck=decks, dealer=2), "Qc Kc Qd | Ad Kd pickup |")
    assert (game.trump, shown(game.known)) == (1, "Kd / - / Ad")
    assert (game.excluded, cards_text(game.dead), game.barred_suit) == ([[], [1], [0]], "Qc Kc Qd", 1)
    go(game, "Ac")  # the last allowed action
    assert game.deals_done == 1
    assert (game.trump, shown(game.known)) == (0, "Kc / - / -")  # the dealer's last card
    assert (game.excluded, game.dead, game.barred_suit) == ([[], [], []], [], None)


# 6. Trump


def test_void_player_may_ruff_and_take_the_trick() -> None:
    game = play(table(3, 2, 3, trump="diamonds"), "Qc Kc / Qd Kd / Ac Ad", "Qc")
    assert game.trump == 1
    assert legal(game) == "Qd Kd pickup"
    go(game, "Qd")
    assert legal(game) == "Ac"  # a player who can follow may not ruff
    go(game, "Ac |")
    assert cards_text(game.dead) == "Qc Ac Qd"
    assert game.turn == 1


def test_void_player_may_pick_up_instead_of_ruffing() -> None:
    game = play(table(3, 2, 3, trump="diamonds"), "Qc Kc / Qd Kd / Ac Ad", "Qc pickup |")
    assert shown(game.hands) == "Kc / Qc Qd Kd / Ac Ad"


def test_void_player_without_trumps_must_pick_up() -> None:
    game = play(table(3, 3, 2, trump="hearts"), "Kc Kh / Kd Ad / Ac Ah", "Kc")
    assert legal(game) == "pickup"


def test_highest_trump_takes_the_trick() -> None:
    game = play(table(4, 2, 4, trump="diamonds"), "Jc Qc / Jd Kd / Qd Ad / Kc Ac", "Jc Kd Qd Ac |")
    assert game.turn == 1


@pytest.mark.parametrize("trump_play", ["ruff", "anytime"])
def test_led_trump_is_followed_like_any_suit(trump_play: str) -> None:
    rules = table(3, 2, 3, trump="diamonds", trump_play=trump_play)
    game = play(rules, "Qd Kc / Kd Ac / Qc Ad", "Qd")
    assert legal(game) == "Kd"
    game = play(rules, "Qd Kc / Qc Ac / Kd Ad", "Qd")
    assert legal(game) == "pickup"


def test_anytime_trump_instead_of_following() -> None:
    game = play(table(3, 2, 3, trump="diamonds", trump_play="anytime"), "Qc Kd / Kc Qd / Ac Ad", "Qc")
    assert legal(game) == "Kc Qd"
    assert refuses(game, "pickup")
    go(game, "Qd")
    assert game.excluded == [[], [], []]  # shows no void
    assert legal(game) == "Ac Ad"
    go(game, "Ac |")
    assert game.turn == 1
    assert legal(game) == "Kc"


def test_void_player_must_pick_up_where_trumps_are_played_anytime() -> None:
    game = play(table(3, 2, 3, trump="diamonds", trump_play="anytime"), "Qc Kc / Qd Kd / Ac Ad", "Qc")
    assert legal(game) == "pickup"


def test_last_dealt_card_is_trump_and_known_until_played() -> None:
    game = play(table(3, 2, 3, trump="last_dealt"), "Qd Qc / Kd Kc / Ad Ac")
    assert (game.trump, game.dealer, shown(game.known)) == (0, 2, "- / - / Ac")
    go(game, "Qc Kc Ac |")
    assert (game.trump, shown(game.known)) == (0, "- / - / -")


def test_last_dealt_card_of_an_uneven_deal_is_not_the_dealers() -> None:
    game = play(table(3, 2, 2, trump="last_dealt"), "Kc Kd / Ac / Ad")
    assert (game.trump, game.dealer, shown(game.known)) == (1, 2, "Kd / - / -")


# 6. Silent rule


def test_void_player_may_play_silently() -> None:
    game = play(table(3, 2, 3, silent_catch=0), "Qc Kd / Qd Ad / Kc Ac", "Qc")
    assert legal(game) == "Qd Ad pickup"
    go(game, "Ad")
    assert game.excluded == [[], [0], []]
    assert legal(game) == "Kc Ac"  # a player who can follow must


def test_unnoticed_card_cannot_win() -> None:
    game = play(table(3, 2, 3, silent_catch=0), "Qc Kd / Qd Ad / Kc Ac", "Qc Ad Kc |")
    assert cards_text(game.dead) == "Qc Kc Ad"
    assert game.turn == 2


@pytest.mark.parametrize("going_out", ["completed_trick", "immediate"])
def test_unnoticed_card_may_be_the_last(going_out: str) -> None:
    game = play(table(2, 3, 1, silent_catch=0, going_out=going_out), "Ac Ah / Ad", "Ac Ad")
    assert (game.terminated, game.out) == (True, [1])


@pytest.mark.parametrize("going_out", ["completed_trick", "immediate"])
def test_noticed_last_card_is_no_leaving(going_out: str) -> None:
    game = play(table(2, 3, 1, silent_catch=1, going_out=going_out), "Ac Ah / Ad", "Ac Ad |")
    assert (game.is_over, game.out, game.turn) == (False, [], 1)
    assert shown(game.hands) == "Ah / Ac Ad"


def test_noticed_player_takes_the_trick_and_draws_as_many_dead_cards_the_last_first() -> None:
    game = play(table(3, 2, 5, silent_catch=1), "Ac Kc Kd Ad / Jc Qc Td / Tc Jd Qd", "Ac Jc Tc | Kc Qc Qd |")
    # Two cards in the trick, so two from the dead Ac, Jc, Tc.
    assert shown(game.hands) == "Kd Ad / Td / Tc Jc Qc Kc Jd Qd"
    assert cards_text(game.dead) == "Ac"
    assert game.turn == 2
    assert shown(game.known) == "- / - / Tc Jc Qc Kc Qd"
    assert game.excluded == [[], [], [0]]


def test_noticed_player_draws_fewer_where_the_dead_run_out() -> None:
    game = play(table(3, 2, 3, silent_catch=1), "Qc Kc / Ac Ad / Qd Kd", "Qc Ac Kd |")
    assert shown(game.hands) == "Kc / Ad / Qc Ac Qd Kd"
    hands = "Kc Ac Ad Jh / Jc Qc Jd Kd / Qd Qh Kh Ah"
    game = play(table(3, 3, 4, silent_catch=1), hands, "Ad Jd Qd | Kc Qc Qh |")
    assert cards_text(game.dead) == "Ad"
    go(game, "Kh Jh Kd |")  # two in the trick, one dead
    assert shown(game.hands) == "Ac / Jc Kd Ad Jh Kh / Qc Kc Jd Qd Qh Ah"
    assert game.dead == []
    assert game.turn == 1


@pytest.mark.parametrize("broken_exit", ["leaver", "void"])
def test_leavers_take_back_only_their_last_card_from_a_noticed_trick(broken_exit: str) -> None:
    rules = table(5, 2, 3, silent_catch=1, broken_exit=broken_exit)
    game = play(rules, "Qc Qd / Kc / Ac / Kd / Ad", "Qc Kc Ac Kd |")
    assert shown(game.hands) == "Qd / Kc / Ac / Qc Kd / Ad"
    assert (game.out, game.turn) == ([], 3)


def test_draw_counts_the_trick_before_anything_is_taken_back() -> None:
    # The trick is a leaver's Kc alone, which goes back; still one dead card is drawn.
    game = play(table(3, 2, 4, silent_catch=1), "Jc Jd Qd / Qc Kd Ad / Ac Kc", "Jc Qc Ac | Kc Jd |")
    assert shown(game.hands) == "Ac Jd Qd / Kd Ad / Kc"
    assert cards_text(game.dead) == "Jc Qc"
    assert game.turn == 0


def test_noticed_player_may_not_lead_a_barred_suit() -> None:
    rules = table(3, 2, 3, silent_catch=1, lead_after_pickup="other_suit")
    game = play(rules, "Qc Kc / Ac Ad / Qd Kd", "Qc Ac Kd |")
    assert legal(game) == "Qd Kd"


def test_ruff_is_never_noticed() -> None:
    game = play(table(3, 3, 2, trump="hearts", silent_catch=1), "Kc Kd / Kh Ad / Ac Ah", "Kc")
    assert legal(game) == "Ad Kh pickup"
    go(game, "Kh Ac |")
    assert cards_text(game.dead) == "Kc Ac Kh"
    assert game.turn == 1


def test_silent_plays_are_noticed_as_often_as_the_rules_say() -> None:
    rules = table(3, 2, 2, silent_catch=0.25)
    noticed = sum(not play(rules, LEAVER, "Kc Ac Ad", seed=seed).is_over for seed in range(400))
    assert 65 <= noticed <= 135  # 100, give or take four standard deviations


# 8. What everybody knows


def test_picked_up_cards_are_known_until_played() -> None:
    game = play(table(3, 2, 3), "Qc Kc / Ac Ad / Qd Kd", "Qc Ac pickup |")
    assert shown(game.known) == "- / - / Qc Ac"
    go(game, "Qc")
    assert shown(game.known) == "- / - / Ac"


def test_cards_taken_back_are_known_to_be_with_the_leaver() -> None:
    game = play(table(3, 2, 2), LEAVER, "Kc Ac pickup |")
    assert shown(game.known) == "- / Kc Ac / -"
    assert game.excluded == [[], [], [0]]


def test_excluded_suits_last_for_the_deal() -> None:
    game = play(table(3, 2, 3), "Qc Kc / Ac Ad / Qd Kd", "Qc Ac pickup |")
    assert game.excluded == [[], [], [0]]
    go(game, "Qc Kc pickup |")
    assert game.excluded == [[], [0], [0]]  # seat 2 has played and holds clubs, but none that are not known
    assert shown(game.known) == "Qc Kc / - / Ac"


def test_ruff_shows_a_void() -> None:
    game = play(table(3, 2, 3, trump="diamonds"), "Qc Kc / Qd Kd / Ac Ad", "Qc Qd")
    assert game.excluded == [[], [0], []]
