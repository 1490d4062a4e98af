"""Tables larger than memory: the same block kernels, from file to file."""

from __future__ import annotations

from veil.scale.streaming import publish_file, restore_file

__all__ = ["publish_file", "restore_file"]
