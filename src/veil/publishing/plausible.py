"""Released columns made plausible, block by block: rules for single columns, and columns that are sums of others."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from veil.data.blocks import Matrix, Vector, to_float
from veil.data.dates import is_timed, times_of
from veil.data.schema import Kind, Role, Schema
from veil.data.sums import Tree
from veil.errors import InputError, listed
from veil.numerics.gap_patterns import PatternSums, pattern_sums
from veil.numerics.products import ProductSums, sums_of
from veil.perturbations.layout import MadeOf
from veil.publishing.parts import FittedPart
from veil.release.models import AdditiveModel, LogNormalModel, MechanismModel, MultiplicativeModel
from veil.release.plausible import Heap, Plausible

AUTO = "auto"
PRODUCTS, CUT, PATTERNS, WEIGHTED = "products", "cut", "patterns", "weighted"
"""Names of what is noted beside a block."""
MOST_PATTERNS = 64
"""Patterns of gaps from which on their sums are not told."""
Rules = dict[str, Plausible]
Totals = dict[str, tuple[str, ...]]
Cuts = dict[str, tuple[tuple[float, float, float], ...]]


def as_rules(plausible: Any) -> Rules | str:
    """Rules as given: by column, or "auto" for those that types and signs of the private columns suggest."""
    if plausible is None:
        return {}
    if plausible == AUTO:
        return AUTO
    if not isinstance(plausible, Mapping):
        raise InputError(
            "plausible must be 'auto', or map columns to rules, for example {'age': veil.Plausible(grain=1, low=0)}",
            parameter="plausible",
        )
    return {str(name): Plausible.from_json(rule) for name, rule in plausible.items()}


def as_totals(sums: Any) -> Totals:
    """Totals as given: the columns of which each is the sum."""
    if sums is None:
        return {}
    if not isinstance(sums, Mapping):
        raise InputError("sums must map a column to those that it is the sum of", parameter="sums")
    totals: Totals = {}
    for name, terms in sums.items():
        if isinstance(terms, str) or not isinstance(terms, Sequence) or not len(terms):
            raise InputError(f"sums of {name!r} must be a list of columns", parameter="sums")
        totals[str(name)] = tuple(map(str, terms))
    inner = [name for terms in totals.values() for name in terms if name in totals]
    if inner:
        raise InputError(f"sums: {inner[0]!r} is a sum itself; write out what it is the sum of", parameter="sums")
    return totals


@dataclass(frozen=True)
class PlausibleColumns:
    """The rules of one release, and the parts whose values before them are summed up for analysts.

    Attributes
    ----------
    rules, totals
        By released column.
    parts
        For each part that has such a column its released columns.
    whole
        Columns that are released as whole numbers.
    weight
        The column of weights, if there is one.
    """

    rules: Rules
    totals: Totals
    parts: dict[int, tuple[str, ...]]
    whole: frozenset[str] = field(default_factory=frozenset)
    weight: str | None = None

    @classmethod
    def of(
        cls, plausible: Rules | str, totals: Totals, parts: Sequence[FittedPart], private: Schema
    ) -> PlausibleColumns:
        """The rules for fitted parts; columns that they name must be released as numbers of their own."""
        place = {name: i for i, part in enumerate(parts) if _has_own_columns(part) for name in part.columns}
        kinds = {column.name: column.kind for column in private.columns}
        integers = {c.name for c in private.columns if c.is_integer and not c.kind.is_timed}
        rules = _automatic(parts, place, integers, totals, kinds) if isinstance(plausible, str) else dict(plausible)
        others = [rule.after for rule in rules.values() if rule.after is not None]
        for what, names in (
            ("plausible", [*rules, *others]),
            ("sums", [n for k, v in totals.items() for n in (k, *v)]),
        ):
            stray = [name for name in names if name not in place]
            if stray:
                raise InputError(
                    f"{what}: column {stray[0]!r} is not released as a number of its own, so no rule can apply to it; "
                    f"columns that are: {listed(map(repr, place)) or 'none'}",
                    parameter=what,
                )
        dated = [name for terms in totals.items() for name in (terms[0], *terms[1]) if kinds[name] is Kind.DATE]
        if dated:
            raise InputError(f"sums: column {dated[0]!r} holds dates, which do not add up", parameter="sums")
        rules = _in_order(rules, totals, kinds)
        ruled = [name for name in totals if name in rules]
        if ruled:
            raise InputError(
                f"plausible: column {ruled[0]!r} is a sum of others; give these a rule, and the sum follows",
                parameter="plausible",
            )
        whole = {name for name, rule in rules.items() if rule.whole and name in integers}
        whole |= {name for name, terms in totals.items() if name in integers and whole.issuperset(terms)}
        touched = sorted({place[name] for name in (*rules, *totals)})
        weights = private.of_role(Role.WEIGHT)
        released = {i: tuple(parts[i].released) for i in touched}
        return cls(rules, totals, released, frozenset(whole), weights[0] if weights else None)

    def __bool__(self) -> bool:
        return bool(self.rules or self.totals)

    def with_heaps(self, heaps: Mapping[str, Sequence[Heap]], parts: Sequence[FittedPart]) -> PlausibleColumns:
        """The same rules with heaps and their limits; a rule's own that prove to be none are left out."""
        rules: Rules = {}
        for name in dict.fromkeys([*self.rules, *heaps]):
            rule, own = self.rules.get(name), heaps.get(name, ())
            if own:
                rules[name] = Plausible(heaps=own) if rule is None else replace(rule, heaps=own)
            elif rule is not None and rule.to_json().keys() != {"heaps"}:
                rules[name] = replace(rule, heaps=())
        named = {*rules, *self.totals}
        touched = {i: tuple(part.released) for i, part in enumerate(parts) if named & set(part.released)}
        return replace(self, rules=rules, parts=touched)

    def lossy(self, name: str) -> bool:
        """Whether a column was changed so that the key does not bring it back to the last digit."""
        return name in self.totals or name in self.rules

    def type_of(self, name: str, dtype: pa.DataType) -> pa.DataType:
        """The released type of a column."""
        return pa.int64() if name in self.whole else dtype

    def released(
        self, arrays: Mapping[str, pa.Array], weights: Vector | None = None
    ) -> tuple[dict[str, pa.Array], dict[str, Any]]:
        """A block's perturbed columns, made plausible; and of what they were before, sums as JSON values.

        ``weights`` are those of the block's records, if they have any.
        """
        named = {
            *self.rules,
            *(rule.after for rule in self.rules.values() if rule.after is not None),
            *self.totals,
            *(term for terms in self.totals.values() for term in terms),
        }
        named |= {name for names in self.parts.values() for name in names}
        before = {name: to_float(arrays[name], name) for name in sorted(named)}
        after: dict[str, Vector] = {}
        for name, rule in self.rules.items():
            after[name] = rule.applied(before[name])
            if rule.after is not None:
                after[name] = rule.in_order(after[name], after.get(rule.after, before[rule.after]))
        notes = {**self._sums(before, weights), CUT: self._cut(before, after)}
        for name, terms in self.totals.items():
            after[name] = np.sum([after.get(term, before[term]) for term in terms], axis=0)
        return {
            **arrays,
            **{name: self._array(name, column, arrays[name].type) for name, column in after.items()},
        }, notes

    def _array(self, name: str, column: Vector, dtype: pa.DataType) -> pa.Array:
        if is_timed(dtype):
            return times_of(column, dtype)
        missing = np.isnan(column)
        if name in self.whole:
            return pa.array(np.where(missing, 0.0, column).astype(np.int64), mask=missing)
        return pa.array(column, mask=missing)

    def _cut(self, before: Mapping[str, Vector], after: Mapping[str, Vector]) -> dict[str, list[list[float]]]:
        """Of each value that stands for others, how many these are, and the sums of their distances and squares."""
        sums = {}
        for name, rule in self.rules.items():
            if rule.stand_ins:
                away = [before[name][after[name] == value] - value for value in rule.stand_ins]
                sums[name] = [[float(len(each)), float(each.sum()), float((each**2).sum())] for each in away]
        return sums

    def _sums(self, before: Mapping[str, Vector], weights: Vector | None) -> dict[str, Any]:
        """By part product sums, and sums of records with the same gaps, plain and weighted.

        They are about the block's own means: nothing of the private table is in them but the noisy values.
        """
        notes: dict[str, Any] = {PRODUCTS: {}, PATTERNS: {}, **({} if weights is None else {WEIGHTED: {}})}
        for i, names in self.parts.items():
            y = np.array([before[name] for name in names])
            origin = np.nansum(y, axis=1) / np.maximum((~np.isnan(y)).sum(axis=1), 1)
            rows = np.ascontiguousarray((y - origin[:, None]).T)
            notes[PRODUCTS][str(i)] = sums_of(y, tuple(origin.tolist())).to_json()
            for name in (PATTERNS, WEIGHTED) if weights is not None else (PATTERNS,):
                sums = pattern_sums(rows, weights if name == WEIGHTED else None)
                notes[name][str(i)] = sums.to_json() if len(sums.present) <= MOST_PATTERNS else None
        return notes


