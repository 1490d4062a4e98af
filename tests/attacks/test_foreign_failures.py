"""Attacks of other packages that fail or return nonsense: one line that names them, without what they say."""

import sys
from pathlib import Path

import numpy as np
import pytest

import veil
from _tables import mixed_table, published
from veil.attacks.base import Attack, Guess
from veil.errors import InputError

N, D = 60, 2


def guess(values, rows=None):
    return lambda release: Guess(values, release.only_part.names, np.arange(N) if rows is None else rows)


def raises(error):
    def run(release):
        raise error

    return run


FAILURES = {
    "raises": raises(ValueError("SECRETCELL\n\x1b[2J")),
    "runs out of memory": raises(MemoryError("SECRETCELL")),
    "ends the program": lambda release: sys.exit("SECRETCELL"),
    "reads a file": lambda release: Path("/nowhere/SECRETCELL").read_bytes(),
    "too wide": guess(np.zeros((N, D + 1))),
    "too short": guess(np.zeros((3, D))),
    "one column": guess(np.zeros(N)),
    "texts": guess(np.full((N, D), "SECRETCELL")),
    "objects": guess(np.full((N, D), None)),
    "complex numbers": guess(np.zeros((N, D)) + 1j),
    "rows outside": guess(np.zeros((N, D)), np.arange(N) + 1),
    "rows below": guess(np.zeros((N, D)), -1 - np.arange(N)),
    "one row again and again": guess(np.zeros((N, D)), np.zeros(N, dtype=int)),
    "rows that are no numbers": guess(np.zeros((N, D)), np.full(N, 0.5)),
}


def strange(work):
    class Strange(Attack):
        words = "does something strange"

        @classmethod
        def applies_to(cls, model):
            return True

        def _run(self, release, knowledge):
            return work(release)

    Strange.catalogue = "X9"  # set late, so that it is in no list
    return Strange()


@pytest.mark.parametrize("failure", FAILURES)
def test_it_is_one_line_that_quotes_nothing(failure):
    with pytest.raises(InputError) as caught:
        strange(FAILURES[failure]).run(published(mixed_table(N, D), veil.AdditiveNoise(random_state=0)))
    assert str(caught.value).isprintable()
    assert "SECRETCELL" not in str(caught.value)


@pytest.mark.parametrize("failure", ["raises", "ends the program", "one row again and again"])
def test_an_audit_names_it(failure):
    with pytest.raises(InputError, match="strange was asked for and could not run"):
        veil.audit(mixed_table(N, D), veil.AdditiveNoise(), attacks=[strange(FAILURES[failure])], seed=0)


def test_lists_of_numbers_are_a_guess():
    release = published(mixed_table(N, D), veil.AdditiveNoise(random_state=0))
    assert strange(guess([[0, 1]] * N, list(range(N)))).run(release).values.shape == (N, D)
