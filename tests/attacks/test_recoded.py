"""Attacks on recoded keys and categories: what a class or label leaves open, and what a suppressed cell hides."""

import numpy as np
import pandas as pd
import pytest

import veil

TOWNS = {f"t{i}": f"r{i // 5}" for i in range(20)}
KEYS = ["sex", "age", "town"]


def people(n=400, seed=0):
    """The first town of each region has most of its people."""
    rng = np.random.default_rng(seed)
    town = np.where(rng.random(n) < 0.7, 5 * rng.integers(0, 4, n), rng.integers(0, 20, n))
    return pd.DataFrame(
        {
            "sex": rng.choice(list("fm"), n),
            "age": rng.integers(18, 90, n),
            "town": [f"t{i}" for i in town],
            "place": np.arange(n) + 0.5,
        }
    )


def released(frame, method, columns=KEYS, roles=None):
    parts = [(list(columns), method), ("place", veil.AdditiveNoise(3.0, random_state=0))]
    own = {name: "key" if name in columns else "drop" for name in KEYS}
    return veil.publish(frame, veil.Plan(parts, roles=own if roles is None else roles))[0]


def linked(release, frame, columns=KEYS, **how):
    rows = veil.LinkageAttack(**how).run(release, veil.ExternalTable(frame[list(columns)])).rows
    return float((rows == np.arange(len(frame))).mean())


def test_unique_keys_link_everybody_and_k_anonymous_ones_one_in_k():
    frame = people().drop_duplicates(KEYS)
    n = len(frame)
    unchanged, _ = veil.publish(frame, veil.AdditiveNoise(3.0, random_state=0), roles=dict.fromkeys(KEYS, "key"))
    assert linked(unchanged, frame) == 1.0
    for k in (3, 6):
        method = veil.LocalSuppression(k, width={"age": 10}, hierarchies={"town": TOWNS}, random_state=0)
        release = released(frame, method)
        for variant in ("best", "nearest"):
            assert linked(release, frame, variant=variant) <= 1 / k + 3 * np.sqrt(1 / k / n)


def test_suppression_alone_leaves_one_in_k_whoever_knows_all():
    frame = people()
    release = released(frame, veil.LocalSuppression(4, random_state=0))
    assert linked(release, frame) <= 1 / 4
    assert release.data[KEYS].isna().any().any()


def test_recoded_cells_link_one_person_each():
    frame = people()
    release = released(frame, veil.GlobalRecoding(width={"age": 20}, hierarchies={"town": TOWNS}), ["age", "town"])
    cells = release.data.groupby(["age", "town"]).ngroups
    assert linked(release, frame, ["age", "town"]) == pytest.approx(
        cells / len(frame), abs=4 * np.sqrt(cells) / len(frame)
    )


def test_an_unchanged_number_is_compared_as_it_is():
    frame = people().assign(place=lambda table: table["age"] / 2)
    plan = veil.Plan([(["sex", "place"], veil.LocalSuppression(2, random_state=0))])
    release, _ = veil.publish(frame[["sex", "place"]], plan)
    assert release.table.schema.field("place").type == "double"
    cells = release.data.groupby(["sex", "place"], dropna=False).ngroups
    assert linked(release, frame, ["sex", "place"]) <= cells / len(frame) + 0.02


def test_categories_are_guessed_within_their_label_and_by_a_sample_of_them():
    frame, sample = people(1_500), people(300, seed=1)
    release, _ = veil.publish(frame[["town"]], veil.GlobalRecoding(hierarchies={"town": TOWNS}))
    listing = release.only_part.model.private_categories()[0]
    right = [
        np.mean([listing[int(code)] == town for code, town in zip(guess.values[:, 0], frame["town"], strict=True)])
        for guess in (
            veil.ResponsePosteriorAttack().run(release),
            veil.JointPosteriorAttack(aim="hit").run(
                release, veil.KnownSample(np.array([[float(listing.index(town))] for town in sample["town"]]))
            ),
        )
    ]
    best = np.mean([town in ("t0", "t5", "t10", "t15") for town in frame["town"]])
    assert right[1] == pytest.approx(best, abs=0.02)
    for code in veil.ResponsePosteriorAttack().run(release).values[:, 0]:
        assert TOWNS[listing[int(code)]] in set(release.data["town"])


