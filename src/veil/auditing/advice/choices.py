"""What there is to choose from: methods for the numbers, responses for the categories, and a survey of the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from veil.attacks.knowledge import LARGEST
from veil.auditing.advice.families import NUMERIC, RESPONSE, Family, matrices, response
from veil.auditing.advice.heaped_columns import heap_edges
from veil.auditing.advice.key_recoding import key_recoding
from veil.auditing.advice.prediction import Survey
from veil.auditing.advice.row_order import order_tells
from veil.auditing.advice.settings import Doubts, Numbers, Setting
from veil.auditing.truth import Truth
from veil.data.blocks import Vector
from veil.data.schema import PERTURBED, UNCHANGED, WITHHELD, Role, kind_of, parse_roles
from veil.data.tables import MemoryTable
from veil.errors import InputError
from veil.perturbations import Perturbation
from veil.perturbations.layout import Takes
from veil.perturbations.local_suppression import LocalSuppression
from veil.publishing.plan import Plan, resolve
from veil.report.words import listed

MOST_RECORDS = 4_000
FEWEST_RECORDS = 10
_UNTOUCHED = (*UNCHANGED, Role.GROUP, *WITHHELD)
STRETCH = 40
"""Consecutive rows that a sample of a large table takes together."""


class Choices:
    """The methods that a table allows, as plans.

    ``categories`` are the columns that are no numbers, and ``names`` those that are. With ``in_classes``, numbers most
    of which are one value are not among these: ``classes`` has the edges by which they are reported
    (:mod:`veil.auditing.advice.heaped_columns`). ``shuffle`` says whether rows
    are released in a secret order; None does so where their order tells something. Columns that the owner's ``plan``
    names keep their methods; what the plan has for the rest is tried with everything else. ``links`` is the most that
    may be gained on links by outsiders who know the keys; None where that does not count.
    """

    def __init__(
        self,
        table: pa.Table,
        roles: Mapping[str, str],
        *,
        tolerance: float,
        seed: int | None,
        shuffle: bool | None,
        plan: Plan | None = None,
        links: float | None = None,
        in_classes: bool = False,
    ) -> None:
        self._table, self._roles, self._tolerance, self._seed = table, dict(roles), tolerance, seed
        self.recoded: tuple[tuple[str, ...], LocalSuppression] | None = None
        self.classes: dict[str, list[float]] = {}
        parts = () if plan is None else plan.parts
        self._kept = [(columns, method) for columns, method in parts if columns is not None]
        self._settled = {name for columns, _ in self._kept for name in columns}
        self._own = [method for columns, method in parts if columns is None]
        self._rules = (None, {}) if plan is None else (plan.plausible, plan.sums)
        self.categories = self._categorical()
        self.names = tuple(self._numeric())
        private = Truth.of(table, [*self.names, *self.categories])
        self.classes = self._heaped() if in_classes else {}
        self.names = tuple(name for name in self.names if name not in self.classes)
        self.shuffle = order_tells(private) if shuffle is None else shuffle
        given = parse_roles(self._roles, table.column_names)
        self.recoded = None if links is None else key_recoding(table, given, links)

    def _categorical(self) -> list[str]:
        """Columns that are no numbers and are to be perturbed: the owner gave them such a role."""
        given = parse_roles(self._roles, self._table.column_names)
        kinds = {f.name: kind_of(f.type) for f in self._table.schema}
        named = [n for n, role in given.items() if role in PERTURBED and not kinds[n].is_number]
        return [name for name in named if name not in self._settled]

    def _numeric(self) -> list[str]:
        """The numeric columns that are perturbed."""
        given = parse_roles(self._roles, self._table.column_names)
        kinds = {f.name: kind_of(f.type) for f in self._table.schema}
        left = [
            n
            for n in self._table.column_names
            if kinds[n].is_number and given.get(n, None) not in _UNTOUCHED and n not in self._settled
        ]
        if self._settled and not left and not self.categories:
            raise InputError(
                "the plan names a method for every column, so there is nothing to propose; audit it, or leave the "
                "columns out whose method is open",
                parameter="plan",
            )
        plan = self.of_method(NUMERIC[0].make((1.0,)) if left else RESPONSE.make((1.0,)))
        schema = resolve(MemoryTable(self._table), plan, self._roles).schema
        return [n for n in schema.of_role(*PERTURBED) if n not in self.categories and n not in self._settled]

    def _heaped(self) -> dict[str, list[float]]:
        """The edges of numbers that are reported by class; none where there would be no others."""
        heaped = {name: heap_edges(Truth.of(self._table, [name]).values[:, 0]) for name in self.names}
        classes = {name: edges for name, edges in heaped.items() if edges is not None}
        return classes if len(classes) < len(self.names) else {}

    def methods(self, candidates: Sequence[Any] | None) -> tuple[list[Family], list[Plan]]:
        """What was asked for, or all: families whose strength is searched, and plans that are tried as they are."""
        own = [self.of_method(method).shuffled(self.shuffle) for method in self._own]
        if not self.names and candidates is None:
            return [RESPONSE], own
        names = {family.name: family for family in NUMERIC}
        if candidates is None:
            return self._usable(), [*own, *self._matrices()]
        if isinstance(candidates, str | Perturbation | Plan):
            candidates = [candidates]
        if not isinstance(candidates, Sequence):
            raise InputError(f"candidates must be a list of methods or their names; got a {type(candidates).__name__}")
        families, fixed = [], []
        for item in candidates:
            if isinstance(item, Perturbation | Plan):
                fixed.append(self.of_method(item))
            elif isinstance(item, str) and item in names:
                families.append(names[item])
            else:
                raise InputError(
                    f"candidates must be perturbations, or names of methods to search: {', '.join(names)}; got {item!r}"
                )
        if not families and not fixed:
            raise InputError("candidates is empty; name at least one method, or leave it out for all")
        return families, fixed

    def _usable(self) -> list[Family]:
        """The families that the values allow; noise on one column has no correlations to mimic."""
        values = Truth.of(self._table, self.names).values
        positive, alone = bool((values > 0).all()), len(self.names) == 1
        return [
            family
            for family in NUMERIC
            if (positive or family.make((family.limits[0],)).layout.takes is not Takes.POSITIVE)
            and not (alone and family.similar)
        ]

    def _matrices(self) -> list[Plan]:
        numbers = [*self.names, *self.classes]
        if len(numbers) < 2 or np.isnan(Truth.of(self._table, numbers).values).any():
            return []
        return [self.of_method(method).shuffled(self.shuffle) for method in matrices(len(numbers))]

    def plan(self, setting: Setting) -> Plan:
        """A setting as a plan, its rows shuffled where that was decided."""
        return self.of_method(setting.method(), setting.doubts).shuffled(self.shuffle)

    def of_method(self, method: Perturbation | Plan, doubts: Doubts = Doubts()) -> Plan:  # noqa: B008 - frozen
        """A method for the numbers, with randomized responses for the categories and, if they have a strength, for
        the classes of numbers.
        """
        if isinstance(method, Plan):
            return method
        parts: list[Any] = [(None, method)]
        if self.categories and method.method_name() != RESPONSE.name:
            parts.append((self.categories, response(doubts.categories or 1.0)))
        if self.classes and doubts.classes is not None:
            parts.append(([*self.classes], response(doubts.classes, self.classes)))
        return Plan([*parts, *self._kept, *([self.recoded] if self.recoded is not None else [])])

    def ruled(self, plan: Plan) -> Plan:
        """A plan with the owner's rules that make values plausible, for columns that keep numbers of their own."""
        rules, sums = self._rules
        own = {*self.names, *(name for name in self._settled if name not in self.classes)}
        if isinstance(rules, Mapping):
            rules = {name: rule for name, rule in rules.items() if name in own and (rule.after or name) in own}
        sums = {name: terms for name, terms in sums.items() if own.issuperset((name, *terms))}
        if not rules and not sums:
            return plan
        return Plan(plan.parts, plan.roles, shuffle=plan.shuffle, plausible=rules or None, sums=sums or None)

    def thinned(self) -> pa.Table:
        """The table, or a sample of stretches of consecutive rows of a large one: attacks may use the order of rows."""
        n = self._table.num_rows
        if n <= MOST_RECORDS:
            return self._table
        n_stretches = -(-n // STRETCH)
        drawn = np.random.default_rng(self._seed).choice(n_stretches, MOST_RECORDS // STRETCH, replace=False)
        rows = (np.sort(drawn)[:, None] * STRETCH + np.arange(STRETCH)).ravel()
        return self._table.take(pa.array(rows[rows < n]))

    @cached_property
    def numbers(self) -> Numbers:
        """What the closed forms need of the table; one that they cannot use is refused."""
        values = Truth.of(self._table, self.names).values
        for name, column in zip(self.names, values.T, strict=True):
            _check_squares(name, column)
        complete = values[~np.isnan(values).any(axis=1)]
        if len(complete) < FEWEST_RECORDS or not (np.ptp(complete, axis=0) > 0).any():
            raise InputError(
                f"the table has {len(values)} rows, {len(complete)} of them without gaps; advice needs "
                f"at least {FEWEST_RECORDS}, that vary: fill or drop {listed([repr(n) for n in self.names[:4]])}, or "
                "give other roles"
            )
        return Numbers(self.names, Survey(complete, self._tolerance))


def _check_squares(name: str, column: Vector) -> None:
    """Refuse a column whose deviations vanish or overflow when they are squared."""
    present = column[~np.isnan(column)]
    if not len(present):
        return
    largest, spread = float(np.abs(present).max()), float(present.max() / 2 - present.min() / 2)
    if largest > LARGEST or 0.0 < spread < 1.0 / LARGEST:
        raise InputError(
            f"column {name!r}: the {len(column)} values are too large or too close together for float64 to measure "
            f"their spread (about {LARGEST:g} and {1.0 / LARGEST:g} are the limits); rescale the column"
        )
