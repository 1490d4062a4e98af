"""Releases of format 1 (version 0.1) stay good: they load, restore and can be attacked, and seeds keep their noise.

The folders in ``tests/fixtures/format1`` were written by version 0.1.0 with seed 7: a release, its key file, and the
name of the private table beside them.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import veil

FOLDER = Path(__file__).parent.parent / "fixtures" / "format1"
SEED = 7
METHODS = {
    "additive-laplace": lambda: veil.AdditiveNoise(2.0, relative=False, distribution="laplace", random_state=SEED),
    "additive-noise": lambda: veil.AdditiveNoise(0.5, random_state=SEED),
    "additive-similar": lambda: veil.AdditiveNoise(0.5, similarity=0.8, random_state=SEED),
    "additive-uniform-gaps": lambda: veil.AdditiveNoise(0.3, distribution="uniform", random_state=SEED),
    "combined-noise": lambda: veil.CombinedNoise(random_state=SEED),
    "gaussian-mechanism": lambda: veil.GaussianMechanism(1.0, 1e-6, (0.0, 20000.0), random_state=SEED),
    "laplace-mechanism": lambda: veil.LaplaceMechanism(1.0, (0.0, 20000.0), random_state=SEED),
    "linear-transform": lambda: veil.LinearTransform(noise_scale=0.1, dither=False, random_state=SEED),
    "log-normal-noise": lambda: veil.LogNormalNoise(0.1, random_state=SEED),
    "market-basket": lambda: veil.MarketBasket(random_state=SEED),
    "multiplicative-noise": lambda: veil.MultiplicativeNoise(0.15, random_state=SEED),
    "multiplicative-notch": lambda: veil.MultiplicativeNoise(notch=0.01, random_state=SEED),
    "orthogonal-transform": lambda: veil.OrthogonalTransform(dither=False, random_state=SEED),
    "orthogonal-translated": lambda: veil.OrthogonalTransform(
        proper=True, translation=1.0, dither=False, random_state=SEED
    ),
    "pairwise-rotation": lambda: veil.PairwiseRotation(thresholds=0.1, random_state=SEED),
    "random-projection": lambda: veil.RandomProjection(2, dither=False, random_state=SEED),
    "randomized-joint": lambda: veil.RandomizedResponse(gamma=3.0, joint=True, random_state=SEED),
    "randomized-response": lambda: veil.RandomizedResponse(keep=0.7, random_state=SEED),
}
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))
COMES_BACK = {
    "additive-laplace", "additive-noise", "additive-shuffled", "additive-similar", "additive-uniform-gaps",
    "combined-noise", "linear-transform", "log-normal-noise", "multiplicative-noise", "multiplicative-notch",
    "orthogonal-transform", "orthogonal-translated", "pairwise-rotation", "plan",
}  # fmt: skip
ATTACKS = {
    "additive-noise": veil.BayesEstimateAttack,
    "additive-similar": veil.PCAAttack,
    "combined-noise": veil.LogAttack,
    "laplace-mechanism": veil.UnivariateBayesAttack,
    "log-normal-noise": veil.LogAttack,
    "multiplicative-noise": veil.LogAttack,
    "randomized-joint": veil.ResponsePosteriorAttack,
    "randomized-response": veil.ResponsePosteriorAttack,
}
WITH_RECORDS = ["linear-transform", "orthogonal-transform", "orthogonal-translated", "pairwise-rotation"]


def private_table(name: str) -> pd.DataFrame:
    stem = json.loads((FOLDER / f"{name}.json").read_text())["table"]
    if (FOLDER / f"{stem}.csv").exists():
        return pd.read_csv(FOLDER / f"{stem}.csv")
    return pd.read_parquet(FOLDER / f"{stem}.parquet")


def test_all_methods_are_there() -> None:
    assert len(NAMES) == 26
    assert set(METHODS) | COMES_BACK | set(ATTACKS) | set(WITH_RECORDS) <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_loads(name: str) -> None:
    release = veil.Release.load(FOLDER / name, kind="pandas")
    assert len(release.data) == {"sharded": 33268, "random-projection-records": 8}.get(name, 60)
    assert release.manifest.release == 1


@pytest.mark.parametrize("name", NAMES)
def test_restores(name: str) -> None:
    release = veil.Release.load(FOLDER / name, kind="pandas")
    key = veil.Key.load(FOLDER / f"{name}.key")
    if name not in COMES_BACK:
        with pytest.raises(veil.NotInvertibleError):
            veil.restore(release, key)
        return
    truth, back = private_table(name), veil.restore(release, key, partial=True)
    assert set(back.columns) <= set(truth.columns)
    assert "age" in back.columns
    for column in back.columns:
        if back[column].dtype.kind == "f":
            np.testing.assert_allclose(back[column], truth[column], rtol=1e-3, atol=1e-6)
        else:
            assert back[column].tolist() == truth[column].tolist()


@pytest.mark.parametrize("name", sorted(METHODS))
def test_seeds_keep_their_noise(name: str) -> None:
    """The same seed gives the same release as version 0.1.0: bits for noise, rounding for matrix products."""
    release, _ = veil.publish(private_table(name), METHODS[name]())
    before = veil.Release.load(FOLDER / name, kind="pandas").data
    for column in before.columns:
        ours, theirs = release.data[column], before[column]
        if "orthogonal" in name or name in ("linear-transform", "pairwise-rotation", "random-projection"):
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)
        elif theirs.dtype.kind == "f":
            assert ours.to_numpy().tobytes() == theirs.to_numpy().tobytes()
        else:
            assert ours.tolist() == theirs.tolist()


@pytest.mark.parametrize("name", ["additive-noise", "additive-shuffled", "additive-similar", "gaussian-mechanism"])
def test_a_key_knows_its_release_again(name: str) -> None:
    """What manifests say beyond version 0.1.0 is in no address: the same release, the same secret order."""
    key, shuffle = veil.Key.load(FOLDER / f"{name}.key"), name == "additive-shuffled"
    before = veil.Release.load(FOLDER / name, kind="pandas")
    method = METHODS["additive-noise" if shuffle else name]().set_params(random_state=None)
    release, _ = veil.publish(private_table(name), method, key=key, shuffle=shuffle)
    assert release.manifest.release_id == before.manifest.release_id
    assert release.data.equals(before.data)
    assert len(key.ledger) == 1


@pytest.mark.parametrize("name", sorted(ATTACKS))
def test_can_be_attacked(name: str) -> None:
    release = veil.Release.load(FOLDER / name)
    guess = ATTACKS[name]().run(release)
    assert guess.values.shape == (60, len(release.only_part.columns))
    assert np.isfinite(guess.values).all()


@pytest.mark.parametrize("name", WITH_RECORDS)
def test_known_records_undo_it(name: str) -> None:
    truth = private_table(name).to_numpy()
    rows = np.arange(12)
    release = veil.Release.load(FOLDER / name)
    attack = veil.ProjectionMAPAttack() if name == "linear-transform" else veil.KnownPairsAttack()
    guess = attack.run(release, veil.KnownPairs(truth[rows], rows))
    spread = np.sqrt((((guess.values - truth) / truth.std(axis=0)) ** 2).mean())
    assert spread < (0.4 if name == "linear-transform" else 1e-3)


def test_the_names_of_version_0_1_work_with_a_warning() -> None:
    release = veil.Release.load(FOLDER / "additive-noise")
    with pytest.warns(DeprecationWarning, match=r"release\.only_part"):
        assert release.step is release.only_part
    with pytest.warns(DeprecationWarning, match=r"manifest\.parts"):
        assert release.manifest.steps is release.manifest.parts