def test_numbers_beside_categories_are_guessed_as_numbers():
    frame = people(600)
    method = veil.LocalSuppression(3, width={"age": 10}, hierarchies={"town": TOWNS}, random_state=0)
    release = released(frame, method, roles=dict.fromkeys(KEYS, "sensitive"))
    part = release.part(0)
    for attack in (veil.NoiseDistributionAttack(), veil.JointPosteriorAttack()):
        guess = attack.run(part).values[:, 1]
        there = ~np.isnan(guess)
        assert there.mean() > 0.9
        assert np.sqrt(np.mean((guess - frame["age"])[there] ** 2)) < 7
    assert np.isnan(veil.NoiseDistributionAttack().run(part).values[:, 2]).all()


def test_recoded_keys_help_to_infer_what_is_hidden():
    """Income depends on the town; whoever knows the town of people infers it through the label."""
    frame = people(1_200).assign(place=lambda t: [1_000.0 * (int(x[1:]) // 5) for x in t["town"]])
    method = veil.LocalSuppression(3, hierarchies={"town": TOWNS}, random_state=0)
    parts = [(["town"], method), ("place", veil.AdditiveNoise(0.05, random_state=0))]
    release, _ = veil.publish(frame.drop(columns=["sex", "age"]), veil.Plan(parts, roles={"town": "key"}))
    guess = veil.AttributeInferenceAttack().run(release, veil.ExternalTable(frame[["town"]].iloc[:300]))
    at = guess.columns.index("place")
    assert np.mean(np.abs(guess.values[:, at] - frame["place"].iloc[:300]) < 100) > 0.95


def test_a_table_of_another_type_is_refused():
    frame = people()
    release = released(frame, veil.LocalSuppression(3, width={"age": 10}, random_state=0))
    with pytest.raises(veil.InputError, match="'age' must hold numbers"):
        linked(release, frame.assign(age="x"))


def test_guesses_are_written_as_categories(tmp_path):
    frame = people()
    release = released(frame, veil.LocalSuppression(3, width={"age": 10}, hierarchies={"town": TOWNS}, random_state=0))
    release.save(tmp_path / "release")
    plan = release.manifest.parts[0].model
    assert plan == veil.Release.load(tmp_path / "release").manifest.parts[0].model
    from _program import call

    call("attack", "release", "--attack", "joint-posterior-attack", "-o", "guess.csv", cwd=tmp_path)
    guess = pd.read_csv(tmp_path / "guess.csv")
    assert set(guess["town"]) <= set(TOWNS)
    assert guess["age"].dropna().between(0, 110).all()


def test_columns_of_which_nothing_is_left_do_not_stop_attackers():
    """Every cell is suppressed: of a number that was left as it is, and of categories, of which none is listed."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"a": rng.integers(0, 200, 380), "town": [f"t{i % 190}" for i in range(380)], "x": rng.normal(size=380)}
    )
    plan = veil.Plan([(["a", "town"], veil.LocalSuppression(k=150)), (None, veil.AdditiveNoise(2.0))])
    roles = {"a": "key", "town": "key"}
    release, _ = veil.publish(frame, plan, roles=roles)
    assert release.data[["a", "town"]].isna().all().all()
    assert np.isfinite(veil.JointPosteriorAttack().run(release).of_columns(["x"]).values).all()
    audit = veil.audit(frame, plan, roles=roles, seed=1, workers=1, repetitions=1)
    assert "joint-posterior-attack" in {row.attack for row in audit.rows}
