"""Small networks as files, for tests that need no PyTorch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from rs_env.baselines.checkpoints import FORMAT, digest_of, kind_version
from rs_env.baselines.networks import FORMS
from rs_env.engine.observation import OBSERVATION_VERSION
from rs_env.rules import Rules, as_rules


def arrays_of(
    rules: Rules, hidden: int = 16, layers: int = 2, seed: int = 0, dtype: Any = np.float32, kind: str = "suits"
) -> dict[str, Any]:
    """Random weights, large enough that policies are far from uniform."""
    rng = np.random.default_rng(seed)
    shapes = FORMS[kind].shapes(FORMS[kind].columns(rules.num_players), hidden, layers)
    return {
        f"network.{name}": (rng.normal(size=shape) * (2 / shape[-1]) ** 0.5).astype(dtype)
        for name, shape in shapes.items()
    }


def write_network(
    path: Path, rules: Rules | str = "rolling_stone", hidden: int = 16, layers: int = 2, **changes: Any
) -> Path:
    """A checkpoint of a random network, as `agents.checkpoint` writes it.

    changes: `kind` of the network, `seed` and `dtype` of the weights, and `arrays`, `config` or `metadata` in place of
    what they would be.
    """
    rules = as_rules(rules)
    weights = {name: changes.pop(name) for name in ("seed", "dtype", "kind") if name in changes}
    arrays = changes.get("arrays", arrays_of(rules, hidden, layers, **weights))
    network = {"kind": weights.get("kind", "suits"), "hidden": hidden, "layers": layers}
    config = {"learner": "ppo", "rules": rules.to_dict(), "network": network, **changes.get("config", {})}
    metadata = {
        "format": FORMAT,
        "observation_version": str(OBSERVATION_VERSION),
        "config": json.dumps(config),
        "progress": json.dumps({"iteration": 0, "iterations": 0}),
        **kind_version(config),
        **changes.get("metadata", {}),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file(arrays, path, {"digest": digest_of(metadata, arrays)} | metadata)
    return path
