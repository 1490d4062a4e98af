"""The report as JSON: the same content, for machines."""

from __future__ import annotations

import json

from veil.report.conclusions import headline
from veil.report.model import ReportModel
from veil.report.schema import SCHEMA_ID
from veil.storage.json_values import json_value


def as_json(model: ReportModel) -> str:
    """The model and its headline as strict JSON, by docs/report.schema.json; what is not a number (NaN) is null."""
    document = {"$schema": SCHEMA_ID, "headline": headline(model), **json_value(model.to_dict())}
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
