"""Edges of classes: given by the owner, and what the classes between them are called."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from veil.data.blocks import Vector
from veil.errors import InputError
from veil.perturbations.method import one_of


def class_names(edges: Vector) -> list[str]:
    """Names of the classes between edges.

    >>> class_names(np.array([10.0, 20.0]))
    ['< 10', '[10, 20)', '>= 20']
    """
    shown = [repr(float(edge)).removesuffix(".0") for edge in edges]
    return [f"< {shown[0]}", *(f"[{low}, {high})" for low, high in pairwise(shown)), f">= {shown[-1]}"]


def given_edges(edges: Any, name: str, parameter: str = "edges") -> Vector:
    """Edges that the owner gave for a column."""
    listing = one_of(edges, name)
    try:
        values = np.array(listing, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all() or not (np.diff(values) > 0).all():
        raise InputError(f"{parameter} must be finite numbers that rise, for column {name!r}")
    return values
