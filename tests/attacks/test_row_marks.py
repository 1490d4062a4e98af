"""What a release shows of a row without noise: gaps, pseudonyms and places in the file tell of values behind noise."""

import numpy as np
import pandas as pd
import pytest

import veil


def families(rng, n=4_000):
    """The size of a household tells the first number."""
    level = np.random.default_rng(3).permutation(np.linspace(-1.6, 1.6, 6))
    sizes = rng.integers(1, 7, n)
    home = np.repeat(np.arange(n), sizes)[:n]
    x = level[np.repeat(sizes, sizes)[:n] - 1] + 0.05 * rng.normal(size=n)
    return pd.DataFrame({"key": [f"home {i}" for i in home], "x": x})


def staff(rng, n=4_000):
    """How deep somebody stands, and whether anybody stands below, tells the number."""
    boss = np.r_[0, (np.arange(1, n) - 1) // 2]
    depth = np.floor(np.log2(np.arange(n) + 1)).astype(int)
    x = 0.3 * np.random.default_rng(4).permutation(24)[2 * depth + np.isin(np.arange(n), boss)]
    table = {"key": [f"E{i}" for i in range(n)], "boss": [f"E{i}" for i in boss]}
    return pd.DataFrame(table | {"x": x + 0.05 * rng.normal(size=n)})


def doctors(rng, n=4_000):
    """Twenty values that say what their rows have in common."""
    key = rng.integers(0, 20, n)
    return pd.DataFrame(
        {"key": [f"doctor {i}" for i in key], "x": rng.normal(size=20)[key] + 0.05 * rng.normal(size=n)}
    )


def periods(rng, n=4_000):
    """Rows alternate with a period of twelve."""
    level = rng.permutation(np.linspace(-1.5, 1.5, 12))
    return pd.DataFrame({"x": level[np.arange(n) % 12] + 0.05 * rng.normal(size=n)})


def answers(rng, n=4_000):
    """Which of three answers are missing tells the number; gaps elsewhere leave no pattern that is frequent."""
    code = rng.integers(0, 8, n)
    table = {"x": 0.4 * code + 0.05 * rng.normal(size=n)}
    for j in range(9):
        gap = (code >> j) & 1 if j < 3 else rng.random(n) < 0.4
        table[f"a{j}"] = np.where(gap, np.nan, rng.normal(size=n))
    return pd.DataFrame(table)


def published(frame, seed, *, shuffle=False):
    keys = [name for name in ("key", "boss") if name in frame]
    parts = [(keys, veil.Pseudonymize(domain="people"))] if keys else []
    plan = veil.Plan([*parts, (None, veil.AdditiveNoise(2.5, random_state=seed))], shuffle=shuffle)
    return veil.publish(frame, plan, roles=dict.fromkeys(keys, "sensitive"))[0]


def hits(values, x):
    return float((np.abs(values - x) <= 0.1 * x.std()).mean())


@pytest.mark.parametrize("table", [families, staff, doctors, periods, answers], ids=lambda table: table.__name__)
def test_marks_of_rows_tell_their_values(table):
    """The best constant hits the fullest window; with the mean of 100 to 700 rows with the mark most are told."""
    frame = table(np.random.default_rng(0))
    x = frame["x"].to_numpy()
    release = published(frame, 0)
    guess = veil.JointPosteriorAttack().run(release)
    place = guess.columns.index("x")
    constant = max(hits(middle, x) for middle in np.linspace(x.min(), x.max(), 200))
    assert hits(guess.values[:, place], x) > constant + 0.1


def test_the_place_in_a_file_says_nothing_where_its_order_is_secret():
    frame = periods(np.random.default_rng(0))
    guess = veil.JointPosteriorAttack().run(published(frame, 0, shuffle=True)).values[:, 0]
    assert hits(guess, frame["x"].to_numpy()) < 0.15


def test_a_person_without_a_row_has_no_mark():
    """The twelve levels are told by the place in the file alone: without the row nothing is known of anybody."""
    frame = periods(np.random.default_rng(0)).assign(y=np.random.default_rng(1).normal(size=4_000), public=1.0)
    frame["public"] = np.random.default_rng(2).integers(0, 5, len(frame))
    release, _ = veil.publish(frame, veil.AdditiveNoise(2.5, random_state=0), roles={"public": "public"})
    guess = veil.JointPosteriorAttack().run(release)
    x = frame["x"].to_numpy()
    assert hits(guess.values[:, 0], x) > 0.3
    assert hits(guess.without(np.arange(len(x)))[:, 0], x) < 0.15


def test_an_audit_counts_what_the_marks_of_a_row_tell():
    frame = families(np.random.default_rng(0))
    plan = veil.Plan([(["key"], veil.Pseudonymize()), (["x"], veil.AdditiveNoise(2.5))])
    audit = veil.audit(
        frame, plan, roles={"key": "sensitive"}, grants=veil.Grants.only(), attacks=["joint-posterior"], seed=0
    )
    assert not audit.passed
    assert audit.worst.value.advantage > 0.2


def test_rows_without_anything_in_common_are_not_told_by_their_marks():
    """Random keys, gaps and no order: as good as the filter, up to 3·√(2·0.1·0.9/8,000) = 0.014."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(4_000, 2))
    gaps = np.where(rng.random((4_000, 4)) < 0.3, np.nan, rng.normal(size=(4_000, 4)))
    frame = pd.DataFrame(np.hstack([x, gaps]), columns=list("xyabcd")).assign(
        key=[f"k{i}" for i in rng.integers(0, 900, 4_000)]
    )
    values = veil.JointPosteriorAttack().run(published(frame, 0))
    at = [values.columns.index(name) for name in "xy"]
    plain = veil.publish(frame[["x", "y"]], veil.AdditiveNoise(2.5, random_state=0))[0]
    alone = veil.BayesEstimateAttack(aim="hit").run(plain).values
    ours, theirs = (np.mean(np.abs(each - x) <= 0.1 * x.std(axis=0)) for each in (values.values[:, at], alone))
    assert ours == pytest.approx(theirs, abs=0.014)
