"""Dates and moments: perturbed in whole days and seconds, released as such, restored exactly, recovered as dates."""

import datetime as dt
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import veil
from _program import call
from veil.attacks.guess_files import write_guess
from veil.data.blocks import to_float
from veil.data.dates import halves_down, times_of
from veil.data.schema import Kind
from veil.errors import InputError, NotApplicableError, RoleError
from veil.release.manifest import Manifest

N = 3000
DAY = 86_400
LEAP = dt.date(2024, 2, 29)


def stays(n: int = N, seed: int = 0) -> pa.Table:
    """Admissions from 1930 on, some of them missing, discharges, and moments of every unit."""
    rng = np.random.default_rng(seed)
    admitted = rng.integers(-14_000, 20_000, n)
    admitted[:2] = (LEAP - dt.date(1970, 1, 1)).days
    seconds = admitted * DAY + rng.integers(0, DAY, n)
    day = pa.array(admitted.astype(np.int32), pa.int32(), mask=rng.random(n) < 0.05).cast(pa.date32())
    return pa.table(
        {
            "admission": day,
            "discharge": pa.array((admitted + rng.integers(0, 60, n)).astype(np.int32)).cast(pa.date32()),
            "old": day.cast(pa.date64()),
            "seen": pa.array(seconds, pa.timestamp("s")),
            "sent": pa.array(seconds * 1000, pa.timestamp("ms", tz="Europe/Berlin")),
            "logged": pa.array(seconds * 10**6, pa.timestamp("us")),
            "stamped": pa.array(seconds * 10**9, pa.timestamp("ns")),
            "lasted": pa.array(rng.integers(0, 9000, n), pa.duration("s")),
            "age": rng.integers(0, 100, n),
        }
    )


