"""The package from the command line: ``python -m rs_env warm`` compiles ahead, ``python -m rs_env.arena`` compares
agents.
"""

from __future__ import annotations

import argparse
import time

import rs_env


def main(arguments: list[str] | None = None) -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m rs_env",
        description="The card game Rolling Stone as a reinforcement learning environment.",
        epilog="python -m rs_env.arena --help tells of duels, leagues and best responses.",
    )
    parser.add_argument("--version", action="version", version=f"rs_env {rs_env.__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    about = "compile everything ahead, as for an image of a container; say what was compiled, how long it took, and where it is kept"
    commands.add_parser("warm", help=about, description=about)
    parser.parse_args(arguments)
    _warm()


def _warm() -> None:
    from rs_env.engine.jit import code_folder, missed
    from rs_env.warm import warm

    begin = time.perf_counter()
    for warmed in warm():
        print(warmed, flush=True)
    print(
        f"all        {len(missed()):3} functions compiled, {time.perf_counter() - begin:.1f} s; kept in {code_folder() or 'no folder'}"
    )


if __name__ == "__main__":
    main()
