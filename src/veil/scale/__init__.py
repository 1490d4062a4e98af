"""Tables larger than memory: the same block kernels, from file to file, on one machine or on a cluster."""

from __future__ import annotations

from veil.auditing.comparison import measure_files
from veil.data.cluster import Cluster
from veil.publishing.publish_file import publish_file
from veil.publishing.restore_file import restore_file

__all__ = ["Cluster", "measure_files", "publish_file", "restore_file"]
