"""Two test workers on two cores: linear algebra on one thread each. Examples are the same in every run."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

from veil.threads import one_blas_thread

settings.register_profile("fixed", derandomize=True, deadline=None)
settings.load_profile("fixed")


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> Iterator[None]:
    with one_blas_thread():
        yield
