"""Section 5.2.3: a linear classifier of the release is not the projection of the private table's classifier."""

from __future__ import annotations

from typing import Any

import numpy as np

import veil
from veil_papers.arrays import Matrix
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Curve, Curves

DIMENSIONS = (2, 5, 10, 15, 20, 25, 30)


def run(context: Context) -> Result:
    """Predictions of the mapped model and of the printed one against the model that was trained, over matrices."""
    from sklearn.datasets import load_breast_cancer

    x, labels = load_breast_cancer(return_X_y=True)
    z = np.asarray((x - x.mean(axis=0)) / x.std(axis=0))
    own = train(z, labels)
    repeats = context.pick(100, 40)
    rows: list[tuple[Any, ...]] = []
    for i, k in enumerate(context.pick(DIMENSIONS, (2, 10, 30))):
        draws = np.array([compared(context, z, labels, own, k, r) for r in range(repeats)])
        ends = np.quantile(draws, (0.05, 0.95), axis=0).T.ravel()
        se = draws.std(axis=0, ddof=1) / repeats**0.5
        rows.append((k, *(float(v) for v in (*draws.mean(axis=0), *ends, *se))))
        context.step("dimensions", i + 1, len(DIMENSIONS))
    turned = rotation(context, z, labels, own)
    first, last = rows[0], rows[-1]
    accuracy = float((own.predict(z) == labels).mean())
    claims = (
        Claim(
            "ŵ of the release is Rw/(√kσ), w the private table's",
            "so ŵ′x̂ ≈ w′x",
            "same predictions on the release: "
            + ", ".join(f"{row[2]:.1%} at k = {row[0]}" for row in (first, last))
            + f"; relative distance ‖ŵ − Rw‖/‖ŵ‖ {first[3]:.1f} and {last[3]:.1f}",
            "mapped back by w = Rᵀŵ/(√kσ): " + f"{min(row[1] for row in rows):.1%} at every k",
            agrees=False,
            why="L-ac: that ŵ′R is a separator of the private table makes it a model of that table, not its best",
            holds=all(row[1] == 1.0 and row[2] + 4.5 * se_of(row, 1) < 1 and row[3] > 0.3 for row in rows),
        ),
        Claim(
            "accuracy of Rw on the release",
            "that of w",
            ", ".join(f"{row[5]:.1%} at k = {row[0]}" for row in (first, last)),
            ", ".join(f"{row[4]:.1%}" for row in (first, last)) + f" trained there (private table {accuracy:.1%})",
            agrees=False,
            why="L-ac: R′R/k is I on average only, and w′R′Rx/k strays from w′x by about ‖w‖‖x‖/√k",
            holds=all(row[4] - row[5] > 4.5 * (se_of(row, 3) ** 2 + se_of(row, 4) ** 2) ** 0.5 for row in rows),
        ),
        Claim(
            "with an orthogonal matrix instead",
            "–",
            f"‖ŵ − Rw‖/‖ŵ‖ = {turned:.0e}",
            agrees=None,
            why="L-ac: there R′R = I, and the printed equation is exact",
            holds=turned < 1e-9,
        ),
    )
    shown = ("same predictions, mapped back", "same predictions, Rw", "distance", "accuracy, trained", "accuracy, Rw")
    columns = (
        "k",
        *shown,
        *(f"{name}, {end}" for name in shown for end in ("5 %", "95 %")),
        *(f"se {n}" for n in shown),
    )
    return Result(claims, (Table("models", columns, tuple(rows)),), (figure(rows, accuracy),))


def train(table: Matrix, labels: Any) -> Any:
    """A linear classifier through the origin, as the paper's; its optimum is unique."""
    from sklearn.linear_model import RidgeClassifier

    return RidgeClassifier(fit_intercept=False).fit(table, labels)


def weights(model: Any) -> Matrix:
    """The weights of a trained model."""
    return np.asarray(model.coef_, dtype=np.float64).ravel()


def compared(context: Context, z: Matrix, labels: Any, own: Any, k: int, r: int) -> tuple[float, ...]:
    """Of one release: agreement with the trained model, of the mapped one and of Rw; distance; two accuracies."""
    seed = int(context.rng(k, r).integers(2**31))
    release, key = veil.publish(z, veil.RandomProjection(k, scaling=None, dither=False, random_state=seed))
    y = release.to_numpy()
    trained = train(y, labels)
    mapped = veil.linear_model_to_original(trained, key)
    image = np.linalg.lstsq(z, y, rcond=None)[0].T @ weights(own)
    predicted, theirs = trained.predict(y), (y @ image > 0).astype(labels.dtype)
    distance = float(np.linalg.norm(weights(trained) - image) / np.linalg.norm(weights(trained)))
    same = [float((other == predicted).mean()) for other in (mapped.predict(z), theirs)]
    return *same, distance, float((predicted == labels).mean()), float((theirs == labels).mean())


def rotation(context: Context, z: Matrix, labels: Any, own: Any) -> float:
    """Relative distance of ŵ from Mw for an orthogonal M."""
    seed = int(context.rng(0).integers(2**31))
    y = veil.publish(z, veil.OrthogonalTransform(scaling=None, dither=False, random_state=seed))[0].to_numpy()
    rotated = weights(train(y, labels))
    image = np.linalg.lstsq(z, y, rcond=None)[0].T @ weights(own)
    return float(np.linalg.norm(rotated - image) / np.linalg.norm(rotated))


def se_of(row: tuple[Any, ...], column: int) -> float:
    """Standard error over matrices of one of the five quantities."""
    return float(row[16 + column])


def figure(rows: list[tuple[Any, ...]], accuracy: float) -> Curves:
    """Agreement and accuracy over k."""
    k = [row[0] for row in rows]
    drawn = [
        Curve(
            label, k, [row[1 + j] for row in rows], [row[6 + 2 * j] for row in rows], [row[7 + 2 * j] for row in rows]
        )
        for j, label in ((0, "same predictions: mapped back, w = Rᵀŵ/√k"), (1, "same predictions: printed, ŵ = Rw/√k"))
    ]
    drawn += [
        Curve(label, k, [row[1 + j] for row in rows], kind="points", colour=c)
        for j, label, c in ((3, "accuracy of the trained model", 0), (4, "accuracy of Rw/√k", 1))
    ]
    drawn.append(Curve("accuracy on the private table", [k[0], k[-1]], [accuracy] * 2, kind="dashed", colour=5))
    return Curves(
        "Models of a projected table (breast cancer, 30 attributes)", "released dimensions k", "share of records",
        tuple(drawn), width=8.4,
    )  # fmt: skip


EXPERIMENT = Experiment(
    id="liu-weights",
    title="A classifier of the release, in private coordinates",
    stated="ŵ trained on x̂ = Rx/(√kσ) is the projection of w, ŵ = Rw/(√kσ), therefore ŵ′x̂ ≈ w′x",
    chosen="breast cancer (569 records, 30 standardized attributes), least squares with a small ridge through the "
    "origin, k = 2 to 30, 100 matrices each. The paper's perceptron has no unique answer",
    run=run,
    errata=("L-ac",),
    chapter=5,
)
