"""How often attacks are run: those that can change no verdict are not repeated to the end."""

import numpy as np

import veil


def test_where_known_records_break_a_rotation_hopeless_attacks_are_spared() -> None:
    """A round population hides the matrix from any sample (test_known_sample), and d known records give it away."""
    x = np.random.default_rng(0).normal(size=(150, 3))
    audit = veil.audit(
        x,
        veil.OrthogonalTransform(),
        attacks=["known-pairs", "known-sample"],
        grants=veil.Grants(pairs=3, sample=(0.1, 0.3)),
        goals=veil.Goals(max_advantage=0.5),
        seed=0,
        workers=1,
    )
    (candidate,) = audit.candidates
    runs = {row.knowledge: row.repetitions for row in candidate.rows}
    assert [each.level.label for each in candidate.breaks] == ["3 known records"]
    assert runs == {"3 known records": 2, "10 % sample": 2, "30 % sample": 3}
