"""docs/architecture.md speaks of files that are there."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "architecture.md"


@pytest.mark.skipif(not PAGE.exists(), reason="the pages are not part of this installation")
def test_every_file_of_the_map_exists():
    table = PAGE.read_text(encoding="utf-8").split("## Where to find what")[1].split("\n\n")[1]
    named = re.findall(r"`([\w/]+(?:\.py|/))`", table)
    assert len(named) > 12
    missing = [name for name in named if not any((root / name).exists() for root in (ROOT / "src" / "veil", ROOT))]
    assert not missing


@pytest.mark.skipif(not PAGE.exists(), reason="the pages are not part of this installation")
def test_the_floors_are_those_of_the_contract():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = next(c for c in settings["tool"]["importlinter"]["contracts"] if c["type"] == "layers")
    floors = [re.findall(r"veil\.(\w+)", layer) for layer in contract["layers"]]
    picture = PAGE.read_text(encoding="utf-8").split("```text\n")[1].split("```")[0]
    drawn = re.split(r"^ (?=\d  )", picture, flags=re.M)[1:]
    assert [int(floor[0]) for floor in drawn] == list(range(len(floors), 0, -1))
    for names, floor in zip(floors, drawn, strict=True):
        assert all(re.search(rf"\b{name}\b", floor) for name in names), names
