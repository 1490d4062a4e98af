"""A sample comes with the public columns of its people, and A28 uses both together."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import veil
from veil.attacks.knowledge import PrivateTable

N, SAMPLED = 3_000, 400
NAMES = list("abcde")


def coded(n_types, as_text, seed=0):
    """Records of some types, and a public column that tells the type."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, n_types, N + SAMPLED)
    x = rng.normal(size=(n_types, len(NAMES)))[kind]
    code = np.array([f"t{i}" for i in range(n_types)])[kind] if as_text else 3.0 * kind + 100.0
    return pd.DataFrame(x, columns=NAMES).assign(code=code)


def attacked(frame, *, sample=True, public=True):
    """The share of cells that A28 hits."""
    people, others = frame.iloc[:N], frame.iloc[N:]
    release, _ = veil.publish(people, veil.AdditiveNoise(1.5, random_state=0), roles={"code": "public"})
    known = [veil.KnownSample(others[NAMES], public=others[["code"]] if public else None)] if sample else []
    truth = people[NAMES].to_numpy()
    guess = veil.JointPosteriorAttack().run(release, *known).values
    return float((np.abs(guess - truth) <= 0.1 * truth.std(axis=0)).mean())


@pytest.mark.parametrize("as_text", [False, True], ids=["number", "text"])
@pytest.mark.parametrize("n_types", [60, 200])
def test_a_public_code_names_the_type_that_the_sample_shows(n_types, as_text):
    """A type is in the sample with probability 1 − (1 − 1/k)^400: 0.999 of 60, 0.87 of 200; less 0.1."""
    frame = coded(n_types, as_text)
    seen = 1.0 - (1.0 - 1.0 / n_types) ** SAMPLED
    assert attacked(frame) > seen - 0.1
    assert attacked(frame, public=False) < seen - 0.1


@pytest.mark.parametrize("as_text", [False, True], ids=["number", "text"])
def test_rows_of_one_code_tell_of_each_other_without_a_sample(as_text):
    """With 50 rows of a type the mean of the others errs by 1.5/√50 = 0.21: a hit with 2Φ(0.1/0.21) − 1 = 0.36."""
    assert attacked(coded(60, as_text), sample=False) > 0.3


def test_a_public_text_with_as_many_values_as_people_misleads_nobody():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(N + SAMPLED, 5)) @ rng.normal(size=(5, 5))
    frame = pd.DataFrame(x, columns=NAMES).assign(code=[f"person {i}" for i in range(len(x))])
    assert attacked(frame) == pytest.approx(attacked(frame, public=False), abs=0.01)


def test_public_columns_of_another_type_or_other_people_are_refused():
    frame = coded(60, True)
    with pytest.raises(veil.InputError, match="public has 3 rows; it must have one for each of the sample's 400"):
        veil.KnownSample(frame.iloc[N:][NAMES], public=frame[["code"]].iloc[:3])
    people, others = frame.iloc[:N], frame.iloc[N:]
    release, _ = veil.publish(
        people.assign(code=1.5 + np.arange(N) % 7), veil.AdditiveNoise(1.5), roles={"code": "public"}
    )
    known = veil.KnownSample(others[NAMES], public=others[["code"]])
    with pytest.raises(veil.InputError, match="public column 'code' of the sample does not hold the type"):
        veil.JointPosteriorAttack().run(release, known)


def test_a_file_and_an_audit_give_the_public_columns_along(tmp_path):
    frame = coded(60, True)
    release, _ = veil.publish(frame.iloc[:N], veil.AdditiveNoise(1.5), roles={"code": "public"})
    path = tmp_path / "sample.csv"
    frame.iloc[N:].to_csv(path, index=False)
    from_file = veil.KnownSample.from_file(path, release)
    assert from_file.public.column("code").to_pylist() == frame["code"].iloc[N:].tolist()
    assert from_file.narrowed([0, 1], 5).public.equals(from_file.public)
    outside = pa.table({"code": frame["code"]})
    private = PrivateTable(frame[NAMES].to_numpy(), tuple(NAMES), np.zeros(5, dtype=bool), outside)
    grant = veil.KnownSample.grant(private, 0.1, np.random.default_rng(0))
    (sample,) = grant.knowledge
    assert sample.public.column("code").to_pylist() == frame["code"].iloc[grant.withheld].tolist()
