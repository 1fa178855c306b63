"""The game in OpenSpiel: the same game, its own tests, its algorithms, and what it says about exact values."""

from __future__ import annotations

import copy
import pickle
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from strategies import random_rules

from rs_env.engine.observation import observation_spec
from rs_env.game import Game
from rs_env.rules import PRESETS, Rules
from rs_env.solve.exact import GameTree, nash_conv

pyspiel = pytest.importorskip("pyspiel")
from rs_env import openspiel  # noqa: E402

ROOT = Path(__file__).parents[1]
SMALL = {
    "two players": Rules.preset("tiny", max_actions=8),
    "three players": Rules.preset("tiny", num_players=3, max_actions=4),
    "shown trump": Rules(num_players=3, suits=2, ranks=2, trump="last_dealt", max_actions=6),
    "silent": Rules(num_players=2, suits=2, ranks=2, silent_catch=0.3, max_actions=4),
}


@pytest.fixture(params=SMALL.values(), ids=SMALL, scope="module")
def tree(request: pytest.FixtureRequest) -> GameTree:
    return GameTree(request.param)


def play_chance(state: Any, rng: random.Random) -> None:
    while state.is_chance_node():
        outcomes, weights = zip(*state.chance_outcomes(), strict=True)
        state.apply_action(rng.choices(outcomes, weights)[0])


def random_state(game: Any, rng: random.Random, plays: int) -> Any:
    """A state with a player to act, after so many actions, or at the end if that comes before."""
    state = game.new_initial_state()
    play_chance(state, rng)
    for _ in range(plays):
        if not state.is_terminal():
            state.apply_action(rng.choice(state.legal_actions()))
            play_chance(state, rng)
    return state


def decisions(game: Any, rng: random.Random, count: int, most: int = 40) -> list[Any]:
    states = (random_state(game, rng, rng.randrange(most)) for _ in range(100 * count))
    return [state for state, _ in zip((s for s in states if not s.is_terminal()), range(count), strict=False)]


# The game and its parameters


def test_rs_env_does_not_import_openspiel() -> None:
    code = "import sys, rs_env; rs_env.make_agent('random'); import rs_env.arena, rs_env.solve.exact; "
    code += "print('pyspiel' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"


@pytest.mark.parametrize("preset", PRESETS)
def test_parameters_are_the_fields_of_rules(preset: str) -> None:
    by_name = pyspiel.load_game(f"python_rolling_stone(preset={preset},num_players=3)")
    by_rules = openspiel.load_game(preset, num_players=3)
    assert by_name.rules == by_rules.rules == Rules.preset(preset, num_players=3)
    assert pyspiel.load_game(str(by_name)).rules == by_name.rules
    assert pickle.loads(pickle.dumps(by_rules)).rules == by_rules.rules


@pytest.mark.parametrize("seed", range(30))
def test_any_rules_can_be_loaded(seed: int) -> None:
    rules = random_rules(random.Random(seed))
    game = openspiel.load_game(rules, merge_deals=bool(seed % 2))
    assert game.rules == rules
    assert game.num_players() == rules.num_players


def test_wrong_parameters_are_refused() -> None:
    for text, message in (
        ("num_players=9", "num_players=9"),
        ("preset=bridge", "preset='bridge'"),
        ("trump=stars", "trump='stars'"),
    ):
        with pytest.raises(ValueError, match=message):
            pyspiel.load_game(f"python_rolling_stone({text})")
    with pytest.raises(ValueError, match="num_players=1 is not allowed"):
        openspiel.load_game("tiny", num_players=1)


def test_utility_bounds() -> None:
    bounds = {
        "rolling_stone": (0, 1),
        "places": (0, 1),
        "penalty": (0, 1),
        "parlett": (0, 4 * (1 + 7 + 8 + 9 + 4 * 10)),
    }
    for preset, (low, high) in bounds.items():
        game = openspiel.load_game(preset)
        assert (game.min_utility(), game.max_utility()) == (low, high)
    assert openspiel.load_game(scoring="cards").min_utility() == -32
    assert openspiel.load_game(scoring="face").min_utility() == -4 * (11 + 4 + 3 + 2 + 10 + 9 + 8 + 7)


