"""The public history: what is written of a game, what it says of earlier hands, and how likely it makes worlds."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from strategies import random_rules

from rs_env import Game, Rules, belief, make_agent
from rs_env.agent import wants_histories
from rs_env.arena import play_games
from rs_env.baselines.models import TYPES, OpponentModel, PlayerType
from rs_env.baselines.rule_based import RuleBasedAgent
from rs_env.cards import PICKUP, set_of
from rs_env.engine.history import new_trace, trace
from rs_env.engine.jit import njit
from rs_env.engine.view import VIEW
from rs_env.history import NEXT_DEAL, NOTICED, SHOWN, Histories

RULES = [
    *(
        Rules.preset(name, num_players=n)
        for name in ("rolling_stone", "schweller", "trump", "silent")
        for n in (2, 4, 5)
    ),
    Rules.preset("places", num_players=5),
    Rules(trump="hearts", trump_play="anytime", lead_after_pickup="other_suit"),
    *(random_rules(random.Random(seed)) for seed in range(40)),
]


@njit
def trace_first(views: Any, events: Any, memory: Any) -> int:
    return trace(views[0], events, memory)


def played(rules: Rules, seed: int, actions: int) -> tuple[Game, list[tuple[int, int, list[list[int]], list[int]]]]:
    """A game played at random, and of its running deal who took which action with which hands and legal actions."""
    rng, game = random.Random(seed), Game(rules, seed)
    deal: list[tuple[int, int, list[list[int]], list[int]]] = []
    for _ in range(actions):
        if game.is_over:
            break
        action, done = rng.choice(game.legal_actions()), game.deals_done
        deal.append((game.turn, action, game.hands, game.legal_actions()))  # type: ignore[arg-type]
        game.play(action)
        if game.deals_done > done:
            deal.clear()
    return game, deal


def unknown(game: Game, seat: int) -> int:
    """The cards that nobody else has seen in this hand, as a set."""
    return set_of(game.hands[seat]) & ~set_of(game.known[seat])


# Writing


@pytest.mark.parametrize("rules", RULES)
def test_events_are_the_actions_and_what_else_everybody_saw(rules: Rules) -> None:
    game, _ = played(rules, 5, 400)
    expected: list[int] = []
    for number, (deck, deal) in enumerate(zip(game.decks, game.history, strict=True)):
        expected += [NEXT_DEAL] if number else []
        expected += [SHOWN + deck[-1]] if rules.trump == "last_dealt" else []
        expected += [action for _, action in deal]
    events = game.events
    plain = np.where((events < SHOWN) & (events >= NOTICED), events - NOTICED, events)
    assert plain.tolist() == expected
    if rules.silent_catch in (None, 0.0):
        assert (plain == events).all()
    assert game.clone().events.tolist() == events.tolist()


@pytest.mark.parametrize("rules", RULES)
def test_arena_writes_the_same_events(rules: Rules) -> None:
    outcomes = play_games(rules, [make_agent("random")], np.zeros((2, rules.num_players), np.int64), 3, np.arange(2))
    for index in range(2):
        log = outcomes.log[index, : outcomes.logged[index]]
        game = Game(rules, 3, index=index)
        for event in log.tolist():
            if event < SHOWN:
                game.play(event % NOTICED)
        assert game.is_over
        assert game.events.tolist() == log.tolist()
        assert outcomes.actions[index] == sum(map(len, game.history))


def test_noticed_plays_are_marked() -> None:
    """A void player plays another suit silently, and always or never the table notices."""
    for catch, mark in ((1.0, NOTICED), (0.0, 0)):
        game = Game(Rules(num_players=3, suits=2, ranks=3, silent_catch=catch), deck="Ac Qd Kd Kc Ad Qc", dealer=2)
        game.play("Ac")
        game.play("Ad")
        assert game.events.tolist() == [12, 25 + mark]


# Reading


@pytest.mark.parametrize("rules", RULES)
def test_earlier_hands_follow_from_the_history_and_the_cards_unseen_to_this_day(rules: Rules) -> None:
    memory = new_trace(4096)
    pickups_are_forced = rules.silent_catch is None if rules.trump == "none" else rules.trump_play == "anytime"
    for actions in (7, 31, 80):
        game, deal = played(rules, actions, actions)
        if game.is_over:
            continue
        for seat in range(rules.num_players):
            expected = [entry for entry in deal if entry[0] != seat and not (entry[1] == PICKUP and pickups_are_forced)]
            found = trace_first(np.array([game.view(seat)], VIEW), game.events, memory)
            assert found == len(expected)
            for (mover, action, hands, _), decision in zip(expected, memory[3], strict=False):
                assert (decision["turn"], decision["action"]) == (mover, action)
                assert int(decision["seen"]) | unknown(game, mover) == set_of(hands[mover])


def test_newest_decisions_are_kept() -> None:
    game, _ = played(Rules(), 3, 60)
    small, large = new_trace(8), new_trace(64)
    view = np.array([game.view(0)], VIEW)
    count = trace_first(view, game.events, large)
    assert trace_first(view, game.events, small) == count > 8
    kept = {decision.tobytes() for decision in small[3]}
    assert kept == {decision.tobytes() for decision in large[3][count - 8 : count]}


@pytest.mark.parametrize("rules", RULES[:14])
def test_histories_of_other_games_are_refused(rules: Rules) -> None:
    game, _ = played(rules, 4, 25)
    if game.is_over:
        pytest.skip("too short")
    memory, view, rng = new_trace(64), np.array([game.view(0)], VIEW), random.Random(1)
    assert trace_first(view, game.events, memory) >= 0
    assert trace_first(view, game.events[:-1], memory) == -1
    refused = []
    for _ in range(300):
        wrong = game.events.copy()
        wrong[rng.randrange(len(wrong))] ^= rng.randrange(1, 256)
        refused.append(trace_first(view, wrong, memory) < 0)
    assert np.mean(refused) > 0.9  # a few say the same: a card that came back at once might have been another one


# Weighing


def in_world(game: Game, world: np.void, deal: list[Any]) -> list[tuple[int, int, np.void]]:
    """The decisions of the running deal as they were if the world is true: seat, action and the seat's view."""
    n, rules = game.num_players, game.rules
    hidden = [unknown(game, seat) for seat in range(n)]
    dealt = [set_of(hand) for hand in deal[0][2]]
    dealt = [(dealt[s] & ~hidden[s]) | (int(world["hand"][s]) & ~set_of(game.known[s])) for s in range(n)]
    order = [(game.dealer + 1 + k) % n for k in range(len(rules.deck))]
    hands = [[card for card in rules.deck if dealt[seat] >> card & 1] for seat in range(n)]
    if rules.trump == "last_dealt":
        hands[order[-1]].sort(key=lambda card: card == game.decks[-1][-1])
    deck = [hands[seat].pop(0) for seat in order]
    again, decisions = Game(rules, deck=deck, dealer=game.dealer), []
    for seat, action, _, _ in deal:
        assert again.turn == seat
        decisions.append((seat, action, again.view(seat)))
        again.play(action)
    assert again.known == game.known
    return decisions


