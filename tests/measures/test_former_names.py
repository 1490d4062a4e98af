"""Former names of parameters: understood for one version, with a warning unless the papers' name is public."""

import numpy as np
import pytest

from veil import measures
from veil.errors import InputError

X = np.random.default_rng(0).normal(size=(40, 3))
Y = X + 0.1

WARNED = [
    (measures.sphere_breach_probability, (), {"dimension": 6}, ("epsilon", "tolerance", 0.6)),
    (measures.breach_bound, ([1.0],), {"dimension": 6, "lengths": (0.0, 2.0)}, ("epsilon", "tolerance", 0.6)),
    (measures.johnson_lindenstrauss_dimension, (100,), {}, ("epsilon", "distortion", 0.1)),
    (measures.johnson_lindenstrauss_probability, (100,), {}, ("epsilon", "distortion", 0.1)),
    (measures.distance_distortion, (X, Y), {}, ("seed", "random_state", 3)),
    (measures.inner_product_distortion, (X, Y), {}, ("seed", "random_state", 3)),
    (measures.clustering_agreement, (X, Y, 2), {}, ("seed", "random_state", 3)),
    (measures.neighbour_retention, (X, Y), {}, ("seed", "random_state", 3)),
]


@pytest.mark.parametrize(("function", "args", "options", "names"), WARNED, ids=lambda v: getattr(v, "__name__", ""))
def test_former_names_warn_and_give_the_same(function, args, options, names):
    old, new, value = names
    with pytest.warns(DeprecationWarning, match=f"{function.__name__}: {old} is now {new}"):
        before = function(*args, **options, **{old: value})
    np.testing.assert_array_equal(before, function(*args, **options, **{new: value}))
    with pytest.raises(InputError, match=f"{new}: is given twice"):
        function(*args, **options, **{old: value, new: value})


@pytest.mark.filterwarnings("error")
def test_public_names_of_the_papers_do_not_warn():
    assert measures.projection_zero_breach(100, epsilon=0.01) == measures.projection_zero_breach(100, tolerance=0.01)
    thresholds = {"eta": 0.1, "accuracy": 0.8, "zero_breach": 0.7}
    lowest, highest = measures.choose_projection_dimension(**thresholds, epsilon=0.01)
    assert measures.choose_projection_dimension(**thresholds, tolerance=0.01) == (lowest, highest) == (328, 742)


def test_results_have_names_and_unpack():
    interval = measures.wilson(8, 10)
    assert (interval.low, interval.high) == interval
    assert measures.ratio_interval([1.0, 1.0], [2.0, 2.0]).ratio == 0.5
    assert measures.norm_range([-3, 1], [2, 2]).low == 1.0
    bounds = measures.suspicion_bounds([[0.7, 0.3], [0.3, 0.7]], [0.3, 0.7])
    assert bounds.low[0] == pytest.approx(9 / 58)
    assert measures.difference_variances(1.0, 1.0, 0.0, np.pi).second == pytest.approx(4.0)
    assert measures.choose_projection_dimension(eta=0.1, accuracy=0.8, tolerance=0.01, zero_breach=0.7).highest == 742
