"""Values made plausible: whole, within bounds, adding up; and what an analyst recovers from them."""

import numpy as np
import pandas as pd
import pytest

import veil
from veil.auditing.plan_file import load_plan, plan_text
from veil.errors import InputError, NotInvertibleError
from veil.release.manifest import Manifest

N = 4000
RULES = {"age": {"grain": 5, "low": 0, "high": 100}, "height": {"low": 120.0}, "price": {"grain": 0.01}}
SECRET = {"wage": "sensitive", "income": "sensitive"}
SUMS = {"income": ["wage", "rent"]}


def households(n: int = N, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    wage = np.exp(rng.normal(7.0, 1.0, n)).round().astype(int)
    rent = np.where(rng.random(n) < 0.6, 0, np.exp(rng.normal(6.0, 1.0, n)).round()).astype(int)
    return pd.DataFrame(
        {
            "age": np.clip(rng.gamma(2.0, 18.0, n), 0, 100).astype(int),
            "wage": wage,
            "rent": rent,
            "income": wage + rent,
            "height": rng.normal(170.0, 10.0, n),
            "price": rng.gamma(2.0, 3.0, n).round(2),
        }
    )


def plan(**settings):
    return veil.Plan([(None, veil.AdditiveNoise(0.8, random_state=1))], **settings)


def test_released_values_keep_the_rules():
    frame = households()
    data = veil.publish(frame, plan(plausible=RULES, sums=SUMS))[0].data
    assert data["age"].dtype == np.int64
    assert (data["age"] % 5 == 0).all()
    assert data["age"].between(0, 100).all()
    assert (data["height"] >= 120.0).all()
    assert np.allclose(data["price"] * 100, (data["price"] * 100).round(), atol=1e-9)
    assert np.allclose(data["income"], data["wage"] + data["rent"])


def test_automatic_rules_keep_whole_numbers_whole_and_signs():
    frame = households().drop(columns="income")
    frame["balance"] = frame["wage"] - 2000
    data = veil.publish(frame, plan(plausible="auto"))[0].data
    assert [str(data[name].dtype) for name in ("age", "wage", "rent", "balance")] == ["int64"] * 4
    assert (data[["age", "wage", "rent", "height", "price"]] >= 0).all(axis=None)
    assert (data["balance"] < 0).any()


def test_zeros_are_made_where_values_are_near_zero():
    data = veil.publish(households(), plan(plausible={"rent": {"zero_below": 200.0, "low": 0.0}}))[0].data
    assert (data["rent"] == 0).any()
    assert not ((data["rent"] > 0) & (data["rent"] < 200.0)).any()


def test_missing_values_stay_missing():
    frame = households(200).astype({"age": "Int64"})
    frame.loc[::7, "age"] = pd.NA
    data = veil.publish(frame, plan(plausible={"age": {"grain": 1, "low": 0}}))[0].data
    assert data["age"].isna().tolist() == frame["age"].isna().tolist()


def test_moments_come_back_as_from_the_values_before():
    """They are in the manifest: rounding and bounds cost an analyst of moments nothing."""
    frame = households()
    ruled = veil.MomentRecovery().fit(veil.publish(frame, plan(plausible=RULES, sums=SUMS))[0])
    before = veil.MomentRecovery().fit(veil.publish(frame, plan())[0])
    assert np.allclose(ruled.mean_, before.mean_, rtol=1e-10)
    assert np.allclose(ruled.covariance_, before.covariance_, rtol=1e-9)
    assert np.allclose(ruled.covariance_se_, before.covariance_se_, rtol=1e-6)


def test_means_with_gaps_and_weights_know_what_bounds_cut():
    frame = households()
    frame["weight"] = np.random.default_rng(1).uniform(1.0, 3.0, N)
    frame.loc[np.random.default_rng(2).random(N) < 0.2, "height"] = np.nan
    roles = {"weight": "weight"}
    rules = {"rent": {"low": 0}, "age": {"grain": 1, "low": 0, "high": 90}}
    ruled, before = (
        veil.MomentRecovery(weights="weight").fit(veil.publish(frame, plan(plausible=each), roles=roles)[0])
        for each in (rules, None)
    )
    error = np.abs(ruled.mean_ - before.mean_) / before.mean_se_
    assert (error < 0.5).all()  # weights do not go with what is cut, so the means of cut values are those of all
    cut = veil.publish(frame, plan(plausible=rules), roles=roles)[0].manifest.cut
    ((bound, mean, spread),) = cut["rent"]
    assert bound == 0
    assert mean < 0 < spread
    assert [each[0] for each in cut["age"]] == [0, 90]
    assert cut["age"][1][1] > 90


def test_moments_of_the_released_values_themselves_would_be_wrong():
    """So that the test above can fail: values that are cut have another mean."""
    frame = households()
    release = veil.publish(frame, plan(plausible={"rent": {"low": 0}}))[0]
    recovery = veil.MomentRecovery().fit(release)
    j = recovery.columns_.index("rent")
    assert abs(recovery.mean_[j] - frame["rent"].mean()) < 4 * recovery.mean_se_[j]
    assert release.data["rent"].mean() - frame["rent"].mean() > 10 * recovery.mean_se_[j]


def test_distributions_know_of_rounding_and_bounds():
    frame = households(20_000)[["age", "height"]]
    release = veil.publish(frame, plan(plausible={"age": RULES["age"]}))[0]
    support = {"age": (0, 100)}
    before = veil.publish(frame, plan())[0]

    def largest_error(recovery):
        ranks = (np.arange(len(frame)) + 1) / len(frame)
        return np.abs(recovery.cdf(np.sort(frame["age"]), column="age") - ranks).max()

    ruled = largest_error(veil.DistributionRecovery(support=support, columns=["age"]).fit(release))
    assert ruled < 1.5 * largest_error(veil.DistributionRecovery(support=support, columns=["age"]).fit(before))
    recovery = veil.DistributionRecovery(columns=["age"]).fit(release)
    for q in (0.1, 0.5, 0.9):
        interval = recovery.quantile_interval(q, column="age")
        assert interval.low <= frame["age"].quantile(q) <= interval.high


def test_files_and_memory_agree(tmp_path):
    frame = households(300)
    made = plan(plausible=RULES, sums=SUMS)
    memory = veil.publish(frame, made)[0]
    frame.to_csv(tmp_path / "table.csv", index=False)
    veil.publish_file(tmp_path / "table.csv", made, tmp_path / "release", new_key=tmp_path / "key")
    stored = veil.Release.load(tmp_path / "release")
    assert np.allclose(stored.to_numpy(), memory.to_numpy())
    assert stored.manifest.plausible == memory.manifest.plausible
    assert stored.manifest.sums == {"income": ("wage", "rent")}
    assert np.allclose(veil.MomentRecovery().fit(stored).mean_, veil.MomentRecovery().fit(memory).mean_, rtol=1e-12)


def test_shuffled_releases_have_the_same_moments():
    frame = households(300)
    one, other = (veil.publish(frame, plan(plausible=RULES, shuffle=shuffle))[0] for shuffle in (False, True))
    assert np.allclose(veil.MomentRecovery().fit(one).mean_, veil.MomentRecovery().fit(other).mean_)


def test_the_manifest_says_the_rules_and_damage_is_told():
    release = veil.publish(households(100), plan(plausible=RULES, sums=SUMS))[0]
    text = release.manifest.to_json()
    again = Manifest.from_json(text)
    assert again.plausible["age"] == veil.Plausible(grain=5, low=0, high=100)
    assert again.parts[0].products is not None
    for wrong in (text.replace('"grain": 5.0', '"grain": -5.0'), text.replace('"n": 100', '"n": 101')):
        with pytest.raises(veil.FileFormatError):
            Manifest.from_json(wrong)


def test_ruled_columns_do_not_come_back_and_others_do():
    frame = households(100)
    release, key = veil.publish(frame, plan(plausible={"age": RULES["age"]}))
    with pytest.raises(NotInvertibleError, match="'age'"):
        veil.restore(release, key)
    restored = veil.restore(release, key, partial=True)
    assert "age" not in restored
    assert np.array_equal(restored["wage"], frame["wage"])


def test_a_plan_file_says_the_same(tmp_path):
    made = veil.Plan([(None, veil.AdditiveNoise(0.8))], plausible=RULES, sums=SUMS)
    (tmp_path / "plan.toml").write_text(plan_text(made, roles={}, goals=veil.Goals()))
    read = load_plan(tmp_path / "plan.toml").plan
    assert read.plausible == made.plausible
    assert read.sums == made.sums
    (tmp_path / "auto.toml").write_text('plausible = "auto"\n[[part]]\nmethod = "additive-noise"\n')
    assert load_plan(tmp_path / "auto.toml").plan.plausible == "auto"


def test_audits_attack_the_values_before():
    """Attacks of the release before the rules know at least as much; the audit says so."""
    frame = households(400)[["age", "height"]]
    settings = {"seed": 1, "attacks": ["bayes-estimate-attack"], "repetitions": 2}
    ruled = veil.audit(frame, plan(plausible={"age": RULES["age"]}), **settings)
    before = veil.audit(frame, plan(), **settings)
    assert [row.value.rate for row in ruled.rows] == [row.value.rate for row in before.rows]
    assert any("before they are made plausible" in str(remark) for remark in ruled.remarks)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"plausible": {"age": {"grain": 0}}}, "plausible: grain must be a positive number"),
        ({"plausible": {"age": {"low": 5, "high": 1}}}, "low must be less than high"),
        ({"plausible": {"age": {"grain": 5, "high": 99}}}, "high must be a multiple of the grain"),
        ({"plausible": {"age": {"grian": 5}}}, "grain"),
        ({"plausible": {"age": {}}}, "a rule needs a grain"),
        ({"plausible": {"agee": {"grain": 1}}}, "'agee' is not released as a number of its own"),
        ({"plausible": "always"}, "'auto', or map columns"),
        ({"sums": {"income": "wage"}}, "must be a list of columns"),
        ({"sums": {"income": ["wage"], "price": ["income"]}}, "'income' is a sum itself"),
        ({"sums": SUMS, "plausible": {"income": {"grain": 1}}}, "'income' is a sum of others"),
    ],
)
def test_rules_that_cannot_be_are_refused(settings, words):
    with pytest.raises(InputError, match=words):
        veil.publish(households(50), plan(**settings), roles=SECRET)


