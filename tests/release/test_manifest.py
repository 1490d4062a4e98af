"""Manifests: what is written is read back, bit for bit, and what is malformed is one line that names the field."""

import copy
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import veil
from veil.errors import FileFormatError
from veil.release.manifest import KeyOrigin, Manifest, Missing, RowOrder
from veil.release.models import AdditiveModel, Model, UnknownModel, model_from

FORMAT_1 = sorted((Path(__file__).parent.parent / "fixtures" / "format1").glob("*/manifest.json"))


def written() -> str:
    frame = pd.DataFrame({"a": np.arange(40.0), "b": np.arange(40.0) ** 2, "c": ["x", "y"] * 20, "p": range(40)})
    plan = veil.Plan(
        [("a", veil.AdditiveNoise()), ("b", veil.Discretize(4)), ("c", veil.RandomizedResponse(keep=0.7))],
        roles={"p": "public"},
    )
    return veil.publish(frame, plan, shuffle=True)[0].manifest.to_json()


@pytest.mark.parametrize("path", FORMAT_1, ids=lambda path: path.parent.name)
def test_models_of_format_1_keep_every_bit(path: Path) -> None:
    raw = json.loads(path.read_text())
    manifest = Manifest.from_json(path.read_text())
    for part, step in zip(manifest.parts, raw["steps"], strict=True):
        assert type(part.model) is not UnknownModel
        assert json.dumps(part.parameters) == json.dumps(step["parameters"])
        assert part.model is part.model


@pytest.mark.parametrize("path", FORMAT_1, ids=lambda path: path.parent.name)
def test_format_2_is_read_back(path: Path) -> None:
    manifest = Manifest.from_json(path.read_text())
    text = manifest.to_json()
    assert json.loads(text)["format"] == 2
    assert Manifest.from_json(text).to_json() == text


def test_words_of_format_1_become_values() -> None:
    manifests = {path.parent.name: Manifest.from_json(path.read_text()) for path in FORMAT_1}
    assert manifests["additive-noise"].row_order is RowOrder.PRIVATE
    assert manifests["additive-shuffled"].row_order is RowOrder.SHUFFLED
    assert manifests["random-projection-records"].row_order is RowOrder.SUMS
    assert manifests["additive-uniform-gaps"].missing is Missing.PATTERN
    assert manifests["additive-noise"].missing is Missing.NONE
    assert {m.key for m in manifests.values()} == {KeyOrigin.SEEDED}


def test_items_are_json_values() -> None:
    manifest = Manifest.from_json(written())
    assert manifest["row_order"] == "shuffled"
    assert manifest["key"] == "secret"
    assert manifest["public"] == [{"name": "p", "kind": "numeric"}]
    assert json.loads(json.dumps(manifest["parts"])) == manifest["parts"]
    assert manifest.parts[0].columns[0].is_integer is False


def reread(text: str) -> str | None:
    """A manifest read and written twice; None where it is refused in one line."""
    try:
        once = Manifest.from_json(text).to_json()
    except FileFormatError as error:
        if "\n" in str(error):
            raise AssertionError("the refusal has several lines") from error
        return None
    assert Manifest.from_json(once).to_json() == once
    return once


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place inside a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path] * bool(path) + [place for name, item in inner for place in places(item, (*path, name))]


def with_change(raw: Any, path: tuple[Any, ...], change: Any) -> Any:
    changed = copy.deepcopy(raw)
    holder = changed
    for name in path[:-1]:
        holder = holder[name]
    if change is None:
        del holder[path[-1]]
    else:
        holder[path[-1]] = change(holder[path[-1]])
    return changed


CHANGES = {
    "deleted": None,
    "null": lambda _: None,
    "text": lambda _: "0",
    "number": lambda _: 7,
    "true": lambda _: True,
    "list": lambda _: [],
    "object": lambda _: {},
    "nested": lambda value: [value],
    "huge": lambda _: 10**400,
    "huge float": lambda _: 1e300,
    "negative": lambda _: -1,
    "nan": lambda _: math.nan,
    "infinite": lambda _: math.inf,
    "deep": lambda _: json.loads("[" * 500 + "]" * 500),
}


@pytest.mark.parametrize("kind", sorted(CHANGES))
def test_a_malformed_manifest_is_one_line_or_harmless(kind: str) -> None:
    """Any single change either leaves a manifest that can be written again, or is refused in one line."""
    raws = [json.loads(text) for text in (written(), *(path.read_text() for path in FORMAT_1))]
    refused, fuzzed = 0, set()
    for raw in raws:
        for path in places(raw):
            # Of lists the first item stands for the others, and of manifests the first with a given place.
            place = (raw["method"], path) if "parameters" in path else path
            if place in fuzzed or any(isinstance(name, int) and name > 0 for name in path[3:]):
                continue
            fuzzed.add(place)
            again = reread(json.dumps(with_change(raw, path, CHANGES[kind])))
            refused += again is None
    assert refused > 100


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"null", b"[]", b"7", b'"x"', b"\xff\xfe{}", b'{"format": 3}', b'{"format": true}', b"[" * 100_000],
)
def test_what_is_no_manifest_is_one_line(text: bytes) -> None:
    with pytest.raises(FileFormatError, match=r"manifest\.json") as caught:
        Manifest.from_json(text)
    assert "\n" not in str(caught.value)


def test_a_folder_names_itself(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"format": 2}')
    with pytest.raises(FileFormatError, match=tmp_path.name):
        veil.Release.load(tmp_path)


def test_a_model_by_another_name_is_kept_as_it_is() -> None:
    raw = json.loads(written())
    raw["parts"][0]["model"] = "of another package"
    text = json.dumps(raw)
    part = Manifest.from_json(text).parts[0]
    assert isinstance(part.model, UnknownModel)
    assert Manifest.from_json(text)["parts"] == raw["parts"]


def test_methods_share_models() -> None:
    raw = {"distribution": "normal", "scale": [1.0], "grid": [0.5]}
    assert isinstance(model_from(raw, method="of another package", name="additive"), AdditiveModel)
    assert isinstance(model_from(raw, method="of another package"), UnknownModel)


def test_two_models_of_one_name_are_refused() -> None:
    with pytest.raises(TypeError, match=r"two models are called 'additive'.*AdditiveModel.*Twin"):

        class Twin(Model):
            name = "additive"
