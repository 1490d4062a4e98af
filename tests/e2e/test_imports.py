"""What the program does not load: libraries whose import takes longer than the work on a small table."""

from __future__ import annotations

import subprocess
import sys

import pytest

LOADED = """
import sys
from veil.cli import main
try:
    main(sys.argv[1:])
except SystemExit as ended:
    assert not ended.code
print("loaded", *sorted({"sklearn", "scipy.stats", "pandas", "dask", "pyarrow.dataset"} & set(sys.modules)))
"""
TABLES = {
    "floats": ["a,b", *(f"{i / 7},{i * i / 3}" for i in range(200))],
    "numbers with gaps, texts and dates": [
        "a,b,city,day",
        *(
            f"{i if i % 5 else ''},{i * i % 50},{'Oslo' if i % 3 else 'Rome'},2020-01-{i % 28 + 1:02d}"
            for i in range(200)
        ),
    ],
}


@pytest.mark.parametrize("rows", TABLES.values(), ids=TABLES)
def test_perturb_loads_no_library_that_it_does_not_use(rows, tmp_path):
    source = tmp_path / "table.csv"
    source.write_text("\n".join(rows) + "\n")
    public = [f"--role={name}=public" for name in rows[0].split(",")[2:]]
    order = ["perturb", source, "--method", "additive-noise", *public, "-o", tmp_path / "r", "--key", tmp_path / "k"]
    done = subprocess.run([sys.executable, "-c", LOADED, *map(str, order)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "loaded"
