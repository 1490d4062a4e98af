"""Keys, groups and weights: what outsiders may know is linked and no secret; households keep together; weights stay."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import veil
from veil.auditing.advice.choices import Choices
from veil.errors import InputError, RoleError
from veil.release.manifest import Manifest

ROLES = {"household": "group", "region": "key", "age": "key", "weight": "weight"}
ATTACKS = ["linkage-attack", "bayes-estimate-attack"]
PLAN = veil.Plan([("age", veil.AdditiveNoise(0.3)), ("income", veil.AdditiveNoise(1.0))])


def survey(n: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "household": np.repeat(np.arange(n // 2), 2),
            "region": rng.choice(list("abcd"), n),
            "age": rng.integers(18, 90, n),
            "income": np.exp(rng.normal(10.0, 1.0, n)),
            "weight": rng.uniform(1.0, 5.0, n),
        }
    )


def test_keys_that_no_part_names_are_released_unchanged_and_others_changed():
    frame = survey()
    rest, _ = veil.publish(frame, veil.AdditiveNoise(1.0), roles=ROLES)
    assert rest.data["age"].equals(frame["age"])
    assert {column.name: str(column.role) for column in rest.manifest.public} == {
        "region": "key",
        "age": "key",
        "weight": "weight",
    }
    assert rest.manifest.weight == "weight"
    changed, _ = veil.publish(frame, PLAN, roles=ROLES)
    assert not np.isclose(changed.data["age"], frame["age"]).all()
    assert [str(column.role) for part in changed.manifest.parts for column in part.columns] == [
        "key",
        "sensitive",
        "group",
    ]


def test_groups_are_pseudonyms_that_keep_members_together():
    frame = survey()
    release, key = veil.publish(frame, veil.AdditiveNoise(1.0), roles=ROLES)
    released = release.data["household"]
    assert not set(released) & set(frame["household"].astype(str))
    assert (released.groupby(frame["household"]).nunique() == 1).all()
    assert released.nunique() == frame["household"].nunique()
    restored = veil.restore(release, key, partial=True)
    assert "household" not in restored
    assert restored["age"].equals(frame["age"])


def test_roles_survive_the_manifest():
    release, _ = veil.publish(survey(), PLAN, roles=ROLES)
    again = Manifest.from_json(release.manifest.to_json())
    assert again.public == release.manifest.public
    assert again.weight == "weight"


def test_keys_are_linked_and_not_scored():
    audit = veil.audit(survey(), PLAN, roles=ROLES, seed=1, attacks=ATTACKS, repetitions=2)
    scored = {name for row in audit.rows for name in row.columns}
    assert scored == {"income"}
    assert any(row.links for row in audit.rows)
    assert any("Weights are released as they are: 'weight'" in str(remark) for remark in audit.remarks)


def test_the_same_columns_as_quasi_are_scored_too():
    audit = veil.audit(survey(), PLAN, roles={**ROLES, "age": "quasi"}, seed=1, attacks=ATTACKS, repetitions=2)
    assert {name for row in audit.rows for name in row.columns} == {"age", "income"}


def test_weights_do_not_help_outsiders_to_link():
    """A weight of its own for each record would name it; outsiders have none."""
    frame = survey(200).drop(columns=["region", "age", "household"])
    with pytest.raises(InputError, match="no level grants ExternalTable"):
        veil.audit(frame, veil.AdditiveNoise(1.0), roles={"weight": "weight"}, seed=1, attacks=["linkage-attack"])


def test_roles_that_cannot_be_are_refused_by_name():
    frame = survey(40)
    with pytest.raises(RoleError, match="have the role weight"):
        veil.publish(frame, veil.AdditiveNoise(), roles={**ROLES, "age": "weight"})
    with pytest.raises(RoleError, match="'region' has the role weight and is no number"):
        veil.publish(frame, veil.AdditiveNoise(), roles={"region": "weight"})
    with pytest.raises(RoleError, match="'weight' has the role weight and is in the plan"):
        veil.publish(frame, veil.Plan([("weight", veil.AdditiveNoise()), (None, veil.AdditiveNoise())]), roles=ROLES)


def test_advice_chooses_for_secrets_alone():
    table = pa.Table.from_pandas(survey(400))
    choices = Choices(table, ROLES, tolerance=0.1, seed=1, shuffle=False)
    assert (choices.names, choices.categories) == (("income",), [])
    families, plans = choices.methods(None)
    release, _ = veil.publish(table, plans[0] if plans else families[0].make((1.0,)), roles=ROLES)
    assert release.data["age"].equals(table["age"])
    assert release.data["weight"].equals(table["weight"])


def test_keys_alone_that_nobody_links_are_not_called_safe():
    plan = veil.Plan([("age", veil.AdditiveNoise(0.01))])
    roles = {"household": "drop", "income": "drop", "region": "public", "age": "key", "weight": "drop"}
    alone = veil.audit(survey(100), plan, roles=roles, grants=veil.Grants.only(sample=0.1), seed=1, repetitions=2)
    assert not alone.passed
    assert "was not tested" in str(alone.candidates[0].failures[0])
    linked = veil.audit(survey(100), plan, roles=roles, seed=1, attacks=["linkage-attack"], repetitions=2)
    assert all("was not tested" not in str(failure) for failure in linked.candidates[0].failures)
    assert [row.attack for row in linked.rows if row.links] == ["linkage-attack"]
    assert linked.candidates[0].breaks
