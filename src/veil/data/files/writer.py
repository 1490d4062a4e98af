"""What every writer of released batches does."""

from __future__ import annotations

from abc import ABC, abstractmethod

import pyarrow as pa


class Writer(ABC):
    """Writes released batches to one file."""

    @abstractmethod
    def write(self, batch: pa.RecordBatch) -> None:
        """Append a batch."""

    @abstractmethod
    def close(self) -> None:
        """Finish the file."""
