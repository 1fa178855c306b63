"""The batch of Gymnasium games as a vector environment of stable-baselines3; needs the extra ``rs_env[sb3]``.

``make_vec_env`` of stable-baselines3 asks one game after the other. This asks all of them at once, in compiled code.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from rs_env.checks import needs_extra

with needs_extra("sb3", "rs_env.envs.sb3"):
    from stable_baselines3.common.vec_env import VecEnv

from rs_env.envs.gymnasium_vector import RollingStoneVectorEnv


class RollingStoneVecEnv(VecEnv):
    """``MaskablePPO("MlpPolicy", RollingStoneVecEnv(64), ...)``: one learner among named opponents, in many games.

    num_envs: number of games. observation_dtype: ``"float32"`` scales observations to 0..1, as networks want them.
    options: as in `rs_env.envs.gymnasium_vector.RollingStoneVectorEnv`, but for `autoreset_mode` and `render_mode`.

    Game i deals and plays as the i-th environment of ``make_vec_env`` with the same seed. Until `seed` is called decks
    are random. The masks, bool (num_envs, 53), are what ``action_masks`` gives, where sb3-contrib looks for them. In
    the infos of a game that has ended are ``terminal_observation``, ``TimeLimit.truncated`` and ``episode``, the return
    and the number of decisions, which stable-baselines3 reports; an illegal action is marked by ``illegal_action``.
    Raises TypeError for a keyword that it does not know, and ValueError for a value that is not allowed.
    """

    def __init__(self, num_envs: int, observation_dtype: str = "float32", **options: Any) -> None:
        refused = {"autoreset_mode", "render_mode"} & options.keys()
        if refused:
            raise TypeError(
                f"RollingStoneVecEnv takes no {min(refused)}: games are dealt anew in the same step, and not drawn"
            )
        self.batch = RollingStoneVectorEnv(num_envs, observation_dtype=observation_dtype, **options)  # type: ignore[arg-type]
        self._actions = np.zeros(self.batch.num_envs, np.int64)
        self._returns = np.zeros(self.batch.num_envs)
        self._lengths = np.zeros(self.batch.num_envs, np.int64)
        super().__init__(self.batch.num_envs, self.batch.single_observation_space, self.batch.single_action_space)

    def reset(self) -> Any:
        """Start all games anew, by the seeds of `seed` if it was called since; the observations."""
        observations, _ = self.batch.reset(seed=self._seeds)
        self._reset_seeds()
        self._reset_options()
        self._returns[:], self._lengths[:] = 0, 0
        return observations

    def step_async(self, actions: np.ndarray) -> None:
        """Keep the actions, integers (num_envs,), for `step_wait`."""
        self._actions = actions

    def step_wait(self) -> Any:
        """Observations, rewards float32 (num_envs,), which games have ended, bool (num_envs,), and infos, one each."""
        observations, rewards, terminated, truncated, found = self.batch.step(self._actions)
        self._returns += rewards
        self._lengths += 1
        ended = terminated | truncated
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for i in np.flatnonzero(ended):
            infos[i] = {
                "terminal_observation": found["final_obs"][i],
                "TimeLimit.truncated": bool(truncated[i] and not terminated[i]),
                "episode": {"r": float(self._returns[i]), "l": int(self._lengths[i])},
            }
        for flags in (found, found.get("final_info", {})):
            for i in np.flatnonzero(flags.get("illegal_action", ())):
                infos[i]["illegal_action"] = True
        self._returns[ended], self._lengths[ended] = 0, 0
        return observations, rewards.astype(np.float32), ended, infos

    def close(self) -> None:
        """Nothing is held that would need to be released."""

    def get_attr(self, attr_name: str, indices: int | Iterable[int] | None = None) -> list[Any]:
        """The batch's attribute, the same for each of these games. Raises AttributeError where there is none."""
        return [getattr(self.batch, attr_name)] * len(self._chosen(indices))

    def set_attr(self, attr_name: str, value: Any, indices: int | Iterable[int] | None = None) -> None:
        """Refuse: all games share their attributes. Raises AttributeError."""
        raise AttributeError(f"{attr_name!r} cannot be set: the games of a batch share their attributes")

    def env_method(
        self, method_name: str, *method_args: Any, indices: int | Iterable[int] | None = None, **method_kwargs: Any
    ) -> list[Any]:
        """The masks of these games by ``"action_masks"``. Raises AttributeError for any other method."""
        if method_name != "action_masks":
            raise AttributeError(f"{method_name!r} is no method of single games of a batch: there is 'action_masks'")
        return list(self.batch.action_masks()[self._chosen(indices)])

    def env_is_wrapped(self, wrapper_class: type, indices: int | Iterable[int] | None = None) -> list[bool]:
        """No game is wrapped; but each is watched as by a ``Monitor``, see the class."""
        return [wrapper_class.__name__ == "Monitor"] * len(self._chosen(indices))

    def _chosen(self, indices: int | Iterable[int] | None) -> Sequence[int]:
        return list(self._get_indices(indices))


__all__ = ["RollingStoneVecEnv"]
