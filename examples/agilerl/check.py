"""AgileRL's IPPO plays and learns on the flat parallel environment, one network for all seats, without an illegal move."""

from importlib.metadata import version

import numpy as np
import torch
from agilerl.algorithms import IPPO
from agilerl.training.train_multi_agent_on_policy import train_multi_agent_on_policy
from pettingzoo.utils import BaseParallelWrapper

import rs_env

STEPS, GAMES = 4096, 20


class Checked(BaseParallelWrapper):
    """Counts steps and illegal moves, and gives masks as lists: IPPO in AgileRL 2.58 fails on arrays (`None in group_masks`)."""

    steps = illegal = 0

    def reset(self, seed=None, options=None):
        """As in PettingZoo."""
        observations, infos = self.env.reset(seed=seed, options=options)
        return observations, self._with_lists(infos)

    def step(self, actions):
        """As in PettingZoo."""
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        self.steps += 1
        self.illegal += min(rewards.values()) < 0  # the reward of an illegal move is -1
        return observations, rewards, terminated, truncated, self._with_lists(infos)

    @staticmethod
    def _with_lists(infos):
        return {agent: {"action_mask": info["action_mask"].tolist()} for agent, info in infos.items()}


def play(env: Checked, learner: IPPO, games: int) -> np.ndarray:
    """The learner on all seats; the games that each seat won."""
    won = np.zeros(len(env.possible_agents))
    for game in range(games):
        observations, infos = env.reset(seed=game)
        while env.agents:
            actions = learner.get_action(observations, infos)[0]
            observations, rewards, _, _, infos = env.step({agent: int(np.squeeze(action)) for agent, action in actions.items()})
        won += [rewards[agent] for agent in env.possible_agents]
    return won


def main() -> None:
    """Train, play, and say what came out."""
    print(", ".join(f"{name} {version(name)}" for name in ("agilerl", "pettingzoo", "gymnasium", "torch")))
    torch.manual_seed(1)
    env = Checked(rs_env.parallel_env(observation_dtype="float32", flat=True, mark_waiting=True))
    agents = env.possible_agents
    spaces = [env.observation_space(agent) for agent in agents], [env.action_space(agent) for agent in agents]
    learner = IPPO(*spaces, agent_ids=agents, learn_step=512, batch_size=256)
    (learner,), _ = train_multi_agent_on_policy(
        env, "rolling_stone", "IPPO", [learner], max_steps=STEPS, evo_steps=1024, eval_steps=256, verbose=False
    )
    print(f"IPPO: {env.steps} steps of training and evaluation, {env.illegal} illegal moves")
    assert env.steps >= STEPS
    won = play(env, learner, GAMES)
    print(f"{GAMES} games with itself, {won.astype(int).tolist()} won by each seat, {env.illegal} illegal moves")
    assert env.illegal == 0
    assert won.sum() > 0


if __name__ == "__main__":
    main()
