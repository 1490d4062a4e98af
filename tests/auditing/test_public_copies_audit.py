"""The default sweep finds that public bands of private columns break a rotation, and nothing where there are none."""

import numpy as np
import pandas as pd
import pytest

import veil

ROLES = {"p0": "public", "p1": "public"}


def people(n: int = 600, d: int = 5, seed: int = 0) -> pd.DataFrame:
    """Normal columns, whose shapes give nothing away, and bands of the first two."""
    rng = np.random.default_rng(seed)
    x = rng.multivariate_normal(np.arange(d) + 1.0, np.full((d, d), 0.5) + 0.5 * np.eye(d), n)
    frame = pd.DataFrame(x * 10.0 ** np.arange(d), columns=[f"x{j}" for j in range(d)])
    return frame.assign(p0=pd.qcut(frame.x0, 5, labels=False), p1=pd.qcut(frame.x1, 4, labels=False))


def audited(frame: pd.DataFrame, **how) -> veil.Audit:
    roles = {name: role for name, role in ROLES.items() if name in frame}
    given = {"repetitions": 3, "seed": 1, "workers": 1, **how}
    return veil.audit(frame, veil.OrthogonalTransform(), roles=roles, **given)


def test_public_bands_break_a_rotation_in_the_default_sweep() -> None:
    """With the release alone, over several keys, and beyond what the bands tell of a person without a row."""
    audit = audited(people(), attacks=["public-copies"])
    assert not audit.passed
    row = next(row for row in audit.rows if row.knowledge == "nothing")
    assert row.attack == "public-copies-attack"
    assert row.value.advantage.low > 0.25
    assert row.column.advantage > 0.9


def test_only_with_the_bands() -> None:
    """All attacks, with the release alone: without public columns none is shown to break anything."""
    with_bands, without = (
        audited(frame, grants=veil.Grants.only()) for frame in (people(), people().drop(columns=[*ROLES]))
    )
    shown = [max(row.value.advantage.low for row in audit.rows if row.value) for audit in (with_bands, without)]
    assert shown[0] > 0.25
    assert shown[1] == 0.0
    assert all(row.attack != "public-copies-attack" for row in without.rows)


def test_unrelated_public_columns_break_nothing() -> None:
    rng = np.random.default_rng(3)
    audit = audited(people().assign(p0=rng.integers(0, 5, 600), p1=rng.integers(0, 4, 600)), grants=veil.Grants.only())
    assert max(row.value.advantage.low for row in audit.rows if row.value) == 0.0


def test_asked_for_by_name_it_says_what_it_lacks() -> None:
    with pytest.raises(veil.InputError, match="no level grants public columns"):
        audited(people().drop(columns=[*ROLES]), attacks=["public-copies"])


@pytest.mark.slow
@pytest.mark.parametrize("n_bands", [1, 2])
def test_it_breaks_with_every_key(n_bands: int) -> None:
    """Ten keys, and another table each: a column told of everybody by one band, two by two."""
    for seed in range(10):
        frame = people(1_000, seed=seed)
        frame = frame if n_bands == 2 else frame.drop(columns="p1")
        grants = veil.Grants.only()
        audit = audited(frame, attacks=["public-copies"], grants=grants, repetitions=1, seed=seed)
        columns = sorted(float(score.advantage) for score in audit.rows[0].columns.values())
        assert columns[-n_bands] > 0.9
