"""Settings of a training run, as they stand in ``configs/*.toml`` and on the command line."""

from __future__ import annotations

import dataclasses
import math
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import tyro

from agents.architectures import NetworkConfig
from agents.company import Company
from agents.learner import Learner, LearnerConfig, TableConfig
from agents.registry import LEARNERS
from agents.seating import SeatsConfig, company_of
from agents.settings import ALLOWED_TEMPERATURES, MOST, check, check_names, from_table
from rs_env.baselines import make_agent
from rs_env.baselines.networks import is_temperature
from rs_env.rules import Rules, as_rules

_SETTINGS = "settings"  # the field of `TrainConfig` that stands in a table with the learner's name
Settings = TypeVar("Settings")


@dataclass(frozen=True)
class EvaluationConfig:
    """Games against baselines, at the end and on the way."""

    deals: int = 1000
    """Deals at the end, each played from every seat, against each opponent."""
    deals_on_the_way: int = 50
    """The same while training, against `opponents_on_the_way`; 0: none."""
    every: int = 20
    """Iterations between two evaluations on the way."""
    opponents: tuple[str, ...] = ("random", "heuristic")
    """Who sits on all other seats, one after the other."""
    temperature: float = 0.5
    """1 samples from the policy as it was learnt, below 1 prefers its likelier actions more."""
    opponents_on_the_way: tuple[str, ...] = ("random", "heuristic")
    """Against whom it plays while training, and to choose its temperature at the end."""
    temperatures: tuple[float, ...] = ()
    """At the end the best of these takes the place of `temperature`, by games on other deals than those reported."""
    deals_to_choose: int = 100
    """Deals of these games, each played from every seat, for each temperature."""
    unseen: tyro.conf.Suppress[tyro.conf.Fixed[tuple[Rules, ...]]] = ()
    """Further rules to play at the end, which it was not trained on."""

    def __post_init__(self) -> None:
        check("evaluation.deals", self.deals, 2 <= self.deals <= MOST, f"from 2 to {MOST}")
        check(
            "evaluation.deals_on_the_way",
            self.deals_on_the_way,
            self.deals_on_the_way == 0 or 2 <= self.deals_on_the_way <= MOST,
            f"0, or from 2 to {MOST}",
        )
        check("evaluation.temperature", self.temperature, is_temperature(self.temperature), ALLOWED_TEMPERATURES)
        for name in ("opponents", "opponents_on_the_way"):
            named: tuple[str, ...] = getattr(self, name)
            check(f"evaluation.{name}", named, len(named) > 0, "a list of at least one agent's name")
            for opponent in named:
                make_agent(opponent)  # refuses what it does not know, before anything is trained
        numbers = all(isinstance(value, int | float) and is_temperature(value) for value in self.temperatures)
        check("evaluation.temperatures", self.temperatures, numbers, f"a list of numbers, each {ALLOWED_TEMPERATURES}")
        deals = self.deals_to_choose
        check("evaluation.deals_to_choose", deals, 2 <= deals <= MOST, f"from 2 to {MOST}")
        check("evaluation.every", self.every, 1 <= self.every <= MOST, f"from 1 to {MOST}")