@pytest.mark.parametrize("preset", PRESETS)
def test_openspiels_own_random_simulation(preset: str) -> None:
    pyspiel.random_sim_test(
        openspiel.load_game(preset, num_players=3, max_deals=3), num_sims=2, serialize=True, verbose=False
    )


@pytest.mark.parametrize(
    "options", [{}, {"trump": "last_dealt", "suits": 3}, {"silent_catch": 0.4}, {"silent_catch": 1.0}]
)
def test_random_simulation_with_merged_deals(options: dict[str, Any]) -> None:
    game = openspiel.load_game("schweller", num_players=4, merge_deals=True, **options)
    pyspiel.random_sim_test(game, num_sims=1, serialize=True, verbose=False)


# The same game as rs_env.Game


def finish_silent_play(state: Any, game: Game) -> None:
    """Let chance decide as it did in the Game: noticed exactly if the player still has the card."""
    mover, card = game.history[-1][-1]
    state.apply_action(int(card in game.hands[mover]))


@pytest.mark.parametrize("seed", range(40))
def test_plays_as_a_game_does(seed: int) -> None:
    rng = random.Random(seed)
    game = Game(random_rules(rng), seed=seed)
    state = openspiel.load_game(game.rules).new_initial_state()
    state.apply_action(game.dealer)
    spec = observation_spec(game.num_players)
    expected, mask = np.zeros(spec.size, np.int8), np.zeros(53, np.int8)
    deals = 0
    while not game.is_over and deals < 4 and sum(map(len, game.history)) < 300:
        if deals < len(game.decks):
            for card in game.decks[deals]:
                assert card in state.legal_actions()
                state.apply_action(card)
            deals += 1
        assert state.current_player() == game.turn
        assert state.legal_actions() == game.legal_actions()
        for seat in range(game.num_players):
            game.observe_into(seat, expected, mask)
            who, what = np.split(np.array(state.observation_tensor(seat), np.float32), [game.num_players])
            assert who.argmax() == seat
            assert (what == (expected / spec.high).astype(np.float32)).all()
        action = rng.choice(game.legal_actions())
        deal_before = game.deals_done
        game.play(action)
        state.apply_action(action)
        if state.is_chance_node() and _is_silent(state):
            if game.deals_done != deal_before:
                return  # the deal ended with it, and the Game does not tell any more
            finish_silent_play(state, game)
    assert state.is_terminal() == game.is_over
    assert state.returns() == game.rewards()


def _is_silent(state: Any) -> bool:
    return state.action_to_string(pyspiel.PlayerId.CHANCE, 1) == "noticed"


def test_copies_are_independent_and_equal() -> None:
    rng = random.Random(5)
    for state in decisions(openspiel.load_game("silent", num_players=3), rng, 5):
        before = str(state)
        for other in (state.clone(), copy.deepcopy(state), pickle.loads(pickle.dumps(state))):
            assert isinstance(other, openspiel.RollingStoneState)
            assert str(other) == before
            assert other.history() == state.history()
            other.apply_action(other.legal_actions()[0])
            assert str(state) == before != str(other)


def test_chance_of_the_deal_is_uniform() -> None:
    state = openspiel.load_game("tiny").new_initial_state()
    assert state.chance_outcomes() == [(0, 0.5), (1, 0.5)]
    state.apply_action(1)
    deck = Rules.preset("tiny").deck
    assert state.chance_outcomes() == [(card, 1 / 6) for card in deck]
    state.apply_action(deck[2])
    assert state.chance_outcomes() == [(card, 1 / 5) for card in deck if card != deck[2]]


@pytest.mark.parametrize("merge_deals", [False, True])
def test_every_deal_is_equally_likely_and_a_merged_one_comes_once(merge_deals: bool) -> None:
    rules = SMALL[
        "shown trump"
    ]  # 4 cards: two for the first seat after the dealer, who also gets the one that is shown
    weights: Counter[tuple[str, ...]] = Counter()
    times: Counter[tuple[str, ...]] = Counter()

    def walk(state: Any, weight: float) -> None:
        if not state.is_chance_node():
            key = tuple(state.information_state_string(seat) for seat in range(3))
            weights[key] += weight
            times[key] += 1
            return
        for outcome, probability in state.chance_outcomes():
            walk(state.child(outcome), weight * probability)

    walk(openspiel.load_game(rules, merge_deals=merge_deals).new_initial_state(), 1.0)
    assert len(weights) == 3 * 4 * 3 * 2
    assert list(weights.values()) == pytest.approx([1 / len(weights)] * len(weights))
    assert set(times.values()) == {1}


