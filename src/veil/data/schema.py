"""Columns, their kinds and their roles: what a table is made of and what may happen to it.

A *kind* is a fact about the data (numbers, text, ...). A *role* is the owner's decision:

========== ===================================================================
identifier withheld: it names a person
sensitive  perturbed and scored
quasi      perturbed, scored, and usable for linkage
key        an outsider may know it: usable for linkage, and no secret; released
           unchanged, or changed where a part of the plan names it
public     released unchanged and granted to every attacker
group      names what records belong to (a household, a firm, a patient);
           released as a pseudonym
weight     how many people of the population a record stands for; released
           unchanged
drop       withheld
========== ===================================================================
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import pyarrow as pa

from veil.data.dates import is_timed
from veil.errors import InputError, RoleError, listed


class Kind(StrEnum):
    """What the values of a column are. Dates are numbers of days, times numbers of seconds."""

    NUMERIC = "numeric"
    BOOLEAN = "boolean"
    CATEGORY = "category"
    TEXT = "text"
    DATE = "date"
    TIME = "time"
    OTHER = "other"

    @property
    def is_timed(self) -> bool:
        """Whether they are dates or times."""
        return self in (Kind.DATE, Kind.TIME)

    @property
    def is_number(self) -> bool:
        """Whether they are numbers: those that can be added to."""
        return self is Kind.NUMERIC or self.is_timed


class Role(StrEnum):
    """What the owner wants done with a column."""

    IDENTIFIER = "identifier"
    SENSITIVE = "sensitive"
    QUASI = "quasi"
    KEY = "key"
    PUBLIC = "public"
    GROUP = "group"
    WEIGHT = "weight"
    DROP = "drop"


PERTURBED = (Role.SENSITIVE, Role.QUASI)
"""Roles of columns that are always changed."""
UNCHANGED = (Role.PUBLIC, Role.KEY, Role.WEIGHT)
"""Roles of columns that are released as they are, keys where no part of a plan names them."""
KNOWN = (Role.QUASI, Role.KEY, Role.PUBLIC)
"""Roles of columns that an outsider may know."""
WITHHELD = (Role.IDENTIFIER, Role.DROP)
_ANSWERS = ", or name it in a part of a plan with randomized-response"


@dataclass(frozen=True)
class Column:
    """One column of the private table: its name, kind, role and Arrow type."""

    name: str
    kind: Kind
    role: Role
    dtype: str

    @property
    def is_integer(self) -> bool:
        """Whether its values are whole numbers by their type: integers, whole days, whole seconds."""
        return self.kind.is_timed or self.dtype.startswith(("int", "uint"))

    @property
    def is_ordered(self) -> bool:
        """Whether its values are categories with an order."""
        return self.dtype.startswith("dictionary") and self.dtype.endswith("ordered=1>")


@dataclass(frozen=True)
class Schema:
    """The columns of a private table, in their order.

    ``changed`` are the keys and groups that a part of the plan names.
    """

    columns: tuple[Column, ...]
    changed: frozenset[str] = frozenset()

    @property
    def perturbed(self) -> tuple[str, ...]:
        """Names of the columns that a perturbation changes."""
        return tuple(c.name for c in self.columns if c.role in PERTURBED or c.name in self.changed)

    @property
    def public(self) -> tuple[str, ...]:
        """Names of the columns that are released unchanged."""
        return tuple(c.name for c in self.columns if c.role in UNCHANGED and c.name not in self.changed)

    def of_role(self, *roles: Role) -> tuple[str, ...]:
        """Names of the columns with one of some roles."""
        return tuple(c.name for c in self.columns if c.role in roles)

    @property
    def withheld(self) -> tuple[str, ...]:
        """Names of the columns that are not released at all."""
        return tuple(c.name for c in self.columns if c.role in WITHHELD)


def kind_of(dtype: pa.DataType) -> Kind:
    """Kind of an Arrow type.

    >>> kind_of(pa.int32()), kind_of(pa.string()), kind_of(pa.date32())
    (<Kind.NUMERIC: 'numeric'>, <Kind.TEXT: 'text'>, <Kind.DATE: 'date'>)
    """
    types = pa.types
    # A column without any value (Arrow's null type) could be of any kind; as numbers it gets the clearest error.
    if types.is_integer(dtype) or types.is_floating(dtype) or types.is_decimal(dtype) or types.is_null(dtype):
        return Kind.NUMERIC
    if types.is_boolean(dtype):
        return Kind.BOOLEAN
    if types.is_dictionary(dtype):
        return Kind.CATEGORY
    if types.is_string(dtype) or types.is_large_string(dtype) or types.is_string_view(dtype):
        return Kind.TEXT
    if types.is_date(dtype):
        return Kind.DATE
    if is_timed(dtype):
        return Kind.TIME
    return Kind.OTHER


def is_countable(dtype: pa.DataType) -> bool:
    """Whether values are numbers, or true and false, which are 1 and 0."""
    return kind_of(dtype).is_number or kind_of(dtype) is Kind.BOOLEAN


def check_known_columns(
    wanted: Iterable[str], available: Sequence[str], parameter: str, error: type[InputError] = InputError
) -> None:
    """Refuse names that the table does not have, with the nearest one as a suggestion."""
    missing = [name for name in wanted if name not in available]
    if missing:
        raise error.from_missing_columns(parameter, missing, available)


def as_roles(roles: Any) -> dict[str, str]:
    """Roles as given, none for None; what is no mapping is refused."""
    if roles is not None and not isinstance(roles, Mapping):
        raise RoleError("roles must map column names to roles, for example {'name': 'drop'}")
    return dict(roles or {})


def parse_roles(roles: Mapping[str, str] | None, names: Sequence[str]) -> dict[str, Role]:
    """The owner's decisions as roles; unknown columns and roles are errors with a suggestion."""
    given: dict[str, Role] = {}
    roles = as_roles(roles)
    check_known_columns(roles, names, "roles", RoleError)
    for name, role in roles.items():
        try:
            given[name] = Role(role)
        except ValueError:
            raise RoleError.from_unknown_name(
                f"role for column {name!r} in roles", role, Role, parameter="roles"
            ) from None
    return given


