"""Ways in which an audit could say that goals hold when they do not: each was possible once."""

import numpy as np
import pandas as pd
import pytest

import veil
from veil.attacks.base import Guess
from veil.auditing import Judge
from veil.errors import InputError

NONE = veil.Grants.only()
ROWS, NOBODY = np.arange(2_000), np.array([], dtype=int)


def judged(truth, values, names, **open_):
    judge = Judge(truth, names, 0.1)
    guess = Guess(values, tuple(names), np.arange(len(truth)), **open_)
    trial = judge.try_guess(guess, np.arange(len(truth)), NOBODY)
    return judge.scores([trial], one_matrix=False, goal=0.05)


def test_knowledge_that_cannot_be_drawn_is_refused_or_said():
    x = np.random.default_rng(0).normal(size=(200, 2))
    x[0, 0] = x[1, 1] = np.nan
    with pytest.raises(InputError, match="1 known column: it needs numeric columns that vary and have no gaps"):
        veil.audit(x, veil.AdditiveNoise(1.0), grants=veil.Grants.only(attributes=1))
    swept = veil.audit(x, veil.AdditiveNoise(1.0), attacks=["noise-distribution"], seed=0)
    assert "attributes" not in {level.kind for level in swept.candidates[0].levels}
    assert any("1 known column" in remark for remark in swept.remarks)


def test_an_attack_that_is_refused_now_and_then_ends_and_still_counts():
    class Moody(veil.KnownPairsAttack):
        """Refuses every other deal."""

        calls = 0

        def _run(self, release, knowledge):
            type(self).calls += 1
            if type(self).calls % 2:
                raise InputError("not with these records")
            return super()._run(release, knowledge)

    x = np.random.default_rng(0).normal(size=(100, 3))
    grants = veil.Grants.only(pairs=1)
    found = veil.audit(x, veil.OrthogonalTransform(), attacks=[Moody()], grants=grants, seed=0, workers=1)
    (row,) = found.rows
    assert 1 <= row.repetitions <= 6
    assert Moody.calls <= 12
    assert not found.passed  # ten deals cannot show that one in twenty is safe


def test_parts_with_noise_are_attacked_together():
    """Columns that share a factor betray each other, whether or not they lie in one part of the plan."""
    rng = np.random.default_rng(0)
    x = pd.DataFrame(rng.normal(size=(1_000, 1)) + 0.05 * rng.normal(size=(1_000, 8)), columns=list("abcdefgh"))
    plan = veil.Plan([([name], veil.AdditiveNoise(1.0)) for name in x])
    settings = {"attacks": ["bayes-estimate"], "grants": NONE, "repetitions": 10, "seed": 0}
    apart, whole = veil.audit(x, plan, **settings), veil.audit(x, veil.AdditiveNoise(1.0), **settings)
    (row,) = [r for r in apart.rows if len(r.target) == 8]
    assert row.nrmse == pytest.approx(whole.rows[0].nrmse, rel=0.1)
    assert row.nrmse < 0.6 * min(r.nrmse for r in apart.rows if r is not row)
    assert not apart.remarks


def test_parts_that_nothing_attacks_together_are_remarked_on():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=200), "b": ["x", "y"] * 100})
    frame[["c", "d"]] = rng.normal(size=(200, 2))
    noise, response = ("a", veil.AdditiveNoise(2.0)), ("b", veil.RandomizedResponse(epsilon=0.5))
    plan, settings = (
        veil.Plan([noise, response], roles={"c": "drop", "d": "drop"}),
        {"grants": NONE, "repetitions": 2, "seed": 0},
    )
    assert not veil.audit(frame, plan, **settings).remarks  # the joint posterior weighs numbers and categories together
    alone = veil.audit(frame, plan, attacks=["bayes-estimate", "response-posterior"], **settings)
    assert any("one by one" in remark for remark in alone.remarks)
    turned = veil.Plan([noise, response, (["c", "d"], veil.OrthogonalTransform())])
    (remark,) = [remark for remark in veil.audit(frame, turned, **settings).remarks if "one by one" in remark]
    assert "(orthogonal-transform)" in remark
    assert not veil.audit(frame[["a"]], veil.AdditiveNoise(2.0), **settings).remarks


def test_a_few_raw_records_of_many_people_are_a_breach_of_those_few():
    x = pd.DataFrame(np.random.default_rng(0).normal(size=(1_000, 3)), columns=list("abc"))
    found = veil.audit(x, release=x.sample(100, random_state=1), match=None, grants=NONE, seed=0)
    assert not found.passed
    assert found.worst.record.advantage > 0.8
    strangers = pd.DataFrame(np.random.default_rng(9).normal(size=(100, 3)), columns=list("abc"))
    assert not veil.audit(x, release=strangers, match=None, grants=NONE, seed=0).candidates[0].breaks


