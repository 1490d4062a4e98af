"""The papers' errata as data: one file per paper, in the papers' order."""

from __future__ import annotations

from veil.reproduce.errata.erratum import Erratum
from veil.reproduce.errata.huang import HUANG
from veil.reproduce.errata.ketel import KETEL
from veil.reproduce.errata.liu import LIU
from veil.reproduce.errata.pandya import PANDYA
from veil.reproduce.errata.tutorial import TUTORIAL

ERRATA: dict[str, tuple[Erratum, ...]] = {
    "huang": HUANG,
    "ketel": KETEL,
    "tutorial": TUTORIAL,
    "liu": LIU,
    "pandya": PANDYA,
}

BY_ID = {erratum.id: erratum for errata in ERRATA.values() for erratum in errata}

__all__ = ["BY_ID", "ERRATA", "Erratum"]
