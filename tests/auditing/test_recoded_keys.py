"""Audits of releases with recoded and suppressed keys: what links fall to, and that sensitive values are scored."""

import numpy as np
import pandas as pd
import pytest

import veil

TOWNS = {f"t{i}": f"r{i // 5}" for i in range(20)}
KEYS = ["sex", "age", "town"]


def survey(n=400):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "sex": rng.choice(list("fm"), n),
            "age": rng.integers(18, 90, n),
            "town": rng.choice(list(TOWNS), n),
            "income": rng.lognormal(7, 1, n),
        }
    ).drop_duplicates(KEYS)


def audited(plan, attacks, **grants):
    return veil.audit(survey(), plan, grants=veil.Grants.only(**grants), attacks=attacks, repetitions=2, seed=0)


def links_of(audit):
    return max(float(row.record.rate) for row in audit.rows if row.links)


def test_links_fall_from_all_to_one_in_k():
    roles, noise = dict.fromkeys(KEYS, "key"), ("income", veil.AdditiveNoise(5.0))
    open_keys = audited(veil.Plan([noise], roles=roles), ["linkage-attack"], external=True)
    assert links_of(open_keys) == 1.0
    method = veil.LocalSuppression(3, width={"age": 10}, hierarchies={"town": TOWNS})
    closed = audited(veil.Plan([(KEYS, method), noise], roles=roles), ["linkage-attack"], external=True)
    assert links_of(closed) <= 1 / 3


def test_keys_that_are_changed_are_no_secret_and_sensitive_ones_are():
    method = veil.LocalSuppression(3, width={"age": 20}, hierarchies={"town": TOWNS})
    parts = [(KEYS, method), ("income", veil.AdditiveNoise(5.0))]
    attacks = ["joint-posterior-attack", "response-posterior-attack"]
    with pytest.raises(veil.InputError, match="leaves no column of this part to guess"):
        audited(veil.Plan(parts, roles=dict.fromkeys(KEYS, "key")), attacks)
    audit = audited(veil.Plan(parts), attacks)  # texts of a part are sensitive without a word
    sexes = max(float(row.record.rate) for row in audit.rows if "response" in row.attack)
    assert not audit.passed
    assert sexes > 0


def test_numbers_and_categories_of_one_part_are_scored_as_what_they_are():
    """The sex is released as it is; a class of twenty years leaves a guess within a tenth of the spread to a few."""
    method = veil.LocalSuppression(3, width={"age": 20}, hierarchies={"town": TOWNS})
    audit = audited(veil.Plan([(KEYS, method)], roles={"income": "drop"}), ["joint-posterior-attack"], sample=0.1)
    (candidate,) = audit.model().candidates
    columns = {column.name: column for column in candidate.columns}
    assert columns["sex"].score.rate.value > 0.95
    assert columns["age"].score.rate.value < 0.4


def test_the_report_counts_the_keys_as_they_are_released():
    frame = survey().assign(stands_for=25)
    roles = {**dict.fromkeys(KEYS, "key"), "stands_for": "weight"}
    noise = ("income", veil.AdditiveNoise(5.0))
    method = veil.LocalSuppression(3, width={"age": 10}, hierarchies={"town": TOWNS})
    settings = {"grants": veil.Grants.only(), "attacks": ["noise-distribution-attack"], "repetitions": 2, "seed": 0}
    before = veil.audit(frame, veil.Plan([noise], roles=roles), **settings).model().candidates[0].keys
    after = veil.audit(frame, veil.Plan([(KEYS, method), noise], roles=roles), **settings).model().candidates[0].keys
    assert (before.unique, before.n_cells) == (len(frame), len(frame))
    assert before.expected == pytest.approx(len(frame) * np.log(25) / 24, rel=1e-6)
    assert after.unique == after.below_3 == 0
    assert after.expected < before.expected / 2
    assert "0 records are alone" in str(after)


def test_the_external_edition_says_no_number_below_ten():
    frame = pd.DataFrame({"sex": ["f"] * 60 + ["m"] * 40, "age": [30] * 58 + [1, 2] + [30] * 40, "x": np.arange(100.0)})
    plan = veil.Plan([("x", veil.AdditiveNoise(5.0))], roles={"sex": "key", "age": "key"})
    settings = {"grants": veil.Grants.only(), "attacks": ["noise-distribution-attack"], "repetitions": 2, "seed": 0}
    audit = veil.audit(frame, plan, **settings)
    external, internal = (audit.model(internal=internal).candidates[0].keys for internal in (False, True))
    assert (internal.unique, internal.below_3) == (2, 2)
    assert (external.unique, external.below_3) == (None, None)
    assert "fewer than 10 records are alone" in str(external)
    assert "2 records" not in audit.to_json()


def test_reports_without_keys_say_nothing_of_them():
    audit = audited(veil.Plan([("income", veil.AdditiveNoise(5.0))], roles=dict.fromkeys(KEYS, "drop")), ["pca-attack"])
    assert audit.model().candidates[0].keys is None


def test_a_release_of_recoded_keys_that_is_read_from_a_folder_is_audited(tmp_path):
    frame = survey()
    method = veil.LocalSuppression(3, width={"age": 10}, hierarchies={"town": TOWNS})
    plan = veil.Plan([(KEYS, method), ("income", veil.AdditiveNoise(5.0))], roles=dict.fromkeys(KEYS, "key"))
    veil.publish(frame, plan)[0].save(tmp_path / "release")
    audit = veil.audit(
        frame,
        release=tmp_path / "release",
        grants=veil.Grants.only(external=True),
        attacks=["linkage-attack"],
        seed=0,
    )
    assert links_of(audit) <= 1 / 3


def test_a_key_all_of_whose_cells_are_suppressed_is_attacked():
    """It tells nothing, and stops no attack on the others."""
    rng = np.random.default_rng(0)
    n = 200
    town = [f"t{i}" for i in range(n)]
    home = rng.choice([f"h{i}" for i in range(60)], n)
    frame = pd.DataFrame({"home": home, "region": rng.choice(["a", "b"], n), "town": town, "pay": rng.normal(size=n)})
    plan = veil.Plan(
        [(["region", "town"], veil.LocalSuppression(25)), (None, veil.AdditiveNoise(1.0))],
        roles={"region": "key", "town": "key", "home": "public"},
    )
    release, _ = veil.publish(frame, plan)
    assert release.data["town"].isna().all()
    audit = veil.audit(
        frame,
        plan,
        grants=veil.Grants.only(),
        attacks=["joint-posterior", "attribute-inference"],
        repetitions=1,
        cache=False,
        seed=0,
    )
    assert audit.candidates