@dataclass(frozen=True)
class TrainConfig(LearnerConfig, Generic[Settings]):
    """A training run."""

    threads: int = 2
    """Threads of PyTorch; the games take so little time that one is enough for them."""
    processes: int = 1
    """Processes of this machine that train as ranks (`agents.distributed`), as one would but for rounding; all
    stages have the same number, and ``torchrun`` has its own.
    """
    checkpoint_every: int = 20
    """Iterations between two checkpoints; one is always written at the end and at Ctrl-C."""
    minutes: float = 1.0
    """About how long it takes on two cores: of several stages, by how much each moves the bar."""
    learner: str = "ppo"
    """How to learn, one of `agents.registry.LEARNERS`."""
    settings: Settings = None  # type: ignore[assignment]
    """The learner's own settings; None: its defaults."""
    company: tyro.conf.Suppress[tyro.conf.Fixed[tuple[SeatsConfig, ...]]] = ()
    """Who sits where, in shares of the games; empty: the learner on all seats."""
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        check("threads", self.threads, 1 <= self.threads <= 1024, "from 1 to 1024")
        check("processes", self.processes, 1 <= self.processes <= 1024, "from 1 to 1024")
        check("checkpoint_every", self.checkpoint_every, 1 <= self.checkpoint_every <= MOST, f"from 1 to {MOST}")
        check("minutes", self.minutes, 0 < self.minutes < math.inf, "above 0 and finite")
        check("learner", self.learner, self.learner in LEARNERS, f"one of {', '.join(map(repr, LEARNERS))}")
        kind = LEARNERS[self.learner].settings
        if self.settings is None:
            object.__setattr__(self, _SETTINGS, kind())
        check(_SETTINGS, self.settings, isinstance(self.settings, kind), f"a {kind.__name__}, for {self.learner!r}")
        if self.tables:
            plays = getattr(LEARNERS[self.learner].make, "plays_tables", False)
            check(
                "learner", self.learner, plays, "one that learns from several rule sets, or there must be no [[tables]]"
            )
        players = {rules.num_players for rules in self.evaluation.unseen} - {self.rules.num_players}
        fits = self.network.general or not players
        check(
            "evaluation.unseen", sorted(players), fits, "of the number of players of the network, if it is not general"
        )

    def make_learner(self, company: Company | None = None, goes_on: bool = False) -> Learner:
        """The learner at its beginning. company: who sits where; None: as these settings have it. goes_on: its network
        will be restored, so that it needs none to begin with.
        """
        if company is None:
            players = sorted({rules.num_players for rules in self.rule_sets})
            company = company_of(self.company, players, self.seed, self.start)
        config = dataclasses.replace(self, start="") if goes_on else self
        return LEARNERS[self.learner].make(config, self.settings, company)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON or TOML; the learner's settings stand in a table with its name."""
        values = dataclasses.asdict(self)
        values[self.learner] = values.pop(_SETTINGS)
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> TrainConfig:
        """The inverse of `to_dict`; what is missing takes its default. ``rules.preset`` names a preset to start from.
        Tables of other learners than the chosen one are checked and then left out.

        Raises ValueError, naming the field, for unknown fields and values that are not allowed.
        """
        check("settings", values, isinstance(values, dict), "a table")
        names = [f.name for f in dataclasses.fields(cls) if f.name != _SETTINGS]
        check_names("", values, [*names, *LEARNERS])
        values = dict(values)
        rules = _rules_of("rules", values.pop("rules", {}))
        evaluation = _with_rules("evaluation.unseen", values.pop("evaluation", {}), "unseen", _list_of_rules)
        made = {
            "network": from_table(NetworkConfig, "network.", values.pop("network", {})),
            "evaluation": from_table(EvaluationConfig, "evaluation.", evaluation),
        }
        tables = {
            name: from_table(entry.settings, f"{name}.", values.pop(name))
            for name, entry in LEARNERS.items()
            if name in values
        }
        company = values.pop("company", ())
        check("company", company, isinstance(company, list | tuple), "a list of tables")
        made["company"] = tuple(from_table(SeatsConfig, "company.", part) for part in company)
        further = values.pop("tables", ())
        check("tables", further, isinstance(further, list | tuple), "a list of tables")
        further = [_with_rules("tables.rules", part, "rules", _rules_of) for part in further]
        made["tables"] = tuple(from_table(TableConfig, "tables.", part) for part in further)
        chosen = str(values.get("learner", cls.learner))
        return from_table(cls, "", {**values, **made, "rules": rules, _SETTINGS: tables.get(chosen)})


def _rules_of(name: str, values: Any) -> Rules:
    """The rules that a table tells: those of its ``preset`` with some options changed."""
    check(name, values, isinstance(values, dict), "a table of settings")
    return as_rules(values.get("preset", "rolling_stone"), **{k: v for k, v in values.items() if k != "preset"})


def _list_of_rules(name: str, values: Any) -> tuple[Rules, ...]:
    check(name, values, isinstance(values, list | tuple), "a list of tables")
    return tuple(_rules_of(name, part) for part in values)


def _with_rules(name: str, values: Any, key: str, made: Callable[[str, Any], Any]) -> Any:
    """A table with what its entry `key` tells in the place of that entry."""
    return {**values, key: made(name, values[key])} if isinstance(values, dict) and key in values else values


@dataclass(frozen=True)
class Experiment:
    """What a TOML file describes: a run, or with ``[[stages]]`` several runs in a row, each of which begins with the
    network of the one before.

    settings: of the run, or those that all stages share. stages: what each of them has of its own.
    """

    settings: TrainConfig
    values: dict[str, Any] = field(default_factory=dict)
    stages: tuple[dict[str, Any], ...] = ()

    def configs(self, settings: TrainConfig) -> tuple[TrainConfig, ...]:
        """The settings of each stage, with these instead of the shared ones. Raises ValueError naming the stage."""
        shared = _merged(self.values, settings.to_dict())
        return tuple(_config_of_stage(number, _merged(shared, own)) for number, own in enumerate(self.stages, 1))


def _merged(values: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """The values with those of `own` in their place; of tables in both, entry by entry."""
    both = {name for name in own if isinstance(own[name], dict) and isinstance(values.get(name), dict)}
    return {**values, **{name: {**values[name], **value} if name in both else value for name, value in own.items()}}


def _config_of_stage(number: int, values: dict[str, Any]) -> TrainConfig:
    try:
        return TrainConfig.from_dict(values)
    except ValueError as error:
        raise ValueError(f"stage {number}: {error}") from None


def load_experiment(path: str | Path, learner: str | None = None) -> Experiment:
    """What a TOML file describes. learner: in place of the file's, and without its stages. Raises ValueError naming the
    file for anything wrong with it.
    """
    try:
        values = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        stages = values.pop("stages", [])
        tables = isinstance(stages, list) and all(isinstance(stage, dict) for stage in stages)
        check("stages", stages, tables, "a list of tables")
        if learner is not None:
            return Experiment(TrainConfig.from_dict({**values, "learner": learner}))
        experiment = Experiment(TrainConfig.from_dict(values), values, tuple(stages))
        experiment.configs(experiment.settings)  # what is wrong with a stage should be told now
        return experiment
    except (OSError, ValueError, RecursionError) as error:  # TOMLDecodeError is a ValueError
        raise ValueError(f"{path}: {error}") from None


def load_config(path: str | Path, learner: str | None = None) -> TrainConfig:
    """The run described in a TOML file, or what its stages share. Arguments and errors as of `load_experiment`."""
    return load_experiment(path, learner).settings
