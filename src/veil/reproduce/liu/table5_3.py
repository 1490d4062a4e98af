"""Table 5.3: k-means of control charts, before and after random projection."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import veil
from veil.reproduce.experiment import Claim, Context, Experiment, Result, Table
from veil.reproduce.figures import Curve, Curves

ORIGINAL = (187, 25, 41, 34, 117, 196)
PRINTED = {
    30: ((188, 25, 40, 34, 117, 196), 0.17),
    20: ((182, 29, 36, 32, 128, 193), 2.50),
    10: ((182, 19, 65, 36, 108, 190), 4.33),
}
"""Cluster sizes by number of attributes left, and the error rate in percent."""
INERTIA = 957_260
"""Of the local optimum one record away from the paper's sizes; the global one has 943,961."""
Codes = npt.NDArray[np.int64]


def size_rate(sizes: Any, others: Any) -> float:
    """Liu's error rate: ½Σ|difference of the clusters' sizes|/N."""
    return float(np.abs(np.asarray(sizes) - np.asarray(others)).sum() / 2 / np.sum(sizes))


def lloyd(x: np.ndarray, init: Any, seed: int = 0) -> Any:
    """One run of k-means with six clusters."""
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):  # for 600 charts more threads cost more than they bring
        return KMeans(6, init=init, n_init=1, tol=0.0, max_iter=1_000, random_state=seed).fit(x)


def paper_clusters(context: Context, x: np.ndarray, starts: int) -> tuple[Codes, float, int]:
    """The local optimum whose sizes are nearest to the paper's, its inertia, and in how many starts it came."""
    wanted = np.sort(ORIGINAL)
    found: dict[tuple[int, int], tuple[Codes, int]] = {}
    for s in range(starts):
        model = lloyd(x, "random", int(context.rng(0, s).integers(2**31)))
        apart = int(np.abs(np.sort(np.bincount(model.labels_, minlength=6)) - wanted).sum())
        key = (apart, round(model.inertia_))
        labels, times = found.get(key, (model.labels_.astype(np.int64), 0))
        found[key] = (labels, times + 1)
    key = min(found)
    labels, times = found[key]
    order = np.argsort(np.argsort(ORIGINAL))  # name the clusters as the paper does, by size
    names = np.argsort(np.bincount(labels, minlength=6))[order]
    place = np.empty(6, dtype=np.int64)
    place[names] = np.arange(6)
    return place[labels], float(key[1]), times


