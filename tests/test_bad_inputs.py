"""What each bad input is answered, by the table ``data/bad_inputs.tsv``: an error of the right kind that names what is
wrong."""

from __future__ import annotations

from importlib.util import find_spec

import pytest
from bad_inputs import answer, rows


def test_the_table_is_large_and_every_row_an_error_in_words() -> None:
    assert len(rows()) >= 350
    assert len({expression for expression, _, _ in rows()}) == len(rows())
    for expression, error, message in rows():
        assert error in ALLOWED, expression
        assert len(message) > 10, expression


# Everything that a caller may have to catch: no IndexError, no UnboundLocalError, nothing of Numba's.
ALLOWED = {
    "ValueError", "TypeError", "KeyError", "IllegalActionError", "ActionTypeError", "ResetNeeded", "AssertionError",
    "AttributeError", "UserWarning", "SystemExit",
}  # fmt: skip


@pytest.mark.parametrize(("expression", "error", "message"), [pytest.param(*row, id=row[0][:60]) for row in rows()])
def test_bad_input_gets_its_answer(expression: str, error: str, message: str) -> None:
    if expression.startswith("setting(") and not (find_spec("agents") and find_spec("torch")):
        pytest.skip("it needs a checkout and PyTorch")
    assert answer(expression) == (error, message)
