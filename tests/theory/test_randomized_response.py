"""P16: reports follow the stated matrix, categories of every kind, and what the release may promise.

Reference: pkdd2006 tutorial ("Vector Response"); errata: P is column-stochastic. Tests of laws are simultaneous
chi-square tests at the level 1e-4 over all true categories, with fixed seeds.
"""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import chi2, norm

import veil
from _tables import within_standard_errors
from veil.errors import InputError
from veil.numerics.response_matrix import (
    cumulative,
    exact_probabilities,
    gamma_matrix,
    implemented_epsilon,
    keep_matrix,
)

LEVEL = 1e-4
# The tutorial's example: λ = Pπ = (.16, .25, .32, .27).
P4 = np.array([[0.60, 0.20, 0.00, 0.10], [0.20, 0.50, 0.20, 0.10], [0.15, 0.15, 0.70, 0.30], [0.05, 0.15, 0.10, 0.50]])
PI4 = np.array([0.1, 0.3, 0.2, 0.4])
LAMBDA4 = np.array([0.16, 0.25, 0.32, 0.27])
JOBS = ["clerk", "driver", "nurse", "smith"]


def of_shares(shares, n, labels, seed=0):
    """n labels in exactly the given shares, in random order."""
    counts = np.round(np.asarray(shares) * n).astype(int)
    return np.random.default_rng(seed).permutation(np.repeat(labels, counts))


def counted(true, reported, labels):
    """Counts [reported, true]."""
    return np.array([[np.sum((reported == r) & (true == s)) for s in labels] for r in labels])


def follows(counts, matrix):
    """Whether all columns of counts come from those of a matrix: zeros exactly, the rest by chi-square."""
    expected = matrix * counts.sum(axis=0)
    zero = expected == 0
    statistic = ((counts - expected)[~zero] ** 2 / expected[~zero]).sum()
    degrees = (~zero).sum() - matrix.shape[1]
    return not counts[zero].any() and chi2.sf(statistic, degrees) > LEVEL


def published(column, **settings):
    frame = pd.DataFrame({"job": column})
    return veil.publish(frame, veil.RandomizedResponse(random_state=11, **settings))[0]


# -- the law ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "matrix"),
    [
        ({"keep": 0.7}, keep_matrix(0.7, 4)),
        ({"keep": 0.0}, keep_matrix(0.0, 4)),
        ({"keep": 0.25}, np.full((4, 4), 0.25)),
        ({"epsilon": 1.5}, gamma_matrix(np.exp(1.5), 4)),
        ({}, gamma_matrix(np.e, 4)),
        ({"gamma": 19}, gamma_matrix(19, 4)),
        ({"gamma": 1}, np.full((4, 4), 0.25)),
        ({"matrix": P4}, P4),
    ],
    ids=str,
)
def test_reports_follow_the_matrix(settings, matrix):
    true = of_shares(PI4, 40_000, JOBS)
    release = published(true, **settings)
    stated = np.array(release.only_part.parameters["matrices"][0])
    np.testing.assert_allclose(stated, matrix, atol=1e-12)
    drawn = np.array([[float(p) for p in row] for row in exact_probabilities(cumulative(stated))])
    assert np.abs(drawn - stated).max() < 1e-15
    counts = counted(true, release.data["job"].to_numpy(), JOBS)
    assert follows(counts, drawn)
    assert not follows(counts, np.roll(matrix, 1, axis=0)) or np.ptp(matrix) < 1e-9


def test_rows_and_columns_are_not_exchanged():
    true = of_shares([0.5, 0.5], 20_000, ["no", "yes"])
    told = published(true, matrix=[[0.9, 0.4], [0.1, 0.6]]).data["job"].to_numpy()
    share = np.mean(told[true == "yes"] == "yes")
    assert within_standard_errors(share, 0.6, np.sqrt(0.24 / 10_000), 5)


def test_an_invariant_matrix_leaves_the_proportions():
    true = of_shares(PI4, 40_000, JOBS)
    release = published(true, matrix=P4, invariant=True)
    matrix = np.array(release.only_part.parameters["matrices"][0])
    np.testing.assert_allclose(matrix @ PI4, PI4, atol=1e-12)
    np.testing.assert_allclose(matrix.sum(axis=0), 1, atol=1e-12)
    reported = release.data["job"].to_numpy()
    assert follows(counted(true, reported, JOBS), matrix)
    seen = np.array([np.mean(reported == job) for job in JOBS])
    assert within_standard_errors(seen, PI4, np.sqrt(0.25 / 40_000), 5)
    assert release.manifest.guarantee == "none"


