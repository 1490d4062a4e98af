"""Linkage and membership of releases that nobody described: the law of every column is learned."""

import numpy as np
import pyarrow as pa
import pytest

import veil
from _tables import described
from veil.attacks.linkage.evidence import Evidence
from veil.attacks.linkage.unknown import KEPT, WIDTHS, UnknownCodesClue, UnknownNoiseClue
from veil.release.models import ForeignModel

N, D = 400, 4


def private(seed, d=D):
    return np.exp(0.5 * np.random.default_rng(seed).normal(size=(N, d))) @ (np.eye(d) + 0.3)


def elsewhere(y):
    table = pa.table({f"x{j}": column for j, column in enumerate(y.T)})
    return described(table, ForeignModel(), names=table.column_names, unknown=True)


def laws(y, x):
    (clue,) = Evidence(elsewhere(y), veil.ExternalTable(x)).clues()
    return clue.law


@pytest.mark.parametrize("width", [1e-3, 0.1, 0.4])
def test_the_width_of_the_noise_is_learned(width):
    """Six columns, so that rows are recognised; the mean width is the true one to a third."""
    x = private(0, 6)
    y = x + width * x.std(axis=0) * np.random.default_rng(1).normal(size=x.shape)
    for law in laws(y, x):
        assert law.sum() == pytest.approx(1.0)
        assert np.sqrt(law[law > 0.02] @ WIDTHS[law > 0.02] ** 2) == pytest.approx(width, rel=1 / 3)


def test_a_copy_has_the_narrowest_width():
    for law in laws(private(0), private(0)):
        assert law[0] > 0.9


def test_columns_have_laws_of_their_own():
    """One column is replaced altogether; the others are copies, and every row is still found."""
    x = private(2)
    y = x.copy()
    y[:, 1] = np.random.default_rng(3).permutation(y[:, 1])
    learned = laws(y, x)
    assert learned[1] @ WIDTHS > 0.5
    assert all(law[0] > 0.9 for law in (learned[0], learned[2], learned[3]))
    assert (veil.LinkageAttack().run(elsewhere(y), veil.ExternalTable(x)).rows == np.arange(N)).mean() > 0.95


def test_swapped_values_are_found_around():
    """A third of the values of every column is swapped: half of the rows have two columns or more that are changed."""
    rng, x = np.random.default_rng(4), private(4)
    y = x.copy()
    for j in range(D):
        who = np.flatnonzero(rng.random(N) < 1 / 3)
        y[who, j] = y[rng.permutation(who), j]
    links = veil.LinkageAttack().run(elsewhere(y), veil.ExternalTable(x))
    changed = (y != x).sum(axis=1)
    assert (links.rows == np.arange(N))[changed <= 2].mean() > 0.95


def test_the_share_of_codes_that_are_kept_is_learned():
    """Believed pairs whose codes agree in 70 %, of four codes that are equally common: P[y = x | x]/P[y] = 0.7/0.25."""
    codes = np.tile(np.arange(4), 250)
    clue, other = UnknownCodesClue(codes, codes), (codes + 1) % 4
    agree = np.arange(1_000) % 10 < 7
    rows = np.where(agree, codes, other)
    for _ in range(100):
        clue.learn(codes, rows, np.ones(1_000))
    assert np.diag(clue.law).mean() == pytest.approx(0.7 / 0.25, rel=0.03)  # drawn a little to the law of before


def test_gaps_say_nothing():
    values = np.array([[0.0], [1.0], [np.nan], [3.0]])
    clue = UnknownNoiseClue(values, values)
    assert clue.score(slice(0, 4))[2].tolist() == [0.0] * 4
    assert UnknownCodesClue(np.array([0, -1]), np.array([0, 1])).score(slice(0, 2))[1].tolist() == [0.0, 0.0]
    clue.learn(np.array([2]), np.array([2]), np.ones(1))
    np.testing.assert_allclose(clue.law, 1 / len(WIDTHS))
    assert 0.5 < KEPT < 1.0
