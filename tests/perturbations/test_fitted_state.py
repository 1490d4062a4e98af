"""A fitted method holds its model and its key, and nothing else of the table: not in memory, pickles or renderings."""

import io
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest

import veil
from veil.perturbations import PERTURBATIONS, Takes
from veil.release.models import Model

SEED = 424242


def fitted(cls):
    rng = np.random.default_rng(1)
    needed = {  # what has no default
        veil.GlobalRecoding: {"hierarchies": {"a": {"x7391": "x", "y7391": "y"}}},
        veil.LaplaceMechanism: {"bounds": (-100.0, 100.0)},
        veil.GaussianMechanism: {"bounds": (-100.0, 100.0)},
    }
    method = cls(random_state=SEED, **needed.get(cls, {}))
    if method.layout.tabular:
        table = pd.DataFrame({"a": rng.choice(["x7391", "y7391"], 200, p=[0.635, 0.365]), "b": rng.integers(0, 3, 200)})
    elif method.layout.takes is Takes.BITS:
        table = rng.integers(0, 2, size=(200, 4)).astype(float)
    else:
        table = rng.gamma(2.0, size=(200, 4)) + 1.2345678
    return method.fit(table), table


@pytest.mark.parametrize("name", sorted(PERTURBATIONS))
def test_only_model_key_and_names_are_kept(name):
    method, _ = fitted(PERTURBATIONS[name])
    learned = set(vars(method)) - set(method.get_params(deep=False))
    assert learned <= {"model_", "key_", "_fitted_on", "n_features_in_", "feature_names_in_"}
    assert isinstance(method.model_, Model)
    with pytest.raises(AttributeError):
        method.model_.name_of_another_value = 1


@pytest.mark.parametrize("name", sorted(PERTURBATIONS))
def test_what_is_written_holds_neither_key_nor_facts(name):
    method, table = fitted(PERTURBATIONS[name])
    secret = [method.key_.derive(purpose) for purpose in ("rows", "same", "fingerprint")]
    written = io.BytesIO()
    joblib.dump(method, written)
    assert method._fitted_on.encode() not in pickle.dumps(method) + written.getvalue()
    for text in (pickle.dumps(method), written.getvalue(), repr(vars(method)).encode(), method._repr_html_().encode()):
        assert not any(key in text or key.hex().encode() in text for key in secret)
        assert str(SEED).encode() not in text
        if isinstance(table, np.ndarray) and method.layout.takes is not Takes.BITS:
            facts = [
                *table.mean(axis=0),
                *table.min(axis=0),
                *table.max(axis=0),
                *table.std(axis=0),
                *table[:5].ravel(),
            ]
            assert not any(np.float64(fact).tobytes() in text or repr(float(fact)).encode() in text for fact in facts)


@pytest.mark.parametrize("name", ["discretize", "randomized-response"])
def test_counts_and_quantiles_are_forgotten(name):
    method, table = fitted(PERTURBATIONS[name])
    said = pickle.dumps(method)
    if name == "randomized-response":
        count = int((table["a"] == "x7391").sum())
        assert not any(isinstance(value, dict) and count in value.values() for value in vars(method).values())
    else:
        inner = np.quantile(table, [0.25, 0.75], axis=0).ravel()
        assert not any(np.float64(value).tobytes() in said for value in inner)


def test_secret_settings_are_masked_with_the_key():
    method = veil.LinearTransform([[1.0, 2.0], [3.0, 4.7654321]], random_state=0)
    assert "4.7654321" not in repr(method.fit(np.random.default_rng(0).normal(size=(50, 2))))
