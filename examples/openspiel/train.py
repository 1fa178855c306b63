"""OpenSpiel's DQN learns on one seat against a random player, by observations of `rl_environment`."""

from importlib.metadata import version
from time import perf_counter

import numpy as np
import torch
from open_spiel.python.algorithms.random_agent import RandomAgent
from open_spiel.python.pytorch import dqn
from open_spiel.python.rl_environment import ChanceEventSampler, Environment, ObservationType

from rs_env import Rules, openspiel
from rs_env.arena import duel
from rs_env.baselines.logits import LogitsAgent

TURNS = 60_000
RULES = Rules(num_players=2)


def main() -> None:
    """Train, measure before and after, and say what came out."""
    print(", ".join(f"{name} {version(name)}" for name in ("open_spiel", "dm-tree", "torch")))
    torch.set_num_threads(1)
    env = Environment(
        openspiel.load_game(RULES),
        observation_type=ObservationType.OBSERVATION,  # the default would be all moves of the deal
        chance_event_sampler=ChanceEventSampler(seed=1),
        enable_legality_check=True,  # an illegal move raises
    )
    (size,), actions = env.observation_spec()["info_state"], env.action_spec()["num_actions"]
    learner = dqn.DQN(
        0,
        size,
        actions,
        [128, 128],
        batch_size=128,
        replay_buffer_capacity=50_000,
        learning_rate=5e-4,
        optimizer_str="adam",
        learn_every=8,
        update_target_network_every=500,
        epsilon_decay_duration=TURNS // 3,
        epsilon_decay_schedule_str="linear",
        seed=1,
    )
    agents = [learner, RandomAgent(1, actions)]

    def values(rows: np.ndarray, masks: np.ndarray) -> np.ndarray:
        seat = np.tile(
            np.array([1, 0], np.float32), (len(rows), 1)
        )  # OpenSpiel's tensors begin with it; it learns on 0
        rows = np.concatenate([seat, rows], 1)
        with torch.inference_mode():
            return learner._q_network(torch.from_numpy(rows)).numpy()

    # Values are no logits: the low temperature takes the best action, and draws where two are as good as equal.
    agent = LogitsAgent(values, "DQN", temperature=0.01)
    print("before:", duel(agent, "random", RULES, deals=500))
    turns, begin = 0, perf_counter()
    while turns < TURNS:
        step = env.reset()
        while not step.last():
            action = agents[step.current_player()].step(step).action
            step = env.step([action])
            turns += 1
        learner.step(step)
    print(f"{turns} turns of both seats, {turns / (perf_counter() - begin):.0f} a second, 0 illegal moves")
    after = duel(agent, "random", RULES, deals=500)
    print("after:", after)
    assert after.bounds[0] > after.parity


if __name__ == "__main__":
    main()
