"""The table as a seat knows it, where there is its view and no game, as in an agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rs_env.engine.state import RULES, compile_rules
from rs_env.engine.view import VIEW
from rs_env.render.table import Last, Table, table_of_record
from rs_env.rules import Rules, as_rules


def table_of_view(
    view: Any, rules: Rules | str | Mapping[str, Any], names: Sequence[str] | None = None, last: Last | None = None
) -> Table:
    """The table as a seat knows it, made from its view alone.

    view: one record of dtype `rs_env.engine.view.VIEW`, as `Game.view` gives it and as agents get them. rules: those of
    the game, as `rs_env.Game` takes them. last: of `last_of_game`, which everybody has seen. Raises ValueError for
    anything else.
    """
    record, rules = np.asarray(view), as_rules(rules)
    if record.shape != () or record.dtype != VIEW:
        raise ValueError(
            f"view: {record.dtype} of shape {record.shape} is not allowed: it must be one record of dtype"
            " rs_env.engine.view.VIEW"
        )
    told, played = compile_rules(rules)[0], record["rules"]
    differ = [name for name in RULES.names or () if not np.array_equal(told[name], played[name])]
    if differ:
        raise ValueError(f"rules={rules} is not allowed: the view is of a game of other rules ({', '.join(differ)})")
    return table_of_record(record, rules, names, last)
