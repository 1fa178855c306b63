"""What counts as an action: whole numbers of any library, and the errors for all else.

An action that the rules do not allow is a move, though a wrong one: environments may punish it. A float or a word is no
action at all: the calling program has made a mistake, and gets an error with nothing changed.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from rs_env.cards import NUM_ACTIONS


class IllegalActionError(ValueError):
    """An action that the rules do not allow now. Nothing has changed."""


class ActionTypeError(IllegalActionError, TypeError):
    """Something that is no action at all, such as a float or None. Nothing has changed."""


def action_number(action: Any) -> int:
    """The action as a plain int, not checked against 0..52.

    action: a whole number of Python, NumPy, torch or any library whose arrays have ``item()``, alone or as the only
    element of an array, tensor or list. Raises ActionTypeError, naming type and value, for anything else, bools and 3.0
    included.
    """
    if type(action) is np.int64:  # what spaces and most networks give
        return int(action)
    try:
        number = _only_element(action)
        if not isinstance(number, bool):
            return operator.index(number)
    except Exception:  # whatever the library of an array raises where there are several elements
        pass
    raise ActionTypeError(
        f"action {action!r} is not allowed: it is of type {type(action).__name__}; an action is a whole number in"
        f" 0..{NUM_ACTIONS - 1}, alone or as the only element of an array"
    )


def _only_element(action: Any) -> Any:
    if isinstance(action, list | tuple):
        action = np.asarray(action)
    if (
        isinstance(action, np.ndarray | np.generic) and action.dtype.kind not in "iuO"
    ):  # a timedelta64 would give an int as well
        raise TypeError
    return action.item() if hasattr(action, "item") else action


def action_numbers(actions: Any, count: int) -> np.ndarray:
    """Actions of `count` games as contiguous int64, shape (count,), not checked against 0..52.

    Raises ActionTypeError, naming the dtype, unless they are whole numbers, and ValueError for another shape.
    """
    try:
        numbers = np.asarray(actions)
    except Exception as error:  # of a ragged list, or of a tensor that is not on the CPU
        raise ActionTypeError(
            f"actions: {type(actions).__name__} is not allowed: it is no array of integers ({error})"
        ) from None
    if numbers.shape != (count,):
        raise ValueError(
            f"actions: shape {numbers.shape} of {numbers.dtype} is not allowed: they must be integers of shape"
            f" ({count},)"
        )
    if numbers.dtype.kind not in "iu":
        raise ActionTypeError(
            f"actions: dtype {numbers.dtype} is not allowed: they must be integers of shape ({count},)"
        )
    # Read-only arrays, such as those of JAX, are copied too: for them the kernels would compile anew.
    return numbers if numbers.dtype == np.int64 and numbers.flags.carray else np.array(numbers, np.int64)
