"""Noise of a law that Veil does not know, as another package's method may publish it: moments serve, or one line."""

from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from tests._tables import described

import veil
from veil.attacks import attack_classes
from veil.errors import MissingKnowledgeError, NotApplicableError, VeilError
from veil.release.models import AdditiveModel

ATTACKS = [attack for attack in attack_classes().values() if attack.__module__.startswith("veil.")]


def noisy(x, scale, seed, law="triangular"):
    """A release with triangular noise of a deviation of ``scale``, and the law that its manifest names."""
    rng = np.random.default_rng(seed)
    y = x + np.sqrt(6.0) * scale * (rng.random(x.shape) - rng.random(x.shape))
    model = AdditiveModel(law, np.full(3, scale), np.full(3, 1e-9))
    return described(dict(zip("abc", y.T, strict=True)), model, names=list("abc"))


@pytest.fixture(scope="module")
def private():
    return np.random.default_rng(1).normal(50.0, 10.0, size=(400, 3))


@pytest.fixture(scope="module")
def release(private):
    return noisy(private, 5.0, 1)


@pytest.fixture(scope="module")
def knowledge(private):
    x = private
    return [
        veil.KnownPairs(x[:6], range(6)),
        veil.KnownRecords(x[:6]),
        veil.KnownSample(np.random.default_rng(2).normal(50.0, 10.0, size=(60, 3))),
        veil.KnownAttributes(("a",), x[:, :1]),
        veil.KnownRanges(x.min(axis=0), x.max(axis=0)),
        veil.IndependentSignals(),
        veil.TimeOrder(),
        veil.KnownMatrix(np.eye(3)),
        veil.PreviousReleases([noisy(x, 3.0, 2)]),
        veil.ExternalTable(pd.DataFrame(x[:40], columns=list("abc"))),
    ]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_every_attack_finds_something_or_refuses(attack, release, knowledge):
    settings = ({}, *attack.settings_to_try, *({"variant": variant} for variant in attack.variants[1:]))
    for setting in settings:
        for known in ([], knowledge):
            with suppress(NotApplicableError, MissingKnowledgeError):
                assert attack(**setting).run(release, *known).columns


@pytest.mark.parametrize("attack", [veil.UnivariateBayesAttack(), veil.IntervalAttack()], ids=repr)
def test_attacks_that_need_the_law_ask_for_it(attack, release):
    with pytest.raises(NotApplicableError, match="normal, uniform, laplace; grant KnownNoise"):
        attack.run(release)
    noise = veil.KnownNoise(covariance=release.only_part.model.covariance)
    assert np.isfinite(attack.run(release, noise).values).all()


def test_linkage_goes_by_the_variance(private, release):
    """The same as if the noise were said to be normal."""
    people = veil.ExternalTable(pd.DataFrame(private[:40], columns=list("abc")))
    links = veil.LinkageAttack().run(release, people)
    told = noisy(private, 5.0, 1, law="normal")
    np.testing.assert_array_equal(links.probability, veil.LinkageAttack().run(told, people).probability)


def test_moments_come_back_and_their_errors_are_bounds(private, release):
    recovery = veil.MomentRecovery().fit(release)
    assert (np.abs(recovery.mean_ - private.mean(axis=0)) < 4 * recovery.mean_se_).all()
    truth = np.cov(private.T, bias=True)
    assert (np.abs(recovery.covariance_ - truth) < 4 * recovery.covariance_se_).all()
    np.testing.assert_allclose(np.diag(recovery.covariance_se_), np.diag(recovery.covariance_total_se_))


def test_recover_shows_moments_and_no_shapes(release):
    columns = veil.recover(release).columns
    assert [column.name for column in columns] == ["a", "b", "c"]
    assert all(np.isfinite(column.std_half) and not column.quantiles and not column.density for column in columns)


def test_a_distribution_is_refused_by_the_laws_name(release):
    with pytest.raises(VeilError, match="normal, uniform, laplace; the manifest says 'triangular'"):
        veil.DistributionRecovery().fit(release)
