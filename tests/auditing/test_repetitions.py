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


def test_where_the_release_alone_breaks_a_rotation_more_knowledge_is_tried_once() -> None:
    """A skewed population is unmixed by ICA; what known records or a sample add to that decides nothing."""
    x = np.random.default_rng(1).exponential(size=(1_500, 3)) @ np.diag([1.0, 2.0, 4.0])
    audit = veil.audit(
        x,
        veil.OrthogonalTransform(),
        attacks=["ica", "known-pairs", "known-sample"],
        grants=veil.Grants.only(pairs=(1, 2), sample=0.1),
        seed=0,
        workers=1,
    )
    (candidate,) = audit.candidates
    assert [each.level.label for each in candidate.breaks] == ["nothing"]
    runs = {(row.attack, row.knowledge): row.repetitions for row in candidate.rows}
    assert runs.pop(("ica-attack", "nothing")) >= 2
    assert set(runs.values()) == {1}
    assert {level.state for level in audit.model().candidates[0].levels} == {"breaks"}


def test_few_far_out_values_that_seem_exposed_are_settled_by_more_keys() -> None:
    """Noise that is within a tenth of the distance in half of all cases: nine values under one key show nothing yet."""
    x = np.random.default_rng(2).normal(size=(500, 2))
    x[:8, 1] = np.linspace(14.0, 60.0, 8)
    rows = []
    for repetitions in (1, 10):
        audit = veil.audit(
            x,
            veil.AdditiveNoise(1.0),
            attacks=["noise-distribution"],
            grants=veil.Grants.only(),
            goals=veil.Goals(on="far-out values"),
            repetitions=repetitions,
            seed=0,
            workers=1,
        )
        rows.append(audit.rows[0])
    assert [row.n_far_out for row in rows] == [9, 9]
    assert [bool(row.broken) for row in rows] == [False, True]


def test_a_break_near_the_goal_is_seen_with_several_keys_and_a_plain_one_with_one() -> None:
    """Fits of single keys differ: what one of them gains a little over the goal, the next may not."""
    x = np.random.default_rng(3).normal(size=(20_000, 1))
    runs = []
    for scale in (0.6, 0.2):
        audit = veil.audit(
            x, veil.AdditiveNoise(scale), attacks=["bayes-estimate"], grants=veil.Grants.only(), seed=0, workers=1
        )
        (row,) = audit.rows
        assert row.broken
        runs.append(row.repetitions)
    assert runs == [5, 1]
