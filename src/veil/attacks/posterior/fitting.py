"""From observations to the posterior by which records are guessed: the course of A28."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from veil.attacks.noise.whole_numbers import known_whole
from veil.attacks.posterior.candidates import Candidates, Rows, log_density
from veil.attacks.posterior.choice import Guesser, best_guessers
from veil.attacks.posterior.column_guesses import ColumnPriors, Ranges, column_guesses, column_priors, place_states
from veil.attacks.posterior.discriminants import best_links, posteriors
from veil.attacks.posterior.mixture import MOST_REFITTED, Mixture, Split, best_mixture, one_normal, split_rows
from veil.attacks.posterior.observations import Observations
from veil.attacks.posterior.others import Others
from veil.attacks.posterior.records import Records, record_guesses
from veil.attacks.posterior.sample import JUDGING_CELLS, Kernels, Sample, best_kernel, read_sample, with_sample
from veil.data.blocks import Matrix
from veil.release.manifest import Manifest
from veil.release.models import AdditiveModel

MOST_STRANGERS = 0.5
"""The share of people like nobody in a sample from which on it does not say which prior is best."""
KERNELS, PLAIN_KERNELS, RECORDS = "kernels", "kernels without margins", "records"
"""Priors that a column may be guessed by."""


class Settings(NamedTuple):
    """How the attack is set, and the known ends of the guessed columns."""

    prior: str
    aim: str
    tolerance: float
    ranges: Ranges


@dataclass(frozen=True, eq=False)
class Posterior:
    """All that was learned, by which any records of the release are guessed; it travels.

    ``record`` says which record of a sample each candidate of the prior is, −1 for none; ``links`` tell some variables
    better. ``bare`` are a sample's bare records, by which the columns ``by_records`` are guessed, numbers with windows
    of the half-widths ``reaches``.
    """

    priors: ColumnPriors
    aim: str
    record: Rows
    links: Mapping[int, Kernels]
    bare: Records | None
    by_records: tuple[int, ...]
    reaches: Mapping[int, float]
    components: int
    rho: float
    held_out: dict[int, float]

    def guessed(self, seen: Observations) -> tuple[Matrix, Matrix]:
        """Guess and probability of every cell."""
        values = np.full((seen.n_rows, len(seen.names)), np.nan)
        probability = np.full_like(values, np.nan)
        if len(self.by_records) < len(seen.names):
            values, probability = _by_kernels(self.priors, self.links, self.record, self.aim, seen, None)
        if self.by_records and self.bare is not None:
            guess, share = _by_records(self.bare, self.reaches, self.aim, seen, None)
            own = list(self.by_records)
            values[:, own], probability[:, own] = guess[:, own], share[:, own]
        for j, known in seen.given.items():
            values[:, j], probability[:, j] = known, 1.0
        return values, probability


def fit_posterior(
    observations: Observations,
    others: Others | None,
    manifest: Manifest,
    at: Sequence[int],
    settings: Settings,
    refitted: int = MOST_REFITTED,
) -> Posterior:
    """Learn from what is seen of a release, and from people whose values are known.

    ``at`` says where the guessed columns stand among all private ones; the mixture that is chosen is fitted to at most
    ``refitted`` records.
    """
    prior, aim, tolerance, ranges = settings
    sample = None
    if others is not None:
        records = others.values[:, at]
        observations = observations.with_whole(known_whole(records))
        sample = read_sample(observations, records) if len(records) else None
    learned = _learned(observations, sample, prior, refitted)
    priors = column_priors(observations, learned.fit, learned.single, sample, ranges, _laws(manifest), tolerance)
    guessers: dict[str, Guesser] = {KERNELS: partial(_by_kernels, priors, learned.links, learned.record, aim)}
    chosen = dict.fromkeys(range(len(observations.names)), KERNELS)
    bare, reaches = None, priors.reaches(observations)
    if sample is not None and prior in ("auto", "records"):
        bare = _bare_records(observations, learned, sample)
        guessers[RECORDS] = partial(_by_records, bare, reaches, aim)
        if prior == "records":
            chosen = dict.fromkeys(chosen, RECORDS)
        elif bare.strangers < MOST_STRANGERS:
            plain = priors.without_margins()
            guessers[PLAIN_KERNELS] = partial(_by_kernels, plain, learned.links, learned.record, aim)
            weights = (bare.weights / bare.counts)[bare.of_sample]
            chosen = best_guessers(observations, sample, guessers, reaches, aim, weights)
    by_records = tuple(j for j, best in chosen.items() if best == RECORDS)
    return Posterior(
        priors=priors.chosen(observations, {j for j, name in chosen.items() if name == PLAIN_KERNELS}, {*by_records}),
        aim=aim,
        record=learned.record,
        links=learned.links,
        bare=bare if by_records else None,
        by_records=by_records,
        reaches={j: reach for j, reach in reaches.items() if j in by_records},
        components=learned.components,
        rho=learned.rho,
        held_out=learned.mixture.held_out,
    )


@dataclass(frozen=True, eq=False)
class _Learned:
    """The joint prior: ``fit``, whose candidates are the ``record`` of a sample (−1 for none), and where it is from.

    ``single`` is the prior of one component, ``components`` the number of those behind the fit, ``rho`` how far it
    keeps to the sample's records, and ``links`` what tells some variables better.
    """

    split: Split
    single: Candidates
    mixture: Mixture
    components: int
    fit: Candidates
    rho: float
    record: Rows
    links: Mapping[int, Kernels]


def _learned(observations: Observations, sample: Sample | None, prior: str, refitted: int) -> _Learned:
    """The joint prior of a release and a sample, if there is one."""
    split, single = split_rows(observations, refitted), one_normal(observations)
    alone = prior in ("sample", "records") and sample is not None
    mixture = Mixture(single, single, {}) if alone else best_mixture(observations, split, single)
    fit, components = mixture.final, mixture.final.n_groups
    if sample is None or prior not in ("auto", "sample"):
        return _Learned(split, single, mixture, components, fit, 0.0, np.full(len(fit.weights), -1), {})
    rho, score = best_kernel(observations, mixture.judged, sample, split.judges)
    if prior == "auto" and components > 1:
        other, value = best_kernel(observations, one_normal(observations, split.fitted), sample, split.judges)
        if value.mean() > score.mean():
            fit, rho = single, other
    links = best_links(observations, fit, rho, sample, single)
    if rho > 0.0:
        kernels = with_sample(fit, sample, rho)
        return _Learned(split, single, mixture, components, kernels.candidates, rho, kernels.record, links)
    return _Learned(split, single, mixture, components, fit, rho, np.full(len(fit.weights), -1), links)


def _bare_records(observations: Observations, learned: _Learned, sample: Sample) -> Records:
    """The sample's records with their shares in the release, against the mixture that needs no sample."""
    records, fit = Records.of(sample), learned.mixture.judged
    rows = learned.split.judges[: max(JUDGING_CELLS // len(records.counts), 50)]
    known = np.array([number.known is not None for number in observations.numbers], dtype=bool)
    plain = log_density(fit, observations.z, observations.variables, rows, known[fit.numbers])
    return records.weighed(observations, rows, plain)


def _laws(manifest: Manifest) -> dict[str, str]:
    """The name of the noise's law of every column that has added noise."""
    return {
        name: part.model.distribution
        for part in manifest.parts
        if isinstance(part.model, AdditiveModel)
        for name in part.names
    }


def _by_kernels(
    priors: ColumnPriors,
    links: Mapping[int, Kernels],
    record: Rows,
    aim: str,
    observations: Observations,
    without: Rows | None,
) -> tuple[Matrix, Matrix]:
    """Guesses by a mixture or kernels, and of some categories by what tells these better."""
    values, probability = column_guesses(observations, priors, aim, _candidates(record, without))
    reports = [variable.reports for variable in observations.variables]
    for kernels in dict.fromkeys(links.values()):
        guessed = [v for v, own in links.items() if own is kernels]
        left_out = _candidates(kernels.record, without)
        told = posteriors(kernels.candidates, guessed, observations.z, reports, observations.variables, left_out)
        for rows, v, posterior in told:
            place_states(observations.variables[v], posterior, rows, values, probability)
    return values, probability


def _candidates(record: Rows, without: Rows | None) -> Rows | None:
    """Which candidate each record of a sample is, of those that are to be left out; −1 for none."""
    if without is None:
        return None
    own = np.flatnonzero(record >= 0)
    if not len(own):
        return None
    place = np.full(max(int(record.max()), int(without.max())) + 1, -1)
    place[record[own]] = own
    return place[without]


def _by_records(
    records: Records, reaches: Mapping[int, float], aim: str, observations: Observations, without: Rows | None
) -> tuple[Matrix, Matrix]:
    """Guesses by the sample's bare records."""
    own = None if without is None else records.of_sample[without]
    return record_guesses(observations, records, reaches, aim, own)