@pytest.mark.parametrize(
    "dtype",
    [pa.date32(), pa.date64(), pa.duration("ms")]
    + [pa.timestamp(unit, tz) for unit in ("s", "ms", "us", "ns") for tz in (None, "Asia/Tokyo")],
    ids=str,
)
def test_numbers_of_every_type_come_back(dtype):
    unit = DAY if pa.types.is_date(dtype) else 1
    seconds = [-3 * DAY, 0, None, 11_016 * DAY, 40_000 * DAY]
    array = pa.array([None if s is None else s // unit for s in seconds], pa.float64())
    values = to_float(array, "x")
    made = times_of(values, dtype)
    assert made.type == dtype
    np.testing.assert_array_equal(to_float(made, "x"), values)
    assert to_float(made.slice(1, 3), "x")[2] == values[3]
    if pa.types.is_date(dtype):
        assert made.to_pylist()[3] == dt.date(2000, 2, 29)


def test_halves_are_rounded_so_that_noise_on_a_grid_comes_off():
    """r = ⌊x + e + ½⌋ and x = ⌈r − e − ½⌉ for whole x and every e, ties among them; rounding to even errs at these."""
    x, e = np.arange(-50.0, 50.0), np.arange(-8, 9) / 4
    noisy = x[:, None] + e
    released = np.floor(noisy + 0.5)
    assert (halves_down(released - e) == x[:, None]).all()
    assert (np.rint(np.rint(noisy) - e) != x[:, None]).any()


@pytest.mark.parametrize(
    "method",
    [
        veil.AdditiveNoise(0.5),
        veil.AdditiveNoise(1e-4, distribution="laplace"),
        veil.AdditiveNoise(0.5, similarity=1.0),
        veil.OrthogonalTransform(),
    ],
    ids=["noise", "hardly any", "similar", "rotated"],
)
def test_every_method_of_numbers_perturbs_and_restores_dates(method):
    table = stays()
    if isinstance(method, veil.OrthogonalTransform):
        table = table.drop_columns(["admission", "old"])
    release, key = veil.publish(table, method)
    assert veil.restore(release, key).equals(table)
    if isinstance(method, veil.AdditiveNoise):
        assert release.table.schema.types[:-1] == table.schema.types[:-1]
        assert release.table.read().column("seen").to_pylist() != table.column("seen").to_pylist()
    else:
        assert set(release.table.schema.types) == {pa.float64()}


def frames():
    table = stays(200).select(["admission", "seen", "age"])
    frame = table.to_pandas()
    frame["admission"] = pd.to_datetime(frame["admission"])
    return {"pandas": frame, "polars": pl.from_arrow(table), "arrow": table}


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_frames_come_out_with_the_types_that_went_in(kind):
    frame = frames()[kind]
    release, key = veil.publish(frame, veil.AdditiveNoise(0.5))
    types = "types" if kind == "arrow" else "dtypes"
    of = (lambda data: data.schema) if kind == "arrow" else (lambda data: data)
    assert list(getattr(of(release.data), types))[:2] == list(getattr(of(frame), types))[:2]
    back = veil.restore(release, key)
    assert back.equals(frame)
    assert release.manifest.parts[0].columns[0].kind is Kind.DATE
    if kind == "pandas":  # its midnights are dates, for which it has no type
        assert (release.data["admission"].dropna().dt.normalize() == release.data["admission"].dropna()).all()


@pytest.mark.parametrize("suffix", ["csv", "parquet", "feather", "xlsx"])
def test_files_of_every_kind(suffix, tmp_path):
    table = stays(300).select(["admission", "seen", "age"])
    path = tmp_path / f"stays.{suffix}"
    if suffix == "csv":
        table.to_pandas().to_csv(path, index=False)
    elif suffix == "parquet":
        pq.write_table(table, path)
    elif suffix == "feather":
        pa.feather.write_feather(table, str(path))
    else:
        pytest.importorskip("openpyxl")
        table.to_pandas().to_excel(path, index=False)
    veil.publish_file(path, veil.AdditiveNoise(0.5), tmp_path / "r", new_key=tmp_path / "k")
    release = veil.Release.load(tmp_path / "r")
    assert [str(c.kind) for c in release.manifest.parts[0].columns] == ["date", "time", "numeric"]
    assert release.table.schema.field("admission").type in (pa.date32(), pa.timestamp("us"))
    back = veil.restore(release, veil.Key.load(tmp_path / "k"))
    assert back.column("admission").to_pylist() == table.column("admission").to_pylist()
    seen = back.column("seen").cast(pa.timestamp("s"))
    assert seen.to_pylist() == table.column("seen").to_pylist()


def test_csv_and_pandas_agree(tmp_path):
    frame = frames()["pandas"]
    frame.to_csv(tmp_path / "t.csv", index=False)
    method = veil.AdditiveNoise(0.5, random_state=1)
    of_frame, of_file = (veil.publish(data, method)[0].to_numpy() for data in (frame, tmp_path / "t.csv"))
    np.testing.assert_array_equal(of_frame, of_file)


def test_time_zones_are_kept_and_moments_are_those_of_utc():
    zoned = pa.array([0, 3600, 7200], pa.timestamp("s", tz="Europe/Berlin"))
    release, key = veil.publish(pa.table({"t": zoned, "x": [1.0, 2.0, 4.0]}), veil.AdditiveNoise(0.5, random_state=2))
    assert release.table.schema.field("t").type == zoned.type
    plain = pa.table({"t": zoned.cast(pa.int64()).cast(pa.float64()), "x": [1.0, 2.0, 4.0]})
    noisy = veil.publish(plain, veil.AdditiveNoise(0.5, random_state=2))[0].to_numpy()[:, 0]
    assert np.abs(release.to_numpy()[:, 0] - noisy).max() <= 0.5
    assert veil.restore(release, key).column("t").to_pylist() == zoned.to_pylist()


def test_dates_have_no_zero_and_are_not_multiplied():
    table = stays(50).select(["discharge", "age"])
    for method in (veil.MultiplicativeNoise(), veil.LogNormalNoise(), veil.TopCoding(), veil.Discretize(4)):
        with pytest.raises(RoleError, match=r"'discharge' \(date\)"):
            veil.publish(table, method)


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["2020-01-02", "03/04/2020", "2020-01-05", "2020-01-06"], "1 of 4 values are not dates like 2024-02-29"),
        (["3.4.2020", "5.4.20", "17.12.2021", "1.1.2020"], "4 of 4 values are not dates like 2024-02-29"),
        (["2020-01-02", "2020-01-03", "2020-01-05", "2020-01-06"], "declare them with kinds={'d': 'date'}"),
    ],
)
def test_dates_of_mixed_forms_are_told_in_one_line(texts, words):
    frame = pd.DataFrame({"d": texts, "x": [1.0, 2.0, 3.0, 5.0]})
    with pytest.raises(RoleError) as caught:
        veil.publish(frame, veil.AdditiveNoise())
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert texts[1] not in str(caught.value)


