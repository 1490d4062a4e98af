"""The compiled posterior of cells (A28) against the same in NumPy, one cell and one point at a time."""

import numpy as np
import pytest
from scipy.stats import norm

from veil.attacks.posterior.cells import SMALL, marginal, number_guesses
from veil.attacks.posterior.windows import TIE, window, window_ends

NOTHING = np.empty(0)


def three_boxes(mass, deviation):
    """Blurred by three boxes with fractional ends, of a variance of deviation²/3 each; what leaves the grid is lost."""
    if deviation < 0.1:
        return mass
    variance = deviation**2 / 3
    inner = int((np.sqrt(12 * variance + 1) - 1) / 2)
    # The variance of weights 1 at −inner … inner and ε at the two beside, over their sum, is to be as wanted.
    squares = inner * (inner + 1) * (2 * inner + 1) / 3
    edge = (variance * (2 * inner + 1) - squares) / (2 * ((inner + 1) ** 2 - variance))
    kernel = np.r_[edge, np.ones(2 * inner + 1), edge] / (2 * inner + 1 + 2 * edge)
    for _ in range(3):
        mass = np.convolve(mass, kernel)[inner + 1 : inner + 1 + len(mass)]
    return mass


def laid(size, at, weight):
    """A weight shared by the two points beside its place; beyond the grid at its ends."""
    at = min(max(at, 0.0), size - 1.001)
    mass = np.zeros(size)
    mass[int(at)], mass[int(at) + 1] = weight * (int(at) + 1 - at), weight * (at - int(at))
    return mass


def curve(size, middle, weight, deviation):
    """A normal curve on the points, as far as 1e-25; of one narrower than 0.4 steps the two points beside it."""
    if deviation < 0.4:
        return laid(size, middle, weight)
    density = norm.pdf(np.arange(size), middle, deviation)
    return weight * np.where(density > 1e-25, density, 0.0)


def prior_density(weights, first, places, deviations, size):
    """Of one record: all candidates' curves, ``places`` and ``deviations`` in steps of the grid."""
    density = np.zeros(size)
    for k, deviation in enumerate(deviations):
        group = range(first[k], first[k + 1])
        if len(group) == 1:
            if weights[group[0]] > SMALL:
                density += curve(size, places[group[0]], weights[group[0]], deviation)
            continue
        masses = [laid(size, places[c], weights[c]) for c in group if weights[c] > SMALL]
        density += three_boxes(np.sum(masses, axis=0), deviation) if masses else 0.0
    return density


def noise_ratio(case, i):
    """What the column's own noise says of each point more than the normal law."""
    x, observed = case["points"], case["observed"][i]
    ratio = np.ones(len(x))
    if np.isnan(observed):
        return ratio
    if len(case["own"]):
        errors = np.linspace(-case["own_reach"], case["own_reach"], len(case["own"]))
        ratio *= np.interp(observed - x, errors, case["own"])
    if len(case["factor"]):
        mean, deviation, noise = case["factor"]
        exact = norm.pdf(observed * mean, x * mean, np.hypot(x * deviation, noise))
        ratio *= exact / norm.pdf((observed - x) / case["sigma"])
    if len(case["ends"]):
        low, high = case["ends"][i]
        ratio *= ((case["place"] >= low) & (case["place"] < high)) / norm.pdf((observed - x) / case["sigma"])
    return ratio


def fullest(mass, place, widths, reach):
    """Middle of the first windows that hold most, the content's where that is narrow, and how much they hold."""
    size, most = len(mass), 2 * reach * (1 + 5e-7)
    windows = [(b, e) for b in range(size) for e in range(b, size) if e == b or place[e] - place[b] + widths[b] <= most]
    last = [max(e for c, e in windows if c == b) for b in range(size)]
    held = np.array([mass[b : e + 1].sum() for b, e in enumerate(last)])
    good = held >= held.max() * (1 - TIE)
    start = int(good.argmax())
    run = start + int(np.append(good[start:], False).argmin())
    some = slice(start, last[start] + 1)
    if mass[some].sum() > 0:
        centre = np.average(place[some], weights=mass[some])
        if np.average((place[some] - centre) ** 2, weights=mass[some]) < reach**2 / 16:
            return centre, held.max()
    return np.mean([(place[b] + place[last[b]]) / 2 for b in range(start, run)]), held.max()


