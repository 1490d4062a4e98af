"""A9 with known columns: what a column known of everybody does to rotations, linear maps and coefficients."""

import numpy as np
import pytest

import veil
from veil.attacks.columns.least_entropy import least_entropy_axes
from veil.attacks.columns.limits import turned_to_limits
from veil.auditing.judge import Judge

N = 1_000


def skewed(d: int, seed: int, n: int = N) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.gamma(1.5, size=(n, d)) * rng.uniform(1.0, 50.0, d) + rng.uniform(0.0, 20.0, d)


def correlated(d: int, seed: int, n: int = N) -> np.ndarray:
    """Normal, with means of both signs: only the published standard deviations tell anything."""
    rng = np.random.default_rng(seed)
    return rng.multivariate_normal(rng.uniform(-1.0, 1.0, d), 0.4 * np.eye(d) + 0.6, n) * rng.uniform(2.0, 9.0, d)


def mixed(d: int, seed: int, n: int = N) -> np.ndarray:
    rng = np.random.default_rng(seed)
    columns = [rng.normal(40, 12, n), rng.exponential(3e4, n), rng.poisson(3, n), rng.lognormal(2.0, 0.8, n)]
    return np.column_stack(columns[:d])


def rate(guess: veil.Guess, x: np.ndarray, known: int = 0) -> float:
    judge = Judge(x, [f"x{j}" for j in range(x.shape[1])], 0.1, known=[known])
    rows = np.arange(len(x))
    return judge.rates(judge.matched(guess, rows), rows, rows[:0])[0]


def attacked(x: np.ndarray, method: veil.Perturbation, *more: veil.attacks.Knowledge, known: int = 0) -> veil.Guess:
    release, _ = veil.publish(x, method)
    return veil.KnownColumnsAttack().run(release, veil.KnownAttributes(f"x{known}", x[:, known]), *more)


@pytest.mark.parametrize("table", [skewed, correlated, mixed])
def test_one_column_of_two_gives_the_other(table) -> None:
    """Nothing but a sign is left, and the guess is exact up to that."""
    for seed in range(5):
        x = table(2, seed)
        guess = attacked(x, veil.OrthogonalTransform(random_state=seed))
        assert guess.details.how == "sign"
        assert guess.details.misfit < 1e-9
        assert min(np.abs(sign * guess.values[:, 1] - x[:, 1]).max() for sign in (1, -1)) < 1e-6 * x[:, 1].std()


def test_a_proper_rotation_has_no_open_sign() -> None:
    for seed in range(6):
        x = correlated(2, seed)
        guess = attacked(x, veil.OrthogonalTransform(proper=True, random_state=seed))
        assert guess.ambiguity == "none"
        np.testing.assert_allclose(guess.values, x, atol=1e-6 * x.std())


@pytest.mark.parametrize(("table", "least"), [(skewed, 0.95), (correlated, 0.5), (mixed, 0.8)])
def test_one_column_of_three(table, least: float) -> None:
    """The angle that is left: by shapes, or where these are normal by the published standard deviations."""
    rates = [
        rate(attacked(x, veil.OrthogonalTransform(dither=False, random_state=s)), x)
        for s, x in enumerate(map(table, [3] * 6, range(6)))
    ]
    assert np.mean(rates) > least


def test_whole_numbers_beside_a_known_column_are_a_lattice() -> None:
    """A26 finds no lattice, since the known column has full precision; without it there is one."""
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(size=N), rng.poisson([3, 20, 90], size=(N, 3))])
    release, _ = veil.publish(x, veil.OrthogonalTransform(dither=False, random_state=0))
    with pytest.raises(veil.NotApplicableError, match="no lattice"):
        veil.LatticeAttack().run(release)
    guess = veil.KnownColumnsAttack().run(release, veil.KnownAttributes("x0", x[:, 0]))
    assert guess.details.how == "lattice"
    assert rate(guess, x) == 1.0


