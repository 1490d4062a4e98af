"""Slide "Rotation-Invariant Classifiers": the same predictions from a rotated table."""

from __future__ import annotations

from typing import Any

import numpy as np

import veil
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Bars

TABLES = ("iris", "breast cancer")


def classifiers(gamma: float) -> dict[str, Any]:
    """Those of the slide; gamma is fixed, as scikit-learn's default depends on the axes."""
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import SVC

    return {
        "5-NN": KNeighborsClassifier(5),
        "SVM, RBF": SVC(kernel="rbf", gamma=gamma, tol=1e-8),
        "SVM, polynomial": SVC(kernel="poly", degree=3, gamma=gamma, coef0=1.0, tol=1e-8),
        "SVM, sigmoid": SVC(kernel="sigmoid", gamma=gamma / 10, tol=1e-8),
        "SVM, linear": SVC(kernel="linear", tol=1e-8),
        "voted perceptron": veil.recovery.VotedPerceptron(shuffle=False),
    }


def run(context: Context) -> Result:
    """Train on half of the records, predict the others; before and after a random rotation."""
    rows: list[tuple[Any, ...]] = []
    for t, name in enumerate(TABLES):
        x, classes = table(name)
        gamma = 1.0 / (x.shape[1] * float(x.var()))
        for r in range(context.pick(20, 2)):
            rng = context.rng(t, r)
            transform = veil.OrthogonalTransform(scaling=None, dither=False, random_state=int(rng.integers(2**31)))
            y = veil.publish(x, transform)[0].to_numpy()
            order = rng.permutation(len(x))
            train, test = order[: len(x) // 2], order[len(x) // 2 :]
            for label, model in classifiers(gamma).items():
                target = classes == classes.max() if label == "voted perceptron" else classes
                before = model.fit(x[train], target[train]).predict(x[test])
                after = model.fit(y[train], target[train]).predict(y[test])
                accuracy = float((before == target[test]).mean()), float((after == target[test]).mean())
                rows.append((name, r, label, *accuracy, int((before != after).sum()), len(test)))
        context.step("tables", t + 1, len(TABLES))
    labels = list(classifiers(1.0))
    claims = []
    for label in labels:
        mine = [row for row in rows if row[2] == label]
        apart, total = sum(row[5] for row in mine), sum(row[6] for row in mine)
        claims.append(
            Claim(
                f"{label} does not notice a rotation",
                "“delivers the same accuracy”",
                f"{apart} of {total:,} predictions differ; accuracy {np.mean([row[3] for row in mine]):.1%}",
                agrees=apart == 0,
                holds=apart == 0,
            )
        )
    mean = {(label, c): float(np.mean([row[c] for row in rows if row[2] == label])) for label in labels for c in (3, 4)}
    figure = Bars(
        "Accuracy on the original and on the rotated table",
        tuple(label.replace(", ", "\n").replace("voted ", "voted\n") for label in labels),
        "accuracy",
        (("original", [mean[label, 3] for label in labels]), ("rotated", [mean[label, 4] for label in labels])),
    )
    columns = ("table", "repetition", "classifier", "accuracy", "accuracy rotated", "predictions that differ", "tested")
    return Result(tuple(claims), (Table("accuracies", columns, tuple(rows)),), (figure,))


def table(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The table in units of its columns' deviations, not centred, and its classes."""
    from sklearn.datasets import load_breast_cancer, load_iris

    x, classes = load_iris(return_X_y=True) if name == "iris" else load_breast_cancer(return_X_y=True)
    return np.asarray(x / x.std(axis=0)), np.asarray(classes)


EXPERIMENT = Experiment(
    id="tutorial-rotation-invariance",
    title="Classifiers that do not notice a rotation",
    stated="k-NN, kernel methods, SVM with polynomial, neural-network (sigmoid) and radial kernels, hyperplanes",
    chosen="Breast cancer and Iris in units of each column's deviation, not centred; half trains, half tests; 20 "
    "rotations; a fixed kernel width and a tight tolerance of the solver; the voted perceptron tells one class",
    run=run,
)