def a_case(rng, size=120, n=7, groups=(3, 1, 40), left=(0.3, 0.2, 0.05), reach=0.3, law="normal", logs=False):
    """Rows, candidates and a grid from about −4 on, as :func:`number_guesses` wants them."""
    start, step = -4.0, 8.0 / max(size - 1, 1)
    points = start + step * np.arange(size)
    place = np.exp(points / 2) if logs else points.copy()
    first, m = np.r_[0, np.cumsum(groups)].astype(np.int64), sum(groups)
    weights = rng.dirichlet(np.full(m, 0.3), n)
    shifts, centres = rng.normal(0, 0.7, (n, len(groups))), rng.normal(0, 1.5, m)
    case = {
        "weights": weights,
        "first": first,
        "shifts": shifts,
        "centres": centres,
        "left": np.array(left, dtype=float),
        "start": start,
        "step": step,
        "place": place,
        "shape": rng.random(size),
        "tilt": rng.random(size) * (rng.random(size) < 0.9),
        "own": NOTHING,
        "own_reach": 1.0,
        "factor": NOTHING,
        "ends": np.empty((0, 2)),
        "observed": rng.normal(0, 1, n),
        "sigma": 1.0,
        "reach": reach,
        "widths": step * place / 2 if logs else np.full(size, step),
        "points": points,
    }
    if law == "own":
        case |= {"own": np.exp(rng.normal(size=201)), "own_reach": 12.0}
    if law == "factor":
        case["factor"] = np.array([1.1, 0.3, 0.4])
    if law == "classes":
        edges = np.sort(rng.normal(0, 1.5, (n, 2)), axis=1)
        case["ends"] = np.where(rng.random((n, 2)) < 0.3, [-np.inf, np.inf], edges)
    return case


def guesses(case):
    out = np.full((len(case["weights"]), 3), 7.0)
    number_guesses(*(case[name] for name in list(case)[:-1]), out)
    return out


def expected(case):
    """The same by the definitions."""
    rows = []
    for i, weights in enumerate(case["weights"]):
        group = np.repeat(np.arange(len(case["left"])), np.diff(case["first"]))
        places = (case["shifts"][i, group] + case["centres"] - case["start"]) / case["step"]
        density = prior_density(weights, case["first"], places, case["left"] / case["step"], len(case["place"]))
        density *= case["tilt"]
        density *= np.where(density > 0, noise_ratio(case, i), 0.0)
        if len(case["ends"]) and not np.isnan(case["observed"][i]) and not density.sum() > 0:
            low, high = case["ends"][i]
            density = case["shape"] * ((case["place"] >= low) & (case["place"] < high))
        total = density.sum()
        if not total > 0:
            rows.append([np.nan] * 3)
            continue
        middle, held = fullest(density, case["place"], case["widths"], case["reach"])
        rows.append([middle, held / total, density @ case["place"] / total])
    return np.array(rows)


def agree(case):
    found, wanted = guesses(case), expected(case)
    np.testing.assert_allclose(found[:, 1:], wanted[:, 1:], rtol=1e-6, atol=1e-9)
    # Windows that hold the same but for rounding are as good: what the guess holds decides.
    np.testing.assert_allclose(found[:, 0], wanted[:, 0], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("logs", [False, True], ids=["even bins", "bins in proportion"])
@pytest.mark.parametrize("law", ["normal", "own", "factor", "classes"])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8])
def test_cells_are_as_defined(law, n, logs):
    """Rows that fill their lanes and rows that do not, with every law of noise."""
    agree(a_case(np.random.default_rng(n), n=n, law=law, logs=logs))


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("reach", [0.01, 1.0, 3.0, 100.0], ids=lambda reach: f"reach {reach}")
def test_few_points_with_windows_narrower_than_a_bin_and_wider_than_the_grid(size, reach):
    for seed in range(5):
        case = a_case(np.random.default_rng(seed), size=size, reach=reach)
        case["tilt"][:] = 1.0
        agree(case)


def test_a_window_wider_than_the_grid_holds_all():
    case = a_case(np.random.default_rng(0), reach=10.0)
    found = guesses(case)
    np.testing.assert_allclose(found[:, 1], 1.0, rtol=1e-12)


@pytest.mark.parametrize("law", ["normal", "own", "factor", "classes"])
def test_where_nothing_is_left_nothing_is_said(law):
    case = a_case(np.random.default_rng(1), law=law)
    case["tilt"][:], case["shape"][:] = 0.0, 0.0
    assert np.isnan(guesses(case)).all()
    case = a_case(np.random.default_rng(1), law=law)
    case["weights"][2] = 0.0
    others = np.arange(len(case["weights"])) != 2
    assert not np.isnan(guesses(case)[others]).any()
    if law != "classes":
        assert np.isnan(guesses(case)[2]).all()
    agree(case)


