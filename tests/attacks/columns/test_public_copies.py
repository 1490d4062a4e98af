"""A31: public bands of private columns against rotations and linear maps, with the release alone and with a sample."""

import numpy as np
import pyarrow as pa
import pytest

import veil
from _tables import within_standard_errors
from veil.attacks.columns.copies import whose_copy
from veil.attacks.columns.single_index import single_index
from veil.auditing.judge import Judge

N, D = 10_000, 6
ATTACK = veil.PublicCopiesAttack()


def normal(n: int, seed: int = 0, d: int = D) -> np.ndarray:
    """Equally correlated normal columns with means of both signs: their shapes tell nothing."""
    rng = np.random.default_rng(seed)
    x = rng.multivariate_normal(np.arange(d) - 2.0, np.full((d, d), 0.5) + 0.5 * np.eye(d), n)
    return np.asarray(x * rng.uniform(2.0, 500.0, d))


def skewed(n: int, seed: int = 0, d: int = D) -> np.ndarray:
    """Sums of gamma columns, which depend on each other along curves."""
    rng = np.random.default_rng(seed)
    return np.asarray(rng.gamma(1.5, size=(n, d)) @ (rng.uniform(size=(d, d)) + np.eye(d)))


def bands(x: np.ndarray, levels: dict[int, int]) -> dict[str, np.ndarray]:
    """Bands of some columns with so many levels, under names that do not say of which column they are."""
    cuts = {j: np.quantile(x[:, j], np.arange(1, k) / k) for j, k in levels.items()}
    return {f"group {i}": np.digitize(x[:, j], cuts[j]) for i, j in enumerate(levels)}


def released(x: np.ndarray, public: dict[str, np.ndarray], method: veil.Perturbation, n: int = N):
    """The release of the first n records, and the others as a sample with their public columns."""
    table = pa.table({**{f"x{j}": column for j, column in enumerate(x.T)}, **public})
    release, _ = veil.publish(table.slice(0, n), method, roles=dict.fromkeys(public, "public"))
    return release, veil.KnownSample(x[n:], public=table.select(list(public)).slice(n))


def rates(guess: veil.Guess, x: np.ndarray) -> np.ndarray:
    judge, rows = Judge(x, guess.columns, 0.1), np.arange(len(x))
    return judge.rates(judge.matched(guess, rows), rows, rows[:0])[2]


@pytest.mark.parametrize("table", [normal, skewed])
@pytest.mark.parametrize("levels", [{1: 4, 4: 4}, {0: 10, 2: 6, 5: 4}])
def test_a_sample_names_the_columns_that_bands_give_away(table, levels) -> None:
    """Where columns depend along curves, least squares alone misses by 0.1 of a standard deviation."""
    x = table(N + 200)
    release, sample = released(x, bands(x, levels), veil.OrthogonalTransform(random_state=0))
    guess = ATTACK.run(release, sample)
    assert guess.up_to == ()
    assert {*guess.details.of} == {f"x{j}" for j in levels}
    error = np.std(guess.values - x[:N], axis=0) / x[:N].std(axis=0)
    assert error[list(levels)].max() < 0.01


@pytest.mark.parametrize("table", [normal, skewed])
@pytest.mark.parametrize("method", [veil.OrthogonalTransform, veil.LinearTransform])
def test_the_release_alone_tells_the_columns_up_to_their_order(table, method) -> None:
    x = table(N)
    release, _ = released(x, bands(x, {0: 10, 2: 6, 5: 4}), method(random_state=1))
    guess = ATTACK.run(release)
    assert "order" in guess.up_to
    assert rates(guess, x)[[0, 2, 5]].min() > 0.97  # of a linear map, the unit's two digits are the scale


@pytest.mark.parametrize("how", ["texts", "ranks", "noise", "wrong cells"])
def test_copies_of_every_kind(how: str) -> None:
    x, rng = skewed(4_200), np.random.default_rng(5)
    band = bands(x, {3: 5})["group 0"]
    copy = {
        "texts": np.array(["d", "b", "e", "a", "c"])[band],
        "ranks": x[:, 3].argsort().argsort(),
        "noise": x[:, 3] + 0.5 * x[:, 3].std() * rng.normal(size=len(x)),
        "wrong cells": np.where(rng.random(len(x)) < 0.05, rng.integers(0, 5, len(x)), band),
    }[how]
    release, sample = released(x, {"public": copy}, veil.OrthogonalTransform(random_state=2), 4_000)
    guess = ATTACK.run(release, sample)
    assert guess.details.of == ("x3",)
    assert rates(guess, x[:4_000])[3] > 0.9


