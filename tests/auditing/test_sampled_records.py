"""An audit that samples records says so, in every form of its report; one that does not is silent."""

import numpy as np
import pytest

import veil


@pytest.mark.parametrize(("records", "said"), [(150, True), (300, False)])
def test_what_a_sample_may_hide_is_said(records, said):
    x = np.random.default_rng(0).normal(size=(300, 3))
    method, attack = veil.OrthogonalTransform(), veil.KnownPairsAttack()
    audit = veil.audit(x, method, attacks=[attack], repetitions=1, seed=0, records=records)
    remark = "Audited on a uniform sample of 150 of the table's 300 records"
    assert any(remark in each and "may look weaker than they are" in each for each in audit.remarks) is said
    assert (remark in " ".join(str(audit).split())) is said
    assert (remark in audit.to_json()) is said
