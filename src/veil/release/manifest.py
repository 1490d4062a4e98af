"""What is said in public about a release: the manifest, and how it is read and written.

A manifest is an allow-list: the methods and their models, the columns, the formal guarantee or "none", the release
number, and the SHA-256 of the *released* file. Data-derived values in it were rounded to two digits before use. Nothing
in it is a hash of private data.

Manifests of format 1 (version 0.1) call the parts steps, do not name the models, and say in sentences what is an
enumeration here.
"""

from __future__ import annotations

import json
import math
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, NoReturn, TypeVar

from veil.data.schema import UNCHANGED, Column, Kind, Role
from veil.errors import FileFormatError, InputError
from veil.numerics.gap_patterns import PatternSums
from veil.numerics.products import ProductSums
from veil.release.models import Model, PseudonymModel, model_from
from veil.release.models.base import require
from veil.release.plausible import Plausible

FORMAT = 2
MANIFEST = "manifest.json"
_LONGEST = 100_000
"""Signs of a text that is no column's name: a few hundred methods of a plan, not a page that no terminal ends."""
_OPTIONAL = ("plausible", "sums", "cut")
"""Fields that are left out where there is nothing to say."""
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)


class RowOrder(StrEnum):
    """How the released rows lie beside the private ones."""

    PRIVATE = "private"
    SHUFFLED = "shuffled"
    SUMS = "sums"
    UNKNOWN = "unknown"


class Missing(StrEnum):
    """What became of missing values: there are none, or they are released as missing and their pattern is public."""

    NONE = "none"
    PATTERN = "pattern is public"
    UNKNOWN = "unknown"


class KeyOrigin(StrEnum):
    """Where the key comes from: secret bits, or a seed that anybody can try."""

    SECRET = "secret"  # noqa: S105 - the word, not one
    SEEDED = "seeded, not secret"
    UNKNOWN = "unknown"


_SENTENCES = {
    "rows are in the private table's order": RowOrder.PRIVATE,
    "rows are shuffled by a secret permutation": RowOrder.SHUFFLED,
    "rows are sums over records": RowOrder.SUMS,
    "missing values are released as missing: their pattern is public": Missing.PATTERN,
    "not known": "unknown",
}
"""What format 1 said, and its value now."""


_SEE = ("see steps", "see parts")
"""What releases of several parts said of their guarantee before they named each."""


