"""How a file is to be read where the file itself does not say it: what its owner declares."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass, field

from veil.errors import InputError

DELIMITERS = (",", ";", "\t", "|")
DECIMALS = (".", ",")


@dataclass(frozen=True)
class FileOptions:
    """What the owner declares about a file.

    Attributes
    ----------
    delimiter, decimal
        Of CSV: what separates cells, and what separates the whole part of a number from its fraction; None reads them
        off the file.
    encoding
        Of CSV and of survey files: how letters are encoded. None is UTF-8, or what the file says.
    labels
        Of survey files: whether columns with value labels become categories.
    sheet
        Of a workbook: the sheet to read; None is the only one.
    marks
        Texts that stand for a missing value, by column ("*": all): they make no text of a column of numbers.
    texts
        Columns that stay texts whatever their cells look like.
    """

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    labels: bool = True
    sheet: str | None = None
    marks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    texts: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.delimiter is not None and self.delimiter not in DELIMITERS:
            raise InputError(
                "delimiter must be a comma, a semicolon, a tab or a bar (',', ';', '\\t', '|')", parameter="delimiter"
            )
        if self.decimal is not None and self.decimal not in DECIMALS:
            raise InputError("decimal must be a point or a comma", parameter="decimal")
        if self.encoding is not None:
            self._check_encoding(self.encoding)

    @staticmethod
    def _check_encoding(name: str) -> None:
        try:
            codecs.lookup(name)
        except (LookupError, TypeError):
            known = "utf-8, windows-1252, latin-1 or utf-16"
            raise InputError(f"no encoding is called {name!r}; name it, e.g. {known}", parameter="encoding") from None


AS_THE_FILE_SAYS = FileOptions()
