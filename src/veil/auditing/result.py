"""The answer of an audit: its candidates, the verdict, and the report in every form."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

from veil.auditing.goals import Goals
from veil.auditing.pictures import SMALLEST_CELL
from veil.auditing.rows import AuditRow, Candidate, strongest_of
from veil.auditing.summary import candidate_views, timings
from veil.errors import InputError
from veil.report.model import MODEL_VERSION, ReportModel
from veil.report.remarks import GroupSizes, OrderTest, PublicColumns
from veil.report.values import Edition, Matching, Over
from veil.report.words import counted


def notebook(model: ReportModel) -> str:
    """An audit or advice as a notebook shows it: the external edition, which few people have none of."""
    from veil.report.audited import audit_fragment
    from veil.report.notebook import fragment

    if model.n_rows < SMALLEST_CELL:
        few = f"About fewer than {SMALLEST_CELL} people every number would tell of them: print it, or use to_html"
        return fragment("Audit", counted(model.n_rows, "record"), f"{few}(internal=True).")
    return audit_fragment(model)


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
        Records that were audited, and the columns that were perturbed.
    context
        Versions, seed and settings, for the reproducibility block. No secrets.
    matching
        How released rows were matched to private ones: "known" or "inferred".
    remarks
        What a reader should know about the audit as a whole.
    order
        Of a release from elsewhere, whether the data support the matching of its rows.
    public
        The columns that are released unchanged, and the share of records that are unique on them.
    table
        Records and columns of the private table, of which those audited may be a sample and those perturbed a part.
    groups
        How many groups each column of groups names, and of which sizes.
    """

    candidates: tuple[Candidate, ...]
    goals: Goals
    n_rows: int
    columns: tuple[str, ...]
    context: dict[str, Any]
    matching: Matching = Matching.KNOWN
    remarks: tuple[str, ...] = ()
    order: OrderTest | None = None
    public: PublicColumns | None = None
    table: tuple[int, int] | None = None
    groups: tuple[GroupSizes, ...] = ()

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
        return strongest_of([c.worst for c in self.candidates if c.worst is not None])

    def model(self, *, internal: bool = False, today: dt.date | None = None) -> ReportModel:
        """The report's content: the external edition, or the confidential one with single records."""
        return ReportModel(
            model_version=MODEL_VERSION,
            edition=Edition.INTERNAL if internal else Edition.EXTERNAL,
            date=(today or dt.datetime.now(dt.UTC).date()).isoformat(),
            passed=self.passed,
            n_rows=self.n_rows,
            columns=self.columns,
            max_advantage=self.goals.max_advantage,
            tolerance=self.goals.tolerance,
            min_utility=dict(self.goals.min_utility),
            goals=self.goals.words(),
            smallest_cell=SMALLEST_CELL,
            candidates=candidate_views(self.candidates, self.goals, self.matching, internal=internal),
            context={name: value for name, value in self.context.items() if name != "remembered"},
            matching=self.matching,
            remarks=self.remarks,
            order=self.order,
            public=self.public,
            table_rows=self.n_rows if self.table is None else self.table[0],
            table_columns=len(self.columns) if self.table is None else self.table[1],
            groups=self.groups if internal else tuple(each.external(SMALLEST_CELL) for each in self.groups),
            over=Over(self.goals.over),
            limits={str(scored): most for scored, most in self.goals.limits.items()},
            column_limits={
                name: {str(scored): most for scored, most in each.items()}
                for name, each in self.goals.column_limits.items()
            },
            n_largest=self.goals.n_largest,
            largest_share=self.goals.largest_share,
            timing=tuple(timing for candidate in self.candidates for timing in timings(candidate)),
        )

    def to_html(self, path: str | Path, *, internal: bool = False) -> None:
        """Write the report as one self-contained HTML file.

        The default edition is external: binned, small cells suppressed, nothing about single
        records. ``internal`` adds records, is mode 0600 and marked confidential.
        """
        from veil.report.writing import write_html

        self._check_edition(internal=internal)
        write_html(self.model(internal=internal), Path(path))

    @overload
    def to_json(self, path: None = None, *, internal: bool = False) -> str: ...

    @overload
    def to_json(self, path: str | Path, *, internal: bool = False) -> None: ...

    def to_json(self, path: str | Path | None = None, *, internal: bool = False) -> str | None:
        """Write the report's content as JSON, or return it as text when no path is given."""
        from veil.report.json import as_json
        from veil.report.writing import write_json

        self._check_edition(internal=internal)
        model = self.model(internal=internal)
        if path is None:
            return as_json(model)
        write_json(model, Path(path))
        return None

    def _check_edition(self, *, internal: bool) -> None:
        """Refuse an external report about fewer people than the smallest cell: every rate would tell of them."""
        if self.n_rows < SMALLEST_CELL and not internal:
            raise InputError(
                f"the table has {self.n_rows} records; a report about fewer than {SMALLEST_CELL} is confidential: use "
                "internal=True",
                parameter="internal",
            )

    def _repr_html_(self) -> str:
        return notebook(self.model())

    def __str__(self) -> str:
        from veil.report.writing import as_text

        return as_text(self.model())
