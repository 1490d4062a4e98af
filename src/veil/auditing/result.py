"""What an audit found: rows, candidates, the verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from veil.auditing.goals import Failure, Goals
from veil.auditing.grants import Level
from veil.auditing.judge import SMALLEST_CELL, Score
from veil.errors import InputError
from veil.measures import Measure
from veil.report.model import Picture, ReportModel


@dataclass(frozen=True)
class AuditRow:
    """One attack on one perturbation with one level of knowledge.

    ``value`` and ``record`` are the scores per value and per record, ``worst_column`` the column
    with the highest advantage, ``far_out`` the score on far-out values (None for fewer than ten),
    ``nrmse`` the root-mean-square error in standard units (a constant guess of the mean has about 1), and
    ``column_gains`` the advantage on each column. ``one_matrix`` says that the attack succeeds or fails on all records
    alike, so that its interval is over repetitions. Where the attack ``links`` people to rows instead of guessing
    values, every score is that of its links.
    """

    perturbation: str
    attack: str
    catalogue: str
    attack_words: str
    level: Level
    value: Score
    record: Score
    worst_column: str
    column: Score
    far_out: Score | None
    nrmse: float
    ambiguity: str
    repetitions: int
    n_scored: int
    seconds: float
    failures: tuple[Failure, ...] = ()
    picture: Picture | None = field(default=None, repr=False)
    records: tuple[tuple[int, float], ...] = field(default=(), repr=False)
    up_to: tuple[str, ...] = ()
    part: int = 0
    column_gains: dict[str, float] = field(default_factory=dict, repr=False)
    links: bool = False
    one_matrix: bool = False
    n_far_out: int = 0

    @property
    def states_values(self) -> bool:
        """Whether the guess states values: one that leaves the scale open is matched by the judge, and not counted."""
        return "scale" not in self.up_to

    @property
    def knowledge(self) -> str:
        """The knowledge level, in a few words."""
        return self.level.label

    @property
    def advantage(self) -> Measure:
        """The higher of the advantages per value and per record."""
        return max(self.value.advantage, self.record.advantage, key=lambda m: (float(m), m.high))

    @property
    def upper(self) -> float:
        """The higher upper limit of the advantages per value and per record, which goals are held against."""
        ends = (self.value.advantage.high, self.record.advantage.high)
        return math.nan if any(map(math.isnan, ends)) else max(ends)

    @property
    def passed(self) -> bool:
        """Whether every goal holds against this attack."""
        return not self.failures

    @property
    def broken(self) -> tuple[str, ...]:
        """The goals that the attack is shown to break; the other failures are goals not shown to hold."""
        return tuple(failure for failure in self.failures if failure.shown)


@dataclass(frozen=True)
class Skipped:
    """An attack that was not played, and why.

    ``applies`` says that it has a theory for the method, ``late`` that the time had run out.
    """

    attack: str
    knowledge: str
    reason: str
    applies: bool = True
    late: bool = False


@dataclass(frozen=True)
class Break:
    """The least knowledge of one kind with which a goal is shown to break, and the attack that does it."""

    level: Level
    attack: str


@dataclass(frozen=True)
class Candidate:
    """One perturbation under audit: its rows, its utility and what it fails."""

    label: str
    method: str
    catalogue: str
    guarantee: str
    threat: str
    rows: tuple[AuditRow, ...]
    skipped: tuple[Skipped, ...]
    levels: tuple[Level, ...]
    utility: dict[str, Measure]
    other_failures: tuple[Failure, ...]
    breaks: tuple[Break, ...] = ()

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Every goal that does not hold, in words."""
        return tuple(f for row in self.rows for f in row.failures) + self.other_failures

    @property
    def passed(self) -> bool:
        """Whether every goal holds."""
        return not self.failures

    @property
    def worst(self) -> AuditRow | None:
        """The strongest attack found, at any level; None when no attack applies."""
        return max((r for r in self.rows if r.states_values), key=strength, default=None)

    def strongest(self, level: Level) -> AuditRow | None:
        """The strongest attack with this knowledge or less of the same kind."""
        rows = [r for r in self.rows if r.level.within(level) and r.states_values]
        return max(rows, key=strength, default=None)


def strength(row: AuditRow) -> tuple[float, float]:
    """What makes one attack stronger than another: its advantage, then its error."""
    # Two attacks that gain nothing still differ in how near they come.
    return float(row.advantage), -row.nrmse


@dataclass(frozen=True)
class Audit:
    """The answer of :func:`veil.audit`.

    Attributes
    ----------
    candidates
        One entry per perturbation.
    goals
        The goals they were held to.
    n_rows, columns
        Size and perturbed columns of the private table.
    context
        Versions, seed and settings, for the reproducibility block. No secrets.
    matching
        How released rows were matched to private ones: "known" or "inferred".
    remarks
        What a reader should know about the audit as a whole.
    """

    candidates: tuple[Candidate, ...]
    goals: Goals
    n_rows: int
    columns: tuple[str, ...]
    context: dict[str, Any]
    matching: str = "known"
    remarks: tuple[str, ...] = ()

    @property
    def rows(self) -> tuple[AuditRow, ...]:
        """One row per perturbation × attack × knowledge."""
        return tuple(row for candidate in self.candidates for row in candidate.rows)

    @property
    def passed(self) -> bool:
        """Whether every goal holds for every perturbation."""
        return all(candidate.passed for candidate in self.candidates)

    @property
    def worst(self) -> AuditRow | None:
        """The strongest attack found on any perturbation."""
        found: Sequence[AuditRow] = [c.worst for c in self.candidates if c.worst is not None]
        return max(found, key=strength, default=None)

    def model(self, *, internal: bool = False) -> ReportModel:
        """The report's content: the external edition, or the confidential one with single records."""
        from veil.auditing.summary import build_model

        return build_model(self, internal=internal)

    def to_html(self, path: str | Path, *, internal: bool = False) -> None:
        """Write the report as one self-contained HTML file.

        The default edition is external: binned, small cells suppressed, nothing about single
        records. ``internal`` adds records, is mode 0600 and marked confidential.
        """
        from veil.report import write_html

        self._check_edition(internal=internal)
        write_html(self.model(internal=internal), Path(path))

    def to_json(self, path: str | Path, *, internal: bool = False) -> None:
        """Write the report's content as JSON."""
        from veil.report import write_json

        self._check_edition(internal=internal)
        write_json(self.model(internal=internal), Path(path))

    def _check_edition(self, *, internal: bool) -> None:
        """Refuse an external report about fewer people than the smallest cell: every rate would tell of them."""
        if self.n_rows < SMALLEST_CELL and not internal:
            raise InputError(
                f"the table has {self.n_rows} records; a report about fewer than {SMALLEST_CELL} is confidential: use "
                "internal=True (--internal)"
            )

    def __str__(self) -> str:
        from veil.report import as_text

        return as_text(self.model())