def test_dates_that_are_declared(tmp_path):
    frame = pd.DataFrame({"d": ["2020-01-02", "?", "1969-12-31", "2024-02-29"], "x": [1.0, 2.0, 3.0, 5.0]})
    table = veil.read_table(frame, kinds={"d": "date"}, missing={"d": "?"})
    assert table.read().column("d").to_pylist() == [dt.date(2020, 1, 2), None, dt.date(1969, 12, 31), LEAP]
    release, key = veil.publish(table, veil.AdditiveNoise(0.5))
    assert veil.restore(release, key)["d"].tolist()[3] == LEAP


def test_dates_beyond_the_calendar_are_refused_with_a_fix():
    days = [dt.date(2020, 1, 1 + i) for i in range(20)] + [dt.date(9999, 12, 31)] * 20
    table = pa.table({"d": days, "x": np.arange(40.0)})
    with pytest.raises(InputError, match=r"column 'd': \d+ released values .* declare codes such as 9999-12-31"):
        veil.publish(table, veil.AdditiveNoise(0.5, random_state=1))
    declared = veil.read_table(table, missing={"d": "9999-12-31"})
    assert veil.publish(declared, veil.AdditiveNoise(0.5))[0].table.read().column("d").null_count == 20


# -- what an analyst recovers ---------------------------------------------------------------


def test_the_mean_and_spread_of_dates_are_recovered_within_their_errors():
    """Rounding to days adds 1/12 to the variance of narrow noise, which is taken off."""
    rng = np.random.default_rng(5)
    days = rng.integers(18_000, 18_012, 200_000)
    table = pa.table({"d": pa.array(days.astype(np.int32)).cast(pa.date32()), "x": rng.normal(size=len(days))})
    release = veil.publish(table, veil.AdditiveNoise(1.0, relative=False, random_state=1))[0]
    recovery = veil.MomentRecovery().fit(release)
    assert abs(recovery.mean_[0] - days.mean()) < 3 * recovery.mean_se_[0]
    assert abs(recovery.covariance_[0, 0] - days.var()) < 3 * recovery.covariance_se_[0, 0]
    assert 3 * recovery.covariance_se_[0, 0] < 1 / 12  # so that the test sees the rounding


def test_quantiles_are_recovered_as_dates():
    table = stays(20_000).select(["discharge", "seen", "age"])
    release = veil.publish(table, veil.AdditiveNoise(0.3, random_state=3))[0]
    shown = veil.recover(release)
    days = to_float(table.column("discharge").combine_chunks(), "")
    recovered = shown.to_dict()["columns"][0]
    true = (dt.date(1970, 1, 1) + dt.timedelta(days=round(days.mean()))).isoformat()
    assert (
        abs(dt.date.fromisoformat(recovered["mean"]) - dt.date.fromisoformat(true)).days <= 1 + recovered["mean_half"]
    )
    for share, _, low, high in recovered["quantiles"]:
        exact = dt.date(1970, 1, 1) + dt.timedelta(days=float(np.quantile(days, share)))
        assert dt.date.fromisoformat(low) <= exact <= dt.date.fromisoformat(high)
    assert shown.to_dict()["columns"][1]["mean"].startswith("19")
    assert recovered["mean"] in repr(shown)
    assert json.dumps(recovered)


