"""Exact values and best responses on games small enough to work out by hand or by plain recursion."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from rs_env.baselines import make_agent
from rs_env.cards import NUM_ACTIONS, PICKUP
from rs_env.engine import entry
from rs_env.engine.view import empty_views
from rs_env.game import Game
from rs_env.history import Histories, log_of
from rs_env.rules import Rules
from rs_env.solve.exact import GameTree, nash_conv

# Hidden cards, a shown trump with an uneven deal, silent plays that may be noticed, places.
SMALL = {
    "two players": Rules.preset("tiny", max_actions=7),
    "three players": Rules.preset("tiny", num_players=3, max_actions=6),
    "shown trump": Rules(num_players=3, suits=2, ranks=2, trump="last_dealt", max_actions=8),
    "silent": Rules(num_players=2, suits=2, ranks=2, silent_catch=0.3, max_actions=5),
    "places": Rules.preset("tiny", num_players=3, max_actions=5, play_on=True, scoring="places"),
}


@pytest.fixture(params=SMALL.values(), ids=SMALL, scope="module")
def tree(request: pytest.FixtureRequest) -> GameTree:
    return GameTree(request.param)


def random_profile(tree: GameTree, seed: int) -> np.ndarray:
    weights = np.random.default_rng(seed).exponential(size=tree.legal.shape) * tree.legal
    return weights / weights.sum(1, keepdims=True)


# By hand. Two suits of K and A, two players, immediate exit: the leader with both kings loses by force, with any other
# hand he wins by force.


def test_hand_made_game() -> None:
    tree = GameTree(Rules.preset("tiny", ranks=2))
    uniform = nash_conv(tree.uniform(), tree)
    # Against any legal action the leader can get 1 in five of six deals. The other gets 1 where the leader has both
    # kings, 0 where both aces, 1/2 where an ace and the other suit's king, 3/4 where one suit.
    assert uniform.best_response_values == pytest.approx([(5 / 6 + 7 / 12) / 2] * 2)
    assert uniform.values == pytest.approx([0.5, 0.5])
    assert uniform.exploitability == pytest.approx(uniform.nash_conv / 2)


def test_nobody_can_gain_once_both_have_answered_best() -> None:
    """Two players see everything, so a few best responses to each other end at perfect play."""
    tree = GameTree(Rules.preset("tiny", ranks=2))
    profile = tree.uniform()
    for _ in range(3):
        for seat in (0, 1):
            profile = (
                0.001 * tree.uniform() + 0.999 * tree.best_response(profile, seat)[1]
            )  # so that every set is reached
    for seat in (0, 1):
        profile = tree.best_response(profile, seat)[1]
    result = nash_conv(profile, tree)
    assert result.nash_conv == pytest.approx(0, abs=1e-12)
    assert result.values == pytest.approx([0.5, 0.5])


def test_one_card_each() -> None:
    result = nash_conv("random", Rules.preset("tiny", ranks=1))  # the leader is out at once
    assert result.values == pytest.approx([0.5, 0.5])
    assert result.nash_conv == 0
    endless = nash_conv("random", Rules(num_players=2, suits=2, ranks=1, max_actions=9))  # each lead is picked up
    assert endless.values.tolist() == [0, 0]


# Against plain recursion over `Game`


def value_of(game: Game, choose: Callable[[Game], dict[int, float]]) -> np.ndarray:
    """Expected rewards, by cloning the game at each action."""
    if game.is_over:
        return np.array(game.rewards())
    total = np.zeros(game.num_players)
    for action, probability in choose(game).items():
        clone = game.clone()
        clone.play(action)
        total += probability * value_of(clone, choose)
    return total


def uneven(game: Game) -> dict[int, float]:
    weights = {action: 1.0 + action % 5 + game.turn for action in game.legal_actions()}
    return {action: weight / sum(weights.values()) for action, weight in weights.items()}


@pytest.mark.parametrize("name", [name for name in SMALL if name != "silent"])  # a Game draws its own chance
def test_values_are_those_of_plain_recursion(name: str) -> None:
    tree = GameTree(SMALL[name])
    seat, actions = tree.seat[:, None], np.arange(NUM_ACTIONS)
    profile = (1.0 + actions % 5 + seat) * tree.legal
    profile /= profile.sum(1, keepdims=True)
    deals = tree.states[: tree.levels[1]]
    decks = [deck[: len(tree.rules.deck)].tolist() for deck in deals["deck"]]
    games = [
        Game(tree.rules, deck=deck, dealer=int(dealer)) for deck, dealer in zip(decks, deals["dealer"], strict=True)
    ]
    assert len({(g.dealer, str(g.hands), str(g.known)) for g in games}) == len(games)
    expected = np.mean([value_of(game, uneven) for game in games], axis=0)
    assert tree.values(profile) == pytest.approx(expected)


# The tree


def test_every_history_of_an_information_set_looks_the_same_to_its_owner(tree: GameTree) -> None:
    decisions = np.flatnonzero(tree.information_set >= 0)
    views = empty_views(tree.rules, len(decisions))
    entry.view_turns(tree.states, decisions, views)
    assert (views == tree.views[tree.information_set[decisions]]).all()
    if tree.rules.num_players > 2:
        assert tree.num_sets < len(decisions)


def test_information_sets_have_perfect_recall(tree: GameTree) -> None:
    """The owner's own sets and actions before, and the deal, are the same for all histories of a set."""
    past: list[tuple[tuple[int, int], ...]] = [()] * tree.num_nodes  # for each node: (set, action) of everybody
    owned: dict[int, tuple[object, ...]] = {}
    for node in range(tree.num_nodes):
        if tree.parent[node] >= 0:
            above = tree.parent[node]
            past[node] = (*past[above], (int(tree.information_set[above]), int(tree.action[node])))
        name = int(tree.information_set[node])
        if name >= 0:
            seat = tree.seat[name]
            deal = tree.root[node]
            mine = (
                int(tree.states["dealer"][deal]),
                int(tree.dealt[deal, seat]),
                *(p for p in past[node] if tree.seat[p[0]] == seat),
            )
            assert owned.setdefault(name, mine) == mine
    assert len(owned) == tree.num_sets