def test_known_records_and_columns_add_up() -> None:
    """d − k records instead of d; of a rotation one fewer; differences where there is a translation."""
    x = correlated(4, 1)
    records = veil.KnownPairs(x[:3], range(3))
    guess = attacked(x, veil.OrthogonalTransform(random_state=1), records)
    assert (guess.details.how, guess.ambiguity) == ("records", "none")
    np.testing.assert_allclose(guess.values, x, atol=1e-6 * x.std())
    two = veil.KnownPairs(x[:2], range(2))
    np.testing.assert_allclose(
        attacked(x, veil.OrthogonalTransform(proper=True, random_state=2), two).values, x, atol=1e-6 * x.std()
    )
    four = veil.KnownPairs(x[:4], range(4))
    shifted = attacked(x, veil.OrthogonalTransform(translation=3.0, random_state=3), four)
    np.testing.assert_allclose(shifted.values, x, atol=1e-6 * x.std())


def test_ranges_settle_two_columns() -> None:
    """Normal columns, of which nothing else is known."""
    for seed in range(4):
        x = correlated(3, seed)
        ranges = veil.KnownRanges(x.min(axis=0), x.max(axis=0))
        guess = attacked(x, veil.OrthogonalTransform(scaling=None, random_state=seed), ranges)
        assert guess.details.how == "ranges"
        np.testing.assert_allclose(guess.values, x, atol=1e-4 * x.std())


def test_a_small_sample_names_the_columns() -> None:
    """The release's own shapes are kept where the sample does not object; order and signs are then settled."""
    rates = []
    for seed in range(2):
        x = mixed(3, seed, N + 40)
        guess = attacked(x[:N], veil.OrthogonalTransform(random_state=seed), veil.KnownSample(x[N:]))
        assert guess.up_to == ()
        rates.append(rate(guess, x[:N]))
    assert np.mean(rates) > 0.7


def test_independent_columns_behind_a_general_map() -> None:
    """Of a square matrix and of a projection that, with the known column, has as many equations as columns."""
    for method in (veil.LinearTransform(random_state=1), veil.RandomProjection(2, random_state=1)):
        x = skewed(3, 2)
        assert rate(attacked(x, method), x) > 0.5


def test_a_sample_behind_a_general_map() -> None:
    """The sample's regression on the known column, and the rotation of what it leaves, for correlated columns."""
    rates = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        x = rng.gamma(1.0, size=(N + 400, 3)) @ np.array([[1.0, 0.6, 0.3], [0.0, 1.0, 0.5], [0.0, 0.0, 1.0]])
        guess = attacked(x[:N], veil.LinearTransform(random_state=seed), veil.KnownSample(x[N:]))
        assert guess.details.how == "sample"
        rates.append(rate(guess, x[:N]))
    assert np.mean(rates) > 0.35


def test_fewer_released_columns_than_unknown_ones() -> None:
    x = skewed(5, 0, 460)
    release, _ = veil.publish(x[:400], veil.RandomProjection(2, random_state=0))
    known = veil.KnownAttributes("x0", x[:400, 0])
    with pytest.raises(veil.NotApplicableError, match="2 released columns hide 4 unknown ones"):
        veil.KnownColumnsAttack().run(release, known)
    guess = veil.KnownColumnsAttack().run(release, known, veil.KnownSample(x[400:]))
    assert guess.details.how == "draws"
    assert np.array_equal(guess.values[:, 0], x[:400, 0])
    assert np.mean(((guess.values - x[:400]) / x.std(axis=0))[:, 1:] ** 2) < 1.0


def test_coefficients_in_a_secret_order_are_named() -> None:
    x = correlated(4, 0)
    guess = attacked(x, veil.TransformDomain(random_state=0), known=1)
    assert guess.ambiguity == "none"
    np.testing.assert_allclose(guess.values, x, atol=1e-6 * x.std())