@dataclass(frozen=True)
class Before:
    """What is told of a part's values before they were made plausible.

    Product sums of complete records, and sums of records with the same gaps, plain and weighted, all about one origin;
    None where they are not needed, or would be too many.
    """

    products: ProductSums
    patterns: PatternSums | None = None
    weighted: PatternSums | None = None


def sums_before(notes: Sequence[Mapping[str, Any]], rules: Rules) -> tuple[dict[int, Before], Cuts]:
    """Of the notes of all blocks in order: sums by part, and by column what stands for which values."""
    cut: dict[str, Matrix] = {}
    for note in notes:
        for name, amounts in note.get(CUT, {}).items():
            cut[name] = cut.get(name, np.zeros((len(amounts), 3))) + np.array(amounts)
    summed = [note for note in notes if PRODUCTS in note]
    before = {int(i): _before(i, summed) for i in (summed[0][PRODUCTS] if summed else ())}
    return before, {name: _replaced(rules[name].stand_ins, amounts) for name, amounts in cut.items()}


def _replaced(values: Sequence[float], amounts: Matrix) -> tuple[tuple[float, float, float], ...]:
    """Each value that stands for others, with the mean and the standard deviation of these."""
    found = []
    for value, (n, one, two) in zip(values, amounts.tolist(), strict=True):
        if n:
            found.append((value, value + one / n, math.sqrt(max(two / n - (one / n) ** 2, 0.0))))
    return tuple(found)


