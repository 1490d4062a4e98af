"""What an experiment is: a set-up as data, a run through the public API, and claims with the truth beside them."""

from __future__ import annotations

import io
import math
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from veil.errors import UnwritableError
from veil_papers.data import Source
from veil_papers.figures import Figure
from veil_papers.files import write_file
from veil_papers.progress import Progress, silent

T = TypeVar("T")

PAPERS = {
    "huang": "Huang, Du and Chen 2005",
    "ketel": "Ketel, on quantifying a rotation",
    "tutorial": "PKDD 2006 tutorial on randomization",
    "liu": "Liu 2007, dissertation",
    "pandya": "Pandya, Singh, Dixit and Bunkar",
}


@dataclass(frozen=True)
class Claim:
    """One thing that a paper says, and what comes out.

    Attributes
    ----------
    what
        What is claimed, in a few words.
    paper
        The paper's value or shape, as it prints it.
    same
        Ours, done the paper's way.
    best
        Ours, in the best variant; empty where there is only one.
    agrees
        Whether the paper's value stands: done its way we find it, too, and it is right. None where the two cannot be
        compared: a stand-in was used for the paper's data, or the paper gives no value.
    why
        Where it differs, or needs a word: why, with the erratum's id.
    holds
        Whether what we assert holds (a closed form, an ordering, an exact value); None where the data that it is about
        are not there.
    """

    what: str
    paper: str
    same: str
    best: str = ""
    agrees: bool | None = field(kw_only=True)
    why: str = ""
    holds: bool | None = True

    def __post_init__(self) -> None:
        # Comparisons of numpy's numbers give numpy's bools, which are not True or False.
        for name in ("agrees", "holds"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else bool(value))

    def line(self) -> str:
        """The claim in one line."""
        ours = f"{self.same}; best {self.best}" if self.best else self.same
        verdict = {True: "agrees", False: "differs", None: "not compared"}[self.agrees]
        return f"{self.what}: paper {self.paper}; ours {ours}; {verdict}{' (' + self.why + ')' if self.why else ''}"


@dataclass(frozen=True)
class Table:
    """Numbers behind a figure or a table of a paper."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    @classmethod
    def of(cls, name: str, columns: Mapping[str, Sequence[Any]]) -> Table:
        """A table from its columns."""
        return cls(name, tuple(columns), tuple(zip(*columns.values(), strict=True)))


def json_value(value: Any) -> Any:
    """A value as JSON has it: no numpy, and None for what is not a finite number."""
    if isinstance(value, Mapping):
        return {str(key): json_value(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(each) for each in value]
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


@dataclass(frozen=True)
class Result:
    """What an experiment found."""

    claims: tuple[Claim, ...]
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """All but the pictures, as JSON values."""
        return {
            "claims": [asdict(claim) for claim in self.claims],
            "tables": [asdict(table) for table in self.tables],
            "figures": [figure.title for figure in self.figures],
            "notes": list(self.notes),
        }


@dataclass
class Context:
    """What a run may use: how much time, which data, and random numbers of its own."""

    experiment: str = ""
    quick: bool = False
    source: Source = field(default_factory=Source)
    progress: Progress = silent

    def pick(self, full: T, quick: T) -> T:
        """A size or a list of settings, for a full run or a quick one."""
        return quick if self.quick else full

    def rng(self, *address: int) -> np.random.Generator:
        """Random numbers that depend on the experiment and the address alone."""
        return np.random.default_rng([zlib.crc32(self.experiment.encode()), *address])

    def step(self, what: str, done: int, total: int) -> None:
        """Tell of progress."""
        self.progress(f"{self.experiment}: {what}", done, total)


@dataclass(frozen=True)
class Experiment:
    """A figure, table or numeric claim of a paper, and how it is run again.

    Attributes
    ----------
    id
        ``paper-name``, for example ``huang-fig1``.
    title
        What it shows.
    stated
        The set-up as the paper states it.
    chosen
        What the paper leaves open, what was chosen, and how much the answer depends on it.
    run
        The run itself.
    errata
        Ids of the errata that concern it.
    data
        Names of the tables that it needs (:mod:`veil_papers.data`).
    also
        Other figures and tables that it shows, by their names.
    chapter
        The paper's chapter or section, where the id does not say it; the list is in their order.
    """

    id: str
    title: str
    stated: str
    chosen: str
    run: Callable[[Context], Result] = field(repr=False)
    errata: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    chapter: int = 0

    def called(self, name: str) -> bool:
        """Whether it goes by this name (in lower case), with or without the paper's."""
        own = [each.lower() for each in self.names]
        return name in own or name in [f"{self.paper}-{each}" for each in own]

    @property
    def names(self) -> tuple[str, ...]:
        """Its names within the paper."""
        return (self.id.partition("-")[2], *self.also)

    @property
    def place(self) -> tuple[int, list[tuple[int, str]]]:
        """Where it stands in its paper's list: by chapter, then by id with numbers as numbers."""
        parts = re.findall(r"\d+|\D+", self.id)
        numbers = [int(part) for part in parts if part.isdigit()]
        chapter = self.chapter or (numbers[0] if self.paper == "liu" and numbers else 0)
        return chapter, [(int(part), "") if part.isdigit() else (0, part) for part in parts]

    @property
    def paper(self) -> str:
        """The paper's short name."""
        return self.id.partition("-")[0]


def save_result(experiment: Experiment, result: Result, folder: Path, context: Context) -> list[Path]:
    """Write figures (SVG and PNG), numbers (CSV and JSON) and claims of an experiment; returns what was written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return _save(experiment, result, folder, context)
    except OSError as error:
        raise UnwritableError(f"{folder} cannot be written to: {error.strerror or error}") from None


def _save(experiment: Experiment, result: Result, folder: Path, context: Context) -> list[Path]:
    import csv
    import json

    from veil_papers.figures import save_figures

    written = save_figures(result.figures, folder, experiment.id)
    for table in result.tables:
        path = folder / f"{experiment.id}-{table.name}.csv"
        text = io.StringIO(newline="")
        csv.writer(text).writerows([table.columns, *json_value(table.rows)])
        write_file(path, text.getvalue().encode())
        written.append(path)
    path = folder / f"{experiment.id}.json"
    everything = describe(experiment, result, quick=context.quick, stand_ins=context.source.stand_ins(experiment.data))
    text_of_all = json.dumps(everything, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    write_file(path, text_of_all.encode())
    return [*written, path]


def describe(experiment: Experiment, result: Result, *, quick: bool, stand_ins: dict[str, str]) -> dict[str, Any]:
    """An experiment and what it found, as JSON values."""
    set_up = {name: getattr(experiment, name) for name in ("id", "title", "stated", "chosen", "errata")}
    everything: dict[str, Any] = json_value({**set_up, "quick": quick, "stand_ins": stand_ins, **result.to_dict()})
    return everything