def _note(name: str, nearly_numeric: Mapping[str, tuple[int, int]], dated: Mapping[str, tuple[int, int]]) -> str:
    """What a text column nearly is."""
    if name in dated:
        bad, rows = dated[name]
        if not bad:
            return f", dates as texts: declare them with kinds={{{name!r}: 'date'}}"
        return f", {bad} of {rows} values are not dates like 2024-02-29"
    bad, rows = nearly_numeric.get(name, (0, 0))
    if bad:
        return f", {bad} of {rows} values are not numbers"
    return " of numbers: another decimal mark?" if rows else ""


def assign_roles(
    arrow: pa.Schema,
    roles: Mapping[str, str] | None,
    *,
    covers: Mapping[str, Collection[Kind]],
    named: Collection[str] = (),
    unique_integers: Collection[str] = (),
    nearly_numeric: Mapping[str, tuple[int, int]] | None = None,
    dated: Mapping[str, tuple[int, int]] | None = None,
) -> Schema:
    """Give every column a role, or say which columns the owner must decide on.

    Parameters
    ----------
    arrow
        Names and types of the table's columns.
    roles
        The owner's decisions, by column name; the rest is inferred.
    covers
        By column, the kinds that its perturbation can change. Columns of these kinds are *sensitive* when
        nothing else is said; all others need a decision.
    named
        Columns that a part of the plan names: keys among them are changed.
    unique_integers
        Integer columns in which no value occurs twice: these may be identifiers.
    nearly_numeric
        Text columns that would be numeric but for a few values: name to (count of those, rows).
    dated
        Text columns of dates: name to (count of values in another form than ISO's, rows).
    """
    given = parse_roles(roles, arrow.names)
    undecided: dict[str, str] = {}
    unfit: list[str] = []
    answers = False
    fitting: set[Kind] = set()
    columns: list[Column] = []
    for field in arrow:
        kind = kind_of(field.type)
        role = given.get(field.name)
        if role is None:
            if kind not in covers[field.name]:
                undecided[field.name] = f"{kind}{_note(field.name, nearly_numeric or {}, dated or {})}"
            elif field.name in unique_integers:
                undecided[field.name] = "integers, all different"
            role = Role.SENSITIVE
        elif (role in PERTURBED or field.name in named) and kind not in covers[field.name]:
            unfit.append(f"{field.name!r} ({kind})")
            answers |= kind in (Kind.TEXT, Kind.CATEGORY, Kind.BOOLEAN)
            fitting |= set(covers[field.name])
        elif role in UNCHANGED and kind is Kind.OTHER:
            raise RoleError(
                f"column {field.name!r} is nested or binary and cannot be released unchanged, because values that it "
                "no longer shows may still be inside; give it the role drop, or unnest it"
            )
        columns.append(Column(field.name, kind, role, str(field.type)))
    if unfit:
        raise RoleError(
            f"roles: {', '.join(unfit)} cannot be perturbed by this method, which covers "
            f"{', '.join(sorted(fitting)) or 'no other'} columns; use public, identifier or drop"
            f"{_ANSWERS if answers else ', or convert the column'}"
        )
    if undecided:
        reasons = ", ".join(f"{name!r} ({why})" for name, why in undecided.items())
        raise RoleError(
            f"{len(undecided)} column{'s need' if len(undecided) > 1 else ' needs'} a role: "
            f"{reasons}; give each one of {', '.join(Role)}, for example "
            f"roles={{{next(iter(undecided))!r}: 'drop'}}",
            parameter="roles",
        )
    weights = [column for column in columns if column.role is Role.WEIGHT]
    if len(weights) > 1:
        names = listed([column.name for column in weights])
        raise RoleError(f"{names} have the role weight; a record has one weight: make the others public")
    if weights and weights[0].kind is not Kind.NUMERIC:
        raise RoleError(
            f"column {weights[0].name!r} has the role weight and is no number, but {weights[0].kind}; drop it"
        )
    schema = Schema(tuple(columns), frozenset(c.name for c in columns if c.name in named and c.role not in PERTURBED))
    if not schema.perturbed:
        raise RoleError("no column is sensitive or quasi, so nothing would be perturbed; give one such a role")
    return schema
