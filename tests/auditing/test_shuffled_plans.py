"""Plans that shuffle the rows: published, saved as plan files, and audited with the order known to the judge alone."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import veil
from veil.auditing.plan_file import load_plan
from veil.cli import main
from veil.errors import InputError, NotApplicableError
from veil.release.manifest import RowOrder


def series(n=400, seed=0):
    """Two columns whose neighbouring rows resemble each other."""
    return np.random.default_rng(seed).normal(size=(n, 2)).cumsum(axis=0)


def shuffled(method):
    return veil.Plan([(None, method)], shuffle=True)


def test_a_plan_shuffles_unless_publish_says_otherwise():
    x = series()
    release, key = veil.publish(x, shuffled(veil.AdditiveNoise()))
    assert release.manifest.row_order is RowOrder.SHUFFLED
    np.testing.assert_allclose(veil.restore(release, key), x, atol=1e-4)
    kept, _ = veil.publish(x, shuffled(veil.AdditiveNoise()), shuffle=False)
    assert kept.manifest.row_order is RowOrder.PRIVATE
    moved, _ = veil.publish(x, veil.AdditiveNoise(), shuffle=True)
    assert moved.manifest.row_order is RowOrder.SHUFFLED


def test_sums_over_records_have_no_order_to_shuffle():
    with pytest.raises(InputError, match="nothing to shuffle"):
        shuffled(veil.RandomProjection(3, axis="records"))
    with pytest.raises(InputError, match="shuffle must be True or False"):
        veil.Plan([(None, veil.AdditiveNoise())], shuffle="yes")


def test_the_order_of_shuffled_rows_tells_nothing():
    release, _ = veil.publish(series(), shuffled(veil.AdditiveNoise(2.0)))
    with pytest.raises(NotApplicableError, match="shuffled"):
        veil.SerialAttack().run(release, veil.TimeOrder())


def test_an_audit_says_that_shuffling_stops_the_attack_by_order():
    """A random walk under noise of its own size: smoothing reads it, unless the rows are shuffled."""
    noise, grants = veil.AdditiveNoise(2.0), veil.Grants.only()
    attacks = ["serial", "bayes-estimate"]
    audit = veil.audit(series(), [noise, shuffled(noise)], attacks=attacks, grants=grants, repetitions=1, seed=0)
    kept, moved = audit.candidates
    assert kept.worst.attack == "serial-attack"
    assert kept.worst.advantage.low > 0.05
    assert moved.label == "additive noise (scale 2.0), rows shuffled"
    assert "shuffled" in {s.attack: s.reason for s in moved.skipped}["serial-attack"]
    assert float(moved.worst.advantage) < 0.05


@pytest.mark.parametrize(
    ("attack", "grants"),
    [("known-pairs", veil.Grants.only(pairs=3)), ("known-columns", veil.Grants.only(attributes=1))],
)
def test_what_is_known_of_rows_follows_them(attack, grants):
    """Known records with their rows, and a known column, undo a rotation of two columns in any order of rows."""
    x = np.random.default_rng(0).normal(size=(300, 2)) @ [[1.0, 0.5], [0.0, 1.0]]
    methods = [veil.OrthogonalTransform(), shuffled(veil.OrthogonalTransform())]
    kept, moved = veil.audit(x, methods, attacks=[attack], grants=grants, repetitions=2, seed=0).candidates
    assert float(kept.worst.value.rate) > 0.99
    assert float(moved.worst.value.rate) > 0.99
    for name in ("distances", "neighbours"):
        assert float(moved.utility[name]) == pytest.approx(float(kept.utility[name]), abs=1e-6)


def test_earlier_releases_do_not_match_shuffled_rows_by_order():
    earlier, _ = veil.publish(series(), veil.AdditiveNoise())
    with pytest.raises(InputError, match="a plan shuffles its rows"):
        veil.audit(series(), shuffled(veil.AdditiveNoise()), previous=[earlier])


def test_labels_follow_shuffled_rows():
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 300)
    frame = pd.DataFrame({"a": rng.normal(size=300) + 3.0 * label, "b": rng.normal(size=300), "ill": label.astype(str)})
    plan = veil.Plan([(["a", "b"], veil.OrthogonalTransform())], roles={"ill": "public"}, shuffle=True)
    audit = veil.audit(
        frame, plan, attacks=["known-pairs"], grants=veil.Grants.only(pairs=1), target="ill", repetitions=1, seed=0
    )
    assert float(audit.candidates[0].utility["classification"]) > 0.9


def test_a_plan_file_shuffles(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text('shuffle = true\n[[part]]\nmethod = "additive-noise"\nscale = 2.0\n', encoding="utf-8")
    assert load_plan(path).plan.describe() == "additive noise (scale 2.0), rows shuffled"
    path.write_text('shuffle = 1\n[[part]]\nmethod = "additive-noise"\n', encoding="utf-8")
    with pytest.raises(InputError, match="shuffle must be true or false"):
        load_plan(path)


def test_the_command_line_shuffles_as_the_plan_says(tmp_path):
    plan, table = tmp_path / "plan.toml", tmp_path / "table.csv"
    plan.write_text('shuffle = true\n[[part]]\nmethod = "additive-noise"\n', encoding="utf-8")
    pd.DataFrame(series(60), columns=["a", "b"]).to_csv(table, index=False)
    for name, options, order in (
        ("planned", [], RowOrder.SHUFFLED),
        ("kept", ["--keep-order"], RowOrder.PRIVATE),
    ):
        made = [str(tmp_path / f"{name} release"), "--key", str(tmp_path / f"{name} key")]
        done = CliRunner().invoke(main, ["perturb", str(table), "--plan", str(plan), *options, "-o", *made])
        assert done.exit_code == 0, done.output
        assert veil.Release.load(made[0]).manifest.row_order is order
    audited = ["audit", str(table), "--method", "additive-noise", "--shuffle", "--no-cache", "--repetitions", "1"]
    done = CliRunner().invoke(main, [*audited, "--attack", "univariate-bayes", "--seed", "0"])
    assert "rows shuffled" in done.output