# -- audits and guesses ---------------------------------------------------------------------


def test_weak_noise_on_dates_breaks_and_strong_noise_holds():
    rng = np.random.default_rng(2)
    day = [dt.date(1940, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(0, 25_000, 400)]
    frame = pd.DataFrame({"born": pd.to_datetime(day), "income": rng.normal(size=400)})
    attacks = [veil.SpectralFilterAttack(), veil.BayesEstimateAttack()]
    weak, strong = (
        veil.audit(frame, veil.AdditiveNoise(scale), grants=veil.Grants.only(), attacks=attacks, seed=0)
        for scale in (0.02, 20.0)
    )
    assert not weak.passed
    assert strong.passed


def test_guess_files_hold_dates(tmp_path):
    table = stays(300).select(["discharge", "seen", "age"])
    release = veil.publish(table, veil.AdditiveNoise(0.01, random_state=1))[0]
    write_guess(release, veil.SpectralFilterAttack(), (), tmp_path / "guess.csv")
    guess = pd.read_csv(tmp_path / "guess.csv", parse_dates=["discharge", "seen"])
    error = (guess["discharge"] - pd.to_datetime(table.column("discharge").to_pandas())).dt.days.abs()
    assert error.median() < 200
    measured = veil.measure(table, tmp_path / "guess.csv")
    assert "discharge" in repr(measured)


# -- order ------------------------------------------------------------------------------------


def ordered(**rule):
    method = veil.AdditiveNoise(0.5, random_state=1)
    return veil.Plan([(None, method)], plausible={"discharge": {"after": "admission", **rule}})


def test_released_dates_stay_in_order_where_asked():
    table = stays().select(["admission", "discharge", "age"])
    plain = veil.publish(table, ordered().before_rules())[0].table.read().to_pandas()
    release, key = veil.publish(table, ordered())
    data = release.table.read().to_pandas()
    known = data["admission"].notna()
    assert (plain["discharge"] < plain["admission"])[known].any()
    assert (data["discharge"] >= data["admission"])[known].all()
    assert (data["discharge"] == plain["discharge"])[~known].all()
    assert data["admission"].equals(plain["admission"])
    assert release.manifest.plausible == {"discharge": veil.Plausible(after="admission")}
    assert Manifest.from_json(release.manifest.to_json()).plausible == release.manifest.plausible
    back = veil.restore(release, key, partial=True)
    assert back.column_names == ["admission", "age"]
    assert back.equals(table.select(back.column_names))


def test_moments_come_back_from_dates_in_order_and_the_rest_says_that_it_cannot():
    table = stays().drop_columns(["admission", "old"]).rename_columns({"seen": "admission"})
    table = table.select(["admission", "stamped", "discharge", "age"])
    plan = veil.Plan([(None, veil.AdditiveNoise(0.5, random_state=1))], plausible={"stamped": {"after": "admission"}})
    moved, before = (veil.publish(table, each)[0] for each in (plan, plan.before_rules()))
    a, b = (veil.MomentRecovery().fit(each) for each in (moved, before))
    assert np.allclose(a.mean_, b.mean_)
    assert np.allclose(a.covariance_, b.covariance_)
    with pytest.raises(NotApplicableError, match="column 'stamped' was moved where it was before 'admission'"):
        veil.DistributionRecovery(columns=["stamped"]).fit(moved)
    assert "stamped" not in veil.DistributionRecovery().fit(moved).probabilities_
    shown = {column.name: column for column in veil.recover(moved).columns}
    assert shown["stamped"].quantiles == ()
    assert shown["admission"].quantiles


def test_moments_of_dates_in_order_come_back_with_gaps_unless_these_have_too_many_patterns():
    table = stays().select(["admission", "discharge", "age"])
    moved = veil.publish(table, ordered())[0]
    plain = veil.publish(table, ordered().before_rules())[0]
    a, b = (veil.MomentRecovery(public=False).fit(each) for each in (moved, plain))
    assert np.allclose(a.mean_, b.mean_)
    assert np.allclose(a.covariance_, b.covariance_)
    part = replace(moved.manifest.parts[0], patterns=None)
    untold = veil.Release(moved.table, replace(moved.manifest, parts=(part,)))
    with pytest.raises(NotApplicableError, match="column 'discharge' was moved"):
        veil.MomentRecovery().fit(untold)


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ({"discharge": {"after": "old"}, "old": {"after": "discharge"}}, "in a circle"),
        ({"discharge": {"after": "age"}}, "'discharge' is date and cannot be after 'age', which is numeric"),
        ({"discharge": {"after": "admision"}}, "'admision' is not released"),
        ({"discharge": {"after": "admission", "high": 20_000}}, "no bound above"),
        ({"discharge": {"after": "admission", "grain": 7}}, "needs the same grain"),
        ({"discharge": {"after": ""}}, "name of a column"),
    ],
)
def test_orders_that_cannot_be_are_refused(rules, words):
    with pytest.raises(InputError, match=words):
        veil.publish(stays(50), veil.Plan([(None, veil.AdditiveNoise(0.5))], plausible=rules))


