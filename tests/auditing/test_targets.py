"""What an audit attacks: a part, parts together under their own methods, or the whole release."""

from __future__ import annotations

import numpy as np
import pandas as pd

import veil
from veil.attacks import Attack, Guess
from veil.attacks.knowledge.base import private_names
from veil.auditing.scores import Contrast, GuessScores
from veil.auditing.trials.remembered import outcome_from, to_json
from veil.auditing.trials.trial import Outcome


class WholeReleaseGuess(Attack):
    """Takes the released numbers of all parts at face value, the columns in another order."""

    whole_release = True
    words = "takes released numbers at face value"

    @classmethod
    def applies_to(cls, model):
        return True

    def _run(self, release, knowledge):
        names = private_names(release)[::-1]
        values = np.column_stack([release.data[name] for name in names])
        return Guess(values, names, np.arange(len(values)))


WholeReleaseGuess.catalogue = "–"


def _two_mechanisms(epsilon):
    return veil.Plan([([name], veil.LaplaceMechanism(epsilon, bounds=(-5, 5))) for name in ("a", "b")])


def _table(n=150):
    return pd.DataFrame(np.random.default_rng(0).normal(size=(n, 2)), columns=["a", "b"])


def test_parts_together_are_named_by_their_own_methods():
    audit = veil.audit(
        _table(),
        _two_mechanisms(2.0),
        attacks=["bayes-estimate-attack"],
        grants=veil.Grants.only(),
        seed=0,
        repetitions=1,
        workers=1,
    )
    assert {row.target for row in audit.rows} == {("laplace-mechanism",), ("laplace-mechanism",) * 2}


def test_a_guess_of_the_whole_release_is_scored_by_its_values():
    audit = veil.audit(
        _table(),
        veil.Plan([(["a"], veil.AdditiveNoise(0.001)), (["b"], veil.AdditiveNoise(0.002))]),
        attacks=[WholeReleaseGuess()],
        grants=veil.Grants.only(),
        seed=0,
        repetitions=1,
        workers=1,
    )
    (row,) = audit.rows
    assert not row.links
    assert row.value.rate == 1.0
    assert set(row.column_gains) == {"a", "b"}
    assert not any(failure.kind == "untested" for failure in audit.candidates[0].failures)


def test_a_remembered_outcome_has_every_score_under_its_name():
    scores = GuessScores(
        Contrast(0.25, 0.125, 0.01, 7),
        Contrast(0.5, 0.25, 0.02, 7),
        (Contrast(0.5, 0.25, 0.02, 3), Contrast(0.75, 0.5, 0.03, 4)),
        Contrast(1.0, 0.0, 0.04, 5),
        0.1,
        6,
        0.01,
        0.02,
        np.array([0.03, 0.04]),
        0.05,
        0.06,
        None,
        links=True,
    )
    values = to_json(Outcome(scores))
    back = outcome_from(values)
    assert back is not None
    assert to_json(back) == values
    assert back.scores is not None
    assert back.scores.column_nulls is not None
    assert (back.scores.columns, back.scores.column_nulls.tolist()) == (scores.columns, [0.03, 0.04])
    assert (back.scores.far_out.n, back.scores.record_luck, back.scores.links) == (5, 0.06, True)
    del values["scores"]["links"]
    assert outcome_from(values) is None
