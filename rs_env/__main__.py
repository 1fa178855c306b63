"""The package from the command line: ``python -m rs_env --help`` tells what there is."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import NoReturn

import rs_env
from rs_env.command_line import end_with, status_of, terminal

_WARM = "compile everything ahead, as for an image of a container; say what, how long it took, and where it is kept"
_RULES = "print a rule set and what it changes of its preset; needs the extra rs_env[arena]"
_AGENTS = "print the players by name, and their options with defaults and meaning"
_BENCH = "measure how many actions a second this machine plays, in some seconds"
_DOCTOR = "say what is installed here, what is missing, where compiled code is kept and how fast the engine is"
_COMPLETION = "print what makes a shell complete commands, flags and names: source <(rs-env completion), bash or zsh"
_PLAY = "sit at a table with agents and other people, in the browser or (--text) here; needs the extra rs_env[web]"
_WATCH = "look back at games in the browser, with what agents make of them; needs the extra rs_env[web]"
_ARENA = "compare agents: duels, leagues, best responses, reports; needs the extra rs_env[arena]"


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line asks for; its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m rs_env",
        description="The card game Rolling Stone as a reinforcement learning environment.",
        epilog="\n".join(["commands:", *(f"  {name:11}{told}" for name, (_, told) in COMMANDS.items())]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"rs_env {rs_env.__version__}")
    parser.add_argument("command", choices=COMMANDS, metavar="command", help="one of those below; each has a --help")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="of the command", metavar="...")
    with terminal():
        given = parser.parse_args(arguments)
        command, _ = COMMANDS[given.command]
        return command(given.arguments, f"{parser.prog} {given.command}")
    return 0  # the help was cut short


def _warm(arguments: list[str], prog: str) -> int:
    argparse.ArgumentParser(prog=prog, description=_WARM).parse_args(arguments)
    return status_of(_compile_all)


def _compile_all() -> None:
    from rs_env.engine.jit import code_folder, missed
    from rs_env.warm import warm

    begin = time.perf_counter()
    for warmed in warm():
        print(warmed, flush=True)
    seconds, folder = time.perf_counter() - begin, code_folder() or "no folder"
    print(f"all        {len(missed()):3} functions compiled, {seconds:.1f} s; kept in {folder}")


def _rules(arguments: list[str], prog: str) -> int:
    from rs_env.inform import rules

    return rules(arguments, prog)


def _agents(arguments: list[str], prog: str) -> int:
    argparse.ArgumentParser(prog=prog, description=_AGENTS).parse_args(arguments)
    from rs_env.inform import agents

    print(agents())
    return 0


def _bench(arguments: list[str], prog: str) -> int:
    parser = argparse.ArgumentParser(prog=prog, description=_BENCH)
    parser.add_argument("--seconds", type=float, default=2.0, help="for each figure; default 2", metavar="X")
    given = parser.parse_args(arguments)
    from rs_env.inform import bench

    return status_of(lambda: bench(given.seconds))


def _doctor(arguments: list[str], prog: str) -> int:
    argparse.ArgumentParser(prog=prog, description=_DOCTOR).parse_args(arguments)
    return status_of(_look)


def _look() -> None:
    from rs_env.doctor import report

    bad = []
    for what, found, well in report():
        print(f"{'ok' if well else 'NOT':4}{what:12}{found}", flush=True)
        bad += [] if well else [what]
    if bad:
        raise ValueError(f"not as it should be: {', '.join(bad)}")


def _completion(arguments: list[str], prog: str) -> int:
    argparse.ArgumentParser(prog=prog, description=_COMPLETION).parse_args(arguments)
    from rs_env.completion import completion

    print(completion(main, COMMANDS))
    return 0


def _arena(arguments: list[str], prog: str) -> int:
    from rs_env.arena.__main__ import main

    return main(arguments, prog)


def _play(arguments: list[str], prog: str) -> int:
    from rs_env.web.commands import Play, main

    return main(Play, arguments, prog)


def _watch(arguments: list[str], prog: str) -> int:
    from rs_env.web.commands import Watch, main

    return main(Watch, arguments, prog)


COMMANDS: dict[str, tuple[Callable[[list[str], str], int], str]] = {
    "rules": (_rules, _RULES),
    "agents": (_agents, _AGENTS),
    "bench": (_bench, _BENCH),
    "warm": (_warm, _WARM),
    "doctor": (_doctor, _DOCTOR),
    "completion": (_completion, _COMPLETION),
    "arena": (_arena, _ARENA),
    "play": (_play, _PLAY),
    "watch": (_watch, _WATCH),
}
"""What does each command, given its arguments and the program's name for its help; and what it does, in words."""


def script() -> NoReturn:
    """The console script ``rs-env``."""
    end_with(main)


if __name__ == "__main__":
    script()