@dataclass(frozen=True)
class PublicColumn:
    """A column that is released as it is: public, a key that outsiders may have, or the records' weights.

    ``levels`` are the values of ordered categories, the least first; none that the release does not have.
    """

    name: str
    kind: Kind
    role: Role = Role.PUBLIC
    levels: tuple[str | int, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The column as JSON values; its role where it is not public, and its levels where it has an order."""
        role = {} if self.role is Role.PUBLIC else {"role": str(self.role)}
        return {
            "name": self.name,
            "kind": str(self.kind),
            **role,
            **({"levels": list(self.levels)} if self.levels else {}),
        }


@dataclass(frozen=True)
class ReleasedColumn:
    """A column of the release: its name and Arrow type."""

    name: str
    type: str


@dataclass(frozen=True)
class Part:
    """One perturbation as the world may know it.

    Attributes
    ----------
    method, catalogue
        The method's name and its id in the catalogue.
    model
        What the method discloses, as attacks and recovery use it.
    columns
        The private columns it changed.
    released
        Names of the columns it made of them.
    guarantee
        The formal guarantee, or "none".
    products
        Sums of products of the released values before they were made plausible; None where none were.
    patterns, weighted
        The same of records with the same gaps, plain and by the release's weights, about the origin of ``products``;
        None where there are no gaps or no weights, or too many patterns.
    groups
        Of each private column whose noise is one per group, the released column of pseudonyms that tells the groups:
        rows of one pseudonym have one draw of noise.
    """

    method: str
    catalogue: str
    model: Model
    columns: tuple[Column, ...]
    released: tuple[str, ...]
    guarantee: str = "none"
    products: ProductSums | None = None
    patterns: PatternSums | None = None
    weighted: PatternSums | None = None
    groups: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """The model as JSON values."""
        return self.model.to_json()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the private columns, in the order of every guess."""
        return tuple(column.name for column in self.columns)

    def to_json(self) -> dict[str, Any]:
        """The part as JSON values."""
        return {
            "method": self.method,
            "catalogue": self.catalogue,
            "model": self.model.recorded_name(),
            "parameters": self.model.to_json(),
            "columns": [
                {"name": c.name, "kind": str(c.kind), "role": str(c.role), "dtype": c.dtype} for c in self.columns
            ],
            "released": list(self.released),
            "guarantee": self.guarantee,
            **{
                name: sums.to_json()
                for name in ("products", "patterns", "weighted")
                if (sums := getattr(self, name)) is not None
            },
            **({"groups": dict(self.groups)} if self.groups else {}),
        }

    @classmethod
    def from_json(cls, raw: Any, format: int = FORMAT) -> Part:
        """Back from :meth:`to_json`, in the given format."""
        fields = _Fields(raw, "a part")
        method, parameters = fields.text("method"), fields.get("parameters", dict)
        name = fields.text("model") if format > 1 else None
        columns = fields.each("columns", _column)
        released = fields.each("released", lambda value: value if isinstance(value, str) else _refuse("released"))
        if not columns or not released:
            _refuse("columns and released of a part")
        try:
            model = model_from(parameters, method=method, name=name)
            model.check(len(columns), len(released))
            products = ProductSums.from_json(raw["products"]) if "products" in raw else None
            require(products is None or len(products.one) == len(released))
            patterns, weighted = (
                PatternSums.from_json(raw[name], len(released)) if name in raw else None
                for name in ("patterns", "weighted")
            )
            require(products is not None or (patterns is None and weighted is None))
        except (ArithmeticError, LookupError, MemoryError, RecursionError, TypeError, ValueError):
            _refuse(f"parameters of {method}")
        groups = fields.get("groups", dict) if "groups" in raw else {}
        if not set(groups) <= {column.name for column in columns} or not all(
            isinstance(g, str) for g in groups.values()
        ):
            _refuse("groups of a part")
        guarantee = fields.text("guarantee")
        sums = products, patterns, weighted
        return cls(method, fields.text("catalogue"), model, columns, released, guarantee, *sums, groups)


def guarantee_of(parts: Sequence[Part]) -> str:
    """The formal guarantee of several parts: theirs where they have the same, else that of each by its method."""
    said = dict.fromkeys((part.method, part.guarantee) for part in parts)
    texts = {guarantee for _, guarantee in said}
    return texts.pop() if len(texts) == 1 else "; ".join(f"{guarantee} ({method})" for method, guarantee in said)


@dataclass(frozen=True)
class Manifest:
    """What is said in public about a release.

    ``plausible`` are the rules by which released values were made plausible, by column, and ``sums`` the columns that
    were made the sum of others. ``cut`` has, for each column with bounds or heaps, each of these values with the mean
    and the standard deviation of the values that are released as it.
    """

    release: int
    release_id: str
    method: str
    guarantee: str
    parts: tuple[Part, ...]
    public: tuple[PublicColumn, ...]
    schema: tuple[ReleasedColumn, ...]
    key: KeyOrigin
    missing: Missing
    row_order: RowOrder
    arithmetic: str
    veil: str
    format: int = FORMAT
    data: dict[str, str] = field(default_factory=dict)
    plausible: dict[str, Plausible] = field(default_factory=dict)
    sums: dict[str, tuple[str, ...]] = field(default_factory=dict)
    cut: dict[str, tuple[tuple[float, float, float], ...]] = field(default_factory=dict)

    @property
    def weight(self) -> str | None:
        """The name of the column of weights, if there is one."""
        return next((column.name for column in self.public if column.role is Role.WEIGHT), None)

    def orders(self) -> dict[str, tuple[Any, ...]]:
        """By released column of ordered categories their order, the least first."""
        orders: dict[str, tuple[Any, ...]] = {column.name: column.levels for column in self.public if column.levels}
        for part in self.parts:
            listings = part.model.private_categories() or ()
            if listings != part.model.released_categories():
                continue
            for column, released, listing in zip(part.columns, part.released, listings, strict=False):
                if column.is_ordered and listing is not None:
                    orders[released] = tuple(value for value in listing if value is not None)
        return orders

    @property
    def steps(self) -> tuple[Part, ...]:
        """The name of ``parts`` in version 0.1; it goes with the next version."""
        warnings.warn("manifest.steps is now manifest.parts", DeprecationWarning, stacklevel=2)
        return self.parts

    def _repr_html_(self) -> str:
        from veil.report.released import released_fragment, view_of

        return released_fragment("Manifest", view_of(self))

    def __getitem__(self, name: str) -> Any:
        """A field by its name in ``manifest.json``, as its JSON value."""
        return _JSON[name](self)

    def to_json(self) -> str:
        """The manifest as JSON text."""
        values = {name: value(self) for name, value in _JSON.items()}
        for name in _OPTIONAL:
            if not values[name]:
                del values[name]
        return json.dumps(values, indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> Manifest:
        """Parse a manifest.

        Raises
        ------
        FileFormatError
            When it is not one, whatever is wrong with it; the line names the field.
        """
        try:
            if isinstance(text, bytes):
                text = text.decode("utf-8-sig")
            raw = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
            if _SURROGATE.search(text):
                json.dumps(raw, ensure_ascii=False).encode()
        except (RecursionError, ValueError) as error:
            if isinstance(error, FileFormatError):
                raise
            raise FileFormatError(f"its {MANIFEST} is not JSON in UTF-8") from None
        fields = _Fields(raw, MANIFEST)
        format = fields.get("format", int)
        if format not in (1, FORMAT):
            raise FileFormatError(
                f"its {MANIFEST} is of format {format!r:.20}; this version reads 1 and {FORMAT}; update Veil"
            )
        data = fields.get("data", dict)
        if not all(isinstance(value, str) for value in data.values()):
            _refuse("data")
        manifest = cls(
            release=fields.get("release", int),
            release_id=fields.text("release_id"),
            method=fields.text("method"),
            guarantee=fields.text("guarantee"),
            parts=fields.each("steps" if format == 1 else "parts", lambda part: Part.from_json(part, format)),
            public=fields.each("public", _public),
            schema=fields.each("schema", _released),
            key=fields.choice("key", KeyOrigin),
            missing=fields.choice("missing", Missing),
            row_order=fields.choice("row_order", RowOrder),
            arithmetic=fields.text("arithmetic"),
            veil=fields.text("veil"),
            data=data,
            plausible=_plausible(raw.get("plausible", {})),
            sums=_sums(raw.get("sums", {})),
            cut=_cut(raw.get("cut", {})),
        )
        manifest._check_names()
        return replace(manifest, guarantee=guarantee_of(manifest.parts)) if manifest.guarantee in _SEE else manifest

    def _check_names(self) -> None:
        names = [column.name for column in self.schema]
        if not self.parts or len(set(names)) != len(names):
            _refuse("parts or schema")
        if not {c.name for c in self.public} <= set(names):
            _refuse("public")
        if not all(set(part.released) <= set(names) for part in self.parts):
            _refuse("released")
        ruled = {*self.plausible, *(rule.after for rule in self.plausible.values() if rule.after is not None)}
        if not {*ruled, *self.cut, *self.sums, *(name for each in self.sums.values() for name in each)} <= set(names):
            _refuse("plausible or sums")
        pseudonyms = {n for part in self.parts if isinstance(part.model, PseudonymModel) for n in part.released}
        if not all(set(part.groups.values()) <= pseudonyms for part in self.parts):
            _refuse("groups of a part")


def _no_number(name: str) -> NoReturn:
    _refuse(f"{name}, which is no number,")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; one that names a field twice says one thing to this reader and another to the next."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        _refuse("a field that is given twice")
    return fields


def _refuse(what: str) -> NoReturn:
    raise FileFormatError(f"its {MANIFEST} is damaged or of another version: {what} cannot be read")


class _Fields:
    """The fields of a JSON object, each of the type it must have."""

    def __init__(self, raw: Any, what: str) -> None:
        if not isinstance(raw, dict):
            _refuse(what)
        self._raw: Mapping[str, Any] = raw

    def get(self, name: str, kind: type[T]) -> T:
        value = self._raw.get(name)
        if not isinstance(value, kind) or isinstance(value, bool):
            _refuse(name)
        return value

    def text(self, name: str) -> str:
        value = self.get(name, str)
        if len(value) > _LONGEST:
            _refuse(name)
        return value

    def choice(self, name: str, options: type[E]) -> E:
        value = self.text(name)
        try:
            return options(_SENTENCES.get(value, value))
        except ValueError:
            _refuse(name)

    def each(self, name: str, read: Callable[[Any], T]) -> tuple[T, ...]:
        return tuple(read(item) for item in self.get(name, list))


def _column(raw: Any) -> Column:
    fields = _Fields(raw, "a column")
    name, dtype = fields.get("name", str), fields.text("dtype")
    return Column(name, fields.choice("kind", Kind), fields.choice("role", Role), dtype)


def _public(raw: Any) -> PublicColumn:
    fields = _Fields(raw, "a public column")
    role = fields.choice("role", Role) if "role" in raw else Role.PUBLIC
    if role not in UNCHANGED:
        _refuse("role of a public column")
    levels = fields.each("levels", _level) if "levels" in raw else ()
    if len(set(levels)) < len(levels):
        _refuse("levels of a public column")
    return PublicColumn(fields.get("name", str), fields.choice("kind", Kind), role, levels)


def _level(value: Any) -> str | int:
    return value if isinstance(value, str) or type(value) is int else _refuse("levels of a public column")


def _plausible(raw: Any) -> dict[str, Plausible]:
    try:
        return {str(name): Plausible.from_json(rule) for name, rule in raw.items()}
    except (AttributeError, InputError, TypeError, ValueError):
        _refuse("plausible")


def _sums(raw: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(raw, dict) or not all(
        isinstance(parts, list) and parts and all(isinstance(part, str) for part in parts) for parts in raw.values()
    ):
        _refuse("sums")
    return {name: tuple(parts) for name, parts in raw.items()}


def _cut(raw: Any) -> dict[str, tuple[tuple[float, float, float], ...]]:
    try:
        cut = {str(n): tuple((value, mean, spread) for value, mean, spread in each) for n, each in raw.items()}
    except (AttributeError, TypeError, ValueError):
        _refuse("cut")
    numbers = [number for each in cut.values() for three in each for number in three]
    if not all(type(number) is float and math.isfinite(number) for number in numbers):
        _refuse("cut")
    if any(spread < 0.0 for each in cut.values() for _, _, spread in each):
        _refuse("cut")
    return cut


def _released(raw: Any) -> ReleasedColumn:
    fields = _Fields(raw, "a released column")
    return ReleasedColumn(fields.get("name", str), fields.text("type"))


_JSON: dict[str, Callable[[Manifest], Any]] = {
    "release": lambda manifest: manifest.release,
    "release_id": lambda manifest: manifest.release_id,
    "method": lambda manifest: manifest.method,
    "guarantee": lambda manifest: manifest.guarantee,
    "parts": lambda manifest: [part.to_json() for part in manifest.parts],
    "public": lambda manifest: [column.to_json() for column in manifest.public],
    "schema": lambda manifest: [{"name": c.name, "type": c.type} for c in manifest.schema],
    "key": lambda manifest: str(manifest.key),
    "missing": lambda manifest: str(manifest.missing),
    "row_order": lambda manifest: str(manifest.row_order),
    "arithmetic": lambda manifest: manifest.arithmetic,
    "veil": lambda manifest: manifest.veil,
    "format": lambda manifest: manifest.format,
    "data": lambda manifest: dict(manifest.data),
    "plausible": lambda manifest: {name: rule.to_json() for name, rule in manifest.plausible.items()},
    "cut": lambda manifest: {name: [list(each) for each in cut] for name, cut in manifest.cut.items()},
    "sums": lambda manifest: {name: list(parts) for name, parts in manifest.sums.items()},
}
"""Each field of ``manifest.json``, in its order, as a JSON value."""
