"""Where compiled code is kept, when it is thrown away, what is said meanwhile, and that everything can be compiled
ahead.

Most of it on a package of two functions with a copy of `rs_env.engine.jit`, since compiling the game takes long.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rs_env
from rs_env.engine import jit

ROOT = Path(__file__).parents[1]
RULES = "from tiny.engine.jit import njit\n\n@njit\ndef value():\n    return {}\n"
KERNEL = """
from tiny.engine.jit import njit
from tiny.rules import value

@njit(cache=True)
def kernel(x):
    return value() + x
"""
USE = (
    "from tiny.engine.jit import code_folder, missed; from tiny.kernel import kernel; "
    "print(kernel(0), len(missed()), code_folder())"
)


class Tiny:
    """The package in `folder`, used in processes of their own, in which nothing but what `set_up` leaves can be written
    to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.package, self.temporary = folder / "tiny", folder / "temporary"
        self.package.mkdir()
        self.temporary.mkdir()
        (self.package / "engine").mkdir()
        for package in (self.package, self.package / "engine"):
            (package / "__init__.py").touch()
        shutil.copy(jit.__file__, self.package / "engine" / "jit.py")
        (self.package / "kernel.py").write_text(KERNEL)
        self.write_rules(1)
        self.variables = {
            name: value for name, value in os.environ.items() if name not in (jit.QUIET, "NUMBA_CACHE_DIR")
        }
        self.variables |= {"TMPDIR": str(self.temporary), "HOME": os.devnull, "PYTHONDONTWRITEBYTECODE": "1"}
        self.variables.pop("XDG_CACHE_HOME", None)
        self.become: list[str] = []  # what runs a command as somebody else

    def write_rules(self, value: int) -> None:
        (self.package / "rules.py").write_text(RULES.format(value))

    def make_read_only(self) -> None:
        """As for its compiled code: also for root, whom no permission keeps from writing."""
        (self.package / "__pycache__").touch()

    def start(self, code: str = USE, **variables: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*self.become, sys.executable, "-W", "error", "-c", code],
            cwd=self.folder,
            env={**self.variables, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def use(self, code: str = USE, **variables: str) -> tuple[int, int, str, str]:
        """What the kernel gave, how many functions were compiled, the folder, and what was said."""
        return result_of(self.start(code, **variables))


def result_of(process: subprocess.Popen[str]) -> tuple[int, int, str, str]:
    out, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    value, compiled, folder = out.split()
    return int(value), int(compiled), folder, said


@pytest.fixture
def tiny(tmp_path: Path) -> Tiny:
    return Tiny(tmp_path)


def test_change_of_another_module_is_noticed(tiny: Tiny) -> None:
    value, compiled, folder, _ = tiny.use()
    assert (value, compiled) == (1, 1)
    assert tiny.use()[:3] == (1, 0, folder)
    tiny.write_rules(2)
    value, compiled, newer, _ = tiny.use()
    assert (value, compiled) == (2, 1)
    assert newer != folder
    assert not Path(folder).exists()  # stale code does not pile up


def test_change_of_a_file_outside_the_package_is_noticed(tiny: Tiny) -> None:
    outside = tiny.folder / "outside.py"
    use = "import outside; from tiny.engine.jit import missed; print(outside.f(), len(missed()), '-')"
    for value in (3, 4):
        outside.write_text(f"from tiny.engine.jit import njit\n\n@njit(cache=True)\ndef f():\n    return {value}\n")
        assert tiny.use(use)[:2] == (value, 1)
        assert tiny.use(use)[:2] == (value, 0)


def test_functions_of_equal_name_and_line_in_two_files_are_kept_apart(tiny: Tiny) -> None:
    for name, value in (("a", 5), ("b", 6)):
        (tiny.package / name).mkdir()
        (tiny.package / name / "game.py").write_text(
            f"from tiny.engine.jit import njit\n\n@njit(cache=True)\ndef f():\n    return {value}\n"
        )
    use = "from tiny.a.game import f; from tiny.b.game import f as g; from tiny.engine.jit import missed; "
    use += "print(10 * f() + g(), len(missed()), '-')"
    assert tiny.use(use)[:2] == (56, 2)
    assert tiny.use(use)[:2] == (56, 0)


def test_read_only_installation_without_a_home_warns_and_keeps_code_in_the_temporary_folder(tiny: Tiny) -> None:
    tiny.make_read_only()
    processes = [tiny.start() for _ in range(3)]
    for value, _, folder, said in map(result_of, processes):
        assert value == 1
        assert Path(folder).is_relative_to(tiny.temporary)
        (line, *_) = said.splitlines()
        assert folder in line
        assert "NUMBA_CACHE_DIR" in line
    assert tiny.use()[1] == 0
    assert Path(folder).parent.stat().st_mode & 0o777 == 0o700  # nobody else puts code there


@pytest.mark.skipif(os.getuid() == 0 and shutil.which("setpriv") is None, reason="root may write everywhere")
def test_code_that_was_compiled_ahead_is_used_where_nothing_can_be_added(tiny: Tiny) -> None:
    """As in a container whose image root has warmed."""
    folder = Path(tiny.use()[2])
    for read_only in (folder, folder.parent):
        read_only.chmod(0o555)
    tiny.become = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.getuid() == 0 else []
    assert tiny.use() == (1, 0, str(folder), "")
    value, compiled, same, said = tiny.use(USE.replace("kernel(0)", "kernel(0) + int(kernel(0.5))"))
    assert (value, compiled, same) == (2, 1, str(folder))
    assert "is not kept" in said
    for writable_again in (folder, folder.parent):
        writable_again.chmod(0o755)


def test_temporary_folder_that_others_may_write_to_is_not_used(tiny: Tiny) -> None:
    tiny.make_read_only()
    foreign = tiny.temporary / f"rs_env-{os.getuid()}"
    foreign.mkdir()
    foreign.chmod(0o777)
    value, _, folder, said = tiny.use()
    assert (value, folder) == (1, "None")
    (line,) = said.splitlines()
    assert "each process compiles anew" in line
    assert not list(foreign.iterdir())


def test_folder_of_the_user_comes_before_the_temporary_one(tiny: Tiny) -> None:
    tiny.make_read_only()
    home = tiny.folder / "home"
    _, _, folder, said = tiny.use(HOME=str(home), XDG_CACHE_HOME=str(home / "kept"))
    assert Path(folder).is_relative_to(home)
    assert "may not last" not in said


def test_numba_cache_dir_comes_first(tiny: Tiny) -> None:
    chosen = tiny.folder / "chosen"
    _, compiled, folder, _ = tiny.use(NUMBA_CACHE_DIR=str(chosen))
    assert compiled == 1
    assert Path(folder).parent == chosen
    assert not (tiny.package / "__pycache__").exists()


def test_compiling_is_told_once_and_only_when_it_happens(tiny: Tiny) -> None:
    twice = USE + "; kernel(0.5)"
    (line,) = tiny.use(twice)[3].splitlines()
    assert "compiling" in line
    assert tiny.use(twice)[3] == ""


@pytest.mark.parametrize("way", ["variable", "logger"])
def test_word_about_compiling_can_be_silenced(tiny: Tiny, way: str) -> None:
    if way == "variable":
        assert tiny.use(**{jit.QUIET: "1"})[1::2] == (1, "")
    else:
        assert tiny.use("import logging; logging.getLogger('rs_env').setLevel(logging.ERROR); " + USE)[1::2] == (1, "")


def test_damaged_code_is_compiled_anew(tiny: Tiny) -> None:
    folder = Path(tiny.use()[2])
    for file in folder.iterdir():
        file.write_bytes(file.read_bytes()[:20])
    assert tiny.use()[:2] == (1, 1)
    assert tiny.use()[:2] == (1, 0)


def test_folder_that_goes_away_does_no_harm(tiny: Tiny) -> None:
    gone = "import shutil; from tiny import kernel; from tiny.engine import jit; "
    gone += "shutil.rmtree(jit.code_folder()); jit.code_folder().touch(); "
    assert tiny.use(gone + USE)[0] == 1


def test_digest_is_of_all_sources() -> None:
    assert jit.source_digest() == jit.source_digest()
    assert len(jit.source_digest()) == 16


WARM = """
import importlib, os, pkgutil
import gymnasium, numpy as np, rs_env
from numba.core.dispatcher import Dispatcher
from rs_env.engine.jit import _KernelCache
from rs_env.warm import warm

lacking = {warmed.lacks for warmed in warm()} - {None}
print(lacking)
modules = [module.name for module in pkgutil.walk_packages(rs_env.__path__, "rs_env.")]
kernels = {
    value
    for name in modules
    if not name.endswith(("__main__", "envs.sb3"))  # the latter wraps a batch, and has no kernels
    and ("openspiel" not in name or "pyspiel" not in lacking)
    for value in vars(importlib.import_module(name)).values()
    if isinstance(value, Dispatcher) and isinstance(value._cache, _KernelCache)
}

def compiled():
    functions = {(kernel.py_func.__module__, kernel.py_func.__name__): kernel.signatures for kernel in kernels}
    return {(*name, str(types)) for name, signatures in functions.items() for types in signatures}

# What only other kernels call is not loaded where these come from the disk.
used = {kernel for kernel in kernels if kernel.signatures or os.path.exists(kernel._cache._cache_file._index_path)}
print(*sorted(kernel.__name__ for kernel in kernels - used))
before = compiled()
env = rs_env.env("schweller", num_players=5, scoring="parlett", target=20, trump="last_dealt")
env.reset(seed=3)
for agent in env.agent_iter(300):
    observation, _, terminated, truncated, _ = env.last()
    env.step(None if terminated or truncated else env.action_space(agent).sample(observation["action_mask"]))
for options in ({}, {"num_threads": 3}, {"packed": True, "skip_forced": True}):
    vec = rs_env.SelfPlayVectorEnv(64, "schweller", **options)
    for _ in range(50):
        vec.step(vec.random_actions(), out=vec.new_batch())
    vec.restore(vec.states.copy())
    try:
        vec.step(np.full(64, 99))
    except ValueError:
        pass
name = "rs_env/RollingStone-v0"
vec = gymnasium.make_vec(name, num_envs=8, vectorization_mode="vector_entry_point", skip_forced=True)
_, infos = vec.reset(seed=1)
for _ in range(20):
    *_, infos = vec.step(infos["action_mask"].argmax(1))
print(*sorted(name for _, name, _ in compiled() - before))
"""


@pytest.mark.slow
def test_warm_compiles_every_kernel_for_all_that_is_usual() -> None:
    done = subprocess.run([sys.executable, "-c", WARM], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lacking, never_used, compiled_later = done.stdout.splitlines()
    assert lacking in ("set()", "{'pyspiel'}")
    assert never_used == ""
    assert compiled_later == ""


def test_part_whose_packages_are_missing_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    from rs_env import warm

    def use() -> None:
        import rs_env_no_such_module  # noqa: F401

    monkeypatch.setattr(warm, "_PARTS", {"part": use})
    (warmed,) = warm.warm()
    assert warmed.lacks == "rs_env_no_such_module"
    assert "left out" in str(warmed)


def test_command_line_tells_what_there_is() -> None:
    for option, said in (("--help", "warm"), ("--version", rs_env.__version__)):
        done = subprocess.run(
            [sys.executable, "-m", "rs_env", option], cwd=ROOT, capture_output=True, text=True, check=True
        )
        assert said in done.stdout
