"""The JSON report's schema (JSON Schema, draft 2020-12), derived from the model's dataclasses.

A field that the model does not have is not allowed, and one that it has must be there. Numbers that may be missing (a
rate that could not be measured is not a number) are null in JSON, and only those.
"""

from __future__ import annotations

import types
from dataclasses import fields, is_dataclass
from enum import StrEnum
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from veil.report.model import MODEL_VERSION, ReportModel

DRAFT = "https://json-schema.org/draft/2020-12/schema"
SCHEMA_ID = f"urn:veil:report:{MODEL_VERSION}"
"""What ``$schema`` in a report says; the schema itself is docs/report.schema.json."""

_ALWAYS_NUMBERS = {"ReportModel", "Picture"}
_EXACTLY: dict[tuple[str, str], dict[str, Any]] = {
    ("ReportModel", "model_version"): {"const": MODEL_VERSION},
    ("ReportModel", "date"): {"type": "string", "format": "date"},
    ("ReportModel", "smallest_cell"): {"type": "integer", "minimum": 1},
    ("ReportModel", "n_rows"): {"type": "integer", "minimum": 0},
}
_DESCRIPTIONS = {
    "AdvantageOverGoal": "An attack gains more than the goal allows, or cannot be shown not to.",
    "AdviceView": "What was recommended and why; all settings that were tried, and per method why it was rejected.",
    "AttackView": "An attack and, where a release has several parts, the methods of those that it was on.",
    "BreakView": "The least knowledge of one kind with which a goal is shown to break, and the attack that does it.",
    "CandidateView": "One perturbation: verdict, strongest attack, curve over knowledge, utility, all rows.",
    "ColumnView": "The score with the highest advantage on one column, and the attack and knowledge that reach it.",
    "CopiedRecords": "A release holds private records, more than have an equal among other people.",
    "Estimate": "A number with its 95 % interval.",
    "GroupSizes": "How many groups a column names, how many have which size, and how many a size of their own.",
    "KnowledgeView": "A level of knowledge: its kind, how much of it, and the words for both.",
    "LargestView": "What an attack tells of the largest values of a column; first: how often its largest guess is of "
    "the largest value (null in the external edition).",
    "LevelView": "A knowledge level and the strongest attack with it or less (null: no attack used it).",
    "MembershipOverGoal": "Who is in the table is told better than the goal allows, or not shown not to be.",
    "MembershipView": "What an attack tells about who is in the table: with people's records, and for who knows all "
    "others.",
    "NotRunView": "An attack that has a theory for the method and could not run with some knowledge, and why.",
    "OrderTest": "Whether the data support that rows of a release belong to the records that they were matched to.",
    "OutOfTime": "Attacks that were not run because the time was over.",
    "Picture": "Counts of (original, guess) in bins of standard units, small cells suppressed.",
    "PointView": "One setting of a method that the advice tried: its risk, as the goals see it, and its utility.",
    "PublicColumns": "The columns that are released unchanged, and the share of records that are unique on them.",
    "ReleasedKeys": "Combinations of the keys as released, and records in small ones (null: fewer than the smallest).",
    "ReportModel": "The report of an audit or of advice: its headline in words, and everything that renderers show.",
    "RiskView": "One of the three risks that regulators ask about, at the strongest attack that bears on it.",
    "RocView": "How well people in a table are told from others: the area under the ROC curve, and TPR − FPR.",
    "RowView": "One attack with one level of knowledge.",
    "ScoreView": "A rate of breaches, the rates of the same attacker with the person absent (control) and of the best "
    "constant guess (baseline), the advantage that goals are held against, and the advantage over the constant "
    "(taught).",
    "TimingView": "How long an attack took, in seconds per run: the one part that differs from audit to audit.",
    "TooFewRecords": "A column of which the records are too few to show that the goal holds, whatever the method.",
    "UniqueGroups": "Groups, and those alone with the released keys of all members (null: fewer than the smallest).",
    "UntestedKnowledge": "No attack used some knowledge.",
    "UtilityUnderGoal": "A utility is under its goal, or could not be measured (null).",
    "Verdict": "How one candidate fares: its privacy goals, whether it is useful enough, and what decides.",
}
_EXTERNAL = {
    "if": {"properties": {"edition": {"const": "external"}}},
    "then": {"properties": {"candidates": {"items": {"properties": {"records": {"maxItems": 0}}}}}},
}


def json_schema() -> dict[str, Any]:
    """The schema of :func:`veil.report.json.as_json`."""
    definitions: dict[str, dict[str, Any]] = {}
    _reference(ReportModel, definitions)
    root = definitions.pop("ReportModel")
    added = {"$schema": {"const": SCHEMA_ID}, "headline": {"type": "string"}}
    properties = {**added, **root.pop("properties")}
    return {
        "$schema": DRAFT,
        "$id": SCHEMA_ID,
        "title": "Veil release audit",
        "description": root.pop("description"),
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
        **_EXTERNAL,
        "$defs": dict(sorted(definitions.items())),
    }


def _reference(view: type, definitions: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """A reference to a dataclass, whose schema is put among ``definitions``."""
    name = view.__name__
    if name not in definitions:
        definitions[name] = {}
        hints = get_type_hints(view)
        nullable = name not in _ALWAYS_NUMBERS
        properties = {
            field.name: _EXACTLY.get((name, field.name)) or _typed(hints[field.name], definitions, nullable=nullable)
            for field in fields(view)
        }
        definitions[name] = {
            "description": _DESCRIPTIONS[name],
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }
    return {"$ref": f"#/$defs/{name}"}


def _typed(hint: Any, definitions: dict[str, dict[str, Any]], *, nullable: bool) -> dict[str, Any]:
    """The schema of a type; ``nullable`` says whether a number may be missing."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (types.UnionType, Union):
        return {"anyOf": [_typed(kind, definitions, nullable=False) for kind in inner]}
    if origin is Literal:
        return {"const": inner[0]}
    if origin is tuple and inner[-1] is Ellipsis:
        return {"type": "array", "items": _typed(inner[0], definitions, nullable=nullable)}
    if origin is tuple:
        places = [_typed(kind, definitions, nullable=nullable) for kind in inner]
        return {"type": "array", "prefixItems": places, "items": False, "minItems": len(places)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _typed(inner[1], definitions, nullable=nullable)}
    if is_dataclass(hint) and isinstance(hint, type):
        return _reference(hint, definitions)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return {"enum": [str(member) for member in hint]}
    if hint is float:
        return {"type": ["number", "null"]} if nullable else {"type": "number"}
    if hint is Any:
        return {"type": ["string", "number", "boolean", "null", "array", "object"]}
    return {"type": {str: "string", int: "integer", bool: "boolean", types.NoneType: "null"}[hint]}
