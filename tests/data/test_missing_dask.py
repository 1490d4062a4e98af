"""Without Dask: one line that says what to install."""

import sys

import pytest

import veil
from veil.data.dask_frames import dask


def test_frames(monkeypatch):
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(veil.MissingExtraError) as missing:
        dask()
    assert str(missing.value) == "Dask frames need Dask: pip install 'veil[dask]'"


def test_clusters(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(veil.MissingExtraError) as missing:
        veil.Cluster(workers=2)
    assert str(missing.value) == "clusters need Dask: pip install 'veil[dask]'"
