"""Audits that stop at the first attack that breaks a goal."""

import pytest

import veil
from _program import call
from _tables import mixed_table
from veil.errors import InputError

GRANTS = veil.Grants.only(pairs=(2, 4), sample=0.1)


def audited(method, **options):
    return veil.audit(mixed_table(300, 4), method, grants=GRANTS, seed=0, first_break=True, **options)


@pytest.mark.parametrize("workers", [1, 2])
def test_the_first_attack_that_breaks_ends_the_audit(workers):
    audit = audited(veil.AdditiveNoise(0.05), workers=workers)
    (candidate,) = audit.candidates
    assert not audit.passed
    assert sum(bool(row.broken) for row in candidate.rows) == 1
    assert not candidate.utility
    assert candidate.membership is None
    (remark,) = [each for each in audit.remarks if "stopped" in each]
    assert candidate.worst.attack in remark
    missed = {each.attack for each in candidate.skipped if "not tried" in each.reason}
    assert len(missed) > 5
    assert "Not tried: " in remark
    assert "out of time" not in str(audit)


def test_an_attack_on_one_matrix_is_repeated_until_it_is_sure():
    audit = audited(veil.OrthogonalTransform())
    assert not audit.passed
    assert audit.candidates[0].worst.repetitions < 10
    assert "stopped" in audit.remarks[0]


def test_a_candidate_that_was_not_reached_did_not_pass():
    audit = audited([veil.AdditiveNoise(0.05), veil.AdditiveNoise(50.0)])
    reached, missed = audit.candidates
    assert reached.rows
    assert not missed.rows
    assert not missed.passed


def test_what_holds_is_audited_to_its_end():
    audit = audited(veil.AdditiveNoise(50.0), goals=veil.Goals(max_advantage=0.3))
    assert audit.passed
    assert not any("stopped" in each for each in audit.remarks)
    assert audit.candidates[0].utility


def test_a_pipeline_gets_exit_code_3(tmp_path):
    import pyarrow as pa
    import pyarrow.csv as pacsv

    pacsv.write_csv(pa.table({f"x{j}": column for j, column in enumerate(mixed_table(100, 2).T)}), tmp_path / "t.csv")
    options = ("--method", "additive-noise:scale=0.05", "--first-break", "--no-cache")
    assert "stopped at the first attack" in " ".join(
        call("audit", "t.csv", *options, cwd=tmp_path, code=3).output.split()
    )


def test_first_break_is_yes_or_no():
    with pytest.raises(InputError, match="first_break"):
        veil.audit(mixed_table(20, 2), veil.AdditiveNoise(), first_break="yes")
