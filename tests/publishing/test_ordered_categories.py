"""Ordered categories: their order in frames, files, releases and restoring; errors that favour neighbours."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import veil
from veil.errors import FileFormatError, InputError
from veil.numerics.response_matrix import cumulative, implemented_epsilon, keep_matrix, ordered_matrix
from veil.release.manifest import Manifest

LEVELS = ["never", "low", "medium", "high"]
N = 400


def people(n: int = N) -> pd.DataFrame:
    """Education (randomized), satisfaction (public; nobody says "never"), and a number."""
    rng = np.random.default_rng(0)
    education = pd.Categorical(rng.choice(LEVELS, n), categories=LEVELS, ordered=True)
    content = pd.Categorical(rng.choice(LEVELS[1:], n), categories=LEVELS, ordered=True)
    return pd.DataFrame({"education": education, "content": content, "x": rng.normal(size=n)})


def plan(**settings):
    response = veil.RandomizedResponse(**(settings or {"keep": 0.7}), random_state=1)
    return veil.Plan(
        [("education", response), ("x", veil.AdditiveNoise(0.5, random_state=1))], roles={"content": "public"}
    )


def arrow(frame: pd.DataFrame) -> pa.Table:
    return pa.Table.from_pandas(frame, preserve_index=False)


def enums(frame: pd.DataFrame) -> pl.DataFrame:
    return pl.DataFrame(
        {n: pl.Series(frame[n].astype(str), dtype=pl.Enum(LEVELS)) for n in ("education", "content")}
        | {"x": frame["x"]}
    )


def levels_in(data, name):
    """The order of a column of a frame, None without one."""
    if isinstance(data, pd.DataFrame):
        return list(data[name].cat.categories) if data[name].cat.ordered else None
    if isinstance(data, pl.DataFrame):
        return data.schema[name].categories.to_list() if isinstance(data.schema[name], pl.Enum) else None
    column = data.column(name)
    return column.chunk(0).dictionary.to_pylist() if column.type.ordered else None


@pytest.mark.parametrize("make", [lambda frame: frame, enums, arrow], ids=["pandas", "polars", "arrow"])
def test_the_order_goes_through_a_release_and_back(make):
    data = make(people())
    release, key = veil.publish(data, plan())
    assert levels_in(release.data, "education") == LEVELS
    assert levels_in(release.data, "content") == LEVELS[1:]  # not what nobody says
    back = veil.restore(release, key, partial=True)
    assert levels_in(back, "content") == LEVELS
    texts = arrow(people()).column("content").cast(pa.string()).to_pylist()
    assert (list(back["content"]) if not isinstance(back, pa.Table) else back.column("content").to_pylist()) == texts


@pytest.mark.parametrize("format", ["csv", "parquet", "feather"])
@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_the_order_goes_through_files(format, kind, tmp_path):
    release, key = veil.publish(people(), plan())
    release.save(tmp_path / "r", format=format)
    loaded = veil.Release.load(tmp_path / "r", kind=kind)
    assert levels_in(loaded.data, "education") == LEVELS
    assert levels_in(loaded.data, "content") == LEVELS[1:]
    assert levels_in(veil.restore(loaded, key, partial=True), "content") == LEVELS


def test_files_are_published_with_their_order(tmp_path):
    people().to_parquet(tmp_path / "t.parquet", index=False)
    veil.publish_file(tmp_path / "t.parquet", plan(), tmp_path / "r", new_key=tmp_path / "k")
    release = veil.Release.load(tmp_path / "r", kind="pandas")
    assert levels_in(release.data, "education") == LEVELS
    assert levels_in(release.data, "content") == LEVELS[1:]


def test_the_manifest_lists_levels_only_of_what_is_released():
    release = veil.publish(people(), plan())[0]
    (content,) = release.manifest.public
    assert content.levels == tuple(LEVELS[1:])
    assert release.manifest.parts[0].model.categories == (tuple(LEVELS),)
    again = Manifest.from_json(release.manifest.to_json())
    assert again == release.manifest
    unordered = people()
    unordered["content"] = unordered["content"].cat.as_unordered()
    assert "levels" not in veil.publish(unordered, plan())[0].manifest.to_json()
    raw = json.loads(release.manifest.to_json())
    for wrong in ([1.5], ["a", "a"], "low", [None]):
        raw["public"][0]["levels"] = wrong
        with pytest.raises(FileFormatError, match="levels"):
            Manifest.from_json(json.dumps(raw))


# -- errors that favour neighbours ------------------------------------------------------------


@pytest.mark.parametrize("keep", [0.5, 0.7, 0.95])
@pytest.mark.parametrize("k", [2, 3, 5, 12])
def test_the_ordered_matrix_has_its_epsilon(keep, k):
    matrix = ordered_matrix(keep, k)
    assert np.allclose(matrix.sum(axis=0), 1.0)
    assert np.allclose(np.diag(matrix), keep)
    errors = matrix[:-1, 0] / matrix[1:, 0]
    assert np.allclose(errors[1:], 2.0)
    epsilon = np.log(keep * (2.0 ** (k - 1) - 1) / (1 - keep))
    assert np.log((matrix.max(axis=1) / matrix.min(axis=1)).max()) == pytest.approx(epsilon, abs=1e-9)
    assert implemented_epsilon(cumulative(matrix)) == pytest.approx(epsilon, abs=1e-6)


def test_errors_are_nearer_than_those_of_a_response_that_knows_no_order():
    """The mean distance of a wrong report, over ten categories: about 2 in place of 11/3."""
    k, keep = 10, 0.7
    distance = np.abs(np.arange(k)[:, None] - np.arange(k))
    near, far = (float((make(keep, k) * distance).sum() / (k * (1 - keep))) for make in (ordered_matrix, keep_matrix))
    assert far == pytest.approx(11 / 3)
    assert near < 2.2


def test_an_ordered_response_is_released_guaranteed_and_recovered():
    frame = people(20_000)
    response = veil.RandomizedResponse(keep=0.6, ordered=True, categories={"education": LEVELS})
    release = veil.publish(frame[["education"]], response)[0]
    part = release.only_part
    assert f"epsilon {np.log(10.5):.6g} for one value" in part.guarantee
    np.testing.assert_allclose(part.model.matrices[0], ordered_matrix(0.6, 4))
    recovery = veil.ProportionRecovery().fit(release)
    true = frame["education"].value_counts(normalize=True)
    for name, share in recovery.proportions_["education"].items():
        assert abs(share - true[name]) < 4 * recovery.standard_errors_["education"][name]
    undeclared = veil.publish(frame[["education"]], veil.RandomizedResponse(keep=0.6, ordered=True))[0].only_part
    assert undeclared.guarantee == "none"
    assert undeclared.model == part.model


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"epsilon": 0.7, "ordered": True}, "goes with keep"),
        ({"keep": 0.7, "joint": True, "ordered": True}, "leave one of them out"),
        ({"ordered": 1}, "ordered must be"),
    ],
)
def test_settings_that_do_not_go_with_an_order(settings, words):
    with pytest.raises(InputError, match=words):
        veil.publish(people()[["education"]], veil.RandomizedResponse(**settings))


def test_categories_without_an_order_have_no_neighbours():
    frame = people()[["education"]].astype(str)
    with pytest.raises(InputError, match="4 categories without an order"):
        veil.publish(frame, veil.RandomizedResponse(keep=0.7, ordered=True))
    veil.publish(frame, veil.RandomizedResponse(keep=0.7, ordered=True, categories=LEVELS))
    veil.publish(pd.DataFrame({"grade": [1, 2, 3, 3] * 20}), veil.RandomizedResponse(keep=0.7, ordered=True))