# Information


def test_information_state_tells_what_was_seen_and_no_more() -> None:
    rules = Rules(num_players=3, suits=2, ranks=2, silent_catch=0.5, max_actions=5)
    seen: dict[tuple[Any, ...], str] = {}
    texts: dict[str, tuple[Any, ...]] = {}
    tree = GameTree(rules)
    names = openspiel.information_state_strings(tree)
    assert len(set(names)) == tree.num_sets

    def walk(state: Any, events: tuple[Any, ...]) -> None:
        if state.is_terminal():
            return
        if state.is_chance_node():
            for outcome, _ in state.chance_outcomes():
                walk(state.child(outcome), (*events, ("noticed", outcome)) if _is_silent(state) else events)
            return
        at = state.current_player()
        text = state.information_state_string(at)
        dealer, dealt, _, _ = state.deal_so_far(at)
        key = (at, dealer, tuple(dealt), events)
        assert seen.setdefault(key, text) == text
        assert texts.setdefault(text, key) == key
        for action in state.legal_actions():
            walk(state.child(action), (*events, action))

    walk(openspiel.load_game(rules, merge_deals=True).new_initial_state(), ())
    assert set(names) == set(texts)


@pytest.mark.parametrize("name", ["shown trump", "silent"])
def test_information_state_tensor_has_perfect_recall(name: str) -> None:
    """Different information states have different tensors, equal ones have equal tensors."""
    rng = random.Random(3)
    game = openspiel.load_game(SMALL[name])
    tensors: dict[str, list[float]] = {}
    for _ in range(300):
        state = random_state(game, rng, rng.randrange(5))
        if not state.is_terminal():
            for seat in range(game.num_players()):
                text, tensor = state.information_state_string(seat), state.information_state_tensor(seat)
                assert tensors.setdefault(text, tensor) == tensor
    assert len({tuple(t) for t in tensors.values()}) == len(tensors) > 150


def test_observer_refuses_what_it_cannot_show() -> None:
    game = openspiel.load_game("tiny")
    with pytest.raises(ValueError, match="there are none"):
        game.make_py_observer(None, {"x": 1})
    with pytest.raises(ValueError, match="private_info"):
        game.make_py_observer(
            pyspiel.IIGObservationType(perfect_recall=False, private_info=pyspiel.PrivateInfoType.ALL_PLAYERS)
        )
    match = openspiel.load_game("penalty")
    assert not match.get_type().provides_information_state_tensor
    assert match.make_py_observer(pyspiel.IIGObservationType(perfect_recall=True)).tensor is None


@pytest.mark.parametrize(
    "rules",
    [
        *map(Rules.preset, ("rolling_stone", "penalty", "trump", "silent", "places")),
        Rules.preset("trump", trump_play="anytime"),
        Rules.preset("schweller", trump="clubs", trump_play="anytime"),
    ],
)
@pytest.mark.parametrize("merge_deals", [False, True])
def test_resampling_keeps_the_information_state(rules: Rules, merge_deals: bool) -> None:
    rng = random.Random(7)
    game = openspiel.load_game(rules, merge_deals=merge_deals)
    sampler = pyspiel.UniformProbabilitySampler(1, 0.0, 1.0)
    changed = 0
    for state in decisions(game, rng, 6, most=25):
        for seat in range(4):
            other = state.resample_from_infostate(seat, sampler)
            assert other.information_state_string(seat) == state.information_state_string(seat)
            assert other.observation_tensor(seat) == state.observation_tensor(seat)
            assert other.current_player() == state.current_player()
            changed += str(other) != str(state)
            again = game.new_initial_state()
            for action in other.history():
                assert action in again.legal_actions()
                again.apply_action(action)
    assert changed > 12


