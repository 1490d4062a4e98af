"""Tables larger than memory: the same block kernels, from file to file, on one machine or on a cluster."""

from __future__ import annotations

from veil.cluster import Cluster
from veil.scale.measuring import measure_files
from veil.scale.publishing import publish_file
from veil.scale.restoring import restore_file

__all__ = ["Cluster", "measure_files", "publish_file", "restore_file"]
