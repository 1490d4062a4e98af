"""Models of categories: randomized, made of numbers, or replaced by pseudonyms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from veil.data.blocks import Matrix, Vector
from veil.release.models.base import Model, matrix, require, vector, whole
from veil.release.models.number_classes import NumberClasses


@dataclass(frozen=True, eq=False)
class ResponseModel(Model):
    """Reported categories depend on the true ones by public column-stochastic matrices: ``λ = P π`` (P16).

    Attributes
    ----------
    categories
        For each column, its categories in the order of the codes; None stands for a missing value.
    matrices
        P of each column, ``P[reported, true]``; columns sum to 1. With ``compound``, one matrix for all columns.
    compound
        The combinations that can be, as tuples of one code per column, where all columns were randomized as one
        variable; None where each was randomized by itself. In format 1, those that occurred.
    invariant
        Whether reports have the table's own proportions (``P π = π``).
    edges
        For each column of numbers that is reported by class the edges between its classes, None for other columns;
        empty where there is no such column. Its categories are the numbers that the classes are released as.
    """

    name = "response"
    methods = ("randomized-response",)
    independent_records = True
    categories: tuple[tuple[Any, ...], ...]
    matrices: tuple[Matrix, ...]
    compound: tuple[tuple[int, ...], ...] | None = None
    invariant: bool = False
    edges: tuple[Vector | None, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Categories and matrices, and the edges of classes."""
        said = {
            "categories": [list(c) for c in self.categories],
            "matrices": [m.tolist() for m in self.matrices],
            "compound": None if self.compound is None else [list(c) for c in self.compound],
            "invariant": self.invariant,
        }
        return {**said, "edges": [None if e is None else e.tolist() for e in self.edges]} if self.edges else said

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> ResponseModel:
        """Back from :meth:`to_json`."""
        compound = raw["compound"]
        return cls(
            categories=tuple(tuple(c) for c in raw["categories"]),
            matrices=tuple(matrix(m) for m in raw["matrices"]),
            compound=None if compound is None else tuple(tuple(c) for c in compound),
            invariant=raw["invariant"],
            edges=tuple(None if e is None else vector(e) for e in raw.get("edges", ())),
        )

    def check(self, d: int, k: int) -> None:
        """One stochastic matrix per column, or one for all; and a number in every class."""
        super().check(d, k)
        sizes = [len(c) for c in self.categories] if self.compound is None else [len(self.compound)]
        require(len(self.categories) == d and isinstance(self.invariant, bool))
        require(len(self.edges) in (0, d))
        for categories, edges in zip(self.categories, self.edges or (None,) * d, strict=True):
            numbers = str | int | None if edges is None else int | float | None
            require(all(isinstance(value, numbers) for value in categories))
            require(edges is None or NumberClasses.of(edges, categories).fit)
        require([m.shape for m in self.matrices] == [(n, n) for n in sizes])
        require(all(np.isfinite(m).all() and (m >= 0).all() for m in self.matrices))
        for codes in self.compound or ():
            require(len(codes) == d and all(whole(i) for i in codes))
            require(all(0 <= i < len(c) for i, c in zip(codes, self.categories, strict=True)))

    def private_categories(self) -> tuple[tuple[Any, ...], ...]:
        """Codes count the categories of each column, before and after."""
        return self.categories

    def number_classes(self) -> tuple[NumberClasses | None, ...]:
        """The classes of columns of numbers."""
        pairs = zip(self.edges, self.categories, strict=False)
        return tuple(None if edges is None else NumberClasses.of(edges, known) for edges, known in pairs)

    def kept_types(self, private: Sequence[pa.DataType]) -> list[pa.DataType] | None:
        """Categories keep their types; classes are numbers, and whole ones if they can be."""
        if not self.edges:
            return None
        pairs = zip(private, self.number_classes(), strict=True)
        return [dtype if classes is None else _number_type(dtype, classes) for dtype, classes in pairs]

    def column(self, j: int) -> dict[str, Any]:
        """The categories and the matrix of one column, and the edges of its classes."""
        if self.compound is not None:
            own = {"matrix": self.matrices[0].tolist(), "compound": [list(c) for c in self.compound]}
        else:
            own = {"categories": list(self.categories[j]), "matrix": self.matrices[j].tolist()}
        edges = self.edges[j] if self.edges else None
        return own if edges is None else {**own, "edges": edges.tolist()}


def _number_type(private: pa.DataType, classes: NumberClasses) -> pa.DataType:
    """The type of a released column of classes."""
    whole_numbers = bool((classes.numbers == np.rint(classes.numbers)).all())
    if pa.types.is_float32(private) or (pa.types.is_integer(private) and whole_numbers):
        return private
    return pa.float64()


@dataclass(frozen=True, eq=False)
class ClassModel(Model):
    """A value is released as the class between public edges that it lies in (P17); ``names`` are the classes' texts."""

    name = "classes"
    methods = ("discretize",)
    independent_records = True
    edges: tuple[Vector, ...]
    names: tuple[tuple[str, ...], ...]

    def to_json(self) -> dict[str, Any]:
        """The edges of each column, and what its classes are called."""
        return {"edges": [e.tolist() for e in self.edges], "names": [list(n) for n in self.names]}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> ClassModel:
        """Back from :meth:`to_json`."""
        return cls(tuple(vector(e) for e in raw["edges"]), tuple(tuple(n) for n in raw["names"]))

    def check(self, d: int, k: int) -> None:
        """Edges that rise, and one name more than there are edges."""
        super().check(d, k)
        require(len(self.edges) == len(self.names) == d)
        require(all(isinstance(text, str) for names in self.names for text in names))
        require(all(len(n) == len(e) + 1 >= 2 for e, n in zip(self.edges, self.names, strict=True)))
        require(all(np.isfinite(e).all() and (np.diff(e) > 0).all() for e in self.edges))

    def released_categories(self) -> tuple[tuple[str, ...], ...]:
        """Codes count the classes of each column."""
        return self.names

    def column(self, j: int) -> dict[str, Any]:
        """The edges of one column, which later releases keep: moving ones would narrow classes."""
        return {"edges": self.edges[j].tolist()}


@dataclass(frozen=True, eq=False)
class PseudonymModel(Model):
    """Values were replaced by keyed texts (P20): equality and frequency remain, and nothing that a number is.

    ``collision_probability`` bounds the chance that two different values of a column share a text of ``bits`` bits.
    """

    name = "pseudonyms"
    methods = ("pseudonymize",)
    independent_records = True
    bits: int
    domain: str | None
    collision_probability: float

    def to_json(self) -> dict[str, Any]:
        """Length, domain, and what remains visible."""
        return {
            "bits": self.bits,
            "domain": self.domain,
            "collision_probability_below": self.collision_probability,
            "warning": "equal values have equal pseudonyms: equality and frequency remain",
        }

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> PseudonymModel:
        """Back from :meth:`to_json`."""
        return cls(raw["bits"], raw["domain"], raw["collision_probability_below"])

    def check(self, d: int, k: int) -> None:
        """A length, and a probability."""
        super().check(d, k)
        require(whole(self.bits) and 128 <= self.bits <= 256 and isinstance(self.domain, str | None))
        require(isinstance(self.collision_probability, int | float) and 0 <= self.collision_probability < np.inf)
