"""The audit: publish, grant knowledge, attack, judge, collect.

The package is not called ``audit`` because :func:`veil.audit` is the function.
"""

from __future__ import annotations

from veil.auditing.goals import Goals
from veil.auditing.grants import Grants, Level
from veil.auditing.judge import Judge
from veil.auditing.result import Audit
from veil.auditing.rows import AuditRow, Candidate
from veil.auditing.run import audit
from veil.auditing.scores import Score

__all__ = ["Audit", "AuditRow", "Candidate", "Goals", "Grants", "Judge", "Level", "Score", "audit"]
