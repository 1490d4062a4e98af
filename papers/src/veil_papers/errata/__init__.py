"""The papers' errata as data: one file per paper, in the papers' order."""

from __future__ import annotations

from veil_papers.errata.erratum import Erratum
from veil_papers.errata.huang import HUANG
from veil_papers.errata.ketel import KETEL
from veil_papers.errata.liu import LIU
from veil_papers.errata.pandya import PANDYA
from veil_papers.errata.tutorial import TUTORIAL

ERRATA: dict[str, tuple[Erratum, ...]] = {
    "huang": HUANG,
    "ketel": KETEL,
    "tutorial": TUTORIAL,
    "liu": LIU,
    "pandya": PANDYA,
}

BY_ID = {erratum.id: erratum for errata in ERRATA.values() for erratum in errata}

__all__ = ["BY_ID", "ERRATA", "Erratum"]
