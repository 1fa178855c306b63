"""Players by rule and by search: legal, reproducible, blind to hidden cards; utilities; obvious wins; endgames against
a slow search."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from functools import cache
from typing import Any

import gymnasium
import numpy as np
import pytest
from hidden import positions, resampled
from numba import njit
from strategies import preset_rules, random_rules

import rs_env.baselines.search as search
from rs_env import Game, Rules
from rs_env.arena import duel, league, play_games
from rs_env.baselines import AGENTS, make_agent
from rs_env.baselines.endgame import MOST_POSITIONS, PLIES, REACH, can_force, forced_winner
from rs_env.baselines.tips import LADDER
from rs_env.cards import action_text, parse_action
from rs_env.engine.state import NOBODY, STATE, compile_rules
from rs_env.engine.view import VIEW
from rs_env.scorings import SCORINGS, Basis

SEARCHERS = {
    "pimc": "pimc:worlds=4",
    "expert": "expert:worlds=4",
    "ismcts": "ismcts:iterations=20",
    "adaptive": "adaptive:worlds=4,iterations=12",
}
CHEATS = {"sees_all"}
NAMES = [SEARCHERS.get(name, name) for name in AGENTS if name not in CHEATS]
CASES = [pytest.param(rules, id=f"{name}-{rules.num_players}") for name, rules in preset_rules()]
PRESETS = [rules for _, rules in preset_rules()]
ODD_CASES = [pytest.param(random_rules(random.Random(seed)), id=f"random-{seed}") for seed in range(25)]


@cache
def turns(rules: Rules) -> list[Game]:
    """Positions, to look at only, in which somebody has a choice."""
    games = positions(rules, 3, 4) + positions(replace(rules, max_actions=15), 4, 3)
    return [game for game in games if len(game.legal_actions()) > 1]


def views_of(games: list[Game]) -> np.ndarray:
    """What the seat to act may know, in each game."""
    return np.array([game.view(game.turn) for game in games], VIEW)  # type: ignore[arg-type]


def seeded(name: str, seed: int) -> Any:
    agent = make_agent(name)
    agent.reset(seed)
    return agent


@cache
def agent_of(name: str) -> Any:
    return make_agent(name)


def choose(name: str, seed: int, games: list[Game]) -> list[int]:
    agent = agent_of(name)
    agent.reset(seed)
    return list(agent.act(views_of(games)).tolist())


def test_these_are_all_players() -> None:
    assert {*LADDER, *SEARCHERS, *CHEATS} == set(AGENTS)
    assert len(NAMES) == len(AGENTS) - 1


# What holds for all players


@pytest.mark.parametrize("rules", [*CASES, *ODD_CASES])
def test_actions_are_legal(rules: Rules) -> None:
    games = turns(rules)
    for name in NAMES:
        agent_of(name).reset(2)
        actions = agent_of(name).act(views_of(games))
        assert actions.dtype == np.int64
        assert actions.shape == (len(games),)
        assert all(action in game.legal_actions() for action, game in zip(actions, games, strict=True))


@pytest.mark.parametrize("rules", [*CASES, *ODD_CASES])
def test_actions_depend_on_seed_and_view_alone(rules: Rules) -> None:
    games = turns(rules)
    for name in NAMES:
        actions = choose(name, 7, games)
        assert choose(name, 7, games[::-1]) == actions[::-1]
        assert seeded(name, 7).act(views_of(games)).tolist() == actions
        for game, action in zip(games, actions, strict=True):
            assert choose(name, 7, [game]) == [action]


@pytest.mark.parametrize("rules", [*CASES, *ODD_CASES])
def test_hidden_cards_do_not_change_the_choice(rules: Rules) -> None:
    rng = random.Random(0)
    games = turns(rules)
    for _ in range(2):
        others = [resampled(game, game.turn, rng) for game in games]  # type: ignore[arg-type]
        for name in NAMES:
            assert choose(name, 1, others) == choose(name, 1, games)


@pytest.mark.parametrize("name", SEARCHERS.values())
def test_mixed_rule_sets_in_one_batch_change_nothing(name: str) -> None:
    games = [game for rules in PRESETS[::5] for game in turns(rules)[:2]]
    assert len({game.num_players for game in games}) >= 5
    assert choose(name, 3, games) == [choose(name, 3, [game])[0] for game in games]


@pytest.mark.parametrize("name", ["random", *SEARCHERS.values()])
def test_other_seeds_change_some_choices(name: str) -> None:
    games = [game for rules in PRESETS[::5] for game in turns(rules)]
    assert len({tuple(choose(name, seed, games)) for seed in range(3)}) == 3


@pytest.mark.parametrize("name", NAMES)
def test_views_may_be_none_read_only_or_spread_out(name: str) -> None:
    views = views_of(turns(Rules()) + turns(Rules.preset("trump")))
    agent = seeded(name, 4)
    expected = agent.act(views).tolist()
    assert agent.act(views[:0]).shape == (0,)
    assert agent.act(views[::3]).tolist() == expected[::3]
    views.flags.writeable = False
    before = views.tobytes()
    assert agent.act(views).tolist() == expected
    assert views.tobytes() == before


@pytest.mark.parametrize("name", NAMES)
def test_who_is_not_to_act_is_not_asked(name: str) -> None:
    game = Game(dealer=3)
    over = positions(Rules(), 0, 0)[-1]
    for idle in (game.view(2), over.view(over.out[0])):
        with pytest.raises(ValueError, match=r"views\[1\]: seat \d has no legal action"):
            make_agent(name).act(np.array([game.view(0), idle], VIEW))


@pytest.mark.parametrize("name", SEARCHERS.values())
def test_views_of_no_game_are_refused(name: str) -> None:
    views = views_of([Game(seed=1), Game(seed=2)])
    views["hand_size"][1] += 1
    with pytest.raises(ValueError, match=r"views\[1\]: no deal"):
        make_agent(name).act(views)


# Rule-based players


@pytest.mark.parametrize("name", LADDER)
def test_policy_is_how_often_actions_are_taken_over_seeds(name: str) -> None:
    games = [game for rules in PRESETS[::5] for game in turns(rules)]
    agent: Any = make_agent(name)
    policy = agent.policy(views_of(games))
    assert policy.shape == (len(games), 53)
    np.testing.assert_allclose(policy.sum(1), 1, rtol=1e-12)
    for row, game in zip(policy, games, strict=True):
        assert set(np.flatnonzero(row)) <= set(game.legal_actions())
        assert len(set(row[row > 0])) == 1  # the best ones alike
    actions = np.array([choose(name, seed, games) for seed in range(300)])
    taken = (actions[:, :, None] == np.arange(53)).mean(0)
    assert (np.abs(taken - policy) <= 5 * np.sqrt(policy * (1 - policy) / 300)).all()
    assert name not in ("random", "heuristic") or 0 < (policy > 0).sum(1).min() < (policy > 0).sum(1).max()


# Search: obvious moves

# One action wins at once, another does not: (rules, deck, dealer, actions so far, the action).
_TWO_SUITS: dict[str, Any] = {"num_players": 2, "suits": 2, "ranks": 3, "going_out": "immediate"}
AT_ONCE = {
    # Seat 1 may ruff with its last card, or pick up and win three actions later.
    "ruff with the last card": (Rules(**_TWO_SUITS, trump="clubs"), "Qd Qc Kd Kc Ad Ac", 1, "Qd Qc Kc pickup Kd", "Ac"),
    # The same card, thrown away silently, unseen with certainty.
    "silent last card": (Rules(**_TWO_SUITS, silent_catch=0.0), "Qc Qd Kc Kd Ac Ad", 0, "Qc pickup Qd Kc Kd", "Ac"),
}


@pytest.mark.parametrize("scoring", SCORINGS)
@pytest.mark.parametrize("name", ["pimc:worlds=8", "expert:worlds=8", "ismcts:iterations=100"])
@pytest.mark.parametrize("case", AT_ONCE)
def test_wins_at_once_are_taken(case: str, name: str, scoring: str) -> None:
    rules, deck, dealer, actions, win = AT_ONCE[case]
    game = played(replace(rules, scoring=scoring), deck, dealer, actions)
    assert [after(game, action).out[:1] == [game.turn] for action in game.legal_actions()].count(True) == 1
    assert after(game, parse_action(win)).out[:1] == [game.turn]
    assert {choose(name, seed, [game])[0] for seed in range(10)} == {parse_action(win)}


@pytest.mark.parametrize("scoring", SCORINGS)
@pytest.mark.parametrize(
    "name", ["pimc:worlds=8", "pimc:worlds=8,endgame=0", "expert:worlds=8", "ismcts:iterations=100"]
)
def test_what_loses_at_once_is_left(name: str, scoring: str) -> None:
    # Both have followed clubs; seat 1 leads its diamond. Qd leaves it the lead and so the game, Ad takes both.
    game = played(Rules(**_TWO_SUITS, scoring=scoring), "Kc Ac Qd Qc Ad Kd", 1, "Kc Ac Kd")
    assert game.turn == 0
    assert after(after(game, parse_action("Qd")), parse_action("Qc")).out == [1]
    assert {choose(name, seed, [game])[0] for seed in range(10)} == {parse_action("Ad")}


@pytest.mark.parametrize("name", ["pimc:worlds=8", "expert:worlds=8", "ismcts:iterations=100"])
def test_wins_at_once_are_taken_wherever_they_turn_up(name: str) -> None:
    games, wins = wins_at_once()
    assert len(games) >= 40
    for seed in range(2):
        for game, action, winning in zip(games, choose(name, seed, games), wins, strict=True):
            assert action in winning, f"{game}"


@cache
def wins_at_once() -> tuple[list[Game], list[list[int]]]:
    """Positions of random games in which some actions, but not all, end the deal with the mover as the winner."""
    rng = random.Random(2)
    games, wins = [], []
    for seed in range(250):
        variant = rng.choice(({"trump": "clubs"}, {"trump": "last_dealt"}, {"silent_catch": 0.0}))
        rules = Rules(
            num_players=rng.randint(2, 4),
            ranks=4,
            hand_size=3,
            going_out=rng.choice(("immediate", "completed_trick")),
            **variant,
        )
        game = Game(rules, seed=seed)
        while not game.is_over:
            actions = game.legal_actions()
            winning = [action for action in actions if after(game, action).out[:1] == [game.turn]]
            if 0 < len(winning) < len(actions):
                games.append(game.clone())
                wins.append(winning)
            game.play(rng.choice([action for action in actions if action not in winning] or actions))
    return games, wins


def played(rules: Rules, deck: str, dealer: int, actions: str) -> Game:
    game = Game(rules, deck=deck, dealer=dealer)
    for action in actions.split():
        game.play(action)
    return game


def after(game: Game, action: int) -> Game:
    other = game.clone()
    other.play(action)
    return other


@pytest.mark.parametrize("rules", ODD_CASES)
def test_games_of_any_rules_are_played_to_the_end(rules: Rules) -> None:
    rules = replace(rules, max_actions=min(rules.action_limit, 150), max_deals=min(rules.max_deals, 3))
    agents = [make_agent(name) for name in ("pimc:worlds=2", "expert:worlds=2", "ismcts:iterations=8")]
    seating = np.arange(2 * rules.num_players).reshape(2, -1) % 3
    outcomes = play_games(rules, agents, seating, 1, np.arange(2))
    assert (outcomes.states["status"] != 0).all()


@pytest.mark.parametrize("name", ["silent", "trump"])
def test_all_branches_of_a_node_are_of_the_seat_that_moves_there(name: str) -> None:
    agent: Any = make_agent("ismcts:iterations=300")
    for game in turns(Rules.preset(name)):
        agent.act(views_of([game]))
        tree = agent._tree.nodes
        parents, movers = [0], {0: {game.turn}}
        for node in parents:
            child, seats = int(tree["first_child"][node]), set()
            while child:
                seats.add(int(tree["seat"][child]))
                parents.append(child)
                child = int(tree["next_sibling"][child])
            assert len(seats) <= 1
            assert seats <= movers.get(node, seats)
        assert len(parents) > 50


# Utilities


@njit
def _utility(rules, states, taken, utilities):
    for seat in range(rules[0].num_players):
        utilities[seat] = search.utility(rules[0], states[0], seat, taken)


def utility(game: Game, taken: int) -> np.ndarray:
    utilities = np.empty(game.num_players)
    _utility(compile_rules(game.rules), game.states, taken, utilities)
    return utilities


@pytest.mark.parametrize("going_out", ["immediate", "completed_trick"])
@pytest.mark.parametrize("scoring", SCORINGS)
def test_utility_lies_in_0_to_1_and_is_highest_for_the_winner(scoring: str, going_out: str) -> None:
    kinds: Counter[str] = Counter()
    for seed in range(60):
        play_on, most = seed % 2 == 0, 40 if seed % 3 == 0 else None
        rules = Rules(num_players=2 + seed % 5, going_out=going_out, scoring=scoring, play_on=play_on, max_actions=most)
        for game in positions(rules, seed, 6):
            now, later = utility(game, 1), utility(game, 30)
            assert (now >= 0).all()
            assert (now <= 1).all()
            assert (later[now > 0] < now[now > 0]).all()  # all good things are better soon
            assert (later[now == 0] == 0).all()
            cards = np.array([len(hand) for hand in game.hands])
            if game.out:
                winner = game.out[0]
                assert now[winner] == now.max()
                in_hands = cards.sum() > 0 or scoring != "parlett"
                assert not in_hands or now[winner] > now[cards > 0].max(initial=0)
            elif scoring in ("win", "parlett") and game.truncated:
                assert (now == 0).all()
            elif SCORINGS[scoring].basis is not Basis.OWN_HAND or len(set(SCORINGS[scoring].card_values)) == 1:
                fewest = cards == cards.min()
                assert (now[fewest] == now.max()).all()
                assert (now[~fewest] < now.max()).all()
            kinds["won" if game.out else "truncated" if game.truncated else "stopped"] += 1
    assert min(kinds.values()) >= 10
    assert len(kinds) == 3


@pytest.mark.parametrize("scoring", ["win", "parlett"])
def test_a_win_is_worth_more_than_the_same_hands_left_open(scoring: str) -> None:
    for seed in range(30):
        won = positions(Rules(num_players=3, going_out="immediate", scoring=scoring), seed, 0)[-1]
        open_end = won.clone()
        open_end.states["num_out"], open_end.states["status"] = 0, 0
        assert utility(won, 20).max() > utility(open_end, 20).max() > 0


# Endgames


@njit
def _solve(rules, states, untried, forces):
    for seat in range(rules[0].num_players):
        forces[seat] = can_force(rules[0], states, untried, 0, seat)


@njit
def _forced_winner(rules, states, untried, first, most_cards):
    return forced_winner(rules[0], states, untried, first, most_cards)


def solved(game: Game) -> set[int]:
    """Seats that the endgame solver proves to win."""
    states, forces = np.zeros(PLIES + 1, STATE), np.zeros(game.num_players, np.bool_)
    states[0] = game.states[0]
    _solve(compile_rules(game.rules), states, np.empty(PLIES, np.uint64), forces)
    assert states[0] == game.states[0]
    return set(np.flatnonzero(forces).tolist())


def winner_found(game: Game, most_cards: int) -> int | None:
    states = np.zeros(PLIES + 2, STATE)
    states[1] = game.states[0]
    winner = int(_forced_winner(compile_rules(game.rules), states, np.empty(PLIES, np.uint64), 1, most_cards))
    return None if winner == NOBODY else winner


class TooLargeError(Exception):
    """A tree of more positions than are looked at."""


def forcing(game: Game, plies: int, budget: list[int]) -> set[int]:
    """Seats that can make themselves the first out within so many actions; takes each position below from the
    budget."""
    if game.out or game.is_over or plies == 0:
        return set(game.out[:1])
    after_each = []
    for action in game.legal_actions():
        budget[0] -= 1
        if budget[0] < 0:
            raise TooLargeError
        after_each.append(forcing(after(game, action), plies - 1, budget))
    return {
        seat
        for seats in after_each
        for seat in seats
        if seat == game.turn or all(seat in others for others in after_each)
    }


@cache
def endgames() -> list[tuple[Game, set[int], int]]:
    """Late positions of random games without silent plays, the seat that can force a win, and how many positions there
    are to come."""
    rng = random.Random(9)
    found = []
    for seed in range(400):
        rules = Rules(
            num_players=rng.choice((2, 2, 3, 4)),
            suits=3,
            ranks=4,
            hand_size=rng.choice((2, 3)),
            going_out=rng.choice(("immediate", "completed_trick")),
            broken_exit=rng.choice(("leaver", "void")),
            lead_after_pickup=rng.choice(("any", "other_suit")),
            trump=rng.choice(("none", "none", "clubs", "last_dealt")),
            trump_play=rng.choice(("ruff", "anytime")),
            play_on=rng.random() < 0.3,
            max_actions=rng.choice((10, 30, 100)),
        )
        game = rng.choice(positions(rules, seed, 8)[:-1])
        if game.out or game.is_over:
            continue
        budget = [1500]
        try:
            found.append((game, forcing(game, PLIES, budget), 1500 - budget[0]))
        except TooLargeError:
            continue
    return found


def test_endgame_solver_proves_what_is_so_and_all_of_it_within_its_limits() -> None:
    kinds: Counter[str] = Counter()
    for game, truth, size in endgames():
        claims = solved(game)
        assert claims <= truth
        assert claims == truth or size >= MOST_POSITIONS
        assert len(truth) <= 1
        kinds["none" if not truth else "mover" if game.turn in truth else "another"] += 1
        kinds["large"] += size >= MOST_POSITIONS
    assert min(kinds.values()) >= 20
    assert len(kinds) == 4


def test_forced_winner_is_sought_among_short_hands_in_late_positions() -> None:
    kinds: Counter[str] = Counter()
    for game, truth, size in endgames():
        if size >= MOST_POSITIONS:
            continue
        in_play = len(game.rules.deck) - len(game.dead)
        short = {seat for seat in truth if len(game.hands[seat]) <= REACH}
        assert winner_found(game, in_play) == (min(short) if short else None)
        assert winner_found(game, in_play - 1) is None
        kinds["found" if short else "long hand" if truth else "none"] += 1
    assert kinds["found"] >= 20
    assert kinds["none"] >= 20


def test_nothing_is_proven_about_silent_plays_or_after_somebody_is_out() -> None:
    silent = played(Rules(**_TWO_SUITS, silent_catch=0.0), "Qc Qd Kc Kd Ac Ad", 0, "Qc pickup Qd Kc Kd")
    assert winner_found(silent, 52) is None
    decided = next(game for game in positions(Rules(num_players=3, play_on=True), 0, 10**6) if game.out)
    assert winner_found(decided, 52) is None


# Options


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pimc:worlds=0", "worlds=0 .* whole number in 1.."),
        ("pimc:worlds=1.5", "worlds='1.5' .* whole number"),
        ("pimc:worlds=", "worlds='' .* whole number"),
        ("pimc:policy=nobody", "policy='nobody' .* 'random', .*'heuristic'"),
        ("pimc:noise=2", r"noise=2.0 .* 0\.\.1"),
        ("pimc:noise=nan", "noise='nan' .* finite number"),
        ("pimc:horizon=-1", "horizon=-1 .* whole number in 0.."),
        ("expert:endgame=53", r"endgame=53 .* 0\.\.52"),
        (
            "expert:exploration=1",
            "'exploration=1' .* worlds=48, policy=heuristic, noise=0.05, own_noise=0.5, horizon=100, endgame=12",
        ),
        ("ismcts:exploration=nan", "exploration='nan' .* finite number"),
        ("ismcts:exploration=-1", r"exploration=-1.0 .* 0\.\.100"),
        ("ismcts:iterations=0", "iterations=0 .* whole number in 1.."),
        ("ismcts:endgame=3", "'endgame=3' .* iterations=400"),
        ("sees_all:samples=0", "samples=0 .* whole number in 1.."),
        ("heuristic:void=inf", "void='inf' .* finite number"),
        ("heuristic:void=1e300", "void=1e\\+300 .* -1000000..1000000"),
        ("heuristic:luck=1", "'luck=1' .* void=1.0"),
        ("random:void=1", "'void=1' .* none"),
        ("pimc:worlds", "'worlds' .* worlds=32"),
    ],
)
def test_wrong_options_are_refused_with_what_is_allowed(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make_agent(text)


@pytest.mark.parametrize(
    "text",
    [
        "pimc:worlds=1,horizon=0,noise=1",
        "expert:worlds=1,endgame=0",
        "ismcts:iterations=1,horizon=0",
        "heuristic:void=1e6",
    ],
)
def test_least_and_most_are_allowed(text: str) -> None:
    games = turns(Rules())
    assert all(action in game.legal_actions() for action, game in zip(choose(text, 0, games), games, strict=True))


# Strength, and who may play


def test_who_sees_all_hands_is_no_agent_but_for_unfair_comparisons() -> None:
    for refuse in (
        lambda: gymnasium.make("rs_env/RollingStone-v0", opponents="sees_all"),
        lambda: duel("sees_all", "random", deals=2),
        lambda: league(["random", "sees_all"], deals=2),
    ):
        with pytest.raises(ValueError, match="'sees_all' is not allowed: it sees all hands"):
            refuse()


@pytest.mark.parametrize("name", ["pimc:worlds=8", "ismcts:iterations=60", "expert:worlds=8"])
def test_search_beats_random_players(name: str) -> None:
    result = duel(name, "random", "schweller", deals=100)
    assert result.win_share - result.interval > result.parity


def test_who_sees_all_hands_wins_more_than_who_does_not() -> None:
    rules = Rules.preset("schweller", num_players=3)
    seeing, blind = (
        duel(agent, "heuristic", rules, deals=100, fair=False) for agent in ("sees_all:samples=8", "expert:worlds=8")
    )
    assert seeing.bounds[0] > blind.bounds[1]


def test_players_at_a_table_of_strangers_adapt() -> None:
    """Told what has been played, the adaptive player wins more than it would without."""
    told = duel("adaptive:worlds=24,iterations=120", "low", deals=60)
    assert told.bounds[0] > 0.5


def test_sure_loss_is_the_last_choice() -> None:
    """Seat 0 will go out with its last card unless it is led a suit that it lacks: nobody else has a hope to win."""
    game = Game(Rules(num_players=3, suits=3, ranks=4), deck="Ac Jd Jh Qc Qd Kd Qh Kc Ad Ah Kh Jc", dealer=1)
    for action in ["Qc", "Kc", "Jc", "Kh", "Jh", "Qh", "Jd", "Kd", "pickup"]:
        game.play(action)
    for name in ("pimc", "pimc:worlds=8"):
        agent = make_agent(name)
        for seed in range(20):
            agent.reset(seed)
            assert action_text(int(agent.act(game.view(game.turn))[0])) in ("Ac", "Ah")