def test_coefficients_of_the_same_weight_are_not_told_apart() -> None:
    """The mean and the fastest wave weigh x0 alike, and rounding must not decide which is which."""
    guess = attacked(correlated(4, 0), veil.TransformDomain(random_state=0))
    assert guess.ambiguity == "order"


def test_known_columns_settle_quarter_turns() -> None:
    """P5: with the partner known, order and sign in the pair are no more open (A27)."""
    for seed in range(4):
        x = skewed(2, seed) * [1.0, -1.0]
        release, _ = veil.publish(x, veil.PairwiseRotation(random_state=seed))
        guess = veil.RotationMomentsAttack().run(release, veil.KnownAttributes("x0", x[:, 0]))
        z = (x - x.mean(axis=0)) / x.std(axis=0)
        np.testing.assert_allclose(guess.details.normalized, z, atol=1e-6)
        assert np.array_equal(guess.values[:, 0], x[:, 0])


@pytest.mark.parametrize("d", [3, 4, 8])
def test_columns_that_are_sums_of_others_or_constant(d: int) -> None:
    """The release has fewer dimensions than columns: there is a guess all the same."""
    x = skewed(d, 0, 300)
    x[:, 1] = x[:, 0] + x[:, 2]
    if d > 3:
        x[:, 3] = 7.0
    for method in (veil.OrthogonalTransform(random_state=0), veil.OrthogonalTransform(translation=1.0, random_state=0)):
        guess = attacked(x, method)
        assert np.isfinite(guess.values).all()
        units = 1.0 if guess.units is None else guess.units
        np.testing.assert_allclose((guess.values * units)[:, 0], x[:, 0])


def test_rounded_knowledge_does_nearly_as_well() -> None:
    """Ages in whole years instead of days: the matrix is a little off, and the guess with it."""
    x = mixed(2, 0)
    release, _ = veil.publish(x, veil.OrthogonalTransform(random_state=0))
    guess = veil.KnownColumnsAttack().run(release, veil.KnownAttributes("x0", np.round(x[:, 0])))
    assert 0.001 < guess.details.misfit < 0.02
    assert rate(guess, x) > 0.95


def test_refusals() -> None:
    x = skewed(3, 0, 50)
    release, _ = veil.publish(x, veil.OrthogonalTransform(random_state=0))
    attack = veil.KnownColumnsAttack()
    with pytest.raises(veil.MissingKnowledgeError, match="KnownAttributes"):
        attack.run(release)
    with pytest.raises(veil.NotApplicableError, match="none of the known attributes"):
        attack.run(release, veil.KnownAttributes("other", x[:, 0]))
    with pytest.raises(veil.InputError, match="KnownAttributes has 49 records; the release has 50"):
        attack.run(release, veil.KnownAttributes("x0", x[:49, 0]))
    every = attack.run(release, veil.KnownAttributes(("x0", "x1", "x2"), x))
    assert np.array_equal(every.values, x)


def test_least_normal_axes_of_three_columns() -> None:
    """Columns of a rotation, up to order and sign, to the step of the search: 0.25°, and the sampling error."""
    rng = np.random.default_rng(0)
    z = np.column_stack([rng.exponential(size=1500), rng.random(1500) * 3.46, rng.choice([-1.0, 1.0], 1500)])
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    axes = least_entropy_axes(z @ turn.T, (0.9, 1.1))
    overlap = np.abs(turn.T @ axes)
    np.testing.assert_allclose(np.sort(overlap, axis=0)[-1], 1.0, atol=0.005)
    assert len(set(overlap.argmax(axis=0))) == 3


def test_ends_of_two_columns_give_the_turn() -> None:
    rng = np.random.default_rng(3)
    z = rng.normal([5.0, -1.0], size=(400, 2))
    angle = 1.0
    turned = z @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    values, miss = turned_to_limits(turned, np.column_stack([z.min(axis=0), z.max(axis=0)]), origin=True)
    assert miss < 1e-6
    np.testing.assert_allclose(values, z, atol=1e-4)
