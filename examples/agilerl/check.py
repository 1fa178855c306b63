"""AgileRL's IPPO trains on flat parallel environments, one network for all seats, in which an illegal move would be an
error.
"""

from collections import defaultdict
from importlib.metadata import version

import numpy as np
import torch
from agilerl.algorithms import IPPO
from agilerl.training.train_multi_agent_on_policy import train_multi_agent_on_policy
from agilerl.vector import AsyncPettingZooVecEnv
from pettingzoo import ParallelEnv
from pettingzoo.utils.conversions import turn_based_aec_to_parallel

import rs_env

STEPS, GAMES = 4096, 20


class MaskedIPPO(IPPO):
    """IPPO that takes masks as arrays; that of AgileRL 2.58 fails on them, since it looks for None among them with
    `in`.
    """

    def extract_action_masks(self, infos):
        """The masks of each group of agents, a tensor (agents, ...)."""
        masks = defaultdict(list)
        for agent in self.agent_ids:
            masks[self.get_group_id(agent)].append(infos[agent]["action_mask"])
        return {group: torch.from_numpy(np.array(arrays)) for group, arrays in masks.items()}


def make_env() -> ParallelEnv:
    """As `rs_env.parallel_env`, but an illegal move raises `IllegalActionError`."""
    return turn_based_aec_to_parallel(rs_env.raw_env(observation_dtype="float32", flat=True, mark_waiting=True))


def play(env: ParallelEnv, learner: IPPO, games: int) -> list[int]:
    """The learner on all seats; the games that each seat won."""
    won = dict.fromkeys(env.possible_agents, 0)
    for game in range(games):
        observations, infos = env.reset(seed=game)
        while env.agents:
            actions = learner.get_action(observations, infos)[0]
            observations, rewards, _, _, infos = env.step(
                {agent: int(np.squeeze(action)) for agent, action in actions.items()}
            )
        won = {agent: wins + int(rewards[agent]) for agent, wins in won.items()}
    return list(won.values())


def main() -> None:
    """Train, play, and say what came out."""
    print(", ".join(f"{name} {version(name)}" for name in ("agilerl", "pettingzoo", "gymnasium", "torch")))
    torch.manual_seed(1)
    torch.set_num_threads(1)  # small networks: more threads only wait for one another
    env = make_env()
    spaces = (
        [env.observation_space(agent) for agent in env.possible_agents],
        [env.action_space(agent) for agent in env.possible_agents],
    )
    learner = MaskedIPPO(*spaces, agent_ids=env.possible_agents, learn_step=512, batch_size=256)
    envs = AsyncPettingZooVecEnv([make_env] * 2)
    (learner,), _ = train_multi_agent_on_policy(
        envs, "rolling_stone", "IPPO", [learner], max_steps=STEPS, evo_steps=1024, eval_steps=128, verbose=False
    )
    print(f"IPPO: {STEPS} steps of training, no illegal move")
    won = play(env, learner, GAMES)
    print(f"{GAMES} games with itself, {won} won by each seat, no illegal move")
    assert sum(won) > 0


if __name__ == "__main__":
    main()