def slow_rate(model: OpponentModel, game: Game, seat: int, world: np.void, deal: list[Any]) -> np.ndarray:
    """Of each other seat and type, the product of the probabilities of its decisions: float64 (n, T)."""
    likelihood = np.ones((game.num_players, len(model.names)))
    for mover, action, view in in_world(game, world, deal):
        if mover == seat or bin(int(view["legal"])).count("1") == 1:
            continue
        for kind, name in enumerate(model.names):
            player, noise = RuleBasedAgent(name, TYPES[name].weights), TYPES[name].noise
            policy = player.policy(view)[0]
            likelihood[mover, kind] *= (1 - noise) * policy[action] + noise / bin(int(view["legal"])).count("1")
    return likelihood


@pytest.mark.parametrize("rules", RULES[:14])
def test_worlds_are_rated_as_by_playing_them_again(rules: Rules) -> None:
    if rules.silent_catch is not None:
        rules = Rules.from_dict({**rules.to_dict(), "silent_catch": 0.0})
    model = OpponentModel()
    common = np.array([8.0 if name == "searcher" else 1.0 for name in model.names])
    prior = common / common.sum()
    for seed in range(3):
        game, deal = played(rules, seed, 22)
        if game.is_over or not deal:
            continue
        seat = game.turn
        worlds = belief.sample(game.view(seat), 4, seed)
        log_weights, posterior = model.rate(game.view(seat), game.events, worlds)
        for world, log_weight, types in zip(worlds, log_weights - log_weights[0], posterior, strict=True):
            slow = slow_rate(model, game, seat, world, deal)
            first = slow_rate(model, game, seat, worlds[0], deal)
            others = [other for other in range(rules.num_players) if other != seat]
            expected = np.log((slow @ prior)[others]).sum() - np.log((first @ prior)[others]).sum()
            assert log_weight == pytest.approx(expected, abs=1e-9)
            assert types[others] == pytest.approx((slow * prior)[others] / (slow @ prior)[others, None])
            assert (types[seat] == 0).all()


