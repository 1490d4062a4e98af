"""A29: hidden columns from known ones, as the release itself teaches them."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.stats import norm

import veil
from _tables import described
from veil import AttributeInferenceAttack
from veil.attacks.inference.hidden import of_codes, of_numbers
from veil.errors import InputError, NotApplicableError
from veil.release.models import ForeignModel

LEARNERS = ("forest", "neighbours", "chain")


def released(frame):
    """A table of numbers as it is, of a method that nobody described."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    return described(table, ForeignModel(), names=table.column_names, unknown=True)


def hits(guess, truth, tolerance=0.1):
    """The share of each column that a guess of people gets right, and the guess."""
    guess = guess.of_columns(list(truth.columns))
    reach = tolerance * truth.std(ddof=0).to_numpy() * (1 + 1e-9)
    return dict(zip(truth.columns, (np.abs(guess.values - truth.to_numpy()) <= reach).mean(axis=0), strict=True))


def mixed(rng, n):
    """Known: x, y and a group; hidden: what goes with them along a line, in steps, jointly, by heaps, or not at all."""
    x, y, group = rng.uniform(-2, 2, n), rng.normal(size=n), rng.integers(0, 4, n)
    return pd.DataFrame(
        {
            "x": x,
            "y": y,
            "group": group,
            "line": 2 * x + 0.3 * rng.normal(size=n),
            "step": np.where(x > 0.5, 3, 1) + (group == 2) + (rng.random(n) < 0.2),
            "joint": (x * y > 0).astype(int) ^ (rng.random(n) < 0.1),
            "heap": np.where(rng.random(n) < 0.4 + 0.15 * group, 40.0, rng.normal(30, 8, n)),
            "noise": rng.normal(size=n),
        }
    )


KNOWN = ["x", "y", "group"]
HIDDEN = ["line", "step", "joint", "heap", "noise"]


def test_what_known_columns_decide_comes_back_exactly_of_people_who_are_not_in_the_release():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 12, 3_000)
    frame = pd.DataFrame({"group": group, "code": rng.permutation(12)[group], "size": rng.normal(size=12)[group]})
    guess = AttributeInferenceAttack().run(released(frame[:2_000]), veil.ExternalTable(frame[2_000:][["group"]]))
    assert guess.of_people
    assert guess.rows.tolist() == list(range(1_000))
    assert np.isnan(guess.values[:, 0]).all(), "what is known is not guessed"
    np.testing.assert_array_equal(guess.values[:, 1:], frame[2_000:][["code", "size"]])


def test_where_nothing_is_to_be_learned_the_guess_is_the_most_frequent_value():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.normal(size=3_000), "y": rng.choice([1.0, 2.0, 3.0], 3_000, p=[0.2, 0.5, 0.3])})
    guess = AttributeInferenceAttack().run(released(frame), veil.ExternalTable(frame[["x"]][:500]))
    assert guess.details.learners == {"y": "constant"}
    assert (guess.values[:, 1] == 2.0).all()


def test_of_a_normal_column_as_many_are_hit_as_the_conditional_mean_hits():
    """y given x is normal with variance 1 − ρ²: 2Φ(0.1/√(1 − ρ²)) − 1 are within 0.1 of its mean, and no more are."""
    rho, n, m = 0.95, 8_000, 8_000
    rng = np.random.default_rng(2)
    x = rng.normal(size=n + m)
    frame = pd.DataFrame({"x": x, "y": rho * x + np.sqrt(1 - rho**2) * rng.normal(size=n + m)})
    people = frame[n:]
    rate = hits(AttributeInferenceAttack().run(released(frame[:n]), veil.ExternalTable(people[["x"]])), people)["y"]
    best = 2 * norm.cdf(0.1 / np.sqrt(1 - rho**2)) - 1
    error = np.sqrt(best * (1 - best) / m)
    assert 0.93 * best - 4 * error <= rate <= best + 4 * error
    # The most frequent value alone hits 2Φ(0.1) − 1, a quarter of that.
    assert rate > 2.5 * (2 * norm.cdf(0.1) - 1)


def test_the_best_is_as_good_as_the_best_of_mode_neighbours_forest_and_chain_on_people_left_out():
    rng = np.random.default_rng(3)
    frame = mixed(rng, 9_000)
    release, people = released(frame[:5_000]), frame[5_000:]
    register = veil.ExternalTable(people[KNOWN])
    rates = {name: hits(AttributeInferenceAttack(learner=name).run(release, register), people) for name in LEARNERS}
    best = hits(AttributeInferenceAttack().run(release, register), people)
    for name in HIDDEN:
        values = frame[name][:5_000].to_numpy()
        reach = 0.1 * people[name].std(ddof=0)
        mode = max((np.abs(people[name] - v) <= reach).mean() for v in np.unique(values.round(1)))
        alone = max(rate[name] for rate in rates.values())
        assert best[name] >= alone - 3 * np.sqrt(0.5 * alone * (1 - alone) / len(people)), name
        assert best[name] >= mode - 3 * np.sqrt(mode * (1 - mode) / len(people)), name
    assert best["line"] > 0.3
    assert best["joint"] > 0.85
    assert best["step"] > 0.75


