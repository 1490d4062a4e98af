"""The demo: the main job on a real table that ships with scikit-learn.

Wisconsin breast cancer (Street, Wolberg and Mangasarian, 1993): 569 patients, 30 measurements of
cell nuclei, and a diagnosis, which is public here so that an analyst can learn to predict it.
"""

from __future__ import annotations

import pyarrow as pa

from veil.auditing import Audit, Goals, audit
from veil.perturbations.additive import AdditiveNoise
from veil.perturbations.orthogonal import OrthogonalTransform
from veil.progress import Watch


def demo_table() -> pa.Table:
    """The table as an owner would hold it."""
    from sklearn.datasets import load_breast_cancer

    bunch = load_breast_cancer()
    columns = {str(name): pa.array(bunch.data[:, j]) for j, name in enumerate(bunch.feature_names)}
    names = [str(bunch.target_names[i]) for i in bunch.target]
    return pa.table({**columns, "diagnosis": pa.array(names)})


def demo(*, seed: int = 0, progress: Watch = None) -> Audit:
    """Three candidates, every attack that applies, privacy and utility.

    The rotation goes without dither, to show what a grid of decimals gives away: the release alone breaks it.
    """
    return audit(
        demo_table(),
        [AdditiveNoise(scale=0.5), AdditiveNoise(scale=4.0), OrthogonalTransform(dither=False)],
        goals=Goals(max_advantage=0.05, tolerance=0.1),
        roles={"diagnosis": "public"},
        target="diagnosis",
        n_clusters=2,
        seed=seed,
        progress=progress,
    )
