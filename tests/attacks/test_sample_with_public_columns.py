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


def attacked(frame, *, sample=True, public=True, prior="auto"):
    """The share of cells that A28 hits."""
    people, others = frame.iloc[:N], frame.iloc[N:]
    release, _ = veil.publish(people, veil.AdditiveNoise(1.5, random_state=0), roles={"code": "public"})
    known = [veil.KnownSample(others[NAMES], public=others[["code"]] if public else None)] if sample else []
    truth = people[NAMES].to_numpy()
    guess = veil.JointPosteriorAttack(prior=prior).run(release, *known).values
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
    """Texts that say nothing, one or two people each, some of them in the sample too: 3·√(2·0.11/15,000) = 0.011."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(N + SAMPLED, 5)) @ rng.normal(size=(5, 5))
    frame = pd.DataFrame(x, columns=NAMES).assign(code=[f"person {i}" for i in rng.integers(0, N, len(x))])
    assert attacked(frame) == pytest.approx(attacked(frame, public=False), abs=0.011)


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_a_public_number_with_a_heap_tells_the_same_in_every_unit(unit):
    rng = np.random.default_rng(2)
    amount = np.where(rng.random(N + SAMPLED) < 0.8, 0.0, rng.integers(1, 20, N + SAMPLED))
    x = rng.normal(size=(20, 5))[amount.astype(int)]
    frame = pd.DataFrame(x, columns=NAMES).assign(code=unit * amount)
    assert attacked(frame, prior="records") > 0.85


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_a_sample_whose_public_numbers_are_partly_missing_is_no_worse_than_one_without(share):
    frame = coded(60, False)
    gaps = np.random.default_rng(3).random(SAMPLED) < share
    frame.loc[frame.index[N:][gaps], "code"] = np.nan
    assert attacked(frame) > attacked(frame, public=False)


def test_people_of_a_sample_whose_group_is_not_released_are_not_told_by_its_mean():
    """A circle, and a public text that a sample has for people of other groups: it is as good as none."""
    rng = np.random.default_rng(4)
    t = rng.uniform(0, 2 * np.pi, N + SAMPLED)
    home = rng.integers(0, 300, N + SAMPLED)
    x = np.column_stack([np.cos(t), np.sin(t), rng.normal(size=300)[home]])
    x = np.column_stack([x, x[:, :2] + 0.1 * rng.normal(size=(len(x), 2))])
    names = np.where(np.arange(len(x)) < N, "home ", "other home ")
    frame = pd.DataFrame(x, columns=NAMES).assign(code=np.char.add(names, home.astype(str)))
    assert attacked(frame) > attacked(frame, public=False) - 0.02


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
