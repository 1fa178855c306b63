"""OpenSpiel's sampled CFR against exact NashConv, and its DQN and NFSP by observations, on the same game."""

from importlib.metadata import version

import numpy as np
import pyspiel
from open_spiel.python.algorithms import external_sampling_mccfr, ismcts, mcts
from open_spiel.python.bots.uniform_random import UniformRandomBot
from open_spiel.python.pytorch import dqn, nfsp
from open_spiel.python.rl_agent_policy import JointRLAgentPolicy
from open_spiel.python.rl_environment import ChanceEventSampler, Environment, ObservationType

from rs_env import Rules, openspiel
from rs_env.solve.exact import GameTree, nash_conv

ITERATIONS, GAMES = 500, 20
TINY = Rules.preset("tiny", max_actions=10)


def sampled_cfr(tree: GameTree) -> None:
    """Average policies of MCCFR, in C++ and in Python, become profiles of our tree."""
    game = openspiel.load_game(tree.rules, merge_deals=True)
    in_cpp = {
        "external sampling, C++": pyspiel.ExternalSamplingMCCFRSolver(game, seed=1),
        "outcome sampling, C++": pyspiel.OutcomeSamplingMCCFRSolver(game, seed=1),
    }
    for solver in in_cpp.values():
        for _ in range(ITERATIONS):
            solver.run_iteration()
    in_python = external_sampling_mccfr.ExternalSamplingSolver(game)
    for _ in range(ITERATIONS):
        in_python.iteration()
    before = nash_conv(tree.uniform(), tree).nash_conv
    for name, solver in {**in_cpp, "external sampling, Python": in_python}.items():
        after = nash_conv(openspiel.from_openspiel(tree, solver.average_policy()), tree).nash_conv
        print(f"MCCFR, {name}: NashConv {after:.3f} after {ITERATIONS} iterations, {before:.3f} before")
        assert after < before


def play(env: Environment, agents: list) -> int:
    """Let the agents learn from some games; the number of their moves. The environment raises at an illegal one."""
    moves = 0
    for _ in range(GAMES):
        step = env.reset()
        while not step.last():
            step = env.step([agents[step.current_player()].step(step).action])
            moves += 1
        for agent in agents:
            agent.step(step)
    return moves


def environment(rules: Rules) -> Environment:
    """With observations: the default is the information state with all moves of the deal, which is too long for a
    network.
    """
    game = openspiel.load_game(rules)
    return Environment(
        game,
        observation_type=ObservationType.OBSERVATION,
        chance_event_sampler=ChanceEventSampler(seed=1),
        enable_legality_check=True,
    )


def learners() -> None:
    """DQN and NFSP on the default rules, an agent for each of four seats."""
    game, env = openspiel.load_game(), environment(Rules())
    (size,), actions = env.observation_spec()["info_state"], env.action_spec()["num_actions"]
    print(f"numbers in the observation {size}, in the information state {game.information_state_tensor_size()}")
    small = {"hidden_layers_sizes": [64], "batch_size": 32, "min_buffer_size_to_learn": 64}
    agents = [dqn.DQN(seat, size, actions, **small) for seat in range(4)]
    print(f"DQN: {play(env, agents)} moves in {GAMES} games, loss {agents[0].loss:.4f}, no illegal move")
    assert np.isfinite(agents[0].loss)
    agents = [
        nfsp.NFSP(seat, size, actions, reservoir_buffer_capacity=1000, anticipatory_param=0.1, **small)
        for seat in range(4)
    ]
    print(f"NFSP: {play(env, agents)} moves in {GAMES} games, no illegal move")


def exact_value_of_learners(tree: GameTree) -> None:
    """The policy of two DQN agents on the tiny game, whose NashConv is computed exactly."""
    env = environment(tree.rules)
    (size,), actions = env.observation_spec()["info_state"], env.action_spec()["num_actions"]
    agents = {seat: dqn.DQN(seat, size, actions, [64], batch_size=32, min_buffer_size_to_learn=64) for seat in range(2)}
    play(env, list(agents.values()))
    policy = JointRLAgentPolicy(env.game, agents, use_observation=True)
    print(f"DQN on the tiny game: NashConv {nash_conv(openspiel.from_openspiel(tree, policy), tree).nash_conv:.3f}")


def information_set_search(games: int = 60, simulations: int = 30) -> None:
    """OpenSpiel's IS-MCTS in Python against a random bot, on both seats of the tiny game."""
    game, rng = openspiel.load_game(Rules.preset("tiny")), np.random.RandomState(1)
    won = 0.0
    for number in range(games):
        search = ismcts.ISMCTSBot(game, mcts.RandomRolloutEvaluator(1, rng), 1.0, simulations, random_state=rng)
        bots = [UniformRandomBot(seat, rng) for seat in range(2)]
        bots[number % 2] = search
        state = game.new_initial_state()
        while not state.is_terminal():
            if state.is_chance_node():
                actions, probabilities = zip(*state.chance_outcomes(), strict=True)
                state.apply_action(rng.choice(actions, p=probabilities))
            else:
                state.apply_action(bots[state.current_player()].step(state))
        won += state.returns()[number % 2]
    print(f"IS-MCTS, {simulations} simulations: won {won / games:.1%} of {games} games against a random bot")
    assert won / games > 0.6


if __name__ == "__main__":
    print(", ".join(f"{name} {version(name)}" for name in ("open_spiel", "dm-tree", "torch")))
    tiny = GameTree(TINY)
    sampled_cfr(tiny)
    information_set_search()
    learners()
    exact_value_of_learners(tiny)