def _before(i: str, notes: Sequence[Mapping[str, Any]]) -> Before:
    """The sums of one part over all blocks, about the first one's means."""
    blocks = [ProductSums.from_json(note[PRODUCTS][i]) for note in notes]
    origins = [np.array(each.origin) for each in blocks]
    tree = Tree[ProductSums]()
    for each in blocks:
        tree.push(each.about(origins[0]))
    products = tree.result()
    assert products is not None  # noqa: S101 - a table has a block
    patterns, weighted = (
        _patterns([note.get(name, {}).get(i) for note in notes], origins) for name in (PATTERNS, WEIGHTED)
    )
    return Before(products, patterns if products.n < products.n_rows else None, weighted)


def _patterns(blocks: Sequence[Any], origins: Sequence[Vector]) -> PatternSums | None:
    """Sums by pattern over all blocks, about the first origin; None where some are missing, or they are too many."""
    tree = Tree[PatternSums]()
    for raw, origin in zip(blocks, origins, strict=True):
        if raw is None:
            return None
        tree.push(PatternSums.from_json(raw, len(origin)).about(origins[0] - origin))
    total = tree.result()
    return total if total is not None and len(total.present) <= MOST_PATTERNS else None


def _has_own_columns(part: FittedPart) -> bool:
    """Whether a part releases each private number as a number of its own."""
    model, layout = part.perturbation.model_, part.perturbation.layout
    own = isinstance(model, AdditiveModel | MultiplicativeModel | LogNormalModel)
    return own and layout.made_of is MadeOf.CELL


def _in_order(rules: Rules, totals: Totals, kinds: Mapping[str, Kind]) -> Rules:
    """The rules in an order in which no column comes before the one that it is after."""
    for name, rule in rules.items():
        if rule.after is None:
            continue
        other = rules.get(rule.after)
        if kinds[rule.after] is not kinds[name]:
            raise InputError(
                f"plausible: column {name!r} is {kinds[name]} and cannot be after {rule.after!r}, which is "
                f"{kinds[rule.after]}; convert one of them",
                parameter="plausible",
            )
        if rule.after in totals:
            raise InputError(
                f"plausible: column {name!r} cannot be after {rule.after!r}, which is a sum of others; leave it out",
                parameter="plausible",
            )
        if rule.grain is not None and (other is None or other.grain != rule.grain):
            raise InputError(
                f"plausible: column {name!r} has a grain and is after {rule.after!r}, which needs the same grain; give "
                "it to both",
                parameter="plausible",
            )
    ordered: Rules = {}
    while len(ordered) < len(rules):
        ready = [n for n, r in rules.items() if n not in ordered and (r.after not in rules or r.after in ordered)]
        if not ready:
            left = [name for name in rules if name not in ordered]
            raise InputError(
                f"plausible: columns {listed(left)} are after each other in a circle; leave one rule out",
                parameter="plausible",
            )
        ordered.update((name, rules[name]) for name in ready)
    return ordered


def _automatic(
    parts: Sequence[FittedPart],
    place: Mapping[str, int],
    integers: set[str],
    totals: Totals,
    kinds: Mapping[str, Kind],
) -> Rules:
    """Whole numbers stay whole, and what is never negative stays so; dates are whole anyway, and have no signs."""
    rules: Rules = {}
    for name, i in place.items():
        if kinds[name].is_timed:
            continue
        grain, low = 1.0 if name in integers else None, 0.0 if _least(parts[i], name) >= 0.0 else None
        if name not in totals and (grain, low) != (None, None):
            rules[name] = Plausible(grain=grain, low=low)
    return rules


def _least(part: FittedPart, name: str) -> float:
    """The least value that a column can have: where bounds are declared theirs, so that a guarantee stays."""
    model = part.perturbation.model_
    if isinstance(model, MechanismModel):
        return float(model.bounds[part.columns.index(name), 0])
    return part.least(name)
