"""A prior for one variable from a sample: its classes, as a linear discriminant sees them (A28).

*Model.* Kernels around single records tell what a category has to do with numbers no more sharply than their common
width allows. A sample with records of every class says more: within state s of variable v numbers are normal around the
mean of the class, with one covariance W for all classes (Fisher 1936), and other variables are independent. Behind
noise of the covariance Σ and reports r::

    p(s | z, r) ∝ π_s · N(z; m_s, W + Σ) · Π_w (P_w π_ws)[r_w]

*Choice.* The laws of the noise are published, so records of the sample can be put behind noise of the same laws. Of the
prior that serves numbers, kernels of several widths and the discriminant, each fitted to one half of the sample, every
variable gets the one under which the other half's own states are most probable; the first is given up for a clear gain
only, since a discriminant that learned from nothing misleads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from veil.attacks.posterior.candidates import CELLS, Candidates, Rows, leave_out, log_sum, over_rows, patterns
from veil.attacks.posterior.observations import Codes, Observations, Variable
from veil.attacks.posterior.sample import Kernels, Sample, with_sample
from veil.attacks.posterior.simulated import simulated
from veil.data.blocks import Matrix, Vector
from veil.numerics.ordering import by_name, row_order

WIDTHS = (0.65, 0.94, 0.999)
"""ρ of the kernels that are tried."""
FEWEST = 24
"""Records of a sample with a state, from which on its classes are learned."""
MOST_CLASSES = 200
LEAST_SHARE = 1e-6
"""The least probability of a state that counts."""
CLEARLY = 1.5
"""Standard errors by which another prior must be better."""
CLASSES = "classes"
SHRUNK = 2.0
"""Records of the common mean and of the common distributions that every class is given."""


def state_posterior(
    prior: Candidates, v: int, channel: Matrix, table: Matrix, reports: Codes, weights: Matrix
) -> Matrix:
    """The probability of every state of the prior's variable v, by the candidates' weights (n × states).

    ``table`` is the variable's of :meth:`veil.attacks.posterior.candidates.Candidates.report_tables`.
    """
    shares = np.where(prior.states[:, v] < 0, 1.0, prior.shares)
    states = shares[:, None] * prior.tables[v][prior.group]
    own = np.flatnonzero(prior.states[:, v] >= 0)
    states[own, prior.states[own, v]] += 1.0 - prior.shares[own]
    told = np.vstack([channel, np.ones(channel.shape[1])])[reports]
    posterior = (over_rows(weights, table, reports) @ states) * told
    return np.asarray(posterior / np.maximum(posterior.sum(axis=1, keepdims=True), 1e-300))


def posteriors(
    prior: Candidates,
    guessed: Sequence[int],
    z: Matrix,
    reports: Sequence[Codes],
    variables: Sequence[Variable],
    without: Rows | None = None,
) -> Iterator[tuple[Rows, int, Matrix]]:
    """Rows, a guessed variable, and the probabilities of its states given what is seen of these records.

    ``without`` is the candidate that does not count for each record.
    """
    standard, places = prior.standard(z), [(v, prior.variables.index(v)) for v in guessed]
    chosen = [(reports[w], variables[w].channel) for w in prior.variables]
    tables = prior.report_tables([channel for _, channel in chosen])
    for present, rows in patterns(standard):
        for part in np.array_split(rows, max(1, len(rows) * len(prior.weights) // CELLS)):
            seen = [codes[part] for codes, _ in chosen]
            joint = prior.log_joint(standard[part], present, seen, tables)
            if without is not None:
                leave_out(joint, without[part])
            weights = log_sum(joint)[1]
            for v, place in places:
                told = state_posterior(prior, place, chosen[place][1], tables[place], seen[place], weights)
                yield part, v, told


def discriminant(observations: Observations, whole: Candidates, sample: Sample, v: int) -> Candidates | None:
    """The classes of variable v as the sample's records show them; None where they are too few or too many.

    ``whole`` is the release as one normal component.
    """
    rows = np.flatnonzero(sample.states[:, v] >= 0)
    classes, label = np.unique(sample.states[rows, v], return_inverse=True)
    if len(rows) < FEWEST or not 2 <= len(classes) <= MOST_CLASSES:
        return None
    numbers = np.flatnonzero(~np.isnan(sample.numbers).all(axis=0))
    u = np.nan_to_num((sample.numbers[np.ix_(rows, numbers)] - whole.mean[numbers]) / whole.unit[numbers])
    member = np.equal.outer(np.arange(len(classes)), label.ravel()).astype(np.float64)
    size = member.sum(axis=1)
    centres = (member @ u + SHRUNK * u.mean(axis=0)) / (size + SHRUNK)[:, None]
    within = u - centres[label.ravel()]
    # Few records do not show a covariance; the release's own stands in for as many records as there are numbers.
    common = whole.spreads[0][np.ix_(numbers, numbers)]
    spread = (within.T @ within + len(numbers) * common) / (len(rows) + len(numbers))
    known = [w for w in range(len(observations.variables)) if (sample.states[:, w] >= 0).any()]
    tables = [_tables(sample.states[rows, w], member, len(observations.variables[w].states)) for w in known]
    tables[known.index(v)] = np.eye(len(observations.variables[v].states))[classes]
    return Candidates(
        numbers=numbers,
        variables=tuple(known),
        mean=whole.mean[numbers],
        unit=whole.unit[numbers],
        noise=whole.noise[np.ix_(numbers, numbers)],
        group=np.arange(len(classes)),
        weights=size / size.sum(),
        centres=centres,
        states=np.full((len(classes), len(known)), -1, dtype=np.int64),
        shares=np.ones(len(classes)),
        spreads=np.broadcast_to(spread, (len(classes), *spread.shape)),
        tables=tuple(tables),
    )


def _tables(states: Codes, member: Matrix, n_states: int) -> Matrix:
    """The distribution of another variable in every class, drawn towards that of all."""
    there = states >= 0
    counts = member[:, there] @ np.equal.outer(states[there], np.arange(n_states)).astype(np.float64)
    common = (counts.sum(axis=0) + 1.0 / n_states) / (counts.sum() + 1.0)
    counts += SHRUNK * common
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def best_links(
    observations: Observations, prior: Candidates, rho: float, sample: Sample, whole: Candidates
) -> dict[int, Kernels]:
    """For each guessed variable what tells it best, where that is not ``prior`` with kernels of the width ``rho``.

    ``whole`` is the release as one normal component.
    """
    guessed = [v for v in prior.variables if max(observations.variables[v].places) >= 0]
    if not guessed or len(sample.values) < FEWEST:
        return {}
    # Draws follow the order of names and values: the same columns and records in another order get the same ones.
    order = row_order(sample.values[:, by_name(observations.names)])
    ordered = sample.of(order)
    rng, everybody = np.random.default_rng(len(order)), np.arange(len(order))
    seen = simulated(observations, ordered, everybody, rng)
    halves = np.array_split(rng.permutation(len(order)), 2)
    scores: dict[int, dict[str, list[Vector]]] = {v: {} for v in guessed}
    for fitted, judged in (halves, halves[::-1]):
        part = ordered.of(fitted)
        rivals = {"": (guessed, with_sample(prior, part, rho).candidates if rho > 0.0 else prior)}
        rivals |= {f"{width}": (guessed, with_sample(prior, part, width).candidates) for width in WIDTHS}
        of_classes = {v: discriminant(observations, whole, part, v) for v in guessed}
        rivals |= {f"{CLASSES} {v}": ([v], classes) for v, classes in of_classes.items() if classes is not None}
        for name, (of_variables, rival) in rivals.items():
            for v, score in _log_scores(seen, rival, of_variables, ordered.states, judged).items():
                scores[v].setdefault(name, []).append(score)
    links: dict[int, Kernels] = {}
    kernels: dict[str, Kernels] = {}
    for v, of_rivals in scores.items():
        complete = {name: np.concatenate(parts) for name, parts in of_rivals.items() if len(parts) == 2}
        best = max(complete, key=lambda name: complete[name].mean())
        gain = complete[best] - complete[""]
        if best == "" or gain.mean() <= CLEARLY * gain.std() / np.sqrt(len(gain)):
            continue
        classes = discriminant(observations, whole, sample, v) if best.startswith(CLASSES) else None
        if classes is not None:
            links[v] = Kernels(classes, np.full(len(classes.weights), -1))
            continue
        if best not in kernels:
            kernels[best] = with_sample(prior, sample, float(best))
        links[v] = kernels[best]
    return links


def _log_scores(
    seen: Observations, prior: Candidates, guessed: Sequence[int], states: Codes, judged: Rows
) -> dict[int, Vector]:
    """ln of the probability that a prior gives to the sample's own states, by variable."""
    z, reports = seen.z[judged], [variable.reports[judged] for variable in seen.variables]
    own_states = states[judged]
    scores = {v: np.full(len(judged), np.nan) for v in guessed}
    for part, v, probability in posteriors(prior, guessed, z, reports, seen.variables):
        own = np.maximum(own_states[part, v], 0)
        scores[v][part] = np.log(np.maximum(probability[np.arange(len(part)), own], LEAST_SHARE))
    return {v: score[own_states[:, v] >= 0] for v, score in scores.items()}
