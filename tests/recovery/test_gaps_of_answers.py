"""R4 where reports are missing: every report is used, and intervals cover also if gaps depend on another column."""

import numpy as np
import pyarrow as pa
import pytest

from _tables import described, within_standard_errors
from veil.data.schema import Kind
from veil.errors import NotApplicableError
from veil.numerics.response_matrix import cumulative, draw_reports, keep_matrix
from veil.recovery import ProportionRecovery
from veil.release.models import ResponseModel

LABELS = (("a", "b", "c"), ("no", "yes"))
FIRST, SECOND = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.5, 0.8])
"""Shares of a, b and c, and of yes among each."""
MISSING = np.array([0.05, 0.2, 0.6])
"""Shares of those who do not answer the second question, by what is true of the first."""


def answered(rng, matrix, codes):
    return draw_reports(cumulative(matrix), codes, rng.integers(0, 2**64, len(codes), dtype=np.uint64))


def texts(labels, codes, gaps):
    return pa.array([None if gap else labels[code] for code, gap in zip(codes.tolist(), gaps.tolist(), strict=True)])


def survey(seed, kind, n=3_000, keep=(0.7, 0.6)):
    """A release of two randomized columns with gaps, and the true codes."""
    rng = np.random.default_rng([seed, 5])
    first = rng.choice(3, n, p=FIRST)
    second = (rng.random(n) < SECOND[first]).astype(np.int64)
    matrices = (keep_matrix(keep[0], 3), keep_matrix(keep[1], 2))
    chance = rng.random((2, n)) < 0.2
    gaps = chance if kind == "chance" else np.stack([np.zeros(n, dtype=bool), rng.random(n) < MISSING[first]])
    columns = {
        name: texts(labels, answered(rng, matrix, codes), missing)
        for name, labels, matrix, codes, missing in zip("xy", LABELS, matrices, (first, second), gaps, strict=True)
    }
    model = ResponseModel(LABELS, matrices)
    return described(columns, model, names=("x", "y"), dtypes="string", kind=Kind.CATEGORY), first, second


def estimates(found, errors):
    values, spread = ([*table["x"].values(), *table["y"].values()] for table in (found.unconstrained_, errors))
    return np.array(values), np.array(spread)


@pytest.mark.parametrize("kind", ["a column", pytest.param("chance", marks=pytest.mark.slow)])
def test_two_standard_errors_cover(kind):
    """200 surveys, shares of both columns pooled; nominal 95.4 %."""
    truth, hits = np.array([*FIRST, 1 - FIRST @ SECOND, FIRST @ SECOND]), []
    for seed in range(200):
        found = ProportionRecovery().fit(survey(seed, kind)[0])
        shares, error = estimates(found, found.standard_errors_)
        hits.append(np.abs(shares - truth) < 2 * error)
        assert sum(found.proportions_["y"].values()) == pytest.approx(1.0)
    assert 0.92 <= np.mean(hits) <= 0.98, np.mean(hits, axis=0)


def test_reports_alone_miss_where_gaps_depend_on_a_column():
    """The shares among those who answered are off by many standard errors; those that use the other column are not."""
    release, first, second = survey(0, "a column", n=40_000, keep=(0.9, 0.9))
    found = ProportionRecovery().fit(release)
    answers = release.table.read(["y"]).column(0).drop_null().to_pylist()
    yes = np.mean([answer == "yes" for answer in answers])
    share = np.linalg.solve(release.only_part.model.matrices[1], [1 - yes, yes])[1]
    truth, error = FIRST @ SECOND, found.standard_errors_["y"]["yes"]
    assert abs(share - truth) > 5 * error
    assert abs(found.unconstrained_["y"]["yes"] - truth) < 4 * error
    assert found.n_gaps_ == 40_000 - len(answers)
    # What the table's own answers tell, weighted to all records, is told to within the noise.
    there = np.array(release.table.read(["y"]).column(0).is_valid())
    own = sum(np.mean(first == k) * second[(first == k) & there].mean() for k in range(3))
    assert abs(found.unconstrained_["y"]["yes"] - own) < 4 * found.randomization_se_["y"]["yes"]
    assert found.randomization_se_["y"]["yes"] < error
    assert found.joint(["x", "y"]).proportions.sum() == pytest.approx(1.0)  # of the records with both


def test_weights_of_one_are_the_estimates_without():
    release, *_ = survey(1, "a column", n=1_000)
    complete = described(
        release.table.read().drop_null(), release.only_part.model, names=("x", "y"), dtypes="string", kind=Kind.CATEGORY
    )
    plain = ProportionRecovery().fit(complete)
    same = ProportionRecovery(weights=np.full(complete.table.n_rows, 2.0)).fit(complete)
    for field in ("unconstrained_", "proportions_", "standard_errors_", "randomization_se_", "sampling_se_"):
        for column in ("x", "y"):
            assert getattr(same, field)[column] == pytest.approx(getattr(plain, field)[column])


def test_columns_randomized_as_one_and_reports_that_are_not_listed():
    rng = np.random.default_rng(7)
    compound, true = ((0, 1), (1, 0), (1, 1)), np.array([0.5, 0.1, 0.4])
    matrix = keep_matrix(0.7, 3)
    codes = np.array(compound)[answered(rng, matrix, rng.choice(3, size=5_000, p=true))]
    gaps = rng.random(5_000) < 0.2
    labels = (("man", "woman"), ("yes", "no"))
    model = ResponseModel(labels, (matrix,), compound)
    columns = {name: texts(labels[j], codes[:, j], gaps) for j, name in enumerate("xy")}
    found = ProportionRecovery().fit(described(columns, model, names=("x", "y"), dtypes="string", kind=Kind.CATEGORY))
    assert found.n_gaps_ == gaps.sum()
    for column, category, share in (("x", "man", 0.5), ("y", "yes", 0.1)):
        assert within_standard_errors(
            found.unconstrained_[column][category], share, found.standard_errors_[column][category]
        )
    release, *_ = survey(2, "chance", n=50)
    odd = release.table.read().to_pydict()
    odd["x"][odd["x"].index("a")] = "elsewhere"
    with pytest.raises(NotApplicableError, match="column 'x': 1 reports are none"):
        ProportionRecovery().fit(
            described(odd, release.only_part.model, names=("x", "y"), dtypes="string", kind=Kind.CATEGORY)
        )
