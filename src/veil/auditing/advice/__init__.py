"""Advice: which method, and how strong, so that every goal holds at the best utility.

The package is not called ``advise`` because :func:`veil.advise` is the function.
"""

from __future__ import annotations

from veil.auditing.advice.result import Advice, Point
from veil.auditing.advice.run import advise

__all__ = ["Advice", "Point", "advise"]
