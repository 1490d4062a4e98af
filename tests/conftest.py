"""Two test workers on two cores: linear algebra on one thread each, or they wait for each other."""

from collections.abc import Iterator

import pytest

from veil.threads import one_blas_thread


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> Iterator[None]:
    with one_blas_thread():
        yield
