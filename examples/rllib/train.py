"""RLlib's PPO learns with the masked module of its own examples, which wants the key `observations`."""

import os
from importlib.metadata import version
from time import perf_counter

os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # says nothing of accelerators that are not there

import gymnasium
import numpy as np
import ray
import torch
from gymnasium.spaces import Box, Dict
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule

import rs_env  # noqa: F401  registers the environments
from rs_env import Rules
from rs_env.arena import duel
from rs_env.baselines.logits import LogitsAgent

ITERATIONS, BATCH = 20, 2048


class MaskInObservation(gymnasium.Env):
    """One learner against one random player; an illegal move raises. RLlib looks for the mask in the observation."""

    def __init__(self, config: dict) -> None:
        self.env = gymnasium.make(
            "rs_env/RollingStone-v0",
            num_players=2,
            opponents="random",
            skip_forced=True,
            observation_dtype="float32",
            illegal_action="raise",
        )
        self.action_space = gymnasium.spaces.Discrete(53)
        self.observation_space = Dict(
            {"observations": self.env.observation_space, "action_mask": Box(0, 1, (53,), np.float32)}
        )

    def reset(self, *, seed=None, options=None):
        """As the environment's."""
        row, info = self.env.reset(seed=seed)
        return {"observations": row, "action_mask": info["action_mask"].astype(np.float32)}, {}

    def step(self, action):
        """As the environment's."""
        row, reward, terminated, truncated, info = self.env.step(int(action))
        mask = info["action_mask"].astype(np.float32)
        return {"observations": row, "action_mask": mask}, reward, terminated, truncated, {}


def agent(algorithm) -> LogitsAgent:
    """The module as an agent for the arena."""
    module = algorithm.get_module()

    def logits(rows: np.ndarray, masks: np.ndarray) -> np.ndarray:
        seen = {"observations": torch.from_numpy(rows), "action_mask": torch.from_numpy(masks).float()}
        with torch.inference_mode():
            return module.forward_inference({"obs": seen})["action_dist_inputs"].numpy()

    return LogitsAgent(logits, "PPO")


def main() -> None:
    """Train, measure before and after, and say what came out."""
    print(", ".join(f"{name} {version(name)}" for name in ("ray", "gymnasium", "torch")))
    torch.set_num_threads(1)
    ray.init(num_cpus=2, include_dashboard=False, logging_level="error", log_to_driver=False)
    config = (
        PPOConfig()
        .environment(MaskInObservation)
        .env_runners(num_env_runners=0, num_envs_per_env_runner=16)
        .rl_module(
            rl_module_spec=RLModuleSpec(
                module_class=ActionMaskingTorchRLModule,
                model_config={"fcnet_hiddens": [128, 128], "head_fcnet_hiddens": []},
            )
        )
        .training(lr=1e-3, gamma=1.0, train_batch_size_per_learner=BATCH, minibatch_size=256, num_epochs=6)
        .debugging(seed=1)
    )
    algorithm = config.build_algo()
    print("before:", duel(agent(algorithm), "random", Rules(num_players=2), deals=500))
    begin = perf_counter()
    for iteration in range(1, ITERATIONS + 1):
        algorithm.train()
        print(f"{iteration * BATCH} steps, {perf_counter() - begin:.0f} s", flush=True)
    steps = ITERATIONS * BATCH
    print(f"{steps} steps, {steps / (perf_counter() - begin):.0f} a second, 0 illegal moves")
    after = duel(agent(algorithm), "random", Rules(num_players=2), deals=500)
    print("after:", after)
    algorithm.stop()
    ray.shutdown()
    assert after.bounds[0] > after.parity


if __name__ == "__main__":
    main()
