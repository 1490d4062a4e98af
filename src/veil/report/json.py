"""The report as JSON: the same content, for machines."""

from __future__ import annotations

import json

from veil.report.model import ReportModel
from veil.report.schema import SCHEMA_ID
from veil.storage.json_values import json_value


def as_json(model: ReportModel) -> str:
    """The model as strict JSON, by docs/report.schema.json; what is not a number there (NaN) is null."""
    return (
        json.dumps({"$schema": SCHEMA_ID, **json_value(model.to_dict())}, indent=2, ensure_ascii=False, allow_nan=False)
        + "\n"
    )
