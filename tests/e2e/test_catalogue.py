"""docs/catalogue.md is what docs/make_catalogue.py writes."""

import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"

pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="the pages are not part of this installation")


def test_the_catalogue_is_up_to_date():
    written = runpy.run_path(str(DOCS / "make_catalogue.py"))["catalogue"]()
    assert (DOCS / "catalogue.md").read_text(encoding="utf-8") == written, "run python docs/make_catalogue.py"


def test_the_catalogue_has_every_method_and_attack():
    import veil
    from veil.attacks import attack_classes
    from veil.perturbations import PERTURBATIONS

    page = (DOCS / "catalogue.md").read_text(encoding="utf-8")
    assert [cls.__name__ for cls in PERTURBATIONS.values() if f"### {cls.__name__}\n" not in page] == []
    assert [cls.__name__ for cls in attack_classes().values() if f"`{cls.__name__}`" not in page] == []
    assert f"`{veil.MomentRecovery.__name__}`" in page
