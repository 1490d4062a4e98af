"""The default sweep finds that one column known of everybody breaks a rotation of few columns."""

import numpy as np
import pytest

import veil

GOAL = 0.05


def people(d: int, seed: int = 11, n: int = 500) -> np.ndarray:
    rng = np.random.default_rng(seed)
    age, income, bill = rng.normal(45.0, 14.0, n), rng.lognormal(10.0, 0.6, n), rng.exponential(800.0, n)
    return np.column_stack([income + 300.0 * age, bill + 0.02 * income, age][:d])


def swept(x: np.ndarray, seed: int, repetitions: int) -> veil.Audit:
    return veil.audit(
        x,
        veil.OrthogonalTransform(),
        attacks=["known-columns"],
        grants=veil.Grants(),
        goals=veil.Goals(max_advantage=GOAL),
        repetitions=repetitions,
        seed=seed,
        workers=1,
    )


@pytest.mark.parametrize("d", [2, 3])
def test_a_known_column_breaks_a_rotation(d: int) -> None:
    audit = swept(people(d), seed=1, repetitions=3)
    assert not audit.passed
    (row,) = audit.rows
    assert (row.attack, row.knowledge) == ("known-columns-attack", "1 known column")
    assert row.value.advantage.low > GOAL


def test_every_attack_leaves_no_level_untested() -> None:
    """The sweep with all attacks: the level of a known column is tested on rotations and linear maps."""
    audit = veil.audit(
        people(3, n=300),
        [veil.OrthogonalTransform(), veil.LinearTransform()],
        grants=veil.Grants.only(attributes=1),
        repetitions=1,
        seed=0,
        workers=1,
    )
    for candidate in audit.candidates:
        assert any(row.knowledge == "1 known column" for row in candidate.rows)


@pytest.mark.slow
@pytest.mark.parametrize("d", [2, 3])
def test_it_breaks_with_every_key(d: int) -> None:
    """Twenty keys, and another table each."""
    gains = [float(swept(people(d, seed), seed, 1).rows[0].value.advantage) for seed in range(20)]
    assert min(gains) > GOAL
    assert np.mean(gains) > (0.99 if d == 2 else 0.5)
