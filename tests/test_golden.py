"""Shuffles and dealers: frozen, independent of everything but (seed, game, deal), and fair.

A changed digest means that results published with a seed can no longer be reproduced: never update one in passing.
"""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from rs_env import Game, Rules, SelfPlayVectorEnv
from rs_env.cards import NUM_CARDS, cards_text
from rs_env.engine.rng import advance, mix

SEEDS = (0, 1, 2**64 - 1)
GAMES, DEALS = 50, 3

# SHA-256 for each number of players.
GOLDEN = {
    2: "c5e668cbaaa9d0e23f03d9f0a73223300eafc10a8a62287d1b889e28d703c1fa",
    3: "68fe4d65a061209dbaf286eee4addc1868f0dae9c240d1500869438551712c52",
    4: "037aa23acdb90282c4677862380adafad8496df7226d6639caf12364d735a111",
    5: "b7dee086c9d53c1e113675eec6f332a51c74dff1a49b6bcfdbabc659129e0c59",
    6: "44cfeccc989a95f76e0e0c6b85ac070c5414e3a3ebb1b20743e4523e1433dc64",
    7: "af2d532d2726d4a8a33a65efc8840e8ffc8662869792cc0ce99e1459dacca494",
    8: "e00733007e7987c5abd58fccef9ca40ccedc90d784856ab772d4bd8be8a5b5cb",
}

FIRST_DECK = "Qc 8d Jd 7d 8h 9c Kh Ac Js Ad As 8s 9s 8c Td Jh Qs Jc Th Qd Ah 7h Kd 7s 9d 9h Ts 7c Kc Ks Tc Qh"


def dealt(rules: Rules, seed: int, games: int = GAMES, deals: int = DEALS) -> tuple[np.ndarray, np.ndarray]:
    """Decks (deals, games, cards) and dealers (deals, games), from a batch of that many games."""
    batch = SelfPlayVectorEnv(games, rules, seed=seed)
    decks, dealers = [], []
    for _ in range(deals):
        batch.reset()  # the first one shows the first decks
        decks.append(batch.states["deck"][:, : len(rules.deck)].copy())
        dealers.append(batch.states["dealer"].copy())
    return np.array(decks), np.array(dealers)


@pytest.mark.parametrize("num_players", range(2, 9))
def test_decks_and_dealers_are_frozen(num_players: int) -> None:
    digest = hashlib.sha256()
    for seed in SEEDS:
        for values in dealt(Rules(num_players=num_players), seed):
            digest.update(values.astype(np.int8).tobytes())
    assert digest.hexdigest() == GOLDEN[num_players]


def test_first_deal_is_frozen() -> None:
    game = Game(Rules(), seed=0)
    assert (cards_text(game.decks[0]), game.dealer) == (FIRST_DECK, 1)


def test_generator_is_splitmix64() -> None:
    state = np.uint64(1234567)
    drawn = []
    for _ in range(5):
        state = np.uint64(advance(state))  # a plain int would come back as another type
        drawn.append(int(mix(state)))
    # The published sequence of this seed.
    assert drawn == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


# Independence


def test_a_deck_is_a_permutation_of_the_cards_of_the_rules() -> None:
    rules = Rules(num_players=7)
    decks, _ = dealt(rules, 5)
    assert (np.sort(decks) == np.array(rules.deck)).all()


def test_decks_do_not_depend_on_the_size_of_the_batch() -> None:
    decks, dealers = dealt(Rules(), 3)
    for games in (1, 7):
        fewer_decks, fewer_dealers = dealt(Rules(), 3, games)
        assert (fewer_decks == decks[:, :games]).all()
        assert (fewer_dealers == dealers[:, :games]).all()


def test_single_games_are_dealt_like_the_games_of_a_batch() -> None:
    decks, dealers = dealt(Rules(), 3)
    for deal, index in ((0, 0), (0, 1), (2, 0), (1, 49)):
        game = Game(Rules(), seed=3, index=index, first_deal=deal)
        assert (game.decks[0], game.dealer) == (decks[deal, index].tolist(), dealers[deal, index])


