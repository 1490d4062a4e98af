"""Groups in audits: a household's income is one secret that all of its members' rows tell."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests._tables import within_standard_errors

import veil
from veil.attacks import Guess
from veil.auditing.elsewhere.foreign import _with_shared_noise
from veil.auditing.exposure import Exposures
from veil.auditing.grants import Grants
from veil.auditing.groups import Groups, group_folds
from veil.auditing.judge import Judge
from veil.auditing.sampling import audited_records
from veil.auditing.scores import Contrast
from veil.data.sources import as_table
from veil.measures import Measure
from veil.perturbations import Layout

MEMBERS = 4


def households(n: int = 500, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    home, income = np.repeat(np.arange(n), MEMBERS), rng.normal(size=n)
    return pd.DataFrame({"home": home, "income": income[home], "age": rng.normal(size=n * MEMBERS)})


def advantage(frame: pd.DataFrame, role: str, scale: float) -> Measure:
    noise = (["income", "age"], veil.AdditiveNoise(scale))
    plan = veil.Plan([("home", veil.Pseudonymize()), noise])
    audit = veil.audit(
        frame,
        plan,
        roles={"home": role},
        seed=1,
        attacks=["joint-posterior-attack"],
        repetitions=6,
        grants=veil.Grants.only(),
        goals=veil.Goals(tolerance=0.5),
    )
    (row,) = audit.rows
    return row.columns["income"].advantage


def test_members_are_averaged_where_each_has_noise_of_its_own():
    """Variance 1 of incomes and 4 of noise leave 4/5 of it, four members with noise of their own 1/2.

    A hit within 0.5 by the posterior mean has the probability 2Φ(0.5/s) − 1; the constant has 0.383.
    """
    frame = households(1_000)
    apart, together = advantage(frame, "quasi", 2.0), advantage(frame, "group", 2.0)
    gains = {s2: (chance(s2) - chance(1.0)) / (1.0 - chance(1.0)) for s2 in (0.8, 0.5)}
    assert apart.low > 0.05
    assert float(apart) == pytest.approx(gains[0.5], abs=0.06)
    assert together.low <= gains[0.8] <= together.high
    assert float(together) < 0.6 * float(apart)


def test_the_audit_sees_noise_per_record_under_the_role_of_groups_too(monkeypatch):
    """Released per person with independent noise it breaks the usual goal; with one noise per group of the same scale a
    household is told as much as a single record would tell of it: 3.1 %, for 0.9 of the variance that are left."""
    frame, goal = households(1_000), veil.Goals().max_advantage
    with monkeypatch.context() as patch:
        patch.setattr(Layout, "per_group", lambda layout, columns, constant: {})
        apart = advantage(frame, "group", 3.0)
    together = advantage(frame, "group", 3.0)
    assert apart.low > goal > float(together)
    assert together.low <= (chance(0.9) - chance(1.0)) / (1.0 - chance(1.0)) <= together.high


def chance(variance: float) -> float:
    from scipy.special import ndtr

    return float(2.0 * ndtr(0.5 / np.sqrt(variance)) - 1.0)


def test_one_noise_per_group_is_as_safe_as_a_single_record():
    """The same households with one member each: what an attack gains differs by no more than the errors of both."""
    frame = households(1_000)
    one, four = advantage(frame[::MEMBERS].reset_index(drop=True), "group", 2.0), advantage(frame, "group", 2.0)
    errors = np.hypot(one.high - float(one), four.high - float(four)) / 1.96
    assert within_standard_errors(float(four), float(one), errors, k=3.0)


def test_mates_do_not_stand_in_for_an_absent_household():
    """A public address tells whose mates they are: dealt by rows, the control would have the income from them."""
    frame = households()
    truth = frame[["income", "age"]].to_numpy()
    homes = frame["home"].to_numpy()
    address = np.random.default_rng(2).normal(size=(500, 2))[homes]
    guess = Guess(truth.copy(), ("income", "age"), np.arange(len(truth)))
    scores = {}
    for name, groups in (("rows", ()), ("groups", (homes, None))):
        judge = Judge(truth, ["income", "age"], 0.1, groups=groups)
        scores[name] = judge.try_guess(guess, np.arange(len(truth)), np.empty(0, dtype=int), features=address)
    assert scores["rows"].columns[0].control > 0.2
    assert scores["groups"].columns[0].control < 0.12
    assert scores["groups"].columns[1].control == pytest.approx(scores["rows"].columns[1].control, abs=0.02)
    assert [each.n for each in scores["groups"].columns] == [500, 2_000]


def test_errors_are_over_groups():
    """200 draws of hits that all members share: the error of the mean is that of the groups, not of the rows."""
    rng, n = np.random.default_rng(0), 60
    groups = np.repeat(np.arange(n), MEMBERS)
    shared = [rng.random(n)[groups] < 0.3 for _ in range(200)]
    nothing, scored = np.zeros(n * MEMBERS, dtype=bool), np.ones(n * MEMBERS, dtype=bool)
    contrasts = [Contrast.of(hits, nothing, scored, groups) for hits in shared]
    covered = np.mean([abs(each.rate - 0.3) <= 1.96 * each.error for each in contrasts])
    assert within_standard_errors(covered, 0.95, np.sqrt(0.95 * 0.05 / 200), k=3.0)
    rows = np.mean(
        [
            abs(each.rate - 0.3) <= 1.96 * Contrast.of(h, nothing, scored).error
            for each, h in zip(contrasts, shared, strict=True)
        ]
    )
    assert rows < 0.8
    assert {each.n for each in contrasts} == {n}
    once = [Contrast.of_groups(hits, nothing, scored, groups) for hits in shared]
    assert all(a.rate == pytest.approx(b.rate) and a.n == b.n for a, b in zip(once, contrasts, strict=True))
    assert all(a.error == pytest.approx(b.error) for a, b in zip(once, contrasts, strict=True))


def test_what_a_known_mate_has_told_is_not_scored():
    frame = households(100)
    truth, homes = frame[["income", "age"]].to_numpy(), frame["home"].to_numpy()
    judge = Judge(truth, ["income", "age"], 0.1, groups=(homes, None))
    rows = np.delete(np.arange(400), [0, 1])  # two of a household are held as a sample
    scores = judge.try_guess(Guess(truth[rows], ("income", "age"), np.arange(398)), rows, np.array([10]))
    assert [each.n for each in scores.columns] == [98, 397]


def test_strangers_have_no_mates_in_the_release():
    frame = households(200)
    plan = veil.AdditiveNoise(0.5)
    exposures = Exposures(frame, [plan], roles={"home": "group", "age": "quasi"}, grants=Grants(), seed=3)
    (people,) = exposures.members_and_strangers(plan)
    income = frame["income"].to_numpy()
    ages = people.table.table.column("age").to_numpy()[people.rows < 0]
    homes = frame["home"].to_numpy()[np.isin(frame["age"], ages)]
    inside = people.release.data
    assert len(inside) % MEMBERS == 0
    assert len(inside) < 800 - len(homes)
    assert len(income) == 800


def test_a_large_table_is_sampled_by_groups():
    frame = households(500).sample(frac=1.0, random_state=0)
    private, remarks, n_rows = audited_records(as_table(frame), 1_000, 1, ["home"])
    assert (private.num_rows, n_rows) == (1_000, 2_000)
    sizes = pa.TableGroupBy(private, "home").aggregate([([], "count_all")])["count_all"].to_pylist()
    assert set(sizes) == {MEMBERS}
    assert "1,000 of the table's 2,000" in remarks[0]


def test_folds_keep_groups_together():
    codes = np.random.default_rng(0).permutation(np.repeat(np.arange(103), 3))
    fold = group_folds(codes)
    assert all(len(set(fold[codes == group])) == 1 for group in range(103))
    assert np.bincount(fold).tolist() == [63, 63, 63, 60, 60]
    table = pa.table({"home": ["a", "a", None, None], "rent": [1.0, 1.0, 2.0, 3.0]})
    groups = Groups.of(table, {"home": "group", "rent": "sensitive"}, ["rent"])
    assert groups.of_columns(["rent"])[0].tolist() == [0, 0, 1, 2]
    assert groups.mates(np.array([0])).tolist() == [0, 1]


def test_reports_tell_sizes_of_groups_that_enough_have():
    """40 households of one, 20 of two, 2 of three and 1 of nine: the external edition names no few."""
    home = np.repeat(np.arange(63), [1] * 40 + [2] * 20 + [3, 3, 9])
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"home": home, "rent": rng.normal(size=63)[home], "age": rng.normal(size=len(home))})
    audit = veil.audit(
        frame,
        veil.AdditiveNoise(2.0),
        roles={"home": "group"},
        seed=1,
        attacks=["bayes-estimate-attack"],
        repetitions=2,
        grants=veil.Grants.only(),
    )
    external, internal = (audit.model(internal=edition).groups[0] for edition in (False, True))
    assert external.sizes == ((1, 40), (2, 20))
    assert (external.n_groups, external.unique, external.other, external.constant) == (63, 1, 3, ("rent",))
    assert internal.sizes == ((1, 40), (2, 20), (3, 2), (9, 1))
    text = " ".join(str(audit).split())
    assert "of 9 rows" not in text
    assert "'home' names 63 groups: 40 of 1 row, 20 of 2 rows, 3 of other sizes" in text
    assert "1 group has a size that no other has" in text
    assert '"unique": 1' in audit.to_json()


def test_a_release_from_elsewhere_shows_whether_its_noise_is_one_per_group():
    """The described method would share noise within groups; what another tool released shows whether it did."""
    release, _ = veil.publish(households(100), veil.AdditiveNoise(1.0), roles={"home": "group"})
    apart = release.table.read().set_column(1, "income", pa.array(np.arange(400.0)))
    part = release.manifest.parts[0]
    assert _with_shared_noise(part, release.table.read()).groups == {"income": "home"}
    assert _with_shared_noise(part, apart).groups == {}