def test_resampling_is_uniform() -> None:
    """Against all deals of three players with the same information state, by counting."""
    rules = Rules.preset("tiny", num_players=3)
    game = openspiel.load_game(rules, merge_deals=True)
    rng = random.Random(2)
    state = next(s for s in decisions(game, rng, 50, most=2) if s.current_player() == 0 and len(s.history()) == 8)
    text, plays = state.information_state_string(0), state.history()[7:]
    same: set[tuple[int, ...]] = set()

    def walk(other: Any) -> None:
        if not other.is_chance_node():
            for action in plays:
                if action not in other.legal_actions():
                    return
                other.apply_action(action)
            if other.information_state_string(0) == text:
                same.add(tuple(other.history()))
            return
        for outcome, _ in other.chance_outcomes():
            walk(other.child(outcome))

    walk(game.new_initial_state())
    assert len(same) >= 3
    draws = 600
    sampler = pyspiel.UniformProbabilitySampler(3, 0.0, 1.0)
    counts = Counter(tuple(state.resample_from_infostate(0, sampler).history()) for _ in range(draws))
    assert set(counts) == same
    expected = draws / len(same)
    chi_square = sum((count - expected) ** 2 / expected for count in counts.values())
    freedom = len(same) - 1
    assert chi_square < freedom + 4 * (2 * freedom) ** 0.5


def test_resampling_deals_hands_in_any_order() -> None:
    state = random_state(openspiel.load_game("trump", num_players=2, suits=2, ranks=3), random.Random(0), 0)
    sampler = pyspiel.UniformProbabilitySampler(3, 0.0, 1.0)
    decks = {tuple(state.resample_from_infostate(0, sampler).history()[1:]) for _ in range(200)}
    assert len({deck[-1] for deck in decks}) == 1  # the card that is shown
    assert len(decks) > 10


def test_chance_nodes_cannot_be_resampled() -> None:
    state = openspiel.load_game("tiny").new_initial_state()
    with pytest.raises(ValueError, match="chance node"):
        state.resample_from_infostate(0, pyspiel.UniformProbabilitySampler(1, 0.0, 1.0))


@pytest.mark.parametrize("preset", ["tiny", "silent", "penalty"])
def test_openspiels_is_mcts_plays_it(preset: str) -> None:
    ismcts = pytest.importorskip("open_spiel.python.algorithms.ismcts")
    from open_spiel.python.algorithms.mcts import RandomRolloutEvaluator

    game = openspiel.load_game(preset, num_players=3, max_actions=30, max_deals=2)
    random_state_ = np.random.RandomState(1)
    bot = ismcts.ISMCTSBot(
        game=game,
        uct_c=1.4,
        evaluator=RandomRolloutEvaluator(1, random_state_),
        max_simulations=8,
        random_state=random_state_,
    )
    for state in decisions(game, random.Random(1), 2, most=8):
        assert bot.step(state) in state.legal_actions()


# Exact values


def random_profile(tree: GameTree, seed: int) -> np.ndarray:
    weights = np.random.default_rng(seed).exponential(size=tree.legal.shape) * tree.legal
    return weights / weights.sum(1, keepdims=True)


def test_nash_conv_is_openspiels(tree: GameTree) -> None:
    game = pyspiel.convert_to_cached_tree(openspiel.load_game(tree.rules, merge_deals=True))
    for profile in (tree.uniform(), random_profile(tree, 1), tree.profile_of("heuristic", seeds=2)):
        policy = openspiel.to_openspiel(tree, profile)
        assert openspiel.from_openspiel(tree, policy) == pytest.approx(profile)
        assert nash_conv(profile, tree).nash_conv == pytest.approx(pyspiel.nash_conv(game, policy), abs=1e-12)


def test_merged_deals_change_no_value() -> None:
    tree = GameTree(Rules.preset("tiny", ranks=2))
    policy = openspiel.to_openspiel(tree, random_profile(tree, 2))
    plain, merged = (openspiel.load_game(tree.rules, merge_deals=merge) for merge in (False, True))
    assert pyspiel.nash_conv(plain, policy) == pytest.approx(pyspiel.nash_conv(merged, policy))


