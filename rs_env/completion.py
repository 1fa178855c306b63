"""A script by which a shell completes the commands of ``rs-env``, their flags, and names of agents and rules."""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Callable, Iterable
from unittest.mock import patch

from rs_env.baselines import AGENTS, NETWORK_AGENTS, OTHER_AGENTS
from rs_env.rules import PRESETS

_AGENTS = tuple((AGENTS | NETWORK_AGENTS | OTHER_AGENTS).keys())
_VALUES = {
    "--rules": tuple(PRESETS),
    "--agents --advisers --opponents --responders": _AGENTS,
}
_PARTS = ("league", "duel", "best-response", "report")  # of the arena, commands of their own

_SCRIPT = """\
# rs-env completion: for bash, and for zsh by its bashcompinit
if [ -n "$ZSH_VERSION" ]; then autoload -U +X compinit bashcompinit && compinit && bashcompinit; fi
_rs_env() {{
  local at=$COMP_CWORD words=""
  local cur="${{COMP_WORDS[at]}}" flag=""
  while [ "$at" -gt 1 ] && [ -z "$flag" ]; do
    at=$((at - 1))
    case "${{COMP_WORDS[at]}}" in -*) flag="${{COMP_WORDS[at]}}" ;; esac
  done
  case "$cur" in -*) flag="" ;; esac
  case "$flag" in
{values}
  esac
  if [ -z "$words" ]; then
    case "$COMP_CWORD ${{COMP_WORDS[1]}} ${{COMP_WORDS[2]}} $cur" in
      "1 "*) words="{commands}" ;;
      "2 arena "*) words="{parts}" ;;
      *" arena duel "[!-]*|*" arena best-response "[!-]*) [ -n "$flag" ] || words="{agents}" ;;
{flags}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}}
complete -o default -F _rs_env rs-env
"""


def completion(main: Callable[[list[str]], int], commands: Iterable[str]) -> str:
    """The script, made of what each command says with ``--help``. main: the command line."""
    names = tuple(commands)
    calls = [[name] for name in names if name != "arena"] + [["arena", part] for part in _PARTS]
    flags = (f'      *" {" ".join(call)} "*-*) words="{" ".join(_flags(main, call))}" ;;' for call in calls)
    values = (f'    {names.replace(" ", "|")}) words="{" ".join(words)}" ;;' for names, words in _VALUES.items())
    return _SCRIPT.format(
        values="\n".join(values),
        agents=" ".join(_AGENTS),
        commands=" ".join(names),
        parts=" ".join(_PARTS),
        flags="\n".join(flags),
    )


def _flags(main: Callable[[list[str]], int], call: list[str]) -> list[str]:
    """The flags of a command, in the order of its help."""
    told = io.StringIO()
    with contextlib.redirect_stdout(told), contextlib.suppress(SystemExit), patch.dict(os.environ, COLUMNS="200"):
        main([*call, "--help"])
    return list(dict.fromkeys(re.findall(r"(?<![\w-])--[a-z][a-z-]*", told.getvalue())))
