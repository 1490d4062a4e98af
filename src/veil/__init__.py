"""Veil: perturb a private table, attack the release, and say what it is worth.

Three parties, three doors: the owner publishes and restores, the attacker runs attacks on a
release with granted knowledge, the analyst recovers what the release is good for. The audit
plays all three and judges.

The public names are listed once, in ``__init__.pyi``. They load on first use, so ``import veil`` is quick.
"""

from __future__ import annotations

import importlib
import re
import warnings
from pathlib import Path
from typing import Any

_STUB = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
_HOMES = {name: home for home, name in re.findall(r"^from (\S+) import (\w+) as \2$", _STUB, re.MULTILINE)}

_RENAMED: dict[str, str] = {
    "VotedPerceptron": "recovery.VotedPerceptron",
    "frequent_itemsets": "recovery.frequent_itemsets",
    "hamming_estimate": "recovery.hamming_estimate",
    "inner_product_interval": "recovery.inner_product_interval",
    "itemset_support": "recovery.itemset_support",
    "nested_loop_outliers": "recovery.nested_loop_outliers",
    "attack_folder": "attack_file",
    "inspect_table": "inspect",
    "measure_files": "measure",
}
"""Names of version 0.1 and what to write instead, from this module on: they go with the next version."""

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _RENAMED:
        warnings.warn(f"veil.{name} is now veil.{_RENAMED[name]}", DeprecationWarning, stacklevel=2)
        package, _, inner = f"veil.{_RENAMED[name]}".rpartition(".")
        return getattr(importlib.import_module(package), inner)
    if name not in _HOMES:
        raise AttributeError(f"module 'veil' has no attribute {name!r}")
    home = _HOMES[name]
    module = importlib.import_module(f"veil.{name}" if home == "veil" else home)
    globals()[name] = module if home == "veil" else getattr(module, name)
    return globals()[name]


def __dir__() -> list[str]:
    return list(__all__)