def test_mixed_columns_have_no_rules():
    mixed = veil.Plan([(None, veil.OrthogonalTransform(random_state=1))], plausible={"age": {"grain": 1}})
    with pytest.raises(InputError, match="'age' is not released as a number of its own"):
        veil.publish(households(50), mixed, roles=SECRET)


def test_a_formal_guarantee_stays_for_nothing_of_the_table_is_published():
    """Two tables within the same bounds, one far from zero: rules follow from the bounds alone."""
    texts = []
    for shift in (0.0, 30.0):
        frame = pd.DataFrame({"x": np.random.default_rng(0).uniform(0.0, 10.0, 500) + shift})
        mechanism = veil.Plan([(None, veil.LaplaceMechanism(1.0, bounds=(-10.0, 50.0)))], plausible={"x": {"low": 0.0}})
        release, _ = veil.publish(frame, mechanism)
        part = release.manifest.parts[0]
        assert part.guarantee != "none"
        # Sums are about means of noisy values: with the noise's own digits, and not the table's rounded mean.
        texts.append(part.products.origin[0])
        assert abs(texts[-1] - frame["x"].mean()) > 1e-3
        automatic = veil.publish(frame, veil.Plan(mechanism.parts, plausible="auto"))[0].manifest.plausible
        assert automatic == {}
    assert texts[0] != texts[1]