def test_a_class_that_no_candidate_reaches_has_what_is_usual_there():
    case = a_case(np.random.default_rng(2), n=3, law="classes")
    case["centres"][:], case["shifts"][:] = -3.0, 0.0
    case["ends"] = np.tile([2.0, 3.0], (3, 1))
    agree(case)
    found = guesses(case)
    assert ((found[:, 0] >= 2.0) & (found[:, 0] < 3.0)).all()


def test_a_class_far_from_what_was_observed_is_finite():
    case = a_case(np.random.default_rng(2), n=2, law="classes")
    case["ends"], case["sigma"] = np.tile([-np.inf, np.inf], (2, 1)), 0.05
    assert np.isfinite(guesses(case)).all()


@pytest.mark.parametrize("law", ["own", "factor", "classes"])
def test_a_value_that_was_not_observed_lets_the_prior_speak(law):
    """No noise has a say, and no table is looked up at NaN; rows beside it are as they were."""
    case = a_case(np.random.default_rng(3), n=6, law=law)
    before = guesses(case)
    case["observed"][[1, 4]] = np.nan
    found, there = guesses(case), np.array([0, 2, 3, 5])
    np.testing.assert_array_equal(found[there], before[there])
    alone = guesses(case | {"own": NOTHING, "factor": NOTHING, "ends": np.empty((0, 2))})
    np.testing.assert_array_equal(found[[1, 4]], alone[[1, 4]])
    agree(case)


def test_rows_in_other_lanes_are_the_same():
    case = a_case(np.random.default_rng(4), n=9)
    whole = guesses(case)
    for i in range(9):
        row = case | {name: case[name][i : i + 1] for name in ("weights", "shifts", "observed")}
        np.testing.assert_allclose(guesses(row)[0], whole[i], rtol=1e-9)


@pytest.mark.parametrize("deviation", [0.05, 0.11, 0.3, 0.7, 1.0, 2.5, 12.0])
def test_a_blur_is_nearly_normal(deviation):
    """Three boxes have a normal's variance, and its distribution to 0.02 (of points: to what they resolve)."""
    size, step = 401, 0.1
    start, centres = -20.0, np.array([0.0, 0.0])
    first = np.array([0, 2], dtype=np.int64)
    mass = marginal(np.array([0.25, 0.75]), first, centres, np.array([deviation * step]), start, step, size)
    points = np.arange(size) - 200
    assert mass.sum() == pytest.approx(1.0, abs=1e-9)
    assert mass @ points**2 == pytest.approx(deviation**2 if deviation >= 0.1 else 0.0, abs=1e-6)
    if deviation >= 1.0:
        np.testing.assert_allclose(mass.cumsum(), norm.cdf(points + 0.5, scale=deviation), atol=0.02)


def test_the_marginal_is_as_defined():
    rng = np.random.default_rng(5)
    case = a_case(rng, n=1)
    weights, first = case["weights"][0], case["first"]
    found = marginal(weights, first, case["centres"], case["left"], case["start"], case["step"], len(case["place"]))
    places = (case["centres"] - case["start"]) / case["step"]
    wanted = prior_density(weights, first, places, case["left"] / case["step"], len(case["place"]))
    np.testing.assert_allclose(found, wanted, atol=3e-7)


@pytest.mark.parametrize("size", [1, 2, 3, 50])
@pytest.mark.parametrize("reach", [0.01, 0.2, 50.0])
@pytest.mark.parametrize("width", [0.0, 0.05, 1.0])
def test_windows_are_as_defined(size, reach, width):
    rng = np.random.default_rng(size)
    place, mass, widths = np.sort(rng.normal(size=size)), rng.random(size), np.full(size, width)
    mass[rng.random(size) < 0.3] = 0.0
    mass[0] += 0.1
    out = np.empty(3)
    window(mass, mass.sum(), place, widths, reach, out)
    middle, held = fullest(mass, place, widths, reach)
    np.testing.assert_allclose(out, [middle, held / mass.sum(), mass @ place / mass.sum()], rtol=1e-9)
    stop = window_ends(place, widths, reach)
    assert (stop > np.arange(size)).all()
    assert (np.diff(stop) >= 0).all()
