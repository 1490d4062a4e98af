"""One BLAS thread inside a kernel: with more, sums may be split otherwise and bits differ."""

from __future__ import annotations

from functools import cache
from typing import Any


@cache
def _controller() -> Any:
    # Finding the loaded libraries takes milliseconds, so it is done once: numpy's own is always among them.
    import numpy as np  # noqa: F401 - loads the library to be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def one_blas_thread() -> Any:
    """A context in which numpy's linear algebra runs on one thread."""
    return _controller().limit(limits=1, user_api="blas")


@cache
def arithmetic() -> str:
    """The kind of processor and linear algebra that a release's bits depend on."""
    import platform

    kinds = {
        f"{info['internal_api']} {info.get('architecture', '')}".strip()
        for info in _controller().info()
        if info["user_api"] == "blas"
    }
    return " ".join([platform.machine(), *sorted(kinds)])
