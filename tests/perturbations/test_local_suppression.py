"""Local suppression: every released combination is that of k records, few cells are lost, and nothing else is said."""

import io
import pickle

import numpy as np
import pandas as pd
import pytest

import veil
from veil.measures import cell_sizes
from veil.perturbations.suppression import suppressed_cells

KEYS = ["sex", "age", "town"]


def people(n=800, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "sex": rng.choice(list("fm"), n),
            "age": rng.integers(18, 90, n),
            "town": np.minimum(rng.zipf(1.5, n), 60).astype(str),
            "income": rng.lognormal(8, 1, n),
        }
    )


def plan(**settings):
    parts = [(KEYS, veil.LocalSuppression(**{"random_state": 0, **settings})), ("income", veil.AdditiveNoise(1.0))]
    return veil.Plan(parts, roles=dict.fromkeys(KEYS, "key"))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("k", "width"), [(2, None), (3, {"age": 10}), (5, {"age": 20}), (40, {"age": 5})])
def test_every_released_combination_is_that_of_k_records(k, width, seed):
    frame = people(seed=seed)
    release, _ = veil.publish(frame, plan(k=k, width=width))
    assert cell_sizes(release.data[KEYS]).min() >= k
    shown = release.data["town"].notna()
    assert (release.data["town"][shown] == frame["town"][shown]).all()


@pytest.mark.parametrize("seed", range(300))
def test_random_tables_are_k_anonymous(seed):
    rng = np.random.default_rng(seed)
    n, d, k = int(rng.integers(2, 30)), int(rng.integers(1, 5)), int(rng.integers(2, 6))
    codes = np.unique(rng.integers(-1, rng.integers(1, 6), (n, d)), axis=0)
    counts = rng.integers(1, 4, len(codes))
    if counts.sum() < k:
        return
    hidden = suppressed_cells(codes, counts, k, list(range(d)), rng.integers(0, 2**63, len(codes)).astype(np.uint64))
    released = np.repeat(np.where(hidden, -1, codes), counts, axis=0)
    assert cell_sizes(list(released.T)).min() >= k


def test_a_table_that_is_k_anonymous_is_left_alone():
    frame = pd.concat([people(50)] * 3)
    release, _ = veil.publish(frame, plan(k=3))
    assert not release.data[KEYS].isna().any().any()
    assert release.manifest.parts[0].model.suppressed == (0, 0, 0)


def test_important_columns_are_suppressed_last():
    frame = people()
    lost = {
        first: veil.publish(frame, plan(k=3, width={"age": 20}, importance=[first]))[0].data[KEYS].isna().sum()
        for first in ("town", "age")
    }
    assert lost["age"]["age"] <= lost["town"]["age"] < lost["town"]["age"] + lost["town"]["sex"] + 1
    assert lost["age"]["town"] > lost["town"]["town"]


def test_coarser_keys_lose_fewer_cells():
    frame = people()
    lost = [
        int(veil.publish(frame, plan(k=3, width=width))[0].data[KEYS].isna().to_numpy().sum())
        for width in (None, {"age": 10}, {"age": 40})
    ]
    assert lost[0] > lost[1] > lost[2]


def test_the_manifest_says_k_and_about_how_many_cells_are_missing():
    release, _ = veil.publish(people(), plan(k=3, width={"age": 10}))
    model = release.manifest.parts[0].model
    lost = release.data[KEYS].isna().sum().to_numpy()
    assert model.k == 3
    assert np.allclose(model.suppressed, lost, rtol=0.05)
    assert release.manifest.missing == "pattern is public"


def test_a_category_that_is_suppressed_everywhere_is_not_listed():
    frame = pd.DataFrame({"sex": ["f"] * 5 + ["m"] * 5 + ["x"], "town": ["a"] * 11})
    release, _ = veil.publish(frame, veil.Plan([(["sex", "town"], veil.LocalSuppression(3, random_state=0))]))
    assert "x" not in release.manifest.to_json().split('"columns"')[1]
    assert release.manifest.parts[0].model.columns[0].categories in (("f", "m"), ("f",), ("m",))


def test_the_key_keeps_no_value_and_the_method_no_fact():
    frame = people()
    method = veil.LocalSuppression(3, random_state=0)
    released = method.fit_transform(frame[KEYS])
    assert cell_sizes(released).min() >= 3
    written = io.BytesIO()
    pickle.dump(method, written)
    assert set(vars(method)) - set(method.get_params(deep=False)) <= {
        "model_",
        "key_",
        "_fitted_on",
        "n_features_in_",
        "feature_names_in_",
    }


def test_the_same_table_is_suppressed_alike_in_files_frames_and_again(tmp_path):
    frame = people().assign(town=lambda table: "t" + table["town"])
    frame.to_csv(tmp_path / "people.csv", index=False)
    method = plan(k=3, width={"age": 10})
    one, other = (veil.publish(table, method)[0].table.read(KEYS) for table in (frame, tmp_path / "people.csv"))
    assert one.equals(other)


def test_missing_keys_stay_missing_and_count_as_values_of_their_own():
    frame = people()
    frame.loc[:9, "town"] = None
    release, _ = veil.publish(frame, plan(k=3, width={"age": 10}))
    assert release.data["town"][:10].isna().all()
    assert cell_sizes(release.data[KEYS]).min() >= 3


def test_another_table_than_the_fitted_one_is_refused():
    method = veil.LocalSuppression(3, random_state=0).fit(people()[KEYS])
    with pytest.raises(veil.InputError, match="fit it on this one"):
        method.transform(people(seed=1)[KEYS])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k": 1}, "k must be a whole number of at least 2"),
        ({"k": 1_000}, "k is 1000, and the table has 800 records"),
        ({"importance": ["height"]}, "importance names columns that the part does not have: 'height'"),
    ],
)
def test_refusals(settings, message):
    with pytest.raises(veil.InputError, match=message):
        veil.publish(people(), plan(**settings))


def test_more_columns_than_can_be_searched_are_refused():
    frame = pd.DataFrame(np.random.default_rng(0).integers(0, 3, (50, 13))).add_prefix("c")
    with pytest.raises(veil.InputError, match="takes at most 12 columns, and the part has 13"):
        veil.publish(frame, veil.LocalSuppression())
