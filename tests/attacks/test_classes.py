"""A2 on values in classes: heaps are guessed as they are, whole numbers are whole, and means stay means."""

import numpy as np
import pandas as pd
import pytest

import veil
from veil.attacks.noise.classes import ClassColumn, ClassPosterior

HOURS = np.array([0.0, 10, 20, 25, 30, 35, 38, 40, 45, 50, 60])
SHARES = np.array([0.05, 0.03, 0.08, 0.05, 0.07, 0.08, 0.06, 0.42, 0.06, 0.07, 0.03])


def hours(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).choice(HOURS, n, p=SHARES)


def hits(x: np.ndarray, method: veil.Perturbation, aim: str, *knowledge: veil.attacks.Knowledge) -> float:
    release, _ = veil.publish(pd.DataFrame({"x": x}), method)
    guess = veil.UnivariateBayesAttack(aim=aim).run(release, *knowledge).values[:, 0]
    return float((np.abs(guess - x) <= 0.1 * veil.measures.standard_units(x[:, None])[0] * (1 + 1e-9)).mean())


def best_possible(x: np.ndarray, edges: np.ndarray) -> float:
    """What the best guess of each class hits, with the truth at hand."""
    reach, places = 0.1 * veil.measures.standard_units(x[:, None])[0], np.searchsorted(edges, x, side="right")
    best = 0
    for place in np.unique(places):
        own = np.sort(x[places == place])
        best += int((np.searchsorted(own, own + 2 * reach, side="right") - np.arange(len(own))).max())
    return best / len(x)


def test_a_sample_shows_the_heaps() -> None:
    """Sixty values of others come near to what the best guess of each class hits; means and middles do not."""
    x, edges = hours(3_000, 0), [12.0, 28.0, 42.0]
    method, best = veil.Discretize(edges=edges), best_possible(x, np.array(edges))
    samples = [veil.KnownSample(hours(60, seed)[:, None]) for seed in range(1, 6)]
    assert best > 0.6
    assert np.mean([hits(x, method, "hit", sample) for sample in samples]) > best - 0.08
    assert np.mean([hits(x, method, "mean", sample) for sample in samples]) < 0.3


def test_whole_numbers_are_guessed_whole() -> None:
    """The type says so: the middles of [k, k + 1) are never right, the numbers always."""
    x = np.random.default_rng(0).poisson(6, 2_000)
    assert hits(x.astype(np.int64), veil.Discretize(edges=np.arange(1.0, 16.0)), "hit") > 0.97
    assert hits(x.astype(np.float64) + 0.5, veil.Discretize(edges=np.arange(1.0, 16.0)), "mean") > 0.9


def test_smooth_columns_lean_to_the_denser_side() -> None:
    """Exponential values in wide classes: the hit is nearer to the lower edge than the middle, and right more often."""
    x = np.random.default_rng(0).exponential(100.0, 5_000)
    method = veil.Discretize(edges=[100.0, 200.0, 300.0])
    release, _ = veil.publish(pd.DataFrame({"x": x}), method)
    middle = veil.NoiseDistributionAttack().run(release).values[:, 0]
    plain = float((np.abs(middle - x) <= 0.1 * veil.measures.standard_units(x[:, None])[0]).mean())
    assert hits(x, method, "hit") > plain + 0.03


def test_means_are_the_conditional_ones() -> None:
    """The squared error is the expected one, within 4 standard errors, and below that of a uniform class."""
    x = np.random.default_rng(2).normal(50.0, 10.0, 30_000)
    x = x[(x >= 30) & (x < 70)]
    release, _ = veil.publish(pd.DataFrame({"x": x}), veil.Discretize(edges=np.arange(35.0, 70.0, 5.0)))
    guess = veil.UnivariateBayesAttack().run(release, veil.KnownRanges(30.0, 70.0))
    errors = (guess.values[:, 0] - x) ** 2
    assert guess.details.prior == ("classes",)
    assert guess.details.expected_mse[0] == pytest.approx(errors.mean(), abs=4 * errors.std() / np.sqrt(len(x)))
    assert errors.mean() < 25 / 12


def test_ranges_end_the_open_classes() -> None:
    column = ClassColumn(
        edges=np.array([10.0, 20.0]), counts=np.array([5, 5, 5]), whole=False, limits=(8.0, 21.0), known=np.empty(0)
    )
    first, _, last = column.posteriors()
    assert 8.0 <= first.mean <= 10.0
    assert 20.0 <= last.mean <= 21.0


def test_the_hit_is_the_window_of_most_weight() -> None:
    """Against all windows of a random posterior, by trying every one."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        points = np.sort(rng.random(30))
        posterior = ClassPosterior(points, rng.dirichlet(np.full(30, 0.5)))
        reach = rng.uniform(0.01, 0.2)
        inside = [posterior.weights[np.abs(points - g) <= reach].sum() for g in np.linspace(-0.2, 1.2, 2_001)]
        own = posterior.weights[np.abs(points - posterior.hit(reach)) <= reach * (1 + 1e-9)].sum()
        most = max(inside)
        assert own > 0.5 * most
        assert own >= most * (1 - 1e-9) or posterior.weights.max() > 0.5 * most


def test_missing_values_stay_missing() -> None:
    x = hours(200, 3)
    x[::7] = np.nan
    release, _ = veil.publish(pd.DataFrame({"x": x}), veil.Discretize(edges=[15.0, 39.0]))
    guess = veil.UnivariateBayesAttack(aim="hit").run(release)
    assert np.array_equal(np.isnan(guess.values[:, 0]), np.isnan(x))


def test_the_audit_says_that_heaps_break() -> None:
    """The default sweep on amounts in steps of 50 and weekly hours, in six classes: a 2 % sample breaks them."""
    rng = np.random.default_rng(8)
    table = pd.DataFrame({"hours": hours(2_500, 8), "amount": np.round(rng.lognormal(6.0, 0.4, 2_500) / 150) * 150})
    audit = veil.audit(
        table, veil.Discretize(6), grants=veil.Grants.only(sample=0.02), repetitions=3, seed=0, workers=1
    )
    rows = [row for row in audit.rows if row.attack.startswith("univariate") and row.knowledge == "2 % sample"]
    assert not audit.passed
    assert max(row.value.advantage.low for row in rows) > 0.3
