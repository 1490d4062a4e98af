"""The report as JSON: the same content, for machines."""

from __future__ import annotations

import json
import math
from typing import Any

from veil.report.model import ReportModel
from veil.report.schema import SCHEMA_ID


def as_json(model: ReportModel) -> str:
    """The model as strict JSON, by docs/report.schema.json; what is not a number there (NaN) is null."""
    return (
        json.dumps({"$schema": SCHEMA_ID, **_plain(model.to_dict())}, indent=2, ensure_ascii=False, allow_nan=False)
        + "\n"
    )


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
