"""The game in OpenSpiel (M. Lanctot et al., 2019), as "python_rolling_stone" from the moment this module is imported.

Needs the extra ``openspiel`` (``pip install rs_env[openspiel]``); nothing else in the package imports OpenSpiel.

    import rs_env.openspiel
    game = rs_env.openspiel.load_game("schweller", num_players=3)
    game = pyspiel.load_game("python_rolling_stone(preset=schweller,num_players=3)")  # the same

The engine plays; this module only turns its chance into chance nodes:

- the first dealer, drawn by lot: the outcome is a seat;
- each deal, card by card in dealing order: the outcome is the card. With ``merge_deals=True`` the cards come in order
  of their ids and the outcome is the seat that gets the next one (then, where the last card is shown as trump, which
  card that is), so that deals which differ only in the order of cards within hands are one history, and full trees are
  far smaller;
- under the silent rule, whether a silent play is noticed: 0 no, 1 yes. There is no such node where ``silent_catch`` is
  0 or 1.

Parameters are ``preset``, ``merge_deals`` and the fields of `Rules`. A field at its default (-1, "" for text, False) is
as the preset has it; there is no value for None, since None is the default of every field that allows it. OpenSpiel
wants ``target`` and ``silent_catch`` with a point: ``target=30.0``. Utilities are the rewards of ``docs/rules.md``, of
general sum since nobody wins a truncated deal.
"""

from __future__ import annotations

from rs_env.checks import needs_extra

with needs_extra("openspiel", "rs_env.openspiel"):
    import pyspiel  # type: ignore[import-not-found, import-untyped, unused-ignore]  # noqa: F401

from rs_env.openspiel.game import NAME, RollingStoneGame, RollingStoneState, load_game
from rs_env.openspiel.observer import RollingStoneObserver
from rs_env.openspiel.profiles import cfr, from_openspiel, information_state_strings, information_states, to_openspiel

__all__ = [
    "NAME",
    "RollingStoneGame",
    "RollingStoneObserver",
    "RollingStoneState",
    "cfr",
    "from_openspiel",
    "information_state_strings",
    "information_states",
    "load_game",
    "to_openspiel",
]
