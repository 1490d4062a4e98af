"""A19: the Bayes estimate given attributes that are known exactly.

*Model.* ``y = x + r`` with noise covariance Σr; beside y, each record shows attributes a without noise, and
(a, x) is jointly normal.

Given a, x is normal with mean ``μ + B(a − ā)``, ``B = Σxa Σaa⁻¹``, and covariance ``Σxx − B Σax``. As r has
nothing to do with a, B is the regression of *y* on a, and the residuals of that regression are the
residuals of x plus the same noise: the attack is A6 on the residuals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from veil.attacks.additive import available_covariance, filter_incomplete, noise_covariance, with_grain
from veil.attacks.base import Attack, Guess, full_guess, granted
from veil.attacks.shrinkage import pooled_filter
from veil.blocks import Matrix
from veil.errors import InputError, NotApplicableError
from veil.knowledge import Knowledge, KnownAttributes
from veil.models import AdditiveModel, Model
from veil.moments import Vector
from veil.release import Release


class PartialDisclosureAttack(Attack):
    """A19. Condition the Bayes estimate on attributes known exactly (H §3; T).

    *Knowledge.* Σr (published, or KnownNoise), and attributes of every record: KnownAttributes, the release's
    numeric public columns, or both. With neither there is nothing to condition on and it does not apply.

    A known private column is guessed as known; where noise correlates over columns, its noise ``y − x`` is then
    known too and is subtracted from the other columns as far as they share it.

    For normal data the m.s.e. of the rest is that of A6 on the conditional covariance ``Σxx − Σxa Σaa⁻¹ Σax``.

    ``guess.details``: ``known`` (names used) and ``expected_mse`` per column.
    """

    catalogue = "A19"
    uses = (KnownAttributes,)
    words = "combines the release with attributes of the same people that are known or public"

    @classmethod
    def applies_to(cls, model: Model) -> bool:
        """Any release with additive noise."""
        return isinstance(model, AdditiveModel)

    def _run(self, release: Release, knowledge: Sequence[Knowledge]) -> Guess:
        noise = noise_covariance(release, knowledge)
        y = release.to_numpy()
        names, attributes = known_attributes(release, granted(knowledge, KnownAttributes), len(y))
        if not names:
            raise NotApplicableError(
                "no attribute of these records is known: the release has no numeric public column without gaps; "
                "grant KnownAttributes"
            )
        if len(y) < len(names) + 3:
            raise NotApplicableError(
                f"{len(y)} records do not show how the private columns depend on {len(names)} known ones"
            )
        values = np.empty_like(y)
        expected = np.zeros(y.shape[1])
        at = {name: j for j, name in enumerate(names)}
        given = np.array([name in at for name in release.step.names])
        values[:, given] = attributes[:, [at[name] for name in release.step.names if name in at]]
        if not given.all():
            rest, rest_noise = _without_known_noise(y, noise, given, values)
            values[:, ~given], expected[~given] = conditional_estimate(rest, attributes, rest_noise)
        return full_guess(release, values, known=names, expected_mse=expected)


def conditional_estimate(y: Matrix, attributes: Matrix, noise: Matrix) -> tuple[Matrix, Vector]:
    """``E[x|y, a]`` of every record under a joint normal law, and its expected m.s.e. per column."""
    centred = attributes - attributes.mean(axis=0)
    unit = centred.std(axis=0)
    design = np.column_stack([np.ones(len(y)), centred / np.where(unit > 0, unit, 1.0)])
    present = ~np.isnan(y)
    fitted = np.empty_like(y)
    if present.all():
        fitted[:] = design @ np.linalg.lstsq(design, y, rcond=None)[0]
    else:
        for j in range(y.shape[1]):
            rows = present[:, j]
            fitted[:, j] = design @ np.linalg.lstsq(design[rows], y[rows, j], rcond=None)[0]
    residual = y - fitted
    zero = np.zeros(y.shape[1])
    n_rows = max(int(present.sum(axis=0).min()) - attributes.shape[1], 1)
    # The regression has taken its share of each residual; divide by the degrees of freedom that are left.
    covariance = available_covariance(residual, zero) * (n_rows + attributes.shape[1]) / n_rows
    prior, errors = pooled_filter(covariance, noise, n_rows)
    gain = np.linalg.solve(prior + noise, prior)
    filtered = residual @ gain if present.all() else filter_incomplete(residual, zero, prior, noise)
    return fitted + filtered, np.diag(errors).copy()


def known_attributes(release: Release, known: KnownAttributes | None, n_rows: int) -> tuple[tuple[str, ...], Matrix]:
    """Names and values of all that is known of every record: granted, or public, numeric and without gaps."""
    names: list[str] = []
    columns: list[Matrix] = []
    if known is not None:
        if len(known.values) != n_rows:
            raise InputError(f"KnownAttributes has {len(known.values)} records; the release has {n_rows}")
        names, columns = list(known.columns), [known.values]
    public = [c["name"] for c in release.manifest.public if c["kind"] == "numeric" and c["name"] not in names]
    if public and n_rows:
        values = np.hstack([block.matrix(public) for block in release.table.blocks(public)])
        whole = [j for j, column in enumerate(values) if np.isfinite(column).all()]
        names += [public[j] for j in whole]
        columns.append(values[whole].T)
    return tuple(names), np.hstack(columns) if columns else np.empty((n_rows, 0))


def _without_known_noise(y: Matrix, noise: Matrix, given: Any, values: Matrix) -> tuple[Matrix, Matrix]:
    """The unknown columns less what the known columns' noise tells of theirs, and the noise that is left."""
    across = noise[np.ix_(~given, given)]
    own = noise[np.ix_(~given, ~given)]
    if not across.any():
        return y[:, ~given], own
    share = across @ np.linalg.pinv(noise[np.ix_(given, given)], hermitian=True)
    told = np.nan_to_num(y[:, given] - values[:, given])
    left = own - share @ across.T
    return y[:, ~given] - told @ share.T, with_grain(left, np.diag(own))
