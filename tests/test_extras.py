"""What is said where a library of an extra is missing."""

from __future__ import annotations

import subprocess
import sys

import pytest

from rs_env.checks import needs_extra

USES = {
    "tyro": ("import rs_env.arena.__main__", "arena"),
    "scipy": ("from rs_env.arena import league; league(['random', 'low'], deals=2).ratings", "arena"),
    "pyspiel": ("import rs_env.openspiel", "openspiel"),
    "stable_baselines3": ("import rs_env.envs.sb3", "sb3"),
    "safetensors": ("from rs_env import make_agent; make_agent('net')", "net"),
    "PIL": ("import rs_env.render.picture", "render"),
}


@pytest.mark.parametrize("module", USES)
def test_what_is_missing_is_named_with_its_extra(module: str) -> None:
    use, extra = USES[module]
    hidden = f"import sys; sys.modules[{module!r}] = None; {use}"
    done = subprocess.run([sys.executable, "-c", hidden], capture_output=True, text=True)
    assert done.returncode != 0
    assert f"pip install 'rs_env[{extra}]'" in done.stderr.splitlines()[-1]


def test_the_name_of_the_missing_module_is_kept() -> None:
    told = r"this needs nonsense: pip install 'rs_env\[arena\]'"
    with pytest.raises(ModuleNotFoundError, match=told) as found, needs_extra("arena", "this"):
        import nonsense  # type: ignore[import-not-found]  # noqa: F401
    assert found.value.name == "nonsense"
