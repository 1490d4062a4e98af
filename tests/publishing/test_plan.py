"""Plans: which method changes which columns, under one key, in memory and from file to file."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veil
from veil import publish_file, restore_file
from veil.data.blocks import BLOCK_ROWS
from veil.errors import InputError, KeyRefusedError, NotApplicableError, NotInvertibleError, RoleError
from veil.release.manifest import Manifest, RowOrder

N = 300


def people(n=N, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "name": [f"person {i}" for i in range(n)],
            "age": rng.integers(18, 90, n),
            "region": rng.choice(["north", "south"], n),
            "income": rng.normal(50, 10, n),
            "smokes": rng.choice(["no", "yes"], n),
            "weight": rng.normal(70, 12, n),
            "height": rng.normal(170, 9, n),
        }
    )


def mixed(seed=5, **settings):
    return veil.Plan(
        [
            ("name", veil.Pseudonymize(random_state=seed)),
            (["income"], veil.AdditiveNoise(0.5)),
            ("smokes", veil.RandomizedResponse(keep=0.7)),
            ("age", veil.Discretize(edges=[30, 60])),
            (None, veil.OrthogonalTransform()),
        ],
        roles={"region": "public"},
        **settings,
    )


# -- parts, the rest and the order of columns --------------------------------------------------------


def test_every_part_changes_its_columns_and_the_rest_goes_to_none():
    release, _ = veil.publish(people(), mixed())
    assert [step.names for step in release.manifest.parts] == [
        ("name",),
        ("income",),
        ("smokes",),
        ("age",),
        ("weight", "height"),
    ]
    assert release.manifest.method == (
        "pseudonymize + additive-noise + randomized-response + discretize + orthogonal-transform"
    )
    assert [c.name for c in release.manifest.public] == ["region"]
    assert (release.data["region"].to_numpy() == people()["region"].to_numpy()).all()


def test_columns_keep_their_places():
    release, _ = veil.publish(people(), mixed())
    assert list(release.data.columns) == [
        "name",
        "age",
        "region",
        "income",
        "smokes",
        "orthogonaltransform0",
        "orthogonaltransform1",
    ]
    fewer = veil.Plan([("income", veil.AdditiveNoise()), (["age", "weight", "height"], veil.RandomProjection(2))])
    release, _ = veil.publish(people(), fewer, roles={"name": "drop", "region": "drop", "smokes": "public"})
    assert list(release.data.columns) == ["randomprojection0", "income", "smokes", "randomprojection1"]


def test_columns_of_a_part_follow_the_table_not_the_plan():
    table = people()[["age", "income"]]
    noise = veil.AdditiveNoise([1.0, 50.0], relative=False, random_state=1)
    one, _ = veil.publish(table, veil.Plan([(["income", "age"], noise)]))
    assert one.only_part.names == ("age", "income")
    assert np.std(one.to_numpy()[:, 1] - table["income"]) > 20


def test_a_plan_of_one_part_for_all_is_the_perturbation():
    table, noise = people()[["age", "income"]], veil.AdditiveNoise(1.0, random_state=3)
    bare, key = veil.publish(table, noise)
    plan = veil.Plan([(None, noise)])
    wrapped, other = veil.publish(table, plan)
    assert bare.to_numpy().tobytes() == wrapped.to_numpy().tobytes()
    assert bare.manifest == wrapped.manifest
    assert plan.describe() == noise.describe()
    named, _ = veil.publish(table, veil.Plan([(["age", "income"], noise)]))
    assert named.to_numpy().tobytes() == bare.to_numpy().tobytes()
    assert np.array_equal(veil.restore(bare, other), veil.restore(wrapped, key))


def test_plans_describe_themselves():
    plan = veil.Plan([(["age", "income"], veil.AdditiveNoise(0.5)), (None, veil.OrthogonalTransform())])
    assert plan.describe() == "additive noise (scale 0.5) on 2 columns + orthogonal transform on the rest"
    assert repr(plan) == f"<Plan: {plan.describe()}>"
    assert "on 1 column" in veil.Plan([("age", veil.AdditiveNoise())]).describe()


# -- roles -----------------------------------------------------------------------------------------


def test_roles_of_publish_win_over_those_of_the_plan():
    plan = veil.Plan([("age", veil.AdditiveNoise())], roles={"income": "public"})
    table = people()[["age", "income"]]
    assert list(veil.publish(table, plan)[0].data.columns) == ["age", "income"]
    assert list(veil.publish(table, plan, roles={"income": "drop"})[0].data.columns) == ["age"]


def test_a_named_text_column_needs_no_role():
    plan = veil.Plan([("name", veil.Pseudonymize()), ("smokes", veil.RandomizedResponse())])
    release, _ = veil.publish(people()[["name", "smokes"]], plan)
    roles = {step.names[0]: step.columns[0].role for step in release.manifest.parts}
    assert roles == {"name": "quasi", "smokes": "sensitive"}


def test_an_identifier_may_be_pseudonymized_and_nothing_else():
    table = people()[["name", "age"]]
    roles = {"name": "identifier"}
    pseudonyms = veil.Plan([("name", veil.Pseudonymize()), ("age", veil.AdditiveNoise())])
    assert veil.publish(table, pseudonyms, roles=roles)[0].manifest.parts[0].columns[0].role == "quasi"
    responses = veil.Plan([("name", veil.RandomizedResponse()), ("age", veil.AdditiveNoise())])
    with pytest.raises(RoleError, match="'name' has the role identifier and is in the plan"):
        veil.publish(table, responses, roles=roles)


@pytest.mark.parametrize("role", ["drop", "public"])
def test_a_column_is_in_the_plan_or_kept_out_of_it(role):
    plan = veil.Plan([("age", veil.AdditiveNoise())], roles={"income": "drop"})
    with pytest.raises(RoleError, match=f"'age' has the role {role} and is in the plan"):
        veil.publish(people()[["age", "income"]], plan, roles={"age": role})


def test_columns_that_no_part_takes_need_a_role():
    with pytest.raises(RoleError, match=r"4 columns need a role.*'income' \(numeric\)"):
        veil.publish(people().drop(columns=["name", "region"]), veil.Plan([("age", veil.AdditiveNoise())]))


def test_a_sensitive_column_that_no_part_takes_is_refused():
    plan = veil.Plan([("age", veil.AdditiveNoise())])
    with pytest.raises(RoleError, match="'income'"):
        veil.publish(people()[["age", "income"]], plan, roles={"income": "sensitive"})


# -- errors ------------------------------------------------------------------------------------------

NOISE, ROTATION = veil.AdditiveNoise(), veil.OrthogonalTransform()


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ([], "parts must be a list"),
        ("age", "parts must be a list"),
        ({"age": NOISE}, "parts must be a list"),
        ([("age", veil.AdditiveNoise)], "parts must be a list"),
        ([("age", NOISE, 3)], "parts must be a list"),
        ([(3, NOISE)], "parts must be a list"),
        ([(["age", 3], NOISE)], "parts must be a list"),
        ([([], NOISE)], "names no column"),
        ([(None, NOISE), (None, ROTATION)], r"only one part can take the rest \(None\)"),
        ([("age", NOISE), (["income", "age"], NOISE)], "'age' more than once"),
        ([(["age", "age"], NOISE)], "'age' more than once"),
        ([("age", veil.RandomProjection(2, axis="records")), ("income", NOISE)], "can only stand alone"),
    ],
)
def test_bad_parts_are_refused_in_one_line(parts, words):
    with pytest.raises(InputError, match=words) as caught:
        veil.Plan(parts)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("roles", [5, "abc", ["age"]])
def test_bad_roles_of_a_plan_are_refused(roles):
    try:
        plan = veil.Plan([("age", NOISE)], roles=roles)
        veil.publish(people()[["age"]], plan)
    except InputError:
        return
    pytest.fail("accepted")


def test_faults_on_a_table():
    table = people()[["age", "income"]]
    with pytest.raises(InputError, match=r"plan names column 'agee'.*did you mean 'age'"):
        veil.publish(table, veil.Plan([("agee", NOISE)]))
    with pytest.raises(RoleError, match="no column left to perturb"):
        veil.publish(table, veil.Plan([(["age", "income"], NOISE), (None, ROTATION)]))
    with pytest.raises(RoleError, match=r"'smokes' \(text\) cannot be perturbed by this method"):
        veil.publish(people()[["smokes", "age"]], veil.Plan([(["smokes"], NOISE), ("age", NOISE)]))
    with pytest.raises(RoleError, match="roles names column 'incom'"):
        veil.publish(table, veil.Plan([("age", NOISE)], roles={"incom": "drop"}))
    with pytest.raises(InputError, match="not a class or a name"):
        veil.publish(table, veil.AdditiveNoise)
    with pytest.raises(InputError, match="'age' cannot be public: the release holds sums"):
        veil.publish(
            people()[["age", "income", "weight"]],
            veil.Plan([(["income", "weight"], veil.RandomProjection(2, axis="records"))], roles={"age": "public"}),
        )


def test_a_fault_in_one_part_leaves_the_key_unused():
    key, table = veil.Key(), people()[["age", "smokes"]]
    plan = veil.Plan([("age", NOISE), ("smokes", veil.RandomizedResponse(keep=1.0))])
    with pytest.raises(InputError, match="identity"):
        veil.publish(table, plan, key=key)
    assert key.ledger == []


def test_a_mixing_method_may_stand_in_two_parts():
    plan = veil.Plan([(["age", "income"], veil.OrthogonalTransform()), (None, veil.OrthogonalTransform())])
    release, key = veil.publish(people()[["age", "income", "weight", "height"]], plan)
    assert veil.restore(release, key).shape == (N, 4)


# -- one key for several parts -----------------------------------------------------------------------


def test_parts_have_independent_noise_under_one_key():
    n = 4_000
    values = np.random.default_rng(0).normal(size=n)
    table = pd.DataFrame({"a": values, "b": values, "c": values})
    noise = veil.AdditiveNoise(1.0, relative=False)
    apart, _ = veil.publish(table, veil.Plan([("a", noise), ("b", noise), ("c", noise)]), key=veil.Key.from_seed(2))
    added = apart.data.to_numpy() - table.to_numpy()
    correlation = np.corrcoef(added.T)[np.triu_indices(3, 1)]
    assert np.abs(correlation).max() < 4.5 / np.sqrt(n)
    assert np.abs(added.std(axis=0) - 1).max() < 4.5 / np.sqrt(2 * n)


def test_parts_of_randomized_responses_are_independent():
    n = 4_000
    table = pd.DataFrame({c: ["x", "y"] * (n // 2) for c in "ab"})
    response = veil.RandomizedResponse(keep=0.5)
    release, _ = veil.publish(table, veil.Plan([("a", response), ("b", response)]), key=veil.Key.from_seed(2))
    told = (release.data == table).to_numpy()
    assert abs(np.corrcoef(told.T)[0, 1]) < 4.5 / np.sqrt(n)


def test_one_seeded_part_makes_the_whole_key_seeded():
    plan = veil.Plan([("age", veil.AdditiveNoise()), ("income", veil.AdditiveNoise(random_state=4))])
    table = people()[["age", "income"]]
    one, key = veil.publish(table, plan)
    assert key.seeded
    assert one.manifest.key == "seeded, not secret"
    assert one.data.equals(veil.publish(table, plan)[0].data)


def test_guarantees_are_per_step():
    plan = veil.Plan([("age", veil.LaplaceMechanism(1.0, (0, 120))), ("income", veil.AdditiveNoise())])
    release, _ = veil.publish(people()[["age", "income"]], plan)
    said, none = (part.guarantee for part in release.manifest.parts)
    assert said != "none"
    assert none == "none"
    assert release.manifest.guarantee == f"{said} (laplace-mechanism); none (additive-noise)"


def test_a_manifest_that_pointed_to_its_parts_names_their_guarantees():
    plan = veil.Plan([("age", veil.LaplaceMechanism(1.0, (0, 120))), ("income", veil.AdditiveNoise())])
    release, _ = veil.publish(people()[["age", "income"]], plan)
    said = release.manifest.guarantee
    before = release.manifest.to_json().replace(f'"guarantee": "{said}"', '"guarantee": "see parts"')
    assert "see parts" in before
    assert Manifest.from_json(before).guarantee == said


# -- the ledger ----------------------------------------------------------------------------------------


def test_the_same_plan_twice_is_the_same_release():
    release, key = veil.publish(people(), mixed(seed=None))
    again, _ = veil.publish(people(), mixed(seed=None), key=key)
    assert len(key.ledger) == 1
    assert again.manifest == release.manifest
    assert again.data.equals(release.data)


def test_another_plan_under_the_key_must_be_meant():
    table = people()[["age", "income"]]
    plan = veil.Plan([("age", veil.AdditiveNoise()), ("income", veil.AdditiveNoise(2.0))])
    other = veil.Plan([("age", veil.AdditiveNoise()), ("income", veil.AdditiveNoise(3.0))])
    _, key = veil.publish(table, plan)
    with pytest.raises(KeyRefusedError, match="again=True"):
        veil.publish(table, other, key=key)
    second, _ = veil.publish(table, other, key=key, again=True)
    assert second.manifest.release == 2
    assert len(key.ledger) == 2


def test_the_order_of_parts_makes_another_release_of_the_same_noise():
    table = people()[["age", "income"]]
    parts = [("age", veil.AdditiveNoise()), ("income", veil.AdditiveNoise(2.0))]
    one, key = veil.publish(table, veil.Plan(parts))
    two, _ = veil.publish(table, veil.Plan(parts[::-1]), key=key, again=True)
    assert two.data.equals(one.data)


# -- back again ----------------------------------------------------------------------------------------


def test_restore_brings_back_what_it_can():
    table = people()
    release, key = veil.publish(table, mixed())
    with pytest.raises(NotInvertibleError, match="3 column") as caught:
        veil.restore(release, key)
    assert set(caught.value.columns) == {"name", "smokes", "age"}
    back = veil.restore(release, key, partial=True)
    assert list(back.columns) == ["region", "income", "weight", "height"]
    assert (back["region"] == table["region"]).all()
    np.testing.assert_allclose(back[["income"]], table[["income"]], atol=1e-5)
    np.testing.assert_allclose(back[["weight", "height"]], table[["weight", "height"]], rtol=1e-9)


def test_a_plan_of_invertible_parts_comes_back_whole():
    table = people()[["age", "income", "weight"]]
    plan = veil.Plan([("income", veil.AdditiveNoise()), (None, veil.OrthogonalTransform())])
    release, key = veil.publish(table, plan, shuffle=True)
    back = veil.restore(release, key)
    assert list(back.columns) == list(table.columns)
    assert (back["age"] == table["age"]).all()
    assert back.dtypes.equals(table.dtypes)
    assert release.manifest.row_order is RowOrder.SHUFFLED


def test_shuffling_keeps_records_together():
    table = people()[["age", "income"]].assign(tag=np.arange(N) * 1.5)
    plan = veil.Plan([("age", veil.AdditiveNoise()), ("income", veil.Discretize(4))], roles={"tag": "public"})
    key = veil.Key()
    still, _ = veil.publish(table, plan, key=key)
    moved, _ = veil.publish(table, plan, key=key, shuffle=True, again=True)
    assert not (moved.data["tag"] == table["tag"]).all()
    order = moved.data.sort_values("tag", ignore_index=True)
    assert (order["income"] == still.data["income"]).all()
    assert (order["age"] == still.data["age"]).all()


def test_the_other_key_does_not_restore():
    release, _ = veil.publish(people()[["age"]], veil.Plan([("age", NOISE)]))
    with pytest.raises(KeyRefusedError):
        veil.restore(release, veil.Key())


def test_a_part_of_a_release_restores_or_says_why_not():
    plan = veil.Plan([("age", NOISE), ("income", NOISE)])
    release, key = veil.publish(people()[["age", "income"]], plan)
    try:
        veil.restore(release.part(0), key, partial=True)
    except (InputError, NotApplicableError, NotInvertibleError):
        return


# -- parts of a release --------------------------------------------------------------------------------


def test_saved_releases_have_the_same_parts(tmp_path):
    release, key = veil.publish(people(), mixed())
    for format in ("parquet", "csv", "feather"):
        release.save(tmp_path / format, format=format)
        loaded = veil.Release.load(tmp_path / format)
        assert loaded.manifest.parts == release.manifest.parts
        with pytest.raises(NotApplicableError, match=r"5 perturbations; use release.part\(i\)"):
            loaded.only_part
        assert loaded.part(1).only_part.names == ("income",)
        assert loaded.part(1).to_numpy().tobytes() == release.part(1).to_numpy().tobytes()
        assert np.array_equal(loaded.part(2).codes(), release.part(2).codes())
        assert loaded.part(4).to_numpy().shape == (N, 2)
        key.save(tmp_path / f"{format}.key")
        back = veil.restore(loaded, veil.Key.load(tmp_path / f"{format}.key"), partial=True)
        assert back.column_names == ["region", "income", "weight", "height"]


def test_attacks_and_recovery_work_on_parts():
    release, _ = veil.publish(people(), mixed())
    assert veil.UnivariateBayesAttack().run(release.part(1)).values.shape == (N, 1)
    assert veil.ResponsePosteriorAttack().run(release.part(2)).columns == ("smokes",)
    assert set(veil.ProportionRecovery().fit(release.part(2)).proportions_["smokes"]) == {"no", "yes"}
    with pytest.raises(NotApplicableError):
        veil.UnivariateBayesAttack().run(release)


def test_a_part_that_does_not_exist_is_refused():
    release, _ = veil.publish(people()[["age"]], veil.Plan([("age", NOISE)]))
    try:
        release.part(7)
    except InputError:
        return


# -- file to file, and kinds of frames -----------------------------------------------------------------


def test_files_give_the_same_bits_as_memory(tmp_path):
    n = BLOCK_ROWS + 1_000
    rng = np.random.default_rng(1)
    table = pa.table(
        {
            "age": rng.integers(18, 90, n),
            "smokes": pa.array(rng.choice(["no", "yes"], n)),
            "income": rng.normal(50, 10, n),
            "job": pa.array(rng.choice(["a", "b", "c"], n)).dictionary_encode(),
            "weight": rng.normal(70, 12, n),
            "rate": rng.random(n),
        }
    )
    plan = veil.Plan(
        [
            (["smokes", "job"], veil.RandomizedResponse(keep=0.7, joint=True, random_state=9)),
            ("income", veil.LaplaceMechanism(1.0, (0, 100))),
            ("age", veil.Discretize(7, strategy="count")),
            (None, veil.OrthogonalTransform()),
        ]
    )
    expected, _ = veil.publish(table, plan)
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=777)
    for shuffle in (False, True):
        release = publish_file(
            tmp_path / "t.parquet",
            plan,
            tmp_path / f"release {shuffle}",
            new_key=tmp_path / f"key {shuffle}",
            shuffle=shuffle,
        )
        want = veil.publish(table, plan, shuffle=shuffle)[0].data if shuffle else expected.data
        got = release.table.read()
        assert got.schema.names == want.schema.names
        for name in got.schema.names:
            assert got.column(name).to_pylist() == want.column(name).to_pylist(), name
    assert release.manifest.parts == expected.manifest.parts


def test_restore_file_of_a_plan(tmp_path):
    table = people()
    table.to_csv(tmp_path / "t.csv", index=False)
    publish_file(tmp_path / "t.csv", mixed(), tmp_path / "release", new_key=tmp_path / "key")
    with pytest.raises(NotInvertibleError):
        restore_file(tmp_path / "release", tmp_path / "key", tmp_path / "back.csv")
    rows, absent = restore_file(tmp_path / "release", tmp_path / "key", tmp_path / "back.csv", partial=True)
    assert (rows, set(absent)) == (N, {"name", "age", "smokes"})
    np.testing.assert_allclose(pd.read_csv(tmp_path / "back.csv")["weight"], table["weight"], rtol=1e-9)


def test_frames_come_out_as_they_went_in():
    table = people()
    frames = {pd.DataFrame: table, pl.DataFrame: pl.from_pandas(table), pa.Table: pa.Table.from_pandas(table)}
    released = {}
    for kind, frame in frames.items():
        release, key = veil.publish(frame, mixed())
        assert isinstance(release.data, kind)
        assert isinstance(veil.restore(release, key, partial=True), kind)
        released[kind] = release.table.read()
    assert released[pd.DataFrame].equals(released[pa.Table])
    assert released[pd.DataFrame].equals(released[pl.DataFrame])
    array = np.random.default_rng(0).normal(size=(50, 2))
    numpy = veil.publish(array, veil.Plan([("x0", NOISE), ("x1", veil.Discretize(3))]))[0].data
    assert isinstance(numpy, np.ndarray)
    assert isinstance(numpy[0, 1], str)
    assert isinstance(numpy[0, 0], float)


# -- consistent_on ---------------------------------------------------------------------------------------


def visits(n=200):
    table = people(n)[["income", "smokes", "weight"]]
    return table.assign(id=[f"id{i}" for i in range(n)])


def later(table):
    other = table.copy()
    other.loc[0, "income"] += 1
    other.loc[1, "smokes"] = "yes" if table.loc[1, "smokes"] == "no" else "no"
    return pd.concat([other, other.tail(1).assign(id="new")], ignore_index=True)


def test_consistent_parts_keep_the_noise_of_unchanged_cells():
    plan = veil.Plan(
        [("income", veil.AdditiveNoise()), ("smokes", veil.RandomizedResponse(keep=0.6))], roles={"weight": "drop"}
    )
    first, key = veil.publish(visits(), plan, consistent_on="id")
    second, _ = veil.publish(later(visits()), plan, key=key, again=True, consistent_on="id")
    before, after = first.data, second.data.head(200)
    assert list(before.columns) == ["income", "smokes"]
    assert (before["smokes"].drop(1) == after["smokes"].drop(1)).all()
    assert (before["income"].drop(0) == after["income"].drop(0)).all()
    assert abs(after["income"][0] - before["income"][0] - 1) > 1e-3


@pytest.mark.parametrize(
    "beside",
    [
        pytest.param(("weight", veil.Discretize(4)), id="discretize"),
        pytest.param(("id", veil.Pseudonymize()), id="pseudonymize"),
    ],
)
def test_consistent_plans_may_hold_parts_without_noise(beside):
    roles = {c: "drop" for c in ("weight", "smokes") if c != beside[0]}
    plan = veil.Plan([("income", veil.AdditiveNoise()), beside], roles=roles)
    first, key = veil.publish(visits(), plan, consistent_on="id")
    second, _ = veil.publish(later(visits()), plan, key=key, again=True, consistent_on="id")
    assert (first.data[beside[0]] == second.data[beside[0]].head(200)).all()


def test_consistent_on_needs_a_part_with_noise_of_its_own_per_cell():
    with pytest.raises(InputError, match="keeps noise with an id"):
        veil.publish(visits(), veil.Plan([("weight", veil.Discretize())], roles={}), consistent_on="id")
    whole = veil.Plan([("smokes", veil.RandomizedResponse(joint=True)), ("income", NOISE)], roles={"weight": "drop"})
    with pytest.raises(InputError, match="whole records"):
        veil.publish(visits(), whole, consistent_on="id")
