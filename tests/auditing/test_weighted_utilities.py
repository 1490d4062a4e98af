"""Utilities of a survey: figures of the population that weighted records stand for."""

import numpy as np
import pandas as pd
import pytest

import veil
from veil.auditing.exposure import Exposures
from veil.auditing.recovered import covariance_kept, distribution_kept, means_kept, proportions_kept
from veil.auditing.truth import Truth
from veil.auditing.utility import plan_utilities
from veil.data.sources import as_table


def survey(n=3_000):
    rng = np.random.default_rng(0)
    old = rng.random(n) < 0.5
    frame = pd.DataFrame({"a": np.where(old, 6.0, 0.0) + rng.normal(size=n), "w": np.where(old, 1.0, 9.0)})
    frame["b"] = 0.5 * frame["a"] + rng.normal(size=n)
    frame["yes"] = np.where(rng.random(n) < np.where(old, 0.8, 0.1), "yes", "no")
    return frame


def published(frame):
    plan = veil.Plan(
        [
            (["a", "b"], veil.AdditiveNoise(0.2, random_state=0)),
            (["yes"], veil.RandomizedResponse(keep=0.9, random_state=0)),
        ],
        roles={"w": "weight"},
    )
    return veil.publish(frame, plan)[0]


@pytest.mark.parametrize("gaps", [False, True])
def test_weighted_truth_is_held_against_weighted_figures(gaps):
    """Nearly all of every use is kept; held against the bare table's figures much would be lost."""
    frame = survey()
    if gaps:
        frame.loc[np.random.default_rng(1).random(len(frame)) < 0.2, "b"] = np.nan
    release, weights = published(frame), frame["w"].to_numpy()
    private = Truth.of(as_table(frame).read(["a", "b", "yes"]), ["a", "b", "yes"])
    numbers, answers = release.part(0), release.part(1)
    pairs = [
        (lambda w: means_kept(private.values[:, :2], numbers, w), 0.95, 0.6),
        (lambda w: covariance_kept(private.values[:, :2], numbers, w), 0.9, 0.7),
        (lambda w: distribution_kept(private.values[:, :2], numbers, w), 0.9, 0.6),
        (lambda w: proportions_kept(private.part(["yes"]), answers, w), 0.8, 0.5),
    ]
    for kept, weighted, bare in pairs:
        assert float(kept(weights)) > weighted
        assert float(kept(None)) < bare
    together = plan_utilities(private, release, weights=weights)
    assert float(together["means"]) == pytest.approx(float(pairs[0][0](weights)))
    assert {"means", "covariance", "distribution", "proportions"} <= set(together)


def test_equal_weights_change_nothing():
    frame = survey(800).assign(w=2.0)
    release, weights = published(frame), np.full(800, 2.0)
    x = frame[["a", "b"]].to_numpy()
    bare, _ = veil.publish(
        frame.drop(columns="w"),
        veil.Plan(
            [
                (["a", "b"], veil.AdditiveNoise(0.2, random_state=0)),
                (["yes"], veil.RandomizedResponse(keep=0.9, random_state=0)),
            ]
        ),
    )
    for kept in (means_kept, covariance_kept, distribution_kept):
        assert float(kept(x, release.part(0), weights)) == pytest.approx(float(kept(x, bare.part(0))), abs=0.01)


def test_an_audit_says_what_is_weighted_and_refuses_weights_that_are_none():
    frame, noise = survey(400)[["a", "b", "w"]], veil.AdditiveNoise(0.3)

    def exposures():
        return Exposures(frame, [noise], roles={"w": "weight"}, grants=veil.Grants.only(), seed=0)

    held = exposures()
    assert any("Risks count every record once" in remark for remark in held.remarks())
    kept = held.utilities(held.expose(noise, held.levels[0], 0))
    assert float(kept["means"]) == pytest.approx(1.0, abs=0.1)
    frame.loc[3, "w"] = np.nan
    with pytest.raises(veil.InputError, match="'w' has the role weight, and 1 weights are missing"):
        exposures()