def test_probabilities_of_all_ends_add_up(tree: GameTree) -> None:
    profile = random_profile(tree, 1)
    reach = np.full(tree.num_nodes, 1 / tree.levels[1])
    for node in range(tree.levels[1], tree.num_nodes):
        above = tree.parent[node]
        reach[node] = reach[above] * tree.chance[node] * profile[tree.information_set[above], tree.action[node]]
    ends = tree.information_set < 0
    assert reach[ends].sum() == pytest.approx(1)
    assert reach[ends] @ tree.rewards[ends] == pytest.approx(tree.values(profile))


# Best responses


@pytest.mark.parametrize("seed", range(3))
def test_a_best_response_gets_what_it_promises_and_nothing_gets_more(tree: GameTree, seed: int) -> None:
    profile = random_profile(tree, seed)
    values = tree.values(profile)
    for seat in range(tree.rules.num_players):
        best, response = tree.best_response(profile, seat)
        assert best >= values[seat] - 1e-12
        assert tree.values(response)[seat] == pytest.approx(best)
        assert (response[tree.seat != seat] == profile[tree.seat != seat]).all()
        other = np.where((tree.seat == seat)[:, None], random_profile(tree, seed + 10), profile)
        assert tree.values(other)[seat] <= best + 1e-12


# Agents


class Lowest:
    """Plays the lowest legal action; counts what it is asked."""

    name = "lowest"

    def __init__(self) -> None:
        self.asked = 0

    def reset(self, seed: int | None) -> None:
        pass

    def act(self, views: np.ndarray) -> np.ndarray:
        self.asked += len(views)
        return np.array([(int(v) & -int(v)).bit_length() - 1 for v in views["legal"]])


class Uniform(Lowest):
    name = "uniform"

    def policy(self, views: np.ndarray) -> np.ndarray:
        legal = (views["legal"][:, None] >> np.arange(NUM_ACTIONS, dtype=np.uint64) & np.uint64(1)).astype(float)
        return legal / legal.sum(1, keepdims=True)


def test_profile_of_agents() -> None:
    tree = GameTree(SMALL["three players"])
    assert (tree.profile_of(Uniform()) == tree.uniform()).all()
    lowest = Lowest()
    profile = tree.profile_of(lowest, seeds=1)
    assert (profile.argmax(1) == tree.legal.argmax(1)).all()
    assert set(np.unique(profile)) == {0.0, 1.0}
    assert 0 < lowest.asked < (tree.legal.sum(1) > 1).sum()  # once for each view
    mixed = tree.profile_of([lowest, Uniform(), "random"], seeds=1)
    assert (mixed[tree.seat == 0] == profile[tree.seat == 0]).all()
    assert (mixed[tree.seat == 1] == tree.uniform()[tree.seat == 1]).all()


