"""Which perturbation changes which columns, and the role of every column."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from veil.data.schema import (
    PERTURBED,
    Kind,
    Role,
    Schema,
    as_roles,
    assign_roles,
    check_known_columns,
    kind_of,
    parse_roles,
)
from veil.data.sources import dated_columns, nearly_numeric_columns, unique_integer_columns
from veil.data.tables import Table
from veil.errors import InputError, RoleError, listed
from veil.perturbations import Perturbation
from veil.perturbations.pseudonyms import Pseudonymize
from veil.publishing.plausible import Rules, Totals, as_rules, as_totals

NOTHING_TO_SHUFFLE = "shuffle has nothing to shuffle: the release has no rows that are records; leave it out"


class Plan:
    """Different methods for different columns of one release.

    Parameters
    ----------
    parts : list of (columns, perturbation)
        ``columns`` is one name, a list of names, or None for all other columns that the perturbation can change (in at
        most one part).
    roles : dict, optional
        Column roles, as for :func:`veil.publish`; roles given there win.
    shuffle : bool, default False
        Release the rows in a secret order, which the key knows: where neighbouring rows resemble each other, their
        order tells what noise hides.
    plausible : "auto" or dict of column to Plausible, optional
        What released values look like: whole numbers, within bounds. "auto" keeps whole numbers whole, and what is
        never negative from being so.
    sums : dict of column to list of columns, optional
        Columns that are released as the sum of others, so that totals agree with their parts.

    Examples
    --------
    >>> import veil
    >>> plan = veil.Plan([(["age", "income"], veil.AdditiveNoise(0.5)), (None, veil.OrthogonalTransform())])
    >>> plan.describe()
    'additive noise (scale 0.5) on 2 columns + orthogonal transform on the rest'
    >>> veil.Plan([(None, veil.AdditiveNoise(0.5))], shuffle=True).describe()
    'additive noise (scale 0.5), rows shuffled'
    """

    def __init__(
        self,
        parts: Any,
        roles: Mapping[str, str] | None = None,
        *,
        shuffle: bool = False,
        plausible: Any = None,
        sums: Any = None,
    ) -> None:
        self.parts: tuple[tuple[tuple[str, ...] | None, Perturbation], ...] = tuple(_checked_parts(parts))
        self.roles: dict[str, str] = as_roles(roles)
        if not isinstance(shuffle, bool):
            raise InputError(f"shuffle must be True or False; got a {type(shuffle).__name__}")
        self.shuffle = shuffle
        if shuffle and self.reduces:
            raise InputError(NOTHING_TO_SHUFFLE)
        self.plausible, self.sums = as_rules(plausible), as_totals(sums)
        self.applied: tuple[Rules | str, Totals] = (self.plausible, self.sums)

    def shuffled(self, shuffle: bool = True) -> Plan:
        """The same plan with its rows in a secret order, or in their own."""
        return self if shuffle == self.shuffle else self.of_parts(self.parts, shuffle=shuffle)

    def before_rules(self) -> Plan:
        """The same plan, whose values are released as they are before they are made plausible.

        It keeps its sums: they decide which columns have one noise per group.
        """
        other = copy.copy(self)
        other.applied = ({}, {})
        return other

    def of_parts(self, parts: Any, *, shuffle: bool | None = None) -> Plan:
        """The same plan with other parts, or its rows in another order."""
        shuffle = self.shuffle if shuffle is None else shuffle
        other = Plan(parts, self.roles, shuffle=shuffle, plausible=self.plausible, sums=self.sums)
        other.applied = self.applied
        return other

    @property
    def perturbations(self) -> tuple[Perturbation, ...]:
        """The methods, in order."""
        return tuple(perturbation for _, perturbation in self.parts)

    @property
    def reduces(self) -> bool:
        """Whether the release has no rows that are records."""
        return any(p.layout.reduces for p in self.perturbations)

    def describe(self) -> str:
        """The plan in one line."""
        order = ", values made plausible" if self.plausible or self.sums else ""
        order += ", rows shuffled" if self.shuffle else ""
        if len(self.parts) == 1 and self.parts[0][0] is None:
            return self.parts[0][1].describe() + order
        parts = []
        for columns, perturbation in self.parts:
            n = 0 if columns is None else len(columns)
            where = "the rest" if columns is None else f"{n} column{'s' if n != 1 else ''}"
            parts.append(f"{perturbation.describe()} on {where}")
        return " + ".join(parts) + order

    def __repr__(self) -> str:
        return f"<Plan: {self.describe()}>"


@dataclass(frozen=True)
class Resolved:
    """A plan on one table, with pseudonyms for its groups: roles of all columns, and the columns of each part."""

    plan: Plan
    schema: Schema
    columns: tuple[tuple[str, ...], ...]


def as_plan(perturbation: Any) -> Plan:
    """A plan from a plan or from one perturbation for all columns."""
    if isinstance(perturbation, Plan):
        return perturbation
    if not isinstance(perturbation, Perturbation):
        raise InputError("perturbation must be an object such as AdditiveNoise() or a Plan, not a class or a name")
    return Plan([(None, perturbation)])


def resolve(table: Table, plan: Plan, roles: Mapping[str, str] | None, consistent_on: str | None = None) -> Resolved:
    """Roles of all columns and the columns of each part, or one error that lists those the owner must decide on."""
    names = table.schema.names
    given: dict[str, Role] = {**parse_roles(plan.roles, names), **parse_roles(roles, names)}
    if consistent_on is not None:
        _check_consistent(consistent_on, plan, names)
        given.setdefault(consistent_on, Role.IDENTIFIER)
    _check_groups(table, given)
    plan = _with_groups(plan, given)
    named, rest = _named(plan, names, given)
    if rest is not None and rest.layout.natural_role is Role.QUASI:  # a pseudonym stands for the identifier
        for name in [n for n, role in given.items() if role is Role.IDENTIFIER and n not in (*named, consistent_on)]:
            given[name] = Role.QUASI
    covers = {name: p.layout.covers for name, p in named.items()}
    open_kinds: frozenset[Kind] = rest.layout.covers if rest is not None else frozenset()
    open_columns = [f.name for f in table.schema if f.name not in given and kind_of(f.type) in open_kinds]
    schema = assign_roles(
        table.schema,
        given,
        covers={f.name: covers.get(f.name, open_kinds) for f in table.schema},
        named=named,
        unique_integers=unique_integer_columns(table, open_columns),
        nearly_numeric=nearly_numeric_columns(table, given),
        dated=dated_columns(table, given),
    )
    if plan.reduces and schema.public:
        raise InputError(
            f"column {schema.public[0]!r} cannot be public: the release holds sums over records, no row of which is a "
            "record; give it the role drop"
        )
    columns = []
    for wanted, _ in plan.parts:
        chosen = [n for n in schema.perturbed if (n in wanted if wanted is not None else n not in named)]
        if not chosen:
            raise RoleError("a part of the plan has no column left to perturb; leave the part out")
        columns.append(tuple(chosen))
    return Resolved(plan, schema, tuple(columns))


def _check_groups(table: Table, given: Mapping[str, Role]) -> None:
    """Groups are named by texts or whole numbers."""
    for name, role in given.items():
        dtype = table.schema.field(name).type
        if role is Role.GROUP and pa.types.is_floating(dtype):
            raise RoleError(
                f"column {name!r} has the role group and holds decimal numbers ({dtype}); groups are named by texts or "
                "whole numbers: declare the kind category, or give it another role",
                parameter="kinds",
            )


def _with_groups(plan: Plan, given: Mapping[str, Role]) -> Plan:
    """The plan with pseudonyms for the groups that no part of it names."""
    named = {name for columns, _ in plan.parts for name in columns or ()}
    groups = [name for name, role in given.items() if role is Role.GROUP and name not in named]
    if not groups:
        return plan
    if plan.reduces:
        raise InputError(f"column {groups[0]!r} cannot be a group: the release holds sums over records; drop it")
    return plan.of_parts([*plan.parts, (groups, Pseudonymize())])


def _named(
    plan: Plan, names: Sequence[str], given: dict[str, Role]
) -> tuple[dict[str, Perturbation], Perturbation | None]:
    """The columns that parts name, with their methods, and the method of the rest; fills in their roles."""
    named: dict[str, Perturbation] = {}
    rest = None
    for columns, perturbation in plan.parts:
        if columns is None:
            rest = perturbation
            continue
        check_known_columns(columns, names, "plan")
        for name in columns:
            if name in named:
                raise InputError(f"plan names column {name!r} in two parts; a column has one method")
            named[name] = perturbation
            role = given.setdefault(name, perturbation.layout.natural_role)
            if role is Role.IDENTIFIER and perturbation.layout.natural_role is Role.QUASI:
                given[name] = Role.QUASI  # a pseudonym stands for the identifier
            elif role not in (*PERTURBED, Role.KEY, Role.GROUP):
                raise RoleError(f"column {name!r} has the role {role} and is in the plan; take it out of one of them")
    return named, rest


def _check_consistent(consistent_on: Any, plan: Plan, names: Sequence[str]) -> None:
    if not isinstance(consistent_on, str):
        raise InputError("consistent_on must be the name of an id column")
    check_known_columns([consistent_on], names, "consistent_on")
    if not any(p.layout.addressed for p in plan.perturbations):
        raise InputError(
            f"consistent_on keeps noise with an id, and {type(plan.perturbations[0]).__name__} adds none; leave it out"
        )
    for p in plan.perturbations:
        if p.layout.addressed and not p.layout.keeps_cells:
            raise InputError(
                f"consistent_on keeps the noise of single cells, and that of {p.describe()} belongs to whole records "
                "or must be fresh; use independent noise"
            )


def _checked_parts(parts: Any) -> list[tuple[tuple[str, ...] | None, Perturbation]]:
    rule = "parts must be a list of (columns, perturbation), for example [(['age'], AdditiveNoise())]"
    if not isinstance(parts, Sequence) or isinstance(parts, str) or not len(parts):
        raise InputError(rule)
    checked: list[tuple[tuple[str, ...] | None, Perturbation]] = []
    for part in parts:
        if not isinstance(part, Sequence) or len(part) != 2 or not isinstance(part[1], Perturbation):
            raise InputError(rule)
        columns = (part[0],) if isinstance(part[0], str) else part[0]
        columns = list(columns) if hasattr(columns, "tolist") else columns
        if columns is not None and (not isinstance(columns, Sequence) or not all(isinstance(c, str) for c in columns)):
            raise InputError(rule)
        if columns is not None and not len(columns):
            raise InputError("parts: a part names no column; leave it out, or use None for all other columns")
        checked.append((None if columns is None else tuple(columns), part[1]))
    if sum(columns is None for columns, _ in checked) > 1:
        raise InputError("parts: only one part can take the rest (None)")
    if len(checked) > 1 and any(p.layout.reduces for _, p in checked):
        raise InputError("parts: a method that sums records up can only stand alone; its rows are no records")
    twice = [c for columns, _ in checked for c in columns or ()]
    if len(set(twice)) != len(twice):
        raise InputError(f"parts name {listed(sorted({c for c in twice if twice.count(c) > 1}))} more than once")
    return checked