def test_the_tutorials_example_through_the_door():
    true = of_shares(PI4, 50_000, JOBS, seed=1)
    release = published(true, matrix=P4)
    reported = release.data["job"].to_numpy()
    seen = np.array([np.mean(reported == job) for job in JOBS])
    assert within_standard_errors(seen, LAMBDA4, np.sqrt(0.25 / 50_000), 5)
    recovered = veil.ProportionRecovery().fit(release)
    for job, share in zip(JOBS, PI4, strict=True):
        # The table has exactly these shares, so only the randomization errs.
        assert abs(recovered.unconstrained_["job"][job] - share) < 4.5 * recovered.randomization_se_["job"][job]
        assert recovered.randomization_se_["job"][job] < recovered.standard_errors_["job"][job]


# -- several columns ---------------------------------------------------------------------------------------


def structural(n=30_000, seed=3):
    """Two columns of which one combination cannot be."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n)
    state = np.where(sex == "f", rng.choice(["ill", "pregnant", "well"], n), rng.choice(["ill", "well"], n))
    return pd.DataFrame({"sex": sex, "state": state})


POSSIBLE = [("f", "ill"), ("f", "pregnant"), ("f", "well"), ("m", "ill"), ("m", "well")]


def test_joint_responses_keep_declared_zeros():
    table = structural()
    method = veil.RandomizedResponse(keep=0.4, joint=True, combinations=POSSIBLE, random_state=1)
    release, _ = veil.publish(table, method)
    reports = release.data
    assert not ((reports["sex"] == "m") & (reports["state"] == "pregnant")).any()
    model = release.only_part.model
    names = [(model.categories[0][a], model.categories[1][b]) for a, b in model.compound]
    assert names == POSSIBLE
    places = {name: i for i, name in enumerate(names)}
    true, reported = (
        np.array([places[pair] for pair in zip(t["sex"], t["state"], strict=True)]) for t in (table, reports)
    )
    assert follows(counted(true, reported, range(5)), keep_matrix(0.4, 5))
    assert release.manifest.guarantee == "none"


def test_joint_responses_are_of_all_combinations():
    """Combinations that do not occur are reported as often as the others: the list says nothing about the table."""
    table = structural()
    release, _ = veil.publish(table, veil.RandomizedResponse(keep=0.4, joint=True, random_state=1))
    labels = [(s, t) for s in ("f", "m") for t in ("ill", "pregnant", "well")]
    code = {pair: i for i, pair in enumerate(labels)}
    reports = release.data
    true, reported = (np.array([code[p] for p in zip(t["sex"], t["state"], strict=True)]) for t in (table, reports))
    there = np.unique(true)
    assert len(there) == 5
    assert follows(counted(true, reported, range(6))[:, there], keep_matrix(0.4, 6)[:, there])


def test_records_outside_declared_combinations_are_refused():
    table, method = structural(200), veil.RandomizedResponse(joint=True, combinations=POSSIBLE)
    veil.publish(table, method)
    table.loc[[3, 7], ["sex", "state"]] = ["m", "pregnant"]
    message = r"combinations: 2 records have none of the 5 declared ones; add what is missing, or recode the columns"
    with pytest.raises(InputError, match=message):
        veil.publish(table, veil.RandomizedResponse(joint=True, combinations=POSSIBLE))
    fitted = veil.RandomizedResponse(joint=True, combinations=POSSIBLE).fit(structural(200))
    with pytest.raises(InputError, match=r"combinations: 2 records have none of the 5 that were declared"):
        fitted.transform(table)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"combinations": POSSIBLE}, "combinations are randomized as one variable; set joint=True"),
        ({"joint": True, "combinations": "all"}, "combinations must be a list of 2 to 2,000 tuples"),
        ({"joint": True, "combinations": POSSIBLE[:1]}, "combinations must be a list of 2 to 2,000 .*; got 1"),
        ({"joint": True, "combinations": [*POSSIBLE, ("f",)]}, "number 5 is none"),
        ({"joint": True, "combinations": [*POSSIBLE, ("f", [])]}, "number 5 has another kind of value"),
        ({"joint": True, "combinations": [*POSSIBLE, ("f", "ill")]}, "combinations lists 1 of its 6 tuples twice"),
        (
            {"joint": True, "combinations": POSSIBLE, "categories": {"sex": ["f", "x"], "state": ["ill", "well"]}},
            "column 'sex' has .* values outside its 2 declared categories",
        ),
        (
            {
                "joint": True,
                "combinations": [*POSSIBLE, ("x", "ill")],
                "categories": {"sex": ["f", "m"], "state": ["ill", "pregnant", "well"]},
            },
            "combinations: 1 have a value that is none of the 2 categories of column 'sex'",
        ),
    ],
)
def test_wrong_combinations_end_in_one_line(settings, message):
    with pytest.raises(InputError, match=message):
        veil.publish(structural(200), veil.RandomizedResponse(**settings))


def test_sequential_responses_are_a_kronecker_product():
    table = structural()
    release, _ = veil.publish(table, veil.RandomizedResponse(keep=0.6, random_state=1))
    told = release.data
    assert ((told["sex"] == "m") & (told["state"] == "pregnant")).any()
    labels = [(s, t) for s in ("f", "m") for t in ("ill", "pregnant", "well")]  # the last column fastest
    code = {pair: i for i, pair in enumerate(labels)}
    true, reported = (np.array([code[p] for p in zip(t["sex"], t["state"], strict=True)]) for t in (table, told))
    whole = np.kron(keep_matrix(0.6, 2), keep_matrix(0.6, 3))
    there = np.unique(true)
    assert follows(counted(true, reported, range(6))[:, there], whole[:, there])


def test_joint_refuses_too_many_combinations():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({c: rng.integers(0, 60, 5_000) for c in "ab"})
    with pytest.raises(InputError, match=r"at most 2,000 combinations .* these 2 columns have 3,600: randomize fewer"):
        veil.publish(table, veil.RandomizedResponse(joint=True))


# -- labelled matrices -------------------------------------------------------------------------------------


def test_labelled_matrices_are_put_in_the_order_of_the_categories():
    labels = JOBS[::-1]
    frame = pd.DataFrame(P4[::-1, ::-1], index=labels, columns=labels)
    table = pd.DataFrame({"job": of_shares(PI4, 400, JOBS), "smokes": ["no", "yes"] * 200})
    two = [[0.8, 0.3], [0.2, 0.7]]
    release, _ = veil.publish(table, veil.RandomizedResponse(matrix={"job": frame, "smokes": two}))
    model = release.only_part.model
    assert model.categories == (tuple(JOBS), ("no", "yes"))
    np.testing.assert_array_equal(model.matrices[0], P4)
    np.testing.assert_array_equal(model.matrices[1], two)
    release, _ = veil.publish(table[["job"]], veil.RandomizedResponse(matrix=frame))
    np.testing.assert_array_equal(release.only_part.model.matrices[0], P4)


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        (pd.DataFrame(P4, index=[*JOBS[:3], "king"], columns=JOBS), "must be labelled by its 4 categories"),
        (P4.T, "columns that do not sum to 1"),
        (P4[:3, :3], "do not sum to 1|need 4 × 4"),
        (np.eye(3), "3 × 3; 4 categories need 4 × 4"),
        (-P4, "no probabilities"),
        ("P", "must be a table of numbers"),
        ({"jobb": P4}, "matrix has none for column 'job'"),
        (np.eye(4), "identity, which releases it as it is"),
    ],
)
def test_matrices_that_do_not_fit_are_refused(matrix, words):
    with pytest.raises(InputError, match=words):
        published(of_shares(PI4, 400, JOBS), matrix=matrix)


def test_a_permutation_is_refused_like_the_identity():
    with pytest.raises(InputError):
        published(["no", "yes"] * 50, keep=0.0)


def test_a_labelled_polars_matrix_is_not_taken_by_position():
    matrix = pl.DataFrame({"yes": [0.9, 0.1], "no": [0.3, 0.7]})
    try:
        release = published(["no", "yes"] * 50, matrix=matrix)
    except InputError:
        return
    assert release.only_part.model.matrices[0][1, 1] == 0.9


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"keep": 1.2}, "keep must be a probability"),
        ({"keep": True}, "keep must be a probability"),
        ({"keep": "half"}, "keep must be a probability"),
        ({"keep": float("nan")}, "keep must be a probability"),
        ({"epsilon": -1}, "epsilon must be a number from 0"),
        ({"gamma": 0.5}, "gamma must be a number of at least 1"),
        ({"keep": 0.5, "epsilon": 1}, "keep and epsilon both"),
        ({"joint": "yes"}, "joint must be True or False"),
        ({"invariant": 1}, "invariant must be True or False"),
        ({"missing": "drop"}, "missing must be one of 'refuse', 'category'"),
        ({"keep": 1.0}, "identity"),
        ({"epsilon": 60}, "identity"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings, words):
    with pytest.raises(InputError, match=words):
        published(["no", "yes"] * 50, **settings)


# -- categories of every kind --------------------------------------------------------------------------------

KINDS = {
    "pandas text": pd.DataFrame({"c": ["a", "b", "a", "c"] * 50}),
    "pandas string": pd.DataFrame({"c": pd.array(["a", "b", "a", "c"] * 50, dtype="string")}),
    "pandas category": pd.DataFrame({"c": pd.Categorical(["a", "b", "a", "c"] * 50)}),
    "pandas integers": pd.DataFrame({"c": [3, 1, 3, 2] * 50}),
    "pandas booleans": pd.DataFrame({"c": [True, False] * 100}),
    "pandas Int64": pd.DataFrame({"c": pd.array([3, 1, None, 2] * 50, dtype="Int64")}),
    "polars text": pl.DataFrame({"c": ["a", "b", None, "c"] * 50}),
    "polars enum": pl.DataFrame({"c": pl.Series(["a", "b"] * 100, dtype=pl.Enum(["b", "a", "z"]))}),
    "polars categorical": pl.DataFrame({"c": pl.Series(["a", "b"] * 100, dtype=pl.Categorical)}),
    "arrow dictionary": pa.table({"c": pa.array(["a", "b", None, "c"] * 50).dictionary_encode()}),
    "arrow large text": pa.table({"c": pa.array(["a", "b"] * 100, type=pa.large_string())}),
    "arrow int8": pa.table({"c": pa.array([1, -2] * 100, type=pa.int8())}),
    "arrow dictionary of integers": pa.table({"c": pa.array([7, 9] * 100).dictionary_encode()}),
    "numpy": np.array([[1], [2], [3], [1]] * 50),
}


@pytest.mark.parametrize("frame", KINDS.values(), ids=KINDS.keys())
def test_categories_of_every_kind_go_in_and_come_out(frame, tmp_path):
    response = veil.RandomizedResponse(keep=0.6, missing="category", random_state=5)
    release, _ = veil.publish(frame, response)
    assert isinstance(release.data, type(frame))
    before = veil.publish(frame, veil.RandomizedResponse(keep=0.999, missing="category", random_state=5))[0]
    (known,) = release.only_part.model.categories
    assert len(set(known)) == len(known)
    assert None not in known[:-1]
    if known[-1] is None:
        assert list(known[:-1]) == sorted(known[:-1])
    told = release.table.read().column(0).to_pylist()
    assert set(told) <= set(known)
    assert [known[i] for i in release.codes()[:, 0]] == told
    agree = np.mean(release.codes() == before.codes())
    assert within_standard_errors(agree, 0.6, np.sqrt(0.24 / 200), 5)
    release.save(tmp_path / "release")
    assert np.array_equal(veil.Release.load(tmp_path / "release").codes(), release.codes())


def test_the_same_categories_in_another_kind_of_frame_get_the_same_reports():
    text = ["a", "b", "a", "c"] * 50
    response = veil.RandomizedResponse(keep=0.6, random_state=5)
    frames = [
        pd.DataFrame({"c": text}),
        pd.DataFrame({"c": pd.Categorical(text, categories=["c", "b", "a", "unused"])}),
        pl.DataFrame({"c": text}),
        pl.DataFrame({"c": pl.Series(text, dtype=pl.Enum(["a", "b", "c"]))}),
        pa.table({"c": pa.chunked_array([text[:7], text[7:]])}),
        pa.table({"c": pa.array(["x", *text])}).slice(1),
    ]
    told = [veil.publish(f, response)[0].codes().tobytes() for f in frames]
    assert len(set(told)) == 1


def test_unused_levels_of_a_categorical_are_no_categories():
    frame = pd.DataFrame({"c": pd.Categorical(["a", "b"] * 20, categories=["a", "b", "secret level"])})
    release, _ = veil.publish(frame, veil.RandomizedResponse(keep=0.6))
    assert "secret level" not in release.manifest.to_json()
    assert list(release.data["c"].cat.categories) in (["a", "b"], ["b", "a"])


def test_missing_values_are_refused_or_a_category():
    frame = pd.DataFrame({"c": ["a", None, "b", None] * 2_000})
    with pytest.raises(InputError, match=r"refuses missing values unless missing='category': 'c' \(4000\)"):
        veil.publish(frame, veil.RandomizedResponse())
    release, _ = veil.publish(frame, veil.RandomizedResponse(keep=0.5, missing="category", random_state=2))
    was, told = frame["c"].isna().to_numpy(), release.data["c"].isna().to_numpy()
    assert within_standard_errors(told[was].mean(), 0.5, np.sqrt(0.25 / 4_000), 5)
    assert within_standard_errors(told[~was].mean(), 0.25, np.sqrt(0.19 / 4_000), 5)


def test_the_manifest_does_not_call_a_randomized_pattern_public():
    frame = pd.DataFrame({"c": ["a", None, "b", None] * 20})
    release, _ = veil.publish(frame, veil.RandomizedResponse(missing="category"))
    assert "their pattern is public" not in release.manifest.missing


def test_unseen_categories_are_refused_with_column_and_count():
    frame = pd.DataFrame({"c": ["a", "b", "private", "private"] * 5})
    with pytest.raises(InputError, match="column 'c' has 10 values outside its 2 declared categories") as caught:
        veil.publish(frame, veil.RandomizedResponse(categories=["a", "b"]))
    assert "private" not in str(caught.value)
    fitted = veil.RandomizedResponse(random_state=0).fit(frame[frame["c"] != "private"])
    with pytest.raises(InputError, match="column 'c' has 10 values that are none of its 2 categories") as caught:
        fitted.transform(frame)
    assert "private" not in str(caught.value)


@pytest.mark.parametrize(
    "frame", [pd.DataFrame({"c": [0.5, 1.5] * 5, "d": ["x", "y"] * 5}), pd.DataFrame({"c": [1, None] * 5})]
)
def test_numbers_with_fractions_are_refused_by_name(frame):
    with pytest.raises(InputError, match="column 'c'"):
        veil.publish(frame, veil.RandomizedResponse(missing="category"))


def test_columns_with_one_or_too_many_categories_are_refused():
    with pytest.raises(InputError, match="column 'c' has one category"):
        veil.publish(pd.DataFrame({"c": ["a"] * 9}), veil.RandomizedResponse())
    many = pd.DataFrame({"c": [f"v{i % 10_001}" for i in range(20_002)]})
    with pytest.raises(InputError, match="column 'c' has more than 500 different values"):
        veil.publish(many, veil.RandomizedResponse())


def test_bad_categories_are_refused():
    frame = pd.DataFrame({"c": ["a", "b"] * 5})
    for categories in ("ab", ["a"], {"d": ["a", "b"]}, ["a", "b", "b"], 3):
        with pytest.raises(InputError, match="column 'c'"):
            veil.publish(frame, veil.RandomizedResponse(categories=categories))


@pytest.mark.parametrize(
    ("column", "categories"),
    [
        (["a", "b"], ["a", "b", 3]),
        (["a", "b"], [["a"], ["b"]]),
        ([True, False], [0, 1]),
        ([0, 1], [np.int64(0), np.int64(1)]),
        (pd.Categorical(pd.to_datetime(["2020-01-01", "2021-01-01"])), None),
    ],
    ids=["mixed", "lists", "0/1 for booleans", "numpy integers", "dates"],
)
def test_categories_of_a_wrong_type_are_refused_in_plain_words(column, categories):
    frame = pd.DataFrame({"c": column})
    frame = pd.concat([frame] * 20, ignore_index=True)
    try:
        release, _ = veil.publish(frame, veil.RandomizedResponse(categories=categories))
    except InputError:
        return
    json.dumps(release.only_part.parameters)


@pytest.mark.parametrize("column", [[1, 2] * 100, [True, False] * 100], ids=["integers", "booleans"])
def test_a_reported_missing_value_stays_missing_in_pandas(column):
    frame = pd.DataFrame({"c": column})
    response = veil.RandomizedResponse(keep=0.4, categories=[*column[:2], None], missing="category", random_state=1)
    release, _ = veil.publish(frame, response)
    assert release.data["c"].isna().sum() == release.table.read().column(0).null_count > 0


# -- the guarantee -----------------------------------------------------------------------------------------


def guarantee(**settings):
    frame = pd.DataFrame({"c": ["a", "b"] * 50})
    return veil.publish(frame, veil.RandomizedResponse(**settings))[0].manifest.guarantee


def test_declared_categories_give_the_guarantee():
    text = guarantee(epsilon=0.7, categories=["a", "b"])
    assert text.startswith("local differential privacy: epsilon 0.7 for one value")
    assert "number of records is outside it" in text
    assert implemented_epsilon(cumulative(gamma_matrix(np.exp(0.7), 2))) <= 0.7 * (1 + 1e-12)
    assert guarantee(keep=0.75, categories=["a", "b"]).startswith("local differential privacy: epsilon 1.09861")
    assert guarantee(matrix=[[0.8, 0.4], [0.2, 0.6]], categories=["a", "b"]).startswith(
        "local differential privacy: epsilon 1.09861"
    )


def test_epsilon_adds_up_over_columns():
    frame = pd.DataFrame({"c": ["a", "b"] * 50, "d": ["a", "b"] * 50})
    release, _ = veil.publish(frame, veil.RandomizedResponse(epsilon=0.7, categories=["a", "b"]))
    assert "epsilon 0.7 for one value, 1.4 for all 2" in release.manifest.guarantee


def test_epsilon_of_a_compound_variable_is_that_of_the_record():
    frame = pd.DataFrame({"c": ["a", "b"] * 50, "d": ["a", "b"] * 50})
    for more in ({"categories": ["a", "b"]}, {"combinations": [("a", "a"), ("b", "b"), ("a", "b")]}):
        release, _ = veil.publish(frame, veil.RandomizedResponse(epsilon=0.7, joint=True, **more))
        assert "epsilon 0.7 for all 2 randomized values of one record" in release.manifest.guarantee


@pytest.mark.parametrize(
    "settings",
    [
        {"epsilon": 1},
        {"epsilon": 1, "categories": ["a", "b"], "invariant": True},
        {"epsilon": 1, "joint": True},
        {"matrix": [[1.0, 0.5], [0.0, 0.5]], "categories": ["a", "b"]},
    ],
    ids=["seen categories", "invariant", "joint of seen categories", "zeros"],
)
def test_no_guarantee_without_its_conditions(settings):
    assert guarantee(**settings) == "none"


def test_a_seeded_key_voids_the_guarantee():
    assert guarantee(epsilon=1, categories=["a", "b"], random_state=0) == "none"


def test_kept_reports_void_the_guarantee():
    frame = pd.DataFrame({"id": [f"i{i}" for i in range(100)], "c": ["a", "b"] * 50})
    response = veil.RandomizedResponse(epsilon=1, categories=["a", "b"])
    release, _ = veil.publish(frame, response, consistent_on="id")
    assert release.manifest.guarantee == "none"


# -- where the noise comes from --------------------------------------------------------------------------------


def test_noise_is_addressed_by_the_table():
    n = 4_000
    frame = pd.DataFrame({"c": of_shares([0.5, 0.5], n, ["a", "b"])})
    response = veil.RandomizedResponse(keep=0.5, random_state=3)
    one, two = (veil.publish(frame, response)[0].codes() for _ in range(2))
    assert np.array_equal(one, two)
    changed = frame.copy()
    changed.loc[n - 1, "c"] = "a" if frame.loc[n - 1, "c"] == "b" else "b"
    other = veil.publish(changed, response)[0].codes()
    assert within_standard_errors(np.mean(other == one), 0.5, np.sqrt(0.25 / n), 5)
    fitted = veil.RandomizedResponse(keep=0.5, random_state=3).fit(frame)
    told = fitted.transform(frame)["c"]
    assert (told == veil.publish(frame, response)[0].data["c"]).all()


def test_another_key_reports_anew():
    n = 4_000
    frame = pd.DataFrame({"c": of_shares([0.5, 0.5], n, ["a", "b"])})
    one, two = (veil.publish(frame, veil.RandomizedResponse(keep=0.5))[0].codes() for _ in range(2))
    assert within_standard_errors(np.mean(one == two), 0.5, np.sqrt(0.25 / n), 5)


def panel(n=3_000, seed=0):
    return pd.DataFrame({"id": [f"i{i}" for i in range(n)], "c": of_shares([0.3, 0.7], n, ["a", "b"], seed)})


def test_a_cell_keeps_its_report_with_its_id():
    response, first = veil.RandomizedResponse(keep=0.5), panel()
    one, key = veil.publish(first, response, consistent_on="id")
    second = first.sample(frac=1, random_state=1)[:2_500].reset_index(drop=True)
    flip = np.arange(len(second)) < 1_000
    second["c"] = np.where(flip, np.where(second["c"] == "a", "b", "a"), second["c"])
    two, _ = veil.publish(second, response, key=key, again=True, consistent_on="id")
    was = dict(zip(first["id"], one.data["c"], strict=True))
    same = np.array([was[i] for i in second["id"]]) == two.data["c"].to_numpy()
    assert same[~flip].all()
    assert within_standard_errors(same[flip].mean(), 0.5, np.sqrt(0.25 / 1_000), 5)


def test_an_invariant_matrix_is_fixed_at_the_first_publication():
    response = veil.RandomizedResponse(keep=0.6, invariant=True)
    first = panel()
    one, key = veil.publish(first, response, consistent_on="id")
    second = first.copy()
    second.loc[:999, "c"] = "a"
    two, _ = veil.publish(second, response, key=key, again=True, consistent_on="id")
    unchanged = (first["c"] == second["c"]).to_numpy()
    assert (one.data["c"] == two.data["c"])[unchanged].all()


def test_the_key_cannot_bring_answers_back():
    release, key = veil.publish(panel()[["c"]], veil.RandomizedResponse())
    with pytest.raises(veil.NotInvertibleError):
        veil.restore(release, key, partial=True)


# -- files -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alone", [True, False], ids=["alone", "beside another column"])
def test_missing_categories_survive_csv(alone, tmp_path):
    frame = pd.DataFrame({"c": ["a", None, "b", ""] * 50, "d": ["x", "y"] * 100})
    response = veil.RandomizedResponse(keep=0.6, missing="category", random_state=0)
    release, _ = veil.publish(frame[["c"]] if alone else frame, response)
    release.save(tmp_path / "release", format="csv")
    loaded = veil.Release.load(tmp_path / "release").codes()
    assert loaded.shape == release.codes().shape
    assert np.array_equal(loaded, release.codes())


def test_a_release_of_categories_has_no_numbers():
    release, _ = veil.publish(panel()[["c"]], veil.RandomizedResponse())
    with pytest.raises(veil.NotApplicableError):
        release.to_numpy()


def test_a_million_reports_stay_within_the_simultaneous_limit():
    """Every reported share is within the 99.9 % limit for all cells together, and no ratio shows more than e^ε."""
    k, n, epsilon = 5, 1_000_000, 1.0
    codes = np.arange(n) % k
    method = veil.RandomizedResponse(epsilon=epsilon, random_state=20)
    release, _ = veil.publish(pd.DataFrame({"c": codes}), method)
    reported = np.bincount(codes * k + release.codes()[:, 0], minlength=k * k).reshape(k, k)
    share, exact = reported / reported.sum(axis=1, keepdims=True), release.only_part.model.matrices[0].T
    error = np.sqrt(exact * (1 - exact) / (n / k))
    limit = norm.isf(0.001 / (2 * k * k))
    assert (np.abs(share - exact) < limit * error).all()
    ratio = np.log(share.max(axis=0) / share.min(axis=0))
    assert (ratio < epsilon + 2 * limit * (error / exact).max()).all()