@pytest.mark.parametrize("plus", [True, False])
def test_cfr_finds_an_equilibrium(plus: bool) -> None:
    tree = GameTree(Rules.preset("tiny", max_actions=10))
    curve = dict(openspiel.cfr(tree, (1, 60), plus))
    before, after = (nash_conv(curve[iterations], tree).nash_conv for iterations in (1, 60))
    assert before > 0.1
    assert after < (0.002 if plus else 0.02)
    game = pyspiel.convert_to_cached_tree(openspiel.load_game(tree.rules, merge_deals=True))
    assert pyspiel.nash_conv(game, openspiel.to_openspiel(tree, curve[60])) == pytest.approx(after, abs=1e-12)


def test_information_states_are_those_of_the_strings(tree: GameTree) -> None:
    states = dict(openspiel.information_states(tree))
    assert sorted(states) == list(range(tree.num_sets))
    for number, text in enumerate(openspiel.information_state_strings(tree)):
        assert states[number].information_state_string() == text
        assert states[number].legal_actions() == np.flatnonzero(tree.legal[number]).tolist()


def sampled_policies() -> dict[str, Any]:
    """Solvers of MCCFR in C++ and Python: (game, seed) -> (one iteration, average policy)."""
    from open_spiel.python.algorithms import external_sampling_mccfr, outcome_sampling_mccfr

    def in_cpp(solver: Any) -> Any:
        return lambda game, seed: (lambda made: (made.run_iteration, made.average_policy))(solver(game, seed=seed))

    def in_python(solver: Any) -> Any:
        return lambda game, seed: (lambda made: (made.iteration, made.average_policy))(solver(game))

    return {
        "external, C++": in_cpp(pyspiel.ExternalSamplingMCCFRSolver),
        "outcome, C++": in_cpp(pyspiel.OutcomeSamplingMCCFRSolver),
        "external, Python": in_python(external_sampling_mccfr.ExternalSamplingSolver),
        "outcome, Python": in_python(outcome_sampling_mccfr.OutcomeSamplingSolver),
    }


def walk(state: Any, policy: Any, found: dict[str, dict[int, float]]) -> np.ndarray:
    """The expected returns of a policy from a state, by nothing but OpenSpiel's own states; what it says goes to
    `found`."""
    if state.is_terminal():
        return np.array(state.returns())
    if state.is_chance_node():
        branches = state.chance_outcomes()
    else:
        branches = list(policy.action_probabilities(state).items())
        found[state.information_state_string()] = dict(branches)
    return sum(probability * walk(state.child(action), policy, found) for action, probability in branches)


@pytest.mark.parametrize("name", ["external, C++", "outcome, C++", "external, Python", "outcome, Python"])
@pytest.mark.parametrize("rules", ["shown trump", "silent"])
def test_policies_of_sampled_cfr_become_profiles(name: str, rules: str) -> None:
    tree = GameTree(SMALL[rules])
    game = openspiel.load_game(tree.rules, merge_deals=True)
    iterate, average_policy = sampled_policies()[name](game, 3)
    for _ in range(100):
        iterate()
    policy = average_policy()
    profile = openspiel.from_openspiel(tree, policy)
    said: dict[str, dict[int, float]] = {}
    values = walk(game.new_initial_state(), policy, said)
    rows = {
        text: dict(enumerate(row)) for text, row in zip(openspiel.information_state_strings(tree), profile, strict=True)
    }
    assert said.keys() == rows.keys()
    for text, answer in said.items():
        assert {action: p for action, p in rows[text].items() if p} == {
            action: pytest.approx(p) for action, p in answer.items() if p
        }
    assert tree.values(profile) == pytest.approx(values)
    if "C++" in name:  # which takes a seed
        assert abs(profile - tree.uniform()).max() > 0.1  # something was learnt


def test_a_policy_that_cannot_be_asked_is_refused() -> None:
    with pytest.raises(TypeError, match="policy='heuristic' is not allowed: it must have OpenSpiel's method"):
        openspiel.from_openspiel(GameTree(SMALL["silent"]), "heuristic")


def test_a_policy_that_says_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="row 0"):
        openspiel.from_openspiel(GameTree(SMALL["two players"]), pyspiel.TabularPolicy({}))