def run(context: Context) -> Result:
    """Error rates over matrices, starting from the projected centres of one clustering."""
    x, _ = context.source.control_charts()
    real = context.source.real("control")
    starts = context.pick(2_000, 500)
    labels, inertia, times = paper_clusters(context, x, starts)
    base = np.bincount(labels, minlength=6)
    repeats = context.pick(500, 40)
    rows: list[tuple[Any, ...]] = []
    for i, k in enumerate(PRINTED):
        for r in range(repeats):
            seed = int(context.rng(1, i, r).integers(2**31))
            y = veil.publish(x, veil.RandomProjection(k, scaling=None, random_state=seed))[0].to_numpy()
            centres = np.array([y[labels == c].mean(axis=0) for c in range(6)])
            model = lloyd(y, centres)
            matched = float(veil.measures.matched_error(labels, model.labels_))
            rows.append((k, r, size_rate(base, np.bincount(model.labels_, minlength=6)), matched))
        context.step("sizes", i + 1, len(PRINTED))
    free = {k: anew(context, x, k, i) for i, k in enumerate(PRINTED)}
    rates = {k: 100 * np.array([row[2] for row in rows if row[0] == k]) for k in PRINTED}
    matched_rates = {k: 100 * float(np.median([row[3] for row in rows if row[0] == k])) for k in PRINTED}
    bands = {k: np.quantile(rates[k], (0.05, 0.5, 0.95)) for k in PRINTED}
    again = [100 * size_rate(ORIGINAL, sizes) for sizes, _ in PRINTED.values()]
    rare = float((rates[30] <= 0.17).mean())
    typical = all(bands[k][0] <= PRINTED[k][1] <= bands[k][2] for k in (20, 10))
    near = size_rate(ORIGINAL, base) * 600 < 1.5
    shown = "; ".join(f"{bands[k][1]:.1f} ({bands[k][0]:.1f}–{bands[k][2]:.1f})" for k in PRINTED)
    claims = (
        Claim(
            "The error rate of the table",
            "0.17, 2.50, 4.33 %",
            f"{', '.join(f'{v:.2f}' for v in again)} % by ½Σ|size difference|/N from the printed sizes",
            f"matched error {', '.join(f'{v:.1f}' for v in matched_rates.values())} %",
            why="L-u: it compares cluster sizes only; records that change cluster are more",
            holds=bool(np.allclose(again, [rate for _, rate in PRINTED.values()], atol=0.005)),
        ),
        Claim(
            "Clusters of the original",
            "sizes 187, 25, 41, 34, 117, 196",
            f"{', '.join(str(v) for v in base)} (inertia {inertia:,.0f}), in {times} of {starts:,} random starts",
            why="a local optimum one record away, not the best" if real else "a stand-in was used",
            agrees=bool(near) if real else None,
            holds=bool(near and abs(inertia - INERTIA) < 1) if real else None,
        ),
        Claim(
            "Error rates after projection to 30, 20 and 10",
            "0.17, 2.50, 4.33 %",
            f"medians and 5–95 % over matrices {shown}; .17 or less in {rare:.1%} of draws",
            f"clustered anew, ten starts each: matched error {', '.join(f'{100 * v:.0f}' for v in free.values())} %",
            agrees=True if real else None,
            why="2.50 and 4.33 are typical, .17 is a lucky draw; all of it starting from the same clusters"
            if real
            else "a stand-in was used",
            holds=bool(typical and rare < 0.05 + 2 * np.sqrt(0.05 * 0.95 / repeats)) if real else None,
        ),
    )
    return Result(
        claims,
        (Table("rates", ("k", "repetition", "size rate", "matched error"), tuple(rows)),),
        (figure(rows, bands),),
    )


def anew(context: Context, x: np.ndarray, k: int, place: int) -> float:
    """Median matched error where table and release are clustered each by itself, from ten starts."""
    found = []
    for r in range(context.pick(60, 3)):
        seed = int(context.rng(2, place, r).integers(2**31))
        y = veil.publish(x, veil.RandomProjection(k, scaling=None, random_state=seed))[0].to_numpy()
        found.append(float(veil.measures.clustering_error(x, y, 6, seed=seed % 1_000)))
    return float(np.median(found))


def figure(rows: list[tuple[Any, ...]], bands: dict[int, Any]) -> Curves:
    """Rates over k, with the paper's."""
    sizes = list(PRINTED)
    matched = np.array([np.quantile([100 * row[3] for row in rows if row[0] == k], (0.05, 0.5, 0.95)) for k in sizes])
    rate = np.array([bands[k] for k in sizes])
    curves = (
        Curve("by cluster sizes, median and 5–95 %", sizes, rate[:, 1], rate[:, 0], rate[:, 2]),
        Curve("matched error, median and 5–95 %", sizes, matched[:, 1], matched[:, 0], matched[:, 2], colour=2),
        Curve("paper", sizes, [PRINTED[k][1] for k in sizes], kind="paper", colour=1),
    )
    return Curves(
        "k-means of 600 control charts after projection of 60 attributes", "attributes left k", "error rate, %", curves
    )


EXPERIMENT = Experiment(
    id="liu-table5.3",
    title="k-means after random projection",
    stated="control charts 600 × 60, split in two, k-means with 6 clusters, 30, 20 and 10 attributes left; raw units",
    chosen="Start from the local optimum nearest to the printed sizes and project its centres; 500 matrices. Clustered "
    "anew the error is far larger, as k-means finds other optima",
    run=run,
    errata=("L-u",),
    data=("control",),
)
