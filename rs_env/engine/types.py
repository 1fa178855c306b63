"""Names for what the parameters and results of compiled functions are.

They are for readers. Numba ignores annotations and infers types by itself, and what it takes for one kind of value can
vary: a seat may come from a byte of a record or from a loop. So mypy takes all of them for `Any`.
"""

from __future__ import annotations

from typing import Any, TypeAlias

Card: TypeAlias = Any
"""0..51, or NO_CARD."""

Suit: TypeAlias = Any
"""0..3, or NO_SUIT."""

Rank: TypeAlias = Any
"""0..12; 12 is the ace."""

Seat: TypeAlias = Any
"""0..n-1, or NOBODY."""

Action: TypeAlias = Any
"""0..51: play that card; 52: `PICKUP`."""

CardSet: TypeAlias = Any
"""An np.uint64 with bit `card` set for each member."""

ActionSet: TypeAlias = Any
"""The same for actions."""

SuitSet: TypeAlias = Any
"""An np.uint8 with bit `suit` set for each member."""

SeatSet: TypeAlias = Any
"""An np.uint8 with bit `seat` set for each member."""

PlayedCards: TypeAlias = Any
"""An np.uint64: each seat's card in the trick, a byte each, or NO_CARD."""

State: TypeAlias = Any
"""A record of dtype `rs_env.engine.state.STATE`."""

View: TypeAlias = Any
"""A record of dtype `rs_env.engine.view.VIEW`."""

Public: TypeAlias = Any
"""A record with the public fields: a state or a view."""

CompiledRules: TypeAlias = Any
"""A record of dtype `rs_env.engine.state.RULES`."""

States: TypeAlias = Any
"""An array of `State`."""

Views: TypeAlias = Any
"""An array of `View`."""

RulesArray: TypeAlias = Any
"""An array of one `CompiledRules`, as Numba takes it from Python: see `rs_env.engine.entry`."""

Array: TypeAlias = Any
"""Any other array, of the dtype that the function's docstring names."""

Stream: TypeAlias = Any
"""An np.uint64: the state of a stream of random numbers, see `rs_env.engine.rng`."""

Key: TypeAlias = Any
"""An np.uint64: what names a game, or a seed."""

Row: TypeAlias = Any
"""An np.uint64: the address of the first byte of a row, see `rs_env.engine.bits`."""

Number: TypeAlias = Any
"""A count, a position or an index, np.int64 or smaller."""

Real: TypeAlias = Any
"""An np.float64."""
