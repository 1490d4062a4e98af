"""docs/architecture.md speaks of files that are there."""

import re
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
