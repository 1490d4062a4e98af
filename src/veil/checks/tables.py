"""Tables that every perturbation takes, and what the checks share."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pyarrow as pa

from veil.data.blocks import Matrix
from veil.perturbations import Perturbation, Takes

SEED = 918273645


def expect(condition: Any, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def number_table(n: int = 300, d: int = 4, seed: int = 0) -> Matrix:
    """Skewed, correlated and positive, so that every method takes it."""
    rng = np.random.default_rng(seed)
    mixing = rng.uniform(0.1, 1.0, size=(d, d)) + np.eye(d)
    return np.asarray(rng.gamma(2.0, size=(n, d)) @ mixing + np.arange(1, d + 1))


def table_for(perturbation: Perturbation, n: int = 300, d: int = 4) -> Matrix:
    """A table that the method takes: zeros and ones where it releases such."""
    x = number_table(n, d)
    return np.asarray(x > np.median(x, axis=0), dtype=np.float64) if perturbation.layout.takes is Takes.BITS else x


def category_table(n: int = 300, changed: int = 0) -> pa.Table:
    """Columns of texts and of whole numbers; ``changed`` cells differ."""
    rng = np.random.default_rng(0)
    text, numbers = rng.choice(["a", "b", "c"], n), rng.integers(0, 4, n)
    text[:changed] = np.where(text[:changed] == "a", "b", "a")
    return pa.table({"x0": text, "x1": numbers})


def for_categories(cls: type[Perturbation]) -> Perturbation:
    """A method with the settings that :func:`category_table` needs: hierarchies of texts have no default."""
    if "hierarchies" not in inspect.signature(cls).parameters:
        return cls()
    return cls(hierarchies={"x0": {"a": "A", "b": "A", "c": "C"}})  # type: ignore[call-arg]


def seeded(perturbation: Perturbation, seed: int = SEED) -> Perturbation:
    twin = type(perturbation)(**perturbation.get_params(deep=False))
    twin.set_params(random_state=seed)
    return twin