def test_a_belief_in_one_hidden_column_helps_where_few_rows_have_the_next():
    """The sign of x·y takes many rows to learn; who has it learned needs a few more for what depends on it alone."""
    rng = np.random.default_rng(4)
    x, y = rng.uniform(-1, 1, (2, 8_000))
    sign = (x * y > 0).astype(float)
    after = np.where(np.arange(8_000) % 40 == 0, 10.0 * sign, np.nan)  # 100 of the 4,000 released rows have it
    frame = pd.DataFrame({"x": x, "y": y, "sign": sign, "after": after})
    release, people = released(frame[:4_000]), frame[4_000:].assign(after=10.0 * sign[4_000:])
    register = veil.ExternalTable(people[["x", "y"]])
    forest, best = (AttributeInferenceAttack(learner=name).run(release, register) for name in ("forest", "best"))
    assert best.details.learners["after"] == "chain"
    assert hits(best, people)["after"] > 0.95
    assert hits(forest, people)["after"] < 0.9


def test_released_rows_are_guessed_from_public_columns_and_known_ones():
    rng = np.random.default_rng(5)
    town, age = rng.choice(list("abcd"), 2_000), rng.uniform(20, 80, 2_000)
    rent = np.array([ord(t) for t in town]) * 10.0 + age / 10 + 0.1 * rng.normal(size=2_000)
    frame = pd.DataFrame({"town": town, "age": age, "rent": rent})
    release, _ = veil.publish(frame, veil.AdditiveNoise(0.05, random_state=0), roles={"town": "public"})
    errors = []
    for known in ([], [veil.KnownAttributes("age", age)]):
        guess = AttributeInferenceAttack().run(release, *known)
        assert not guess.of_people
        assert guess.rows.tolist() == list(range(2_000))
        errors.append(np.abs(guess.of_columns(["rent"]).values[:, 0] - rent).mean())
    assert errors[1] < errors[0] < np.abs(rent - np.median(rent)).mean() / 4
    np.testing.assert_array_equal(guess.of_columns(["age"]).values[:, 0], age)


def test_categories_are_guessed_in_the_manifests_codes():
    rng = np.random.default_rng(6)
    group = rng.integers(0, 3, 3_000)
    frame = pd.DataFrame({"group": np.array(list("pqr"))[group], "taste": np.array(["salt", "sour", "bitter"])[group]})
    plan = veil.Plan([(["taste"], veil.RandomizedResponse(keep=0.7, random_state=0))], roles={"group": "public"})
    release, _ = veil.publish(frame[:2_000], plan)
    guess = AttributeInferenceAttack().run(release, veil.ExternalTable(frame[2_000:][["group"]]))
    listing = release.manifest.parts[0].model.categories[0]
    assert [listing[int(code)] for code in guess.values[:, 0]] == frame["taste"][2_000:].tolist()


# -- without one's own row -----------------------------------------------------------------------------------


def test_the_nearest_row_of_somebody_in_the_release_is_their_own_until_it_is_taken_out():
    rng = np.random.default_rng(7)
    frame = pd.DataFrame(rng.normal(size=(600, 4)), columns=list("abcd"))
    guess = AttributeInferenceAttack(learner="nearest").run(released(frame), veil.ExternalTable(frame[["a", "b"]]))
    np.testing.assert_array_equal(guess.values[:, 2:], frame[["c", "d"]])
    without = guess.without(np.arange(600))[:, 2:]
    assert (np.abs(without - frame[["c", "d"]].to_numpy()) <= 0.1).mean() < 0.15


@pytest.mark.parametrize("learner", ["best", *LEARNERS])
def test_without_no_row_the_guess_is_the_same(learner):
    frame = mixed(np.random.default_rng(8), 700)
    guess = AttributeInferenceAttack(learner=learner).run(released(frame), veil.ExternalTable(frame[KNOWN]))
    np.testing.assert_array_equal(guess.without(np.full(700, -1)), guess.values)


@pytest.mark.parametrize("learner", LEARNERS)
def test_who_is_left_out_is_guessed_as_well_as_who_was_never_in(learner):
    """The control, each person without the own row, against people who are withheld from the release."""
    rng = np.random.default_rng(9)
    n = 3_000
    frame = mixed(rng, 2 * n)
    attack, release = AttributeInferenceAttack(learner=learner), released(frame[:n])
    inside, outside = (attack.run(release, veil.ExternalTable(part[KNOWN])) for part in (frame[:n], frame[n:]))
    unit = frame[:n].std(ddof=0).to_numpy()
    places = [frame.columns.get_loc(name) for name in HIDDEN]
    left_out, withheld = (
        (np.abs(values - part.to_numpy()) <= 0.1 * unit)[:, places].mean(axis=0)
        for values, part in ((inside.without(np.arange(n)), frame[:n]), (outside.values, frame[n:]))
    )
    error = np.sqrt(2 * 0.25 / n)
    np.testing.assert_allclose(left_out, withheld, atol=4 * error)
    # In the sample itself, without leaving anybody out, the same learner seems to know people better than it does.
    own = (np.abs(inside.values - frame[:n].to_numpy()) <= 0.1 * unit)[:, places].mean(axis=0)
    assert (own >= left_out - 0.01).all()
    assert own.sum() > left_out.sum()


