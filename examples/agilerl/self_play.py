"""AgileRL's IPPO, one network for all seats of a parallel environment, learns by self-play with masks.

Four things in AgileRL 2.58 have to be gone around; each says so where it is done.
"""

from collections import defaultdict
from importlib.metadata import version
from time import perf_counter

import numpy as np
import torch
from agilerl.algorithms import IPPO
from agilerl.networks import StochasticActor, ValueNetwork
from agilerl.vector import AsyncPettingZooVecEnv
from gymnasium import spaces
from pettingzoo import ParallelEnv
from pettingzoo.utils import BaseParallelWrapper
from pettingzoo.utils.conversions import turn_based_aec_to_parallel

import rs_env
from rs_env import Rules
from rs_env.arena import duel
from rs_env.baselines.logits import LogitsAgent
from rs_env.cards import NUM_ACTIONS

ENVS, ROLLOUT, ROUNDS = 8, 512, 24
RULES = Rules(num_players=2)  # two equal players win half of the games each


class MaskInObservation(BaseParallelWrapper):
    """Observations that end with the mask, for `MaskedActor`."""

    def observation_space(self, agent: str) -> spaces.Box:
        """The vector and the mask."""
        size = self.env.observation_space(agent).shape[0] + NUM_ACTIONS
        return spaces.Box(0, 1, (size,), np.float32)

    def reset(self, seed=None, options=None):
        """As the environment's."""
        observations, infos = self.env.reset(seed, options)
        return with_masks(observations, infos), infos

    def step(self, actions):
        """As the environment's; an illegal move raises."""
        observations, *paid, infos = self.env.step(actions)
        return with_masks(observations, infos), *paid, infos


def with_masks(observations: dict, infos: dict) -> dict:
    """Each observation with the mask of the seat behind it."""
    return {
        agent: np.concatenate([vector, infos[agent]["action_mask"]], dtype=np.float32)
        for agent, vector in observations.items()
    }


def make_env() -> ParallelEnv:
    """As `rs_env.parallel_env`, but an illegal move raises `IllegalActionError`; seats that wait may pick up."""
    env = rs_env.raw_env(RULES, observation_dtype="float32", flat=True, mark_waiting=True)
    return MaskInObservation(turn_based_aec_to_parallel(env))


class MaskedActor(StochasticActor):
    """An actor that finds the mask at the end of the observation: IPPO's update gives it none."""

    def forward(self, obs, action_mask=None):
        """Action, log-probability and entropy among the legal actions."""
        return super().forward(obs, obs[..., -NUM_ACTIONS:])


class SharedIPPO(IPPO):
    """IPPO whose update knows which row is which."""

    def extract_action_masks(self, infos):
        """None: the actor has them. IPPO itself looks for None among arrays, which raises."""
        return dict.fromkeys(self.observation_space)

    def learn(self, experiences):
        """As IPPO's. It sorts observations and actions by seat first and everything else by time first, so that a
        group of several seats learns from pairs that do not belong together. Here they become one seat in more games.
        """
        first = self.agent_ids[0]
        merged = []
        for field in experiences:
            axis = 1 if isinstance(field[first], list) else 0  # steps of a rollout, or the state after it
            merged.append({first: np.concatenate([np.array(field[agent]) for agent in self.agent_ids], axis)})
        return super().learn(tuple(merged))


def collect(learner: IPPO, envs: AsyncPettingZooVecEnv, now: tuple) -> tuple[tuple, tuple]:
    """A rollout, and where it ended. AgileRL's own loop forgets that a game ended before the next one began, so that
    advantages run on into the game before.
    """
    rows = defaultdict(lambda: defaultdict(list))
    observations, infos, done = now
    for _ in range(ROLLOUT):
        actions, log_probs, _, values = learner.get_action(observations, infos)
        following, rewards, terminated, truncated, infos = envs.step(actions)
        fields = (observations, actions, log_probs, rewards, done, values)
        for number, field in enumerate(fields):
            for agent in learner.agent_ids:
                rows[number][agent].append(np.array(field[agent]))
        observations = following
        done = {agent: np.logical_or(terminated[agent], truncated[agent]).astype(float) for agent in learner.agent_ids}
    return (*(dict(rows[number]) for number in range(6)), observations, done), (observations, infos, done)


def main() -> None:
    """Train, measure before and after, and say what came out."""
    print(", ".join(f"{name} {version(name)}" for name in ("agilerl", "pettingzoo", "gymnasium", "torch")))
    np.random.seed(1)  # noqa: NPY002  AgileRL shuffles by NumPy's global generator
    torch.manual_seed(1)
    torch.set_num_threads(1)  # small networks: more threads only wait for one another
    env = make_env()
    agents = env.possible_agents
    seen, acts = env.observation_space(agents[0]), env.action_space(agents[0])
    layers = {"encoder_config": {"hidden_size": [128]}, "head_config": {"hidden_size": [128]}}
    learner = SharedIPPO(
        [seen] * len(agents),
        [acts] * len(agents),
        agent_ids=agents,
        actor_networks=[MaskedActor(seen, acts, **layers)],
        critic_networks=[ValueNetwork(seen, **layers)],
        batch_size=512,
        lr=1e-3,
        gamma=1.0,
        normalize_images=False,
    )

    def logits(rows: np.ndarray, masks: np.ndarray) -> np.ndarray:
        actor = next(iter(learner.actors.values()))
        with torch.inference_mode():
            features = actor.extract_features(torch.from_numpy(np.concatenate([rows, masks], 1, dtype=np.float32)))
            return actor.head_net.wrapped(features).numpy()

    agent = LogitsAgent(logits, "IPPO")
    print("before:", duel(agent, "random", RULES, deals=500))
    envs = AsyncPettingZooVecEnv([make_env] * ENVS)
    begin = perf_counter()
    observations, infos = envs.reset(seed=1)
    now = (observations, infos, {agent: np.zeros(ENVS) for agent in agents})
    for _ in range(ROUNDS):
        experiences, now = collect(learner, envs, now)
        learner.learn(experiences)
    envs.close()
    steps = ROUNDS * ROLLOUT * ENVS
    print(f"{steps} steps, {steps / (perf_counter() - begin):.0f} a second, 0 illegal moves")
    after = duel(agent, "random", RULES, deals=500)
    print("after:", after)
    assert after.bounds[0] > after.parity


if __name__ == "__main__":
    main()