def test_sums_decide_which_noise_is_one_per_group_in_audits_too():
    """A total constant in households, of terms that are not: members average its noise, and an audit sees it."""
    home = np.repeat(np.arange(100), 4)
    draw = np.random.default_rng(3)
    a = draw.normal(size=400)
    frame = pd.DataFrame({"home": home, "a": a, "b": draw.normal(size=100)[home] - a})
    frame["total"] = frame["a"] + frame["b"]
    frame["total"] = frame.groupby("home")["total"].transform("first")
    made = veil.Plan([(None, veil.AdditiveNoise(0.5))], sums={"total": ["a", "b"]})
    for each in (made, made.before_rules()):
        release, _ = veil.publish(frame, each, roles={"home": "group"})
        assert "total" not in release.manifest.parts[0].groups
    assert made.before_rules().sums == made.sums
    assert veil.publish(frame, made.before_rules(), roles={"home": "group"})[0].manifest.sums == {}


@pytest.fixture(scope="module")
def answered() -> pd.DataFrame:
    """Households of which some did not answer, drawn with unequal weights."""
    frame, rng = households(3000, seed=4).astype(float), np.random.default_rng(5)
    frame.loc[rng.random(3000) < 0.2, "height"] = np.nan
    frame.loc[rng.random(3000) < 0.1, "price"] = np.nan
    return frame.assign(weight=rng.uniform(1.0, 5.0, 3000))