@pytest.mark.parametrize("choice", ["lowest", "highest", "random"])
def test_decks_do_not_depend_on_what_is_played(choice: str) -> None:
    rules = Rules.preset("tiny", max_actions=20)
    decks, dealers = dealt(rules, 3, 8, 12)
    batch = SelfPlayVectorEnv(8, rules, seed=3)
    shown = batch.reset(3)
    for _ in range(150):
        mask = shown.action_mask
        assert mask is not None
        if choice == "random":
            actions = batch.random_actions()
        else:
            actions = mask.argmax(axis=1) if choice == "lowest" else mask.shape[1] - 1 - mask[:, ::-1].argmax(axis=1)
        shown = batch.step(actions)
        deal, games = batch.states["deal"], np.arange(8)
        begun = deal < 12
        assert (batch.states["deck"][begun, :6] == decks[deal[begun], games[begun]]).all()
        assert (batch.states["dealer"][begun] == dealers[deal[begun], games[begun]]).all()
    assert (batch.states["deal"] >= 7).all()  # the loop above has seen that many decks of each game


def test_deals_of_a_match_have_the_decks_of_their_number() -> None:
    rules = Rules(scoring="cards", target=1000, max_actions=1)
    decks, dealers = dealt(rules, 3)
    game = Game(rules, seed=3)
    for _ in range(2):
        game.play(game.legal_actions()[0])
    assert game.decks == decks[:, 0].tolist()
    assert game.first_dealer == dealers[0, 0]


# Fairness: with the seed fixed these cannot fail by chance, and the bounds are five standard deviations of chi-square
# and more.

SAMPLE = 20_000


def chi_square(counts: np.ndarray) -> float:
    """Pearson's statistic against equal frequencies."""
    expected = counts.sum() / counts.size
    return float(((counts - expected) ** 2).sum() / expected)


def bound(degrees: int) -> float:
    return degrees + 5 * (2 * degrees) ** 0.5 + 10


def pair_counts(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    counts = np.zeros((NUM_CARDS, NUM_CARDS), int)
    np.add.at(counts, (first, second), 1)
    return counts[np.ix_(np.unique(first), np.unique(second))]


@pytest.fixture(scope="module")
def sample() -> SelfPlayVectorEnv:
    return SelfPlayVectorEnv(SAMPLE, Rules(), seed=12345)


def test_dealers_are_uniform(sample: SelfPlayVectorEnv) -> None:
    assert chi_square(np.bincount(sample.states["dealer"], minlength=4)) < bound(3)


def test_each_card_goes_to_each_seat_equally_often(sample: SelfPlayVectorEnv) -> None:
    hands = sample.states["hand"][:, :4]
    counts = np.array([(hands >> np.uint64(card) & np.uint64(1)).sum(axis=0, dtype=int) for card in Rules().deck])
    assert (counts.sum(axis=1) == SAMPLE).all()
    assert chi_square(counts) < bound(32 * 3)


def test_each_card_lies_at_each_place_of_the_deck_equally_often(sample: SelfPlayVectorEnv) -> None:
    decks = sample.states["deck"][:, :32]
    counts = pair_counts(np.tile(np.arange(32), SAMPLE), decks.reshape(-1))
    assert counts.shape == (32, 32)
    assert chi_square(counts) < bound(31 * 31)


@pytest.mark.parametrize("neighbour", ["place", "game", "deal", "seed"])
def test_neighbouring_draws_have_nothing_to_do_with_one_another(sample: SelfPlayVectorEnv, neighbour: str) -> None:
    first = sample.states["deck"][:, 0]
    second = {
        "place": lambda: sample.states["deck"][:, 1],
        "game": lambda: np.roll(first, 1),
        "deal": lambda: dealt(Rules(), 12345, SAMPLE, 2)[0][1, :, 0],
        "seed": lambda: dealt(Rules(), 12346, SAMPLE, 1)[0][0, :, 0],
    }[neighbour]()
    counts = pair_counts(first, second)
    assert counts.shape == (32, 32)
    if neighbour == "place":  # a deck has no card twice
        assert not counts.diagonal().any()
        counts = counts[~np.eye(32, dtype=bool)]
    assert chi_square(counts) < bound(counts.size - 1)
