"""Columns that are constant within groups get one noise per group: they stay constant, by the published law."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests._tables import within_standard_errors

import veil
from veil.data.groups import ConstantColumns, constant_in, grouping
from veil.data.sources import as_table
from veil.errors import InputError
from veil.publishing.publication import Publication
from veil.publishing.publish_file import publish_file
from veil.publishing.restore_file import restore_file
from veil.release.manifest import Manifest

ROLES = {"household": "group"}
METHODS = [
    veil.AdditiveNoise(0.5),
    veil.AdditiveNoise(0.5, distribution="laplace"),
    veil.AdditiveNoise(0.5, similarity=1.0),
    veil.AdditiveNoise(covariance=[[1.0, 0.5, 0.2], [0.5, 2.0, 0.3], [0.2, 0.3, 1.0]]),
    veil.MultiplicativeNoise(),
    veil.LogNormalNoise(0.3),
    veil.LaplaceMechanism(bounds=(0.0, 10.0)),
]


def households(n: int = 400, members: int = 4, seed: int = 0, shuffled: bool = True) -> pd.DataFrame:
    """People of households in any order: rent and income are the household's, age the person's."""
    rng = np.random.default_rng(seed)
    of = np.repeat(np.arange(n), members)
    income = rng.lognormal(1.0, 0.5, n)
    frame = pd.DataFrame(
        {
            "household": of + 1_000,
            "income": income[of],
            "age": rng.uniform(1.0, 9.0, len(of)),
            "rent": (income + rng.uniform(1.0, 2.0, n))[of],
        }
    )
    return frame.iloc[rng.permutation(len(frame))].reset_index(drop=True) if shuffled else frame


def varies(frame: pd.DataFrame, name: str, group: str = "household") -> bool:
    return bool((frame.groupby(group)[name].nunique() > 1).any())


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.describe())
def test_what_is_constant_stays_so_and_comes_back(method: veil.Perturbation) -> None:
    frame = households()
    release, key = veil.publish(frame, method, roles=ROLES)
    assert [varies(release.data, name) for name in ("income", "age", "rent")] == [False, True, False]
    assert release.manifest.parts[0].groups == {"income": "household", "rent": "household"}
    assert release.data["income"].nunique() == 400
    if not isinstance(method, veil.LaplaceMechanism):
        back = veil.restore(release, key, partial=True)
        assert np.allclose(back[["income", "age", "rent"]], frame[["income", "age", "rent"]])


def test_the_manifest_says_so_and_reads_it_back() -> None:
    release, _ = veil.publish(households(), veil.AdditiveNoise(), roles=ROLES)
    again = Manifest.from_json(release.manifest.to_json())
    assert again.parts[0].groups == release.manifest.parts[0].groups
    assert "groups" not in release.manifest.parts[1].to_json()
    for damaged in ('"rent": "age"', '"rent": 3', '"debt": "household"'):
        with pytest.raises(veil.VeilError, match="groups of a part"):
            Manifest.from_json(release.manifest.to_json().replace('"rent": "household"', damaged))


def test_a_cell_that_differs_makes_a_column_of_records() -> None:
    frame = households()
    frame.loc[17, "income"] += 1e-9
    release, key = veil.publish(frame, veil.AdditiveNoise(), roles=ROLES)
    assert varies(release.data, "income")
    assert release.manifest.parts[0].groups == {"rent": "household"}
    assert np.allclose(veil.restore(release, key, partial=True)["income"], frame["income"])


def test_gaps_say_nothing_of_the_group_and_rows_without_one_are_alone() -> None:
    frame = households()
    frame.loc[::7, "income"] = np.nan
    frame["household"] = frame["household"].astype("Int64").mask(frame.index % 5 == 0)
    release, key = veil.publish(frame, veil.AdditiveNoise(), roles=ROLES)
    assert not varies(release.data, "income")
    lone = frame["household"].isna().to_numpy()
    noise = (release.data["rent"] - frame["rent"])[lone]
    assert noise.nunique() == lone.sum()
    assert np.allclose(veil.restore(release, key, partial=True)["income"], frame["income"], equal_nan=True)


def test_the_order_of_rows_and_their_blocks_change_nothing() -> None:
    """What is found constant, whatever stretches rows come in, by a table that is cut anywhere."""
    frame = households(200)
    frame.loc[[5, 90], "rent"] = 0.0
    table = pa.Table.from_pandas(frame)
    names = ["income", "age", "rent"]
    whole = constant_in(table, ["household"], names).groups
    assert whole == {"income": "household"}
    for seed in range(5):
        rng = np.random.default_rng(seed)
        rows = rng.permutation(len(frame))
        pieces = np.split(rows, np.sort(rng.integers(0, len(rows), 6)))
        parts = []
        for piece in pieces:
            cut = table.take(piece)
            cells = {name: cut[name].combine_chunks() for name in names}
            parts.append(grouping(cut["household"].combine_chunks(), cells, key=5))
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        assert ConstantColumns.of({"household": total}).groups == whole
        assert (len(total.keys), total.n_rows) == (200, 800)


def test_noise_of_groups_has_the_published_law() -> None:
    """The covariance of records is Σr, that of two members Σr on the constant columns and L₂₁L₂₁ᵀ on the others."""
    n, covariance = 4_000, np.array([[1.0, 0.8, 0.2], [0.8, 2.0, 0.3], [0.2, 0.3, 1.0]])
    frame = households(n, 2, shuffled=False)
    method = veil.AdditiveNoise(covariance=covariance, random_state=3)
    release, _ = veil.publish(frame, method, roles=ROLES)
    names = ["income", "age", "rent"]
    noise = (release.data[names] - frame[names]).to_numpy().reshape(n, 2, 3)
    one, other = noise[:, 0], noise[:, 1]
    error = np.sqrt((np.outer(np.diag(covariance), np.diag(covariance)) + covariance**2) / n)
    assert within_standard_errors(one.T @ one / n, covariance, error)
    own = covariance[[0, 2]][:, [0, 2]]
    shared = covariance[1, [0, 2]] @ np.linalg.solve(own, covariance[[0, 2], 1])
    assert within_standard_errors(one[:, 1] @ other[:, 1] / n, shared, np.sqrt((4.0 + shared**2) / n))
    assert one[:, [0, 2]] == pytest.approx(other[:, [0, 2]], abs=1e-9)


def test_responses_are_one_per_group() -> None:
    frame = households(2_000, 3)
    owns = np.random.default_rng(1).random(2_000) < 0.3
    frame["tenure"] = np.where(owns[frame["household"] - 1_000], "owner", "tenant")
    frame["sex"] = np.random.default_rng(2).choice(["f", "m"], len(frame))
    plan = veil.Plan(
        [(["tenure", "sex"], veil.RandomizedResponse(keep=0.6)), (["income", "age", "rent"], veil.AdditiveNoise())]
    )
    release, _ = veil.publish(frame, plan, roles=ROLES)
    assert [varies(release.data, name) for name in ("tenure", "sex")] == [False, True]
    first = ~frame["household"].duplicated()
    kept = float((release.data["tenure"] == frame["tenure"])[first].mean())
    assert within_standard_errors(kept, 0.6, np.sqrt(0.6 * 0.4 / 2_000))


def test_persons_within_households_and_groups_that_cross() -> None:
    rng = np.random.default_rng(0)
    visits = pd.DataFrame({"person": np.repeat(np.arange(300), 4)})
    visits["household"] = visits["person"] // 3
    visits["rent"] = rng.normal(size=100)[visits["household"]]
    visits["height"] = rng.normal(size=300)[visits["person"]] + visits["rent"]
    visits["pulse"] = rng.normal(size=1_200) + visits["height"]
    roles = {"person": "group", "household": "group"}
    release, key = veil.publish(visits, veil.AdditiveNoise(similarity=1.0), roles=roles)
    assert release.manifest.parts[0].groups == {"rent": "household", "height": "person"}
    assert not varies(release.data, "rent")
    assert not varies(release.data, "height", "person")
    assert varies(release.data, "height")
    assert np.allclose(veil.restore(release, key, partial=True)["pulse"], visits["pulse"], atol=1e-5)
    visits["household"] = rng.permutation(visits["household"])
    visits["rent"] = rng.normal(size=100)[visits["household"]]
    with pytest.raises(InputError, match="put one of them into a part of its own"):
        veil.publish(visits, veil.AdditiveNoise(similarity=1.0), roles=roles)
    assert len(veil.publish(visits, veil.AdditiveNoise(), roles=roles)[0].manifest.parts[0].groups) == 2


def test_what_cannot_be_one_per_group_is_told_with_the_fix() -> None:
    frame = households(50)
    frame["married"] = frame["household"] % 2
    frame["insured"] = np.random.default_rng(0).integers(0, 2, len(frame))
    response = veil.RandomizedResponse(joint=True)
    plan = veil.Plan([(["married", "insured"], response), (None, veil.AdditiveNoise())])
    remarks = veil.publishing.publication.Publication(veil.data.sources.as_table(frame), plan, roles=ROLES).remarks()
    assert any("'married': constant within groups, but has noise of its own" in each for each in remarks)
    assert any("'income', 'rent'" in each and "the noise is one per group" in each for each in remarks)
    assert not any("falls to 1/√n" in each for each in remarks)


def test_another_table_gets_other_noise_and_an_unchanged_cell_keeps_it_with_an_id() -> None:
    frame = households()
    frame["id"] = np.arange(len(frame))
    later = frame.assign(age=frame["age"] + 1.0)
    first, key = veil.publish(frame.drop(columns="id"), veil.AdditiveNoise(), roles=ROLES)
    second, _ = veil.publish(later.drop(columns="id"), veil.AdditiveNoise(), roles=ROLES, key=key, again=True)
    assert np.isclose(first.data["rent"], second.data["rent"]).mean() < 0.01
    kept, key = veil.publish(frame, veil.AdditiveNoise(), roles=ROLES, consistent_on="id")
    again, _ = veil.publish(later, veil.AdditiveNoise(), roles=ROLES, consistent_on="id", key=key, again=True)
    assert not varies(kept.data, "rent")
    assert (kept.data["rent"] == again.data["rent"]).all()
    assert np.isclose(kept.data["age"], again.data["age"] - 1.0).mean() < 0.01


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("shuffle", [False, True])
def test_from_file_to_file(tmp_path, kind: str, shuffle: bool) -> None:
    frame = households(20_000, 4)  # two blocks
    source = tmp_path / f"people.{kind}"
    frame.to_csv(source, index=False) if kind == "csv" else frame.to_parquet(source)
    publish_file(source, veil.AdditiveNoise(), tmp_path / "r", new_key=tmp_path / "k", roles=ROLES, shuffle=shuffle)
    release = veil.Release.load(tmp_path / "r", kind="pandas")
    assert [varies(release.data, name) for name in ("income", "age", "rent")] == [False, True, False]
    restore_file(tmp_path / "r", tmp_path / "k", tmp_path / f"back.{kind}", partial=True)
    read = pd.read_csv if kind == "csv" else pd.read_parquet
    back = read(tmp_path / f"back.{kind}")
    assert np.allclose(back[["income", "age", "rent"]], frame[["income", "age", "rent"]])
    memory, _ = veil.publish(
        frame, veil.AdditiveNoise(), roles=ROLES, key=veil.Key.load(tmp_path / "k"), shuffle=shuffle
    )
    assert np.allclose(memory.data["income"], release.data["income"], rtol=1e-12)


def test_groups_of_one_row_are_no_groups() -> None:
    release, _ = veil.publish(households(50, 1), veil.AdditiveNoise(), roles=ROLES)
    assert release.manifest.parts[0].groups == {}


def test_plausible_values_stay_constant_and_the_others_come_back(tmp_path) -> None:
    frame = households(shuffled=False)
    frame["income"] = (100.0 * frame["income"]).round().astype(int)
    made = veil.Plan([(None, veil.AdditiveNoise(0.5, random_state=1))], plausible={"income": {"grain": 10, "low": 0}})
    release, key = veil.publish(frame, made, roles=ROLES)
    assert str(release.data["income"].dtype) == "int64"
    assert [varies(release.data, name) for name in ("income", "age", "rent")] == [False, True, False]
    again = Manifest.from_json(release.manifest.to_json()).parts[0]
    assert again.groups == {"income": "household", "rent": "household"}
    assert again.products is not None
    back = veil.restore(release, key, partial=True)
    assert list(back.columns) == ["age", "rent"]
    assert np.allclose(back, frame[["age", "rent"]])
    frame.to_csv(tmp_path / "table.csv", index=False)
    publish_file(tmp_path / "table.csv", made, tmp_path / "release", roles=ROLES, new_key=tmp_path / "key")
    stored = veil.Release.load(tmp_path / "release")
    assert stored.manifest.parts[0].groups == again.groups
    assert np.allclose(stored.part(0).to_numpy(), release.part(0).to_numpy())


def test_a_sum_has_one_noise_per_group_where_its_terms_have() -> None:
    frame = households()
    frame["all"] = frame["income"] + frame["rent"]
    method = veil.AdditiveNoise(0.5, random_state=1)
    release, key = veil.publish(frame, veil.Plan([(None, method)], sums={"all": ["income", "rent"]}), roles=ROLES)
    assert not varies(release.data, "all")
    assert release.manifest.parts[0].groups["all"] == "household"
    assert np.allclose(veil.restore(release, key, partial=True)["age"], frame["age"])
    frame["all"], frame["other"] = 10.0 * frame["rent"], 10.0 * frame["rent"] - frame["age"]
    plan = veil.Plan([(None, method)], sums={"all": ["age", "other"]})
    release, key = veil.publish(frame, plan, roles=ROLES)
    assert varies(release.data, "all")
    assert "all" not in release.manifest.parts[0].groups
    assert any("Column 'all': constant within groups, but" in remark for remark in remarks_on(plan, frame))


def remarks_on(plan: veil.Plan, frame: pd.DataFrame) -> list[str]:
    return Publication(as_table(frame), plan, roles=ROLES).remarks()
