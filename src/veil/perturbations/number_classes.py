"""Columns of numbers that are reported by class (P16): their edges, and the number that each class is released as.

Edges are public and given by the owner. So can be the numbers, as the column's categories. If they are not, a class is
released as the mean of its values in two digits (whole where all values of the column are), or in as many more as it
takes to lie in the class. That tells each class's mean to about 5 %, so a class of fewer than ten records is released
as a number that its edges alone decide: zero where it holds zero, else its middle, or the edge of an open class.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from veil.data.blocks import Vector
from veil.errors import InputError, listed
from veil.perturbations.categories import MOST_CATEGORIES
from veil.perturbations.edges import given_edges
from veil.perturbations.facts import Facts
from veil.perturbations.scan import ClassTotals
from veil.release.models.number_classes import NumberClasses

FEWEST = 10
"""Records from which a class's mean is told."""
MOST_DIGITS = 17


@runtime_checkable
class Classes(Protocol):
    """A method that reports columns of numbers by class."""

    def class_edges(self, columns: Sequence[str]) -> dict[str, Vector]:
        """The edges of the classes of some columns."""
        ...


def checked_classes(classes: Any, columns: Sequence[str]) -> dict[str, Vector]:
    """The owner's edges by column; a column that is not there is an error."""
    if classes is None:
        return {}
    if not isinstance(classes, Mapping):
        raise InputError(f"classes must map columns to the edges of their classes; got a {type(classes).__name__}")
    unknown = [str(name) for name in classes if name not in columns]
    if unknown:
        raise InputError(f"classes names columns that are not perturbed here: {listed(unknown)}; correct them")
    edges = {name: given_edges(classes, name, "classes") for name in classes}
    many = [name for name, each in edges.items() if len(each) >= MOST_CATEGORIES]
    if many:
        raise InputError(f"classes of column {many[0]!r}: at most {MOST_CATEGORIES:,} are reported; give fewer edges")
    return edges


def class_numbers(edges: Vector, totals: ClassTotals) -> list[Any]:
    """What each class is released as, if the owner says nothing.

    >>> totals = ClassTotals(np.array([90, 30, 2]), np.array([0.0, 123_450.0, 99_999.0]), 0)
    >>> class_numbers(np.array([1.0, 5_000.0]), totals)
    [0, 4100, 5000]
    """
    outer = np.r_[-np.inf, edges, np.inf]
    numbers = [
        _rounded_mean(float(total) / n, low, high) if n >= FEWEST else _from_edges(low, high)
        for n, total, low, high in zip(totals.counts.tolist(), totals.sums, outer[:-1], outer[1:], strict=True)
    ]
    if not totals.n_fractions:
        numbers = [_whole(number, low, high) for number, low, high in zip(numbers, outer[:-1], outer[1:], strict=True)]
    return _plain(numbers)


def released_numbers(facts: Facts, j: int, edges: Vector, declared: Any) -> list[Any]:
    """What the classes of the j-th column are released as: as an earlier release did, as declared, or their means.

    A missing value comes last where the column has some.
    """
    name = facts.columns[j]
    if name in facts.fixed:
        return list(facts.fixed[name]["categories"])
    missing = [None] if None in (facts.scan.categories or ())[j] else []
    if declared is None:
        return [*class_numbers(edges, facts.scan.classes[name]), *missing]
    numbers = _declared_numbers(declared, edges, name)
    if missing and None not in numbers:
        raise InputError(f"column {name!r} has missing values, which its declared categories lack; add None")
    return numbers


def _declared_numbers(declared: Any, edges: Vector, name: str) -> list[Any]:
    """The owner's numbers for the classes of a column, one in each, and a missing value at most."""
    listing = declared.tolist() if isinstance(declared, np.ndarray) else declared
    plain = isinstance(listing, Sequence) and not isinstance(listing, str)
    numbers = [value for value in listing if value is not None] if plain else []
    rule = f"categories of column {name!r} must be one number in each of its {len(edges) + 1} classes"
    if not all(isinstance(v, int | float | np.number) and not isinstance(v, bool) for v in numbers):
        raise InputError(f"{rule}; some are no numbers")
    rising = sorted(float(v) for v in numbers)
    if not NumberClasses(edges, np.array(rising)).fit:
        raise InputError(f"{rule}; got {len(numbers)} that are not")
    return [*_plain(rising), *([None] if len(numbers) < len(listing) else [])]


def _rounded_mean(mean: float, low: float, high: float) -> float:
    """A mean in two digits, or as many more as it takes to lie in the class."""
    mean = min(max(mean, low), float(np.nextafter(high, -np.inf)))  # sums of equal values can err in the last bit
    rounded = (float(f"{mean:.{digits - 1}e}") for digits in range(2, MOST_DIGITS + 1))
    return next((number for number in rounded if low <= number < high), mean)


def _from_edges(low: float, high: float) -> float:
    """A number of a class that says nothing about its values."""
    if low <= 0.0 < high:
        return 0.0
    if math.isinf(high):
        return low
    return (2.0 * high or -1.0) if math.isinf(low) else (low + high) / 2.0


def _whole(number: float, low: float, high: float) -> float:
    """The nearest whole number of a class; the number itself where the class has none."""
    near = (float(np.rint(number)), math.floor(number), math.ceil(number))
    return next((float(each) for each in near if low <= each < high), number)


def _plain(numbers: list[float]) -> list[Any]:
    """Whole numbers as such where all are."""
    return [int(v) for v in numbers] if all(v.is_integer() for v in numbers) else numbers


def numbered(tally: Mapping[Any, int], numbers: Sequence[Any] | None) -> Mapping[Any, int]:
    """Counts of the places of classes as counts of the numbers; counts of categories (no numbers) as they are."""
    return tally if numbers is None else {_numbered(place, numbers): count for place, count in tally.items()}


def numbered_combinations(
    combinations: Mapping[Any, int], numbers: Sequence[Sequence[Any] | None]
) -> Mapping[Any, int]:
    """The same of combinations of several columns."""
    return {
        tuple(_numbered(value, known) for value, known in zip(values, numbers, strict=True)): count
        for values, count in combinations.items()
    }


def _numbered(value: Any, numbers: Sequence[Any] | None) -> Any:
    return value if value is None or numbers is None else numbers[value]
