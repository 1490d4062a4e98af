"""Columns that are released unchanged link people to rows: every audit grants them to an outsider, and lists them."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import veil
from veil.attacks.knowledge.external import FEWEST_PEOPLE
from veil.report.values import Risk, Unmeasured

NONE = veil.Grants.only(external=True)
LINKS = ["noise-distribution-attack", "linkage-attack"]
LABELS = list("abcd")


def applicants(rng, n, n_public):
    """Independent public categories of two to four values beside two private numbers."""
    frame = pd.DataFrame({f"p{j}": rng.choice(LABELS[: 2 + j % 3], n) for j in range(n_public)})
    return frame.assign(amount=rng.lognormal(8, 1, n), age=rng.normal(45, 12, n))


def linkability(frame, perturbation=None, **how):
    roles = {name: "public" for name in frame.columns if name.startswith("p")}
    audit = veil.audit(
        frame, perturbation or veil.AdditiveNoise(20.0), roles=roles, grants=NONE, seed=0, attacks=LINKS, **how
    )
    view = audit.model()
    return audit, next(risk for risk in view.candidates[0].risks if risk.risk == Risk.LINKABILITY)


def test_public_columns_on_which_everybody_is_unique_link_everybody():
    audit, risk = linkability(applicants(np.random.default_rng(0), 800, 16))
    assert audit.public.unique > 0.95
    assert risk.score.rate.value >= audit.public.unique
    assert not audit.passed
    assert audit.remarks[0].startswith("Released unchanged: 'p0', 'p1'")


def test_a_link_by_public_columns_is_right_as_often_as_their_cells_allow():
    """One of each cell's people is found: the rate is the number of cells over N, however strong the noise is."""
    frame = applicants(np.random.default_rng(1), 1_500, 4)
    cells = frame.groupby([f"p{j}" for j in range(4)]).ngroups
    _, risk = linkability(frame)
    assert risk.score.rate.value == pytest.approx(cells / 1_500, abs=4 * np.sqrt(cells) / 1_500)


def test_without_columns_that_others_may_have_nothing_is_linked():
    frame = applicants(np.random.default_rng(2), 200, 0)
    audit = veil.audit(frame, veil.AdditiveNoise(20.0), grants=NONE, seed=0, attacks=LINKS[:1])
    risk = next(r for r in audit.model().candidates[0].risks if r.risk == Risk.LINKABILITY)
    assert risk.unmeasured == Unmeasured.NO_TABLE
    assert audit.public.unique is None
    assert audit.model().public.columns == ()


def test_quasi_and_public_columns_link_together():
    rng = np.random.default_rng(3)
    frame = applicants(rng, 600, 3)
    noise, levels = veil.AdditiveNoise(0.3), []
    for roles in ({"age": "quasi", "p0": "drop", "p1": "drop", "p2": "drop"}, {"age": "quasi"}):
        own = {**dict.fromkeys(["p0", "p1", "p2"], "public"), **roles}
        audit = veil.audit(frame, noise, roles=own, grants=NONE, seed=0, attacks=LINKS)
        levels.append(next(float(row.record.rate) for row in audit.rows if row.links))
    assert levels[1] > 3 * levels[0]


@pytest.mark.slow
def test_of_a_large_table_some_people_are_looked_for():
    """A share of 1,000 people, to four standard errors; the whole table's is known from its cells."""
    n = 150_000
    frame = applicants(np.random.default_rng(4), n, 12)
    cells = frame.groupby([f"p{j}" for j in range(12)]).ngroups
    private = veil.attacks.knowledge.PrivateTable(
        frame[["amount", "age"]].to_numpy(),
        ("amount", "age"),
        np.zeros(2, dtype=bool),
        veil.data.sources.as_table(frame[[f"p{j}" for j in range(12)]]).read(),
    )
    grant = veil.ExternalTable.grant(private, 0, np.random.default_rng(0))
    assert len(grant.people) == FEWEST_PEOPLE
    release, _ = veil.publish(
        frame, veil.AdditiveNoise(5.0), roles=dict.fromkeys([f"p{j}" for j in range(12)], "public")
    )
    links = veil.LinkageAttack().run(release, *grant.knowledge)
    right = int((links.rows == grant.people).sum())
    low, high = binom.ppf([1e-4, 1 - 1e-4], FEWEST_PEOPLE, cells / n)
    assert low <= right <= high
