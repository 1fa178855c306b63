"""Flags that several commands have, above all the rules of a game; needs tyro.

    @dataclass(frozen=True, kw_only=True)
    class Command:
        agent: tyro.conf.Positional[AgentName]
        rules: RuleOptions = field(default_factory=RuleFlags)
        deals: Whole = 1000

    parsed(Command, "python -m this").rules.chosen()

``--rules schweller --players 5 --trump hearts --play-on``: these flags are made from the fields of `Rules`, their
names, types and words. So an option that is new there is a flag here.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, make_dataclass
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, get_args, get_type_hints

import tyro

from rs_env import rules as _rules
from rs_env.rules import PRESETS, Rules, as_rules

AgentName = Annotated[str, tyro.conf.arg(metavar="AGENT")]
AgentNames = Annotated[tuple[str, ...], tyro.conf.arg(metavar="AGENT ...")]
Whole = Annotated[int, tyro.conf.arg(metavar="N")]
Number = Annotated[float, tyro.conf.arg(metavar="X")]
OptionalNumber = Annotated[float | None, tyro.conf.arg(metavar="X")]
Folder = Annotated[Path, tyro.conf.arg(metavar="FOLDER")]
OptionalFolder = Annotated[str | None, tyro.conf.arg(metavar="FOLDER")]
"""Types of flags whose help says what they take, where tyro would say STR or {None}|STR."""

_UNSET = "as the preset has it"
_SHORT = {"num_players": "players"}
_KINDS = {name: get_args(hint) or (hint,) for name, hint in get_type_hints(Rules).items()}
_TOLD = {  # in the comment or the docstring of each option
    name: " ".join((comment or docstring).split())
    for name, comment, docstring in re.findall(
        r'^    (\w+): [^\n]*?(?:  # ([^\n]*)|\n    """(.*?)""")$', inspect.getsource(Rules), re.MULTILINE | re.DOTALL
    )
}
_PRESET = f"the rules to change, rolling_stone unless a config file has others; one of {', '.join(PRESETS)}"


def _text(name: str, metavar: str, told: str) -> tuple[str, Any, str]:
    """A flag that takes a text, which `Rules` checks, so that a wrong value is refused in the same words everywhere."""
    shown = tyro.conf.arg(name=_SHORT.get(name), metavar=metavar, help=told, help_behavior_hint="")
    return name, Annotated[str, shown], _UNSET


def _switch(name: str, told: str) -> tuple[str, Any, bool]:
    shown = tyro.conf.arg(help=told, help_behavior_hint="")
    return name, Annotated[bool, shown], False


def _flags_of(name: str) -> list[tuple[str, Any, Any]]:
    """The flags of an option: one that takes its value, or a pair to switch it on and off."""
    told, kinds = _TOLD[name], _KINDS[name]
    if bool in kinds:
        return [_switch(name, told), _switch(f"no_{name}", f"the opposite of --{name.replace('_', '-')}")]
    choices = [kind for kind in kinds if isinstance(kind, str)]  # of a Literal
    choices = choices or getattr(_rules, name.upper(), [])  # such as TRUMP for `trump`
    return [_text(name, "{" + ",".join(choices) + "}" if choices else "N" if int in kinds else "X", told)]


_Flags: Any = make_dataclass(
    "_Flags",
    [_text("rules", "PRESET", _PRESET), *(flag for field in fields(Rules) for flag in _flags_of(field.name))],
    frozen=True,
    kw_only=True,
)


@dataclass(frozen=True, kw_only=True)
class RuleFlags(_Flags):
    """What is played: a preset, changed by the options that are given."""

    def chosen(self, otherwise: Rules | str = "rolling_stone") -> Rules:
        """The rules that the flags tell: of the preset that they name, or `otherwise`, with their options changed.

        Raises ValueError, as `Rules` does, for what is not allowed.
        """
        changes = {name: value for name in _KINDS if (value := self._given(name)) is not _UNSET}
        return as_rules(otherwise if self.rules == _UNSET else self.rules, **changes)

    def _given(self, name: str) -> Any:
        """The value of an option, `_UNSET` where no flag tells it."""
        given = getattr(self, name)
        if bool in _KINDS[name]:
            off = getattr(self, f"no_{name}")
            if given and off:
                flag = name.replace("_", "-")
                raise ValueError(f"--{flag} and --no-{flag} cannot be given together")
            return given if given or off else _UNSET
        return _UNSET if given == _UNSET else _parsed(given, _KINDS[name])


def _parsed(text: str, kinds: tuple[type, ...]) -> Any:
    """The value that a text stands for; what stands for none stays a text, which `Rules` refuses."""
    if NoneType in kinds and text.lower() == "none":
        return None
    for kind in (int, float):
        if kind in kinds:
            with suppress(ValueError):
                return kind(text)
    return text


RuleOptions = Annotated[RuleFlags, tyro.conf.OmitArgPrefixes]
"""Type of a command's field for them: without a prefix, and in the help a group of their own."""


def parsed(command: Any, prog: str, arguments: Sequence[str] | None = None, **more: Any) -> Any:
    """The command, a class or a union of them, that the arguments tell (None: those of the process); see `tyro.cli`."""
    return tyro.cli(command, prog=prog, args=arguments, config=(tyro.conf.FlagCreatePairsOff,), **more)
