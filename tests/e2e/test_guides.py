"""The guides in docs/ say what happens."""

import doctest
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(
    ("name", "least"), [("categories.md", 15), ("guide.md", 15), ("protocols.md", 15), ("scale.md", 15)]
)
def test_a_guide_says_what_happens(name, least):
    guide = DOCS / name
    if not guide.exists():
        pytest.skip("the guide is not part of this installation")
    text = re.sub(r"^```.*$", "", guide.read_text(encoding="utf-8"), flags=re.MULTILINE)
    examples = doctest.DocTestParser().get_doctest(text, {}, guide.name, str(guide), 0)
    runner = doctest.DocTestRunner()
    runner.run(examples)
    assert runner.summarize().failed == 0
    assert len(examples.examples) > least
