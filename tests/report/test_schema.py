"""The JSON schema: published as it is generated, strict, and kept by real reports of both editions."""

import copy
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

import veil
from veil.report import failures, remarks, values
from veil.report import model as views
from veil.report.json import as_json
from veil.report.model import AdviceView, CandidateView, ReportModel
from veil.report.schema import SCHEMA_ID, json_schema

jsonschema = pytest.importorskip("jsonschema")
PUBLISHED = Path(__file__).parents[2] / "docs" / "report.schema.json"


def valid(document: Any) -> bool:
    schema = json_schema()
    checker = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())
    return not list(checker.iter_errors(document))


def test_the_published_schema_is_the_generated_one():
    assert json.loads(PUBLISHED.read_text("utf-8")) == json_schema(), "write json_schema() to docs/report.schema.json"


def test_the_schema_does_not_depend_on_docstrings():
    code = "import json; from veil.report.schema import json_schema; print(json.dumps(json_schema()))"
    printed = subprocess.run([sys.executable, "-OO", "-c", code], capture_output=True, text=True, check=True).stdout
    assert json.loads(printed) == json_schema()


def test_every_kind_of_failure_is_told_from_the_others():
    definitions = json_schema()["$defs"]
    options = [
        option["$ref"].rpartition("/")[2]
        for option in definitions["CandidateView"]["properties"]["failures"]["items"]["anyOf"]
    ]
    kinds = [definitions[name]["properties"]["kind"]["const"] for name in options]
    assert sorted(kinds) == ["advantage", "copies", "membership", "out of time", "untested", "utility"]


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(json_schema())


def test_every_object_is_closed_and_complete():
    schema = json_schema()
    objects = {**schema["$defs"], "ReportModel": schema}
    for name, found in objects.items():
        view = next(getattr(module, name) for module in (views, failures, values, remarks) if hasattr(module, name))
        expected = [field.name for field in fields(view)]
        assert [p for p in found["properties"] if p not in ("$schema", "headline")] == expected
        assert found["additionalProperties"] is False
        assert set(found["required"]) == set(found["properties"])


def test_every_model_is_valid(any_model: ReportModel):
    document = json.loads(as_json(any_model))
    assert document["$schema"] == SCHEMA_ID
    assert valid(document)


@pytest.mark.parametrize("internal", [False, True])
@pytest.mark.parametrize("advised", [False, True])
def test_real_audits_are_valid(
    real_audit: veil.Audit, internal: bool, advised: bool, make_advice: Callable[..., AdviceView]
):
    model = real_audit.model(internal=internal)
    if advised:
        model = replace(model, advice=make_advice())
    assert valid(json.loads(as_json(model)))


def test_what_is_not_in_the_model_is_refused(
    make_model: Callable[..., ReportModel], make_swept: Callable[..., CandidateView]
):
    good = json.loads(as_json(make_model(make_swept("a", {"nothing": 0.01}))))
    assert valid(good)

    def broken(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        document = copy.deepcopy(good)
        change(document)
        return document

    assert not valid(broken(lambda d: d.update(extra=1)))
    assert not valid(broken(lambda d: d["candidates"][0].update(extra=1)))
    assert not valid(broken(lambda d: d.pop("headline")))
    assert not valid(broken(lambda d: d.update(model_version=1)))
    assert not valid(broken(lambda d: d.update(max_advantage=None)))
    assert not valid(broken(lambda d: d["candidates"][0]["levels"][0].update(state="fine")))


def test_an_external_report_with_records_is_refused(
    make_model: Callable[..., ReportModel], make_candidate: Callable[..., CandidateView]
):
    internal = json.loads(as_json(make_model(make_candidate(records=((7, 0.1),)), edition="internal")))
    assert valid(internal)
    assert not valid({**internal, "edition": "external"})
    with pytest.raises(ValueError, match="internal edition only"):
        make_model(make_candidate(records=((7, 0.1),)))