def test_columns_without_a_name_are_recognised_among_unmatched_rows():
    x = np.random.default_rng(0).exponential(size=(1_500, 3)) * [1.0, 2.0, 3.0]
    release, _ = veil.publish(x, veil.OrthogonalTransform(random_state=1), shuffle=True)
    found = veil.audit(x, release=release, match=None, attacks=["ica"], grants=NONE, seed=0)
    (row,) = found.rows
    assert row.repetitions == 1  # nothing is dealt and there is one release: more runs would be the same run
    assert row.value.advantage > 0.3


def test_an_earlier_release_with_shuffled_rows_is_not_matched_by_order():
    x = pd.DataFrame(np.random.default_rng(0).normal(size=(100, 2)), columns=["a", "b"])
    earlier, _ = veil.publish(x, veil.AdditiveNoise(0.03), shuffle=True)
    with pytest.raises(InputError, match="entry 0 were shuffled"):
        veil.audit(x, veil.AdditiveNoise(1.0), previous=[earlier])


def test_a_column_with_few_values_does_not_hide_one_that_is_broken():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(2_000, 3))
    truth[3:, 0] = np.nan
    guess = rng.normal(size=(2_000, 3))
    guess[:, 0] = truth[:, 0]
    guess[:, 1] = np.where(rng.random(2_000) < 0.3, truth[:, 1], guess[:, 1])
    scores = judged(truth, guess, ["few", "half", "none"])
    assert scores["worst_column"] == "half"
    assert scores["column"].advantage.low > 0.05
    assert "few" not in scores["columns"]


def test_matching_two_columns_does_not_explain_an_exact_guess_away():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(2_000, 2))
    exact = judged(truth, -truth[:, ::-1], ["a", "b"], up_to=("order", "sign"))
    assert exact["value"].advantage == pytest.approx(1.0)
    assert exact["value"].baseline < 0.5
    near = judged(truth, truth + 0.1 * rng.normal(size=truth.shape), ["a", "b"], up_to=("order", "sign"))
    assert near["value"].advantage > 0.5


def test_columns_turned_at_random_are_not_shown_to_be_anybodys():
    rng = np.random.default_rng(1)
    turn, _ = np.linalg.qr(rng.normal(size=(5, 5)))
    truth = rng.normal(size=(2_000, 5))
    scores = judged(truth, truth @ turn, list("abcde"), up_to=("order", "sign"))
    assert scores["value"].advantage.low <= 0.05
    assert scores["column"].advantage.low <= 0.05


def test_a_report_about_fewer_than_ten_people_is_confidential(tmp_path):
    found = veil.audit(
        np.ones((8, 2)) * np.arange(8)[:, None], veil.AdditiveNoise(1.0), grants=NONE, repetitions=2, seed=0
    )
    with pytest.raises(InputError, match="8 records; a report about fewer than 10 is confidential"):
        found.to_html(tmp_path / "report.html")
    found.to_html(tmp_path / "report.html", internal=True)


def test_a_pseudonym_of_a_sensitive_column_is_not_safe_untested():
    """The most frequent pseudonym is the most frequent category; nothing attacks that here, so nothing is shown."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=600), "diagnosis": rng.choice(list("ABC"), 600, p=[0.6, 0.3, 0.1])})
    parts = [("x", veil.AdditiveNoise(6.0)), ("diagnosis", veil.Pseudonymize())]
    found = veil.audit(frame, veil.Plan(parts, {"diagnosis": "sensitive"}), grants=NONE, seed=0)
    assert not found.passed
    assert [each.method for each in found.candidates[0].untested] == ["pseudonymize"]
    assert veil.audit(frame, veil.Plan(parts, {"diagnosis": "quasi"}), grants=NONE, seed=0).passed


def test_a_goal_on_links_needs_something_to_link():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(100, 2)), columns=["a", "b"])
    with pytest.raises(InputError, match="on names links, and no level grants an external table"):
        veil.audit(frame, veil.AdditiveNoise(0.1), goals="no link with more than 5 % advantage", grants=NONE, seed=0)


def test_a_table_without_a_complete_record_is_audited():
    values = np.random.default_rng(0).normal(size=(300, 2))
    values[::2, 0], values[1::2, 1] = np.nan, np.nan
    found = veil.audit(pd.DataFrame(values, columns=["a", "b"]), veil.AdditiveNoise(0.1), grants=NONE, seed=0)
    assert not found.passed
    assert found.candidates[0].utility["means"] > 0.9