NOISES = {
    "added": veil.AdditiveNoise(0.8, random_state=1),
    "factors": veil.MultiplicativeNoise(0.3, bounds=(0.1, 1.9), random_state=1),
}


@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
@pytest.mark.parametrize("weights", [None, "weight"])
def test_moments_with_gaps_and_weights_lose_nothing_to_rules(answered, noise, weights, tmp_path):
    """By the sums of the values before, they are those of a release without rules, from memory and from a file."""
    roles = {"weight": "weight"}
    frame = answered if weights is None else answered.drop(columns=["height", "price"])
    rules = {"wage": {"grain": 100.0, "low": 800.0, "high": 2000.0}}
    plain = veil.publish(frame, veil.Plan([(None, noise)]), roles=roles)[0]
    ruled = veil.publish(frame, veil.Plan([(None, noise)], plausible=rules, sums=SUMS), roles=roles)[0]
    ruled.save(tmp_path / "release")
    expected = veil.MomentRecovery(weights=weights, public=False).fit(plain)
    for release in (ruled, veil.Release.load(tmp_path / "release")):
        recovered = veil.MomentRecovery(weights=weights, public=False).fit(release)
        spread = np.sqrt(np.diag(expected.covariance_))
        assert np.allclose(recovered.mean_ / spread, expected.mean_ / spread, atol=1e-6)
        assert np.allclose(
            recovered.covariance_ / np.outer(spread, spread), expected.covariance_ / np.outer(spread, spread), atol=1e-5
        )
    part = Manifest.from_json(ruled.manifest.to_json()).parts[0]
    assert (part.patterns is None) == (weights is not None)
    assert part.weighted is not None


def test_many_patterns_of_gaps_are_not_told(answered):
    rng = np.random.default_rng(6)
    holes = pd.DataFrame(rng.normal(size=(500, 8)), columns=list("abcdefgh"))
    holes = holes.mask(rng.random(holes.shape) < 0.4)
    release, _ = veil.publish(holes, plan(plausible={"a": {"low": 0.0}}))
    assert release.manifest.parts[0].patterns is None
    assert release.manifest.parts[0].products is not None
    assert np.isfinite(veil.MomentRecovery().fit(release).mean_).all()


def test_regressions_lose_nothing_to_rules_either(answered):
    """A column that was released as a sum can be the target: its own noisy values are in the sums."""
    roles, sums = {"weight": "weight"}, {"income": ["wage", "rent"]}
    rules = {"wage": {"low": 800.0, "high": 2000.0}}
    frame, noise = answered.assign(income=answered["wage"] + 2 * answered["rent"]), NOISES["added"]
    plain = veil.publish(frame, veil.Plan([(None, noise)]), roles=roles)[0]
    ruled = veil.publish(frame, veil.Plan([(None, noise)], plausible=rules, sums=sums), roles=roles)[0]
    for weights in (False, None):
        ways = [
            veil.RegressionRecovery("income", ["wage", "height"], weights=weights, public=False).fit(release)
            for release in (plain, ruled)
        ]
        assert np.allclose(ways[0].coefficients_[1:], ways[1].coefficients_[1:], rtol=0.05)
        assert (np.abs(ways[0].coefficients_ - ways[1].coefficients_) < ways[0].coefficient_se_).all()