def test_chains_of_dates_stay_in_order():
    rng = np.random.default_rng(0)
    days = np.cumsum(rng.integers(0, 30, (3, 500)), axis=0) + 18_000
    table = pa.table({n: pa.array(d.astype(np.int32)).cast(pa.date32()) for n, d in zip("cab", days, strict=True)})
    rules = {"b": {"after": "a"}, "a": {"after": "c"}}
    release = veil.publish(table, veil.Plan([(None, veil.AdditiveNoise(1.0))], plausible=rules))[0]
    c, a, b = release.to_numpy().T
    assert ((c <= a) & (a <= b)).all()


def test_no_sums_of_dates():
    plan = veil.Plan([(None, veil.AdditiveNoise(0.5))], sums={"discharge": ["admission", "old"]})
    with pytest.raises(InputError, match="'discharge' holds dates, which do not add up"):
        veil.publish(stays(50), plan)


# -- the command line -------------------------------------------------------------------------


def test_the_command_line_on_iso_dates(tmp_path):
    stays(400).select(["discharge", "seen", "age"]).to_pandas().to_csv(tmp_path / "t.csv", index=False)
    inspected = call("inspect", "t.csv", cwd=tmp_path).stdout
    assert "perturbed in whole days" in inspected
    assert "perturbed in whole seconds" in inspected
    call("perturb", "t.csv", "--method", "additive-noise", "-o", "r", "--key", "k", cwd=tmp_path)
    released = pd.read_csv(tmp_path / "r" / "data.csv")
    assert released["discharge"].str.fullmatch(r"\d{4}-\d\d-\d\d").all()
    assert released["seen"].str.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d").all()
    recovered = json.loads(call("recover", "r", "--json", cwd=tmp_path).stdout)
    columns = {column["name"]: column for column in recovered["columns"]}
    assert dt.date.fromisoformat(columns["discharge"]["mean"]).year in range(1940, 2010)
    assert dt.datetime.fromisoformat(columns["seen"]["mean"])
    call("restore", "r", "--key", "k", "-o", "back.csv", cwd=tmp_path)
    assert pd.read_csv(tmp_path / "back.csv").equals(pd.read_csv(tmp_path / "t.csv"))
