"""What the tests share: linear algebra on one thread, and the judge of a refusal."""

from __future__ import annotations

import pytest
from threadpoolctl import threadpool_limits

TRACE = "SECRETCELL"
"""A cell that occurs in no message unless somebody copied it there."""


def assert_says(message: str, words=()) -> None:
    """One line with the wanted words and without the cell."""
    assert "\n" not in message
    assert TRACE not in message, "the message quotes a cell"
    for word in words:
        assert word in message, f"{word!r} is not in: {message}"


def assert_refusal(exit_code: int, stderr: str, *, words=(), code: int = 2) -> None:
    """One line on standard error that begins with the tool's name."""
    lines = stderr.splitlines()
    assert len(lines) == 1, f"not one line: {stderr!r}"
    assert lines[0].startswith("veil: "), stderr
    assert exit_code == code, f"exit code {exit_code}: {stderr}"
    assert_says(lines[0], words)


@pytest.fixture
def judge():
    """The rule for refusals."""
    return assert_refusal


@pytest.fixture
def says():
    """The rule for messages."""
    return assert_says


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    with threadpool_limits(1):
        yield