@pytest.mark.parametrize("missing", [0.0, 0.8])
def test_who_is_left_out_is_guessed_by_as_many_trees(missing):
    """Of 1,500 rows half are in every tree: without the own row's trees fewer would be left, and guess less right.

    Where most grades are missing, half of those that are there.
    """
    n, apart = 1_500, []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        school = rng.integers(0, 16, 2 * n)
        grade = np.random.default_rng(1).permutation(16)[school]
        others = {f"x{j}": rng.normal(size=2 * n) for j in range(6)}
        gaps = rng.random(2 * n) < missing
        frame = pd.DataFrame({"school": school, "grade": np.where(gaps, np.nan, grade), **others})
        release, known = released(frame[:n]), ["school", *others]
        attack = AttributeInferenceAttack(learner="forest")
        inside, outside = (attack.run(release, veil.ExternalTable(part[known])) for part in (frame[:n], frame[n:]))
        left_out, withheld = (
            (values[:, 1] == grade[rows])[~gaps[rows]]
            for values, rows in zip(
                (inside.without(np.arange(n)), outside.values), (slice(n), slice(n, None)), strict=True
            )
        )
        apart.append(left_out.mean() - withheld.mean())
    assert abs(np.mean(apart)) < 3 * np.sqrt(2 * 0.16 / (4 * n * (1 - missing)))


# -- reading -------------------------------------------------------------------------------------------------


def test_people_may_lack_values_and_have_categories_that_the_release_lacks():
    rng = np.random.default_rng(10)
    day = pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 400, 1_000), unit="D")
    frame = pd.DataFrame({"day": day, "town": rng.choice(["a", "b"], 1_000), "yes": rng.random(1_000) < 0.5})
    frame["cost"] = frame["town"].map({"a": 1.0, "b": 2.0}) + 5.0 * (frame["day"] > pd.Timestamp("2020-07-01"))
    roles = {"day": "public", "town": "public", "yes": "public"}
    release, _ = veil.publish(frame, veil.AdditiveNoise(0.01, random_state=0), roles=roles)
    people = frame[["day", "town", "yes"]][:6].copy()
    people.loc[0, "town"], people.loc[1, "town"], people.loc[2, "day"] = None, "elsewhere", None
    guess = AttributeInferenceAttack().run(release, veil.ExternalTable(people))
    assert np.isfinite(guess.values).all()
    np.testing.assert_allclose(guess.values[3:, 0], frame["cost"][3:6], atol=0.1)


@pytest.mark.parametrize(
    ("columns", "known", "error", "words"),
    [
        (["x", "y"], (), NotApplicableError, "nothing is known"),
        (["x", "y"], (veil.ExternalTable({"other": [1.0]}),), NotApplicableError, "shares no column"),
        (
            ["x", "y"],
            (veil.ExternalTable({"x": [1.0], "y": [2.0]}),),
            NotApplicableError,
            "no private column is hidden",
        ),
        (["x", "y"], (veil.ExternalTable({"x": ["text"]}),), InputError, "column 'x'"),
        (["x", "y"], (veil.KnownAttributes("x", [1.0, 2.0]),), InputError, "the release has 50"),
    ],
)
def test_what_cannot_be_inferred_is_said(columns, known, error, words):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(50, len(columns))), columns=columns)
    with pytest.raises(error, match=words):
        AttributeInferenceAttack().run(released(frame), *known)


def test_the_nearest_row_of_a_released_row_is_refused():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 2)), columns=["x", "y"])
    with pytest.raises(NotApplicableError, match="is that row"):
        AttributeInferenceAttack(learner="nearest").run(released(frame), veil.KnownAttributes("x", frame["x"]))


def test_classes_stand_for_heaps_and_the_guess_is_what_most_lies_within_reach_of():
    column = of_numbers("hours", np.r_[np.full(60, 40.0), np.linspace(0, 39, 500)], 0.1)
    assert 40.0 in column.values
    beliefs = np.zeros((1, column.n_classes), dtype=np.float32)
    beliefs[0, :3], beliefs[0, -1] = 0.2, 0.3
    # Three neighbours together hold more than one class that is likelier than each of them.
    assert column.guess(beliefs, "hit")[0] == pytest.approx(column.values[1], abs=column.reach)
    category = of_codes("c", np.array([0, 1, -1]), np.arange(2.0))
    assert category.guess(np.array([[0.4, 0.6]], dtype=np.float32), "hit").tolist() == [1.0]
    assert np.isnan(category.released[2])