class Historian:
    """Takes the lowest legal action after an even number of public events, the highest after an odd one."""

    name = "historian"

    def reset(self, seed: int | None) -> None:
        """Draws nothing."""

    def act(self, views: np.ndarray, histories: Histories | None = None) -> np.ndarray:
        return self.policy(views, histories).argmax(1)

    def policy(self, views: np.ndarray, histories: Histories | None = None) -> np.ndarray:
        assert histories is not None
        legal = views["legal"][:, None] >> np.arange(NUM_ACTIONS, dtype=np.uint64) & np.uint64(1) == 1
        lowest, highest = legal.argmax(1), NUM_ACTIONS - 1 - legal[:, ::-1].argmax(1)
        return np.eye(NUM_ACTIONS)[np.where(histories.lengths % 2 == 0, lowest, highest)]


def test_histories_lead_to_their_information_sets(tree: GameTree) -> None:
    events, _, lengths = log_of(tree.views, tree.histories)  # refuses those that do not
    assert lengths.tolist() == tree.histories.lengths.tolist()
    assert (events[:, : tree.histories.events.shape[1]] == tree.histories.events).all()


def test_agents_that_want_histories_get_those_of_each_information_set() -> None:
    for name in ("two players", "shown trump"):
        tree = GameTree(SMALL[name])
        profile = tree.profile_of(Historian())
        choices = np.flatnonzero(tree.legal.sum(1) > 1)
        for chosen in np.random.default_rng(0).choice(choices, 40):
            node, path = int(tree.first[chosen]), []
            while tree.parent[node] >= 0:
                path.append(int(tree.action[node]))
                node = int(tree.parent[node])
            root = tree.states[node]
            game = Game(tree.rules, deck=root["deck"][: len(tree.rules.deck)].tolist(), dealer=int(root["dealer"]))
            for action in reversed(path):
                game.play(action)
            legal = game.legal_actions()
            assert profile[chosen].argmax() == (legal[0] if len(game.events) % 2 == 0 else legal[-1])
        assert (tree.profile_of(Historian(), seeds=3) == profile).all()


def test_exact_values_of_a_player_that_looks_at_the_history() -> None:
    tree = GameTree(Rules.preset("tiny", ranks=2))
    profile = tree.profile_of("adaptive:iterations=8,worlds=2", seeds=2)
    assert nash_conv(profile, tree).nash_conv < nash_conv("random", tree).nash_conv


def test_estimated_mixture_of_the_random_agent_is_nearly_uniform() -> None:
    tree = GameTree(SMALL["two players"])
    estimate = tree.profile_of(make_agent("random"), seeds=400)
    assert abs(estimate - tree.uniform()).max() < 0.15
    exact, estimated = nash_conv(tree.uniform(), tree), nash_conv("random", tree, seeds=400)
    assert estimated.values == pytest.approx(exact.values, abs=0.02)
    assert estimated.nash_conv == pytest.approx(exact.nash_conv, abs=0.03)


def test_heuristic_does_better_than_random() -> None:
    tree = GameTree("tiny")
    values = tree.values(tree.profile_of(["heuristic", Uniform()], seeds=1))
    assert values[0] > 0.55 > 0.45 > values[1]


# Refusals


def test_refusals() -> None:
    with pytest.raises(ValueError, match=r"target=30\.0 is not allowed"):
        GameTree("penalty")
    for rules in (Rules(), Rules.preset("tiny", silent_catch=0.5), Rules.preset("tiny", num_players=3)):
        with pytest.raises(ValueError, match="max_nodes=20000"):
            GameTree(rules, max_nodes=20_000)
    with pytest.raises(ValueError, match="max_nodes=0"):
        GameTree("tiny", max_nodes=0)
    tree = GameTree(SMALL["two players"])
    with pytest.raises(ValueError, match="seat=2"):
        tree.best_response(tree.uniform(), 2)
    with pytest.raises(ValueError, match="shape"):
        tree.values(tree.uniform()[:-1])
    wrong = tree.uniform()
    wrong[3] = 0
    with pytest.raises(ValueError, match="row 3"):
        tree.values(wrong)
    wrong[3, PICKUP if not tree.legal[3, PICKUP] else 0] = 1
    with pytest.raises(ValueError, match="row 3"):
        nash_conv(wrong, tree)
    with pytest.raises(ValueError, match="1 are not allowed"):
        nash_conv(["random"], tree)


def test_agents_that_see_hidden_cards_are_refused() -> None:
    cheat = Lowest()
    cheat.cheats = True
    with pytest.raises(ValueError, match="'lowest' is not allowed: it sees all hands"):
        nash_conv(cheat, SMALL["two players"])