def test_weighed_marginals_are_those_of_all_worlds_together() -> None:
    """Three suits of three ranks, so that every deal of the hidden cards can be listed."""
    rules, model = Rules(num_players=3, suits=3, ranks=3), OpponentModel(["low", "heuristic", "random"])
    for seed in range(4):
        game, deal = played(rules, seed, 6)
        if game.is_over:
            continue
        seat = game.turn
        worlds = np.unique(belief.sample(game.view(seat), 3000, 1)["hand"], axis=0, return_index=True)
        states = belief.sample(game.view(seat), 3000, 1)[worlds[1]]
        assert len(states) == belief.count(game.view(seat))
        others = [other for other in range(3) if other != seat]
        weights = np.array([slow_rate(model, game, seat, w, deal)[others].mean(1).prod() for w in states])
        weights /= weights.sum()
        found = belief.weigh(game.view(seat), game.events, model, 20_000, seed)
        hands = states["hand"][:, :3, None] >> np.arange(52, dtype=np.uint64) & np.uint64(1)
        assert found.marginals == pytest.approx(np.tensordot(weights, hands.astype(float), 1), abs=0.03)
        assert found.marginals.sum(1) == pytest.approx([len(hand) for hand in game.hands])
        assert 1 <= found.effective_size <= 20_000
        assert found.types.sum(1) == pytest.approx([float(s != seat) for s in range(3)])


def test_types_are_recognised() -> None:
    """After a game against three players of one type, that type is the likeliest for each."""
    for name in ("low", "heuristic", "random"):
        model, votes = OpponentModel(["low", "heuristic", "random"]), []
        for seed in range(6):
            game, player = Game(Rules(), seed), make_agent(TYPES[name].player)
            for _ in range(50):
                if game.is_over:
                    break
                view, events = game.view(0), game.events
                game.play(int(player.act(np.array([game.view(game.turn)]))[0]))
            votes += belief.weigh(view, events, model, 200, seed).types[1:].argmax(1).tolist()
        assert np.mean(np.array(votes) == model.names.index(name)) > 0.6


def test_wrong_histories_and_types_are_refused() -> None:
    game, _ = played(Rules(), 2, 20)
    with pytest.raises(ValueError, match="do not lead to the view"):
        belief.weigh(game.view(0), game.events[:-3], OpponentModel(), 10, 1)
    with pytest.raises(ValueError, match="types: 'nobody'"):
        OpponentModel(["nobody"])
    with pytest.raises(ValueError, match=r"noise=0\.0 .* 0\.001"):
        PlayerType("low", 0.0)
    with pytest.raises(ValueError, match="player='nobody'"):
        PlayerType("nobody", 0.5)
    agent = make_agent("adaptive:worlds=4,iterations=12")
    histories = Histories(game.events[None, :-3], np.array([len(game.events) - 3]))
    with pytest.raises(ValueError, match="histories: number 0 does not lead to its view"):
        agent.act(np.array([game.view(game.turn)]), histories=histories)


# Agents


def test_agents_are_given_histories_only_if_they_ask_for_them() -> None:
    assert wants_histories(make_agent("adaptive:worlds=4"))
    assert not wants_histories(make_agent("heuristic"))


def test_what_was_played_changes_what_the_adaptive_player_does() -> None:
    agent, differ = make_agent("adaptive:worlds=16,iterations=60"), 0
    for seed in range(30):
        game, _ = played(Rules(), seed, 30)
        if game.is_over or len(game.legal_actions()) < 3:
            continue
        views = np.array([game.view(game.turn)])
        with_history = agent.act(views, histories=Histories.of([game]))
        assert (agent.act(views, histories=Histories.of([game])) == with_history).all()
        differ += int(agent.act(views)[0] != with_history[0])
    assert differ > 0


def test_the_adaptive_player_stops_when_its_budget_of_actions_is_spent() -> None:
    """Among `low` an iteration takes many actions, so one or five on average are spent before all 40 are done."""
    game, _ = played(Rules(), 3, 12)
    views, done = np.array([game.view(game.turn)]), []
    assert len(game.legal_actions()) > 1
    for budget in (1, 5, 1000):
        agent = make_agent(f"adaptive:worlds=8,iterations=40,horizon=40,types=low,budget={budget}")
        agent.act(views, histories=Histories.of([game]))
        nodes = agent._tree.nodes
        child, iterations = nodes["first_child"][0], 0
        while child:
            iterations += nodes["visits"][child]
            child = nodes["next_sibling"][child]
        done.append(iterations)
    assert 1 <= done[0] < done[1] < done[2] <= 40
    assert done[1] >= 200 // (40 + 5)  # no earlier than it must


