"""The guides in docs/ say what happens."""

import doctest
import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[1] / "docs" / "categories.md"


@pytest.mark.skipif(not GUIDE.exists(), reason="the guide is not part of this installation")
def test_the_guide_to_categories_says_what_happens():
    text = re.sub(r"^```.*$", "", GUIDE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    examples = doctest.DocTestParser().get_doctest(text, {}, GUIDE.name, str(GUIDE), 0)
    runner = doctest.DocTestRunner()
    runner.run(examples)
    assert runner.summarize().failed == 0
    assert len(examples.examples) > 15
