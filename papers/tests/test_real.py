"""The quick set on the papers' real tables: what only they can show is asserted, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from veil_papers import Context, experiments
from veil_papers.data import FILES, Source

DATA = Path(__file__).parents[3] / "shared" / "data"


@pytest.mark.parametrize("name", [name for name, experiment in experiments().items() if experiment.data])
def test_the_claims_hold_on_the_real_tables(name):
    experiment = experiments()[name]
    source = Source(DATA)
    if source.stand_ins(experiment.data):
        pytest.skip("the papers' tables are not shipped; put them in ../shared/data to run this")
    result = experiment.run(Context(name, quick=True, source=source))
    assert [claim.line() for claim in result.claims if claim.holds is False] == []
    assert all(claim.holds is not None for claim in result.claims)


def test_the_real_tables_are_what_they_say():
    if not Source(DATA).real("adult"):
        pytest.skip("the papers' tables are not shipped; put them in ../shared/data to run this")
    Source(DATA).check(tuple(FILES))
