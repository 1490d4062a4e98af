"""What a release or a manifest says of itself, as lines and tables: parts, columns, row order, key and guarantee."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from rich.table import Table
from rich.text import Text

from veil.report.console import grid, shown
from veil.report.escaping import visible
from veil.report.notebook import fragment_of
from veil.report.pieces import Piece
from veil.report.words import count, counted, digits, listed, shortened

MOST_SHOWN = 12
LONGEST_LIST = 60
ROW_ORDERS = {
    "private": "in the private table's order",
    "shuffled": "shuffled by a secret permutation",
    "sums": "sums over records",
    "unknown": "in an order that is not known",
}


@dataclass(frozen=True)
class PartView:
    """One perturbation of a release: its columns, and of its public parameters those that are single values."""

    method: str
    catalogue: str
    columns: tuple[str, ...]
    released: tuple[str, ...]
    parameters: tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class ReleaseView:
    """What the world is told of a release, without a cell of it; ``n_rows`` is None where only reading would tell."""

    number: int
    guarantee: str
    parts: tuple[PartView, ...]
    public: tuple[str, ...]
    n_columns: int
    row_order: str
    missing: str
    key: str
    veil: str
    n_rows: int | None = None


class _Named(Protocol):
    @property
    def name(self) -> str: ...


class _Part(Protocol):
    @property
    def method(self) -> str: ...
    @property
    def catalogue(self) -> str: ...
    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def released(self) -> tuple[str, ...]: ...
    @property
    def parameters(self) -> Mapping[str, Any]: ...


class _Manifest(Protocol):
    @property
    def release(self) -> int: ...
    @property
    def guarantee(self) -> str: ...
    @property
    def parts(self) -> Sequence[_Part]: ...
    @property
    def public(self) -> Sequence[_Named]: ...
    @property
    def schema(self) -> Sequence[_Named]: ...
    @property
    def row_order(self) -> str: ...
    @property
    def missing(self) -> str: ...
    @property
    def key(self) -> str: ...
    @property
    def veil(self) -> str: ...


def view_of(manifest: _Manifest, n_rows: int | None = None) -> ReleaseView:
    """What is shown of a manifest."""
    parts = tuple(
        PartView(part.method, part.catalogue, part.names, part.released, _single_values(part.parameters))
        for part in manifest.parts
    )
    return ReleaseView(
        number=manifest.release,
        guarantee=manifest.guarantee,
        parts=parts,
        public=tuple(column.name for column in manifest.public),
        n_columns=len(manifest.schema),
        row_order=str(manifest.row_order),
        missing=str(manifest.missing),
        key=str(manifest.key),
        veil=manifest.veil,
        n_rows=n_rows,
    )


def _single_values(parameters: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """The parameters that are a number, a word, or yes or no."""
    return tuple((name, value) for name, value in parameters.items() if isinstance(value, str | int | float))


def released_pieces(view: ReleaseView) -> list[Piece]:
    """The release as lines and tables; the first line is its title."""
    methods = " + ".join(part.method for part in view.parts)
    size = "" if view.n_rows is None else f"{counted(view.n_rows, 'record')} × "
    facts = [
        ("formal guarantee", view.guarantee),
        ("rows", ROW_ORDERS.get(view.row_order, view.row_order)),
        ("missing values", view.missing),
        ("key", view.key),
        ("released unchanged", _names(view.public) if view.public else "no column"),
        ("made by", f"Veil {view.veil}"),
    ]
    table = Table(box=None, pad_edge=False, show_header=False)
    for _ in range(2):
        table.add_column()
    for name, value in facts:
        table.add_row(Text(name), shown(value))
    title = f"Release {view.number}: {methods}, {size}{counted(view.n_columns, 'column')}"
    return [shown(title), _parts(view.parts), table]


def released_fragment(kind: str, view: ReleaseView) -> str:
    """The release in a notebook."""
    return fragment_of(kind, released_pieces(view))


def _parts(parts: Sequence[PartView]) -> Table:
    table = grid("method", "columns", "parameters", side="left")
    for part in parts[:MOST_SHOWN]:
        changed = _names(part.columns)
        names = changed if part.released == part.columns else f"{changed} as {_names(part.released)}"
        settings = ", ".join(f"{name} {_written(value)}" for name, value in part.parameters)
        table.add_row(shown(f"{part.method} ({part.catalogue})"), shown(names), shown(settings))
    if len(parts) > MOST_SHOWN:
        table.add_row(f"and {count(len(parts) - MOST_SHOWN)} more", style="dim")
    return table


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return shortened(value, LONGEST_LIST) if isinstance(value, str) else digits(value)


def _names(names: Sequence[str]) -> str:
    """A few names, and how many more there are."""
    few = [visible(shortened(name, LONGEST_LIST)) for name in names[:MOST_SHOWN]]
    more = len(names) - len(few)
    return f"{', '.join(few)} and {count(more)} more" if more else listed(few)