# Forged and damaged histories


def test_forged_histories_are_refused_and_write_nowhere() -> None:
    """A card that lies among the dead, in the trick or in another hand is played once more: nothing may come of it."""
    game = Game(Rules(num_players=2, silent_catch=1.0), seed=1)
    view, memory = np.array([game.view(0)], VIEW), new_trace(64)
    for events in ([0, 52, 1, 52] + [5] * 400, [0, 0, 0, 0], [51] * 300, [52, 52], [53], [60], [NEXT_DEAL] * 9):
        assert trace_first(view, np.array(events, np.uint8), memory) == -1
    rng = random.Random(5)
    for _ in range(3000):
        events = np.array([rng.choice((rng.randrange(256), rng.randrange(53))) for _ in range(60)], np.uint8)
        assert trace_first(view, events, memory) == -1


def test_what_nobody_saw_is_no_history() -> None:
    game, _ = played(Rules(), 1, 12)
    view, memory = np.array([game.view(0)], VIEW), new_trace(64)
    shown = np.concatenate([[np.uint8(SHOWN + 51)], game.events])
    assert trace_first(view, shown, memory) == -1  # no trump is shown in this rule set
    marked = game.events.copy()
    marked[0] += NOTICED
    assert trace_first(view, marked, memory) == -1  # and a lead is no silent play


def test_wrong_trump_is_no_history() -> None:
    game, _ = played(Rules.preset("trump"), 3, 12)
    view, memory = np.array([game.view(0)], VIEW), new_trace(64)
    fitting = []
    for card in range(52):
        events = game.events.copy()
        events[0] = SHOWN + card
        if trace_first(view, events, memory) >= 0:
            fitting.append(card)
    assert game.decks[0][-1] in fitting
    assert {card // 13 for card in fitting} == {game.trump}


def test_histories_hold_nothing_of_earlier_games() -> None:
    events, lengths = np.arange(1, 13, dtype=np.uint8).reshape(2, 6), np.array([2, 5])
    cut = Histories(events, lengths)[:]
    assert cut.events.tolist() == [[1, 2, 0, 0, 0], [7, 8, 9, 10, 11]]
    assert cut.read_only().events.tolist() == cut.events.tolist()


@pytest.mark.parametrize(
    "wrong",
    [
        Histories(np.zeros((1, 4), np.uint8), np.zeros(1, np.int64)),
        Histories(np.zeros((2, 4), np.int64), np.zeros(2, np.int64)),
        Histories(np.zeros((2, 4), np.uint8), np.array([0, 5])),
        Histories(np.zeros((2, 4), np.uint8), np.array([-1, 0])),
        Histories(np.zeros(8, np.uint8), np.zeros(2, np.int64)),
        5,
    ],
)
def test_adaptive_player_refuses_histories_that_do_not_fit(wrong: Any) -> None:
    game, _ = played(Rules(), 2, 20)
    views = np.array([game.view(game.turn)] * 2)
    with pytest.raises(ValueError, match="histories"):
        make_agent("adaptive:worlds=4,iterations=12").act(views, histories=wrong)


@pytest.mark.parametrize("wrong", [None, [1, 2], np.zeros(3), np.zeros((1, 3), np.uint8), np.zeros(3, np.uint16)])
def test_events_of_another_form_are_refused(wrong: Any) -> None:
    game, _ = played(Rules(), 2, 20)
    with pytest.raises(ValueError, match=r"events: .* is not allowed"):
        belief.weigh(game.view(0), wrong, OpponentModel(), 10, 1)


def test_equal_worlds_have_equal_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a likelihood gets so small that it is scaled up on the way."""
    monkeypatch.setitem(TYPES, "rare", PlayerType("low", 0.001))
    model, game = OpponentModel(["rare"]), Game(Rules(num_players=3), seed=9)
    rng = random.Random(2)
    for _ in range(200):
        if game.is_over:
            break
        view, events = game.view(0), game.events
        game.play(rng.choice(game.legal_actions()))
    world = belief.sample(view, 1, 1)
    log_weights, _ = model.rate(view, events, np.repeat(world, 5))
    assert np.ptp(log_weights) == 0.0