def test_all_columns_but_one_give_the_last() -> None:
    x = normal(2_300)
    release, sample = released(x, bands(x, dict.fromkeys(range(5), 5)), veil.OrthogonalTransform(random_state=3), 2_000)
    guess = ATTACK.run(release, sample)
    assert (guess.details.how, rates(guess, x[:2_000]).min()) == ("sign", 1.0)


def test_rounded_values_name_their_column_by_units_and_origin() -> None:
    x = normal(2_000)
    step = 0.5 * x[:, 2].std()
    release, _ = released(
        x, {"about": np.round(x[:, 2] / step) * step}, veil.OrthogonalTransform(random_state=4), 2_000
    )
    assert ATTACK.run(release).details.of == ("x2",)


def test_a_translation_is_told_by_the_sample() -> None:
    x = normal(2_200)
    method = veil.OrthogonalTransform(translation=3.0, random_state=5)
    release, sample = released(x, bands(x, {1: 8}), method, 2_000)
    guess = ATTACK.run(release, sample)
    assert guess.up_to == ()
    assert abs(guess.values[:, 1] - x[:2_000, 1]).max() < 0.1 * x[:, 1].std()
    assert "scale" in ATTACK.run(release).up_to


def test_public_columns_that_are_no_copies_tell_nothing() -> None:
    """Neither independent ones, nor what several private columns make together."""
    x, rng = normal(2_200), np.random.default_rng(6)
    alone = {"side": rng.integers(0, 4, 2_200), "group": rng.choice(list("abc"), 2_200)}
    release, sample = released(x, alone, veil.OrthogonalTransform(random_state=6), 2_000)
    for known in ((), (sample,)):
        with pytest.raises(veil.NotApplicableError, match="no public column is a copy"):
            ATTACK.run(release, *known)
    z = x / x.std(axis=0)
    total = {"total": z.sum(axis=1).round()}
    release, _ = released(x, total, veil.OrthogonalTransform(random_state=6), 2_000)
    with pytest.raises(veil.NotApplicableError, match="no public column is a copy"):
        ATTACK.run(release)


@pytest.mark.parametrize("share", [0.5, 0.8, 0.95])
def test_the_standard_error_of_a_direction(share: float) -> None:
    """Along each other direction of unit variance: (1 − r²) / (n r²)."""
    n, k, squares = 1_000, 5, []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        z = rng.normal(size=(n, k))
        weights = single_index(z, z[:, 0] + rng.normal(size=n) * np.sqrt(1 / share - 1)).weights
        squares.append(np.mean((weights[1:] / weights[0]) ** 2) * n * share / (1 - share))
    assert within_standard_errors(np.mean(squares), 1.0, np.std(squares) / np.sqrt(len(squares)))


def test_a_band_is_parted_faster_than_regression_tells() -> None:
    """Errors of the order of k / n: sixteen times the records, an error at least eight times smaller."""
    errors = []
    for n in (500, 8_000):
        own = []
        for seed in range(10):
            z = np.random.default_rng(seed).normal(size=(n, 4))
            index = single_index(z, np.digitize(z[:, 0], [-1.0, 0.0, 1.0]).astype(float))
            assert index.exact
            own.append(np.linalg.norm(index.weights[1:] / index.weights[0]))
        errors.append(np.mean(own))
    assert errors[1] < errors[0] / 8


def test_whose_copy_it_is() -> None:
    """Of columns that correlate by 0.95, the one that parts the bands; of a sum, none."""
    rng = np.random.default_rng(7)
    z = rng.multivariate_normal(np.zeros(3), np.full((3, 3), 0.95) + 0.05 * np.eye(3), 300)
    assert whose_copy(z, -np.digitize(z[:, 2], [-1.0, 0.0, 1.0]).astype(float)) == (2, -1.0)
    assert whose_copy(z, (z[:, 0] + z[:, 1]).round())[0] is None
    assert whose_copy(z, rng.integers(0, 3, 300).astype(float))[0] is None
