"""For all tests, doctests too: one thread of linear algebra each, one process per audit; examples repeat."""

import math
from collections.abc import Iterator

import pytest
from hypothesis import settings

from veil.data.blas import one_blas_thread

settings.register_profile("fixed", derandomize=True, deadline=None)
settings.load_profile("fixed")


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The command line remembers results: in the tests, in a folder of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VEIL_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> Iterator[None]:
    with one_blas_thread():
        yield


@pytest.fixture(scope="session", autouse=True)
def _one_process() -> Iterator[None]:
    """An audit starts other processes once it proves long: not here, where the test workers have the cores already."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("veil.auditing.processes.PATIENCE", math.inf)
        yield
