"""Every parameter of the library with a wrong type, value or name: a VeilError that names it, never a bare crash."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import veil
from veil.errors import InputError, KeyRefusedError, MissingKnowledgeError, NotApplicableError, VeilError

NAN, INF = float("nan"), float("inf")


@pytest.fixture
def rotated(numbers):
    return veil.publish(numbers, veil.OrthogonalTransform())[0]


@pytest.fixture
def noisy(numbers):
    return veil.publish(numbers, veil.AdditiveNoise())[0]


def refused(call, *words, error=VeilError):
    with pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message, f"{word!r} is not in: {message}"


# -- perturbations ------------------------------------------------------------------------------

ADDITIVE = [
    *({"scale": s} for s in ("x", None, [1, 2], [[1, 2, 3]], {}, 1j, 0, -1, NAN, INF, [1, 0, 1], "")),
    *({"distribution": d} for d in ("gauss", "Normal", None, 1, ["normal"], {})),
    *({"relative": r} for r in ("no", "flase", None)),
    *({"random_state": s} for s in ("x", 1.5, [1], {})),
]
ORTHOGONAL = [
    *({"scaling": s} for s in ("STD", "no", 1, True, ["std"])),
    *({"translation": t} for t in ("x", None, -1, NAN, INF, [1.0], {})),
    *({"proper": p} for p in ("yes", "flase", None)),
    *({"random_state": s} for s in ("x", 1.5, [1])),
]
METHODS = [(veil.AdditiveNoise, p) for p in ADDITIVE] + [(veil.OrthogonalTransform, p) for p in ORTHOGONAL]


@pytest.mark.parametrize(("method", "parameters"), METHODS, ids=lambda v: getattr(v, "__name__", str(v)))
def test_bad_parameter_of_a_method(method, parameters, numbers):
    refused(lambda: veil.publish(numbers, method(**parameters)), next(iter(parameters)))
    refused(lambda: method(**parameters).fit(numbers), next(iter(parameters)))


NUMPY_VALUES = [
    veil.AdditiveNoise(scale=np.float32(0.5)),
    veil.AdditiveNoise(scale=np.int64(1)),
    veil.AdditiveNoise(scale=pd.Series([0.5, 0.5, 1.0])),
    veil.AdditiveNoise(scale=(0.5, 0.5, 1.0)),
    veil.AdditiveNoise(relative=np.bool_(True)),
    veil.OrthogonalTransform(proper=np.bool_(True)),
    veil.OrthogonalTransform(translation=np.float32(1.0)),
]


@pytest.mark.parametrize("method", NUMPY_VALUES, ids=lambda m: str(m.get_params()))
def test_numbers_of_numpy_are_numbers(method, numbers, tmp_path):
    """A parameter that was accepted must survive the key file: else the release cannot be restored."""
    release, key = veil.publish(numbers, method)
    key.save(tmp_path / "key")
    back = veil.restore(release, veil.Key.load(tmp_path / "key"))
    np.testing.assert_allclose(back, numbers, atol=1e-4)


# -- publish and restore ------------------------------------------------------------------------


@pytest.mark.parametrize("perturbation", ["additive-noise", veil.AdditiveNoise, None, 5], ids=str)
def test_publish_needs_a_perturbation(perturbation, numbers):
    refused(lambda: veil.publish(numbers, perturbation), "perturbation")
    refused(lambda: veil.audit(numbers, perturbation), "perturbation")
    refused(lambda: veil.audit(numbers, [perturbation]), "perturbation")


@pytest.mark.parametrize(
    ("roles", "words"),
    [
        (["a"], ("roles",)),
        ("drop", ("roles",)),
        ({1: "drop"}, ("roles",)),
        ({"a": 1}, ("roles", "'a'")),
        ({"a": None}, ("roles", "'a'")),
        ({"aa": "drop"}, ("roles", "'aa'", "did you mean 'a'")),
        ({"a": "sensitiv"}, ("'a'", "did you mean 'sensitive'")),
        ({"a": "drop", "b": "public", "n": "identifier"}, ("nothing would be perturbed",)),
    ],
)
def test_bad_roles(roles, words, numbers):
    refused(lambda: veil.publish(numbers, veil.AdditiveNoise(), roles=roles), *words)


@pytest.mark.parametrize("key", ["key", 5, b"0" * 32, {}], ids=str)
def test_bad_keys(key, numbers, noisy):
    refused(lambda: veil.publish(numbers, veil.AdditiveNoise(), key=key), "key")
    refused(lambda: veil.restore(noisy, key), "key")


@pytest.mark.parametrize("column", ["aa", ["a"], 5])
def test_bad_consistent_on(column, numbers):
    refused(lambda: veil.publish(numbers, veil.AdditiveNoise(), consistent_on=column), "consistent_on")


def test_bad_uses_of_release_and_key(numbers, noisy, tmp_path):
    release, key = veil.publish(numbers, veil.AdditiveNoise())
    refused(lambda: veil.restore("release", key), "release")
    refused(lambda: release.save(tmp_path / "r", format="docx"), "format")
    refused(lambda: release.save(tmp_path / "r", format="../../x"), "format")
    assert list(tmp_path.iterdir()) == []
    refused(lambda: key.save(tmp_path / "k", passphrase=b"bytes"), "passphrase")
    refused(lambda: key.save(tmp_path / "k", passphrase=""), "passphrase")
    assert list(tmp_path.iterdir()) == []
    release.save(tmp_path / "r")
    refused(lambda: veil.Release.load(tmp_path / "r", kind="excel").data, "kind")
    for secret in (b"short", "x" * 32, 5):
        refused(lambda secret=secret: veil.Key(secret), "key", error=KeyRefusedError)


# -- knowledge ----------------------------------------------------------------------------------

RECORD = [[100.0, 60.0, 3.0]]
PAIRS = [
    (RECORD, ["a"], "rows"),
    (RECORD, [0.5], "rows"),
    (RECORD, [None], "rows"),
    (RECORD, None, "rows"),
    (RECORD, 0, "rows"),
    (RECORD, [0, 1], "rows"),
    (RECORD, [-1], "rows"),
    (RECORD, [2**70], "rows"),
    (RECORD * 2, [3, 3], "rows"),
    (RECORD, [60], "rows"),
    ([["a", 1, 2]], [0], "records"),
    ([[1, 2, 3], [4]], [0, 1], "records"),
    ([[NAN, 1, 2]], [0], "records"),
    ([[INF, 1, 2]], [0], "records"),
    ([[1, 2]], [0], "records"),
    (None, [0], "records"),
    (5, [0], "records"),
    (np.zeros((0, 3)), [], "rows"),
    (pd.DataFrame({"a": ["x"], "b": [1.0], "n": [2]}), [0], "records"),
]


@pytest.mark.parametrize(("records", "rows", "word"), PAIRS, ids=range(len(PAIRS)))
def test_bad_known_pairs(records, rows, word, rotated):
    refused(lambda: veil.KnownPairsAttack().run(rotated, veil.KnownPairs(records, rows)), word)


@pytest.mark.parametrize("sample", [None, 5, [["a"]], [[1, 2], [3]], [[NAN]], [], [[[1.0]]]], ids=repr)
def test_bad_known_sample(sample):
    refused(lambda: veil.KnownSample(sample), "sample")


NOISES = ["x", None, 5, [1, NAN, 1], [[1, 2], [3, 4]], [1, -1, 1], [1, 1], [[1, 2, 0], [0, 1, 0], [0, 0, 1]], {}]


@pytest.mark.parametrize("covariance", NOISES, ids=repr)
def test_bad_known_noise(covariance, noisy):
    refused(lambda: veil.BayesEstimateAttack().run(noisy, veil.KnownNoise(covariance)))


@pytest.mark.parametrize("distribution", ["gauss", 5, None])
def test_bad_noise_law(distribution):
    refused(lambda: veil.KnownNoise([1, 1, 1], distribution=distribution), "distribution")


def test_attacks_refuse_what_they_cannot_use(rotated, noisy, numbers):
    pairs = veil.KnownPairs(RECORD, [0])
    refused(lambda: veil.KnownPairsAttack().run(rotated), "KnownPairs", error=MissingKnowledgeError)
    refused(lambda: veil.KnownPairsAttack().run(noisy, pairs), "additive-noise", error=NotApplicableError)
    refused(lambda: veil.BayesEstimateAttack().run(rotated), "orthogonal-transform", error=NotApplicableError)
    refused(lambda: veil.KnownPairsAttack().run(rotated, numbers), "DataFrame", error=InputError)
    refused(lambda: veil.KnownPairsAttack().run(numbers, pairs), "release")


@pytest.mark.parametrize(
    "parameters",
    [
        {"variant": "papr"},
        {"variant": None},
        {"epsilon": "x"},
        {"epsilon": None},
        {"epsilon": -1},
        {"epsilon": NAN},
        {"random_state": "x", "variant": "paper"},
        {"random_state": -1, "variant": "paper"},
    ],
    ids=str,
)
def test_bad_parameter_of_an_attack(parameters, rotated):
    attack = veil.KnownPairsAttack(**parameters)
    refused(lambda: attack.run(rotated, veil.KnownPairs(RECORD, [0])), next(iter(parameters)))


# -- audit --------------------------------------------------------------------------------------

GRANTS = [
    *({"pairs": p} for p in (0, -1, 1.5, None, "5", "x", [0], [1.5], ["a"], [None], [NAN], [INF], {})),
    *({"sample": s} for s in (0, 1, 2.0, -0.1, NAN, None, "x", [0.1, 2], ["a"])),
    *({"sample_from": s} for s in ("x", None, 5)),
]
GOALS = [
    *({"max_advantage": v} for v in (-0.1, 2, NAN, "x", None, [0.1])),
    *({"tolerance": v} for v in (0, -1, 10, NAN, "x", None)),
    *({"min_utility": v} for v in ({"distance": 0.5}, {"distances": 2}, {"distances": "x"}, {"distances": NAN})),
    *({"min_utility": v} for v in (["distances"], 0.9, {1: 0.5})),
    *({"against": v} for v in (5, [5])),
]


@pytest.mark.parametrize("parameters", GRANTS, ids=str)
def test_bad_grants(parameters, numbers):
    refused(lambda: veil.audit(numbers, veil.AdditiveNoise(), grants=veil.Grants(**parameters)), next(iter(parameters)))


@pytest.mark.parametrize("parameters", GOALS, ids=str)
def test_bad_goals(parameters, numbers):
    grants = veil.Grants.only(pairs=1, sample=0.1)
    refused(
        lambda: veil.audit(numbers, veil.AdditiveNoise(), grants=grants, goals=veil.Goals(**parameters)),
        next(iter(parameters)),
    )


def test_grants_take_numbers_of_numpy():
    grants = veil.Grants.only(pairs=np.int64(5), sample=np.float32(0.25))
    assert [level.label for level in grants.levels(100, 3)][1:] == ["5 known records", "25 % sample"]


AUDITS = [
    ({"attacks": "bayse-estimate"}, ("did you mean 'bayes-estimate",)),
    ({"attacks": [5]}, ("attack",)),
    ({"attacks": None}, ("attack",)),
    ({"attacks": []}, ("attack",)),
    ({"grants": 5}, ("grants",)),
    ({"grants": {"pairs": 1}}, ("grants",)),
    ({"goals": 5}, ("goals",)),
    ({"goals": {"max_advantage": 0.1}}, ("goals",)),
    ({"goals": veil.Goals(against=["5 known records"])}, ("against", "5 known records")),
    ({"roles": {"aa": "drop"}}, ("roles", "did you mean 'a'")),
    ({"target": "aa"}, ("target", "did you mean 'a'")),
    ({"target": "a"}, ("target", "public")),
    *(({"n_clusters": n}, ("n_clusters",)) for n in (0, 2.5, "x")),
    *(({"repetitions": n}, ("repetitions",)) for n in (0, -1, 1.5, "x")),
    *(({"seed": s}, ("seed",)) for s in (-1, 1.5, "x")),
]


@pytest.mark.parametrize(("parameters", "words"), AUDITS, ids=lambda v: str(v)[:50])
def test_bad_audit(parameters, words, numbers):
    arguments = {"grants": veil.Grants.only(pairs=1, sample=0.1), **parameters}
    refused(lambda: veil.audit(numbers, veil.AdditiveNoise(), **arguments), *words)


def test_a_single_level_may_be_named_without_a_list(numbers):
    """One word is one level, not its letters."""
    goals = veil.Goals(against="nothing")
    assert veil.audit(
        numbers, veil.AdditiveNoise(), grants=veil.Grants.only(pairs=1, sample=0.1), goals=goals, seed=0
    ).rows


@pytest.mark.parametrize("why", ["no attack applies", "the levels are larger than the table", "nothing granted"])
def test_an_audit_without_an_attack_does_not_pass(why, numbers):
    """Risk is the strongest attack found: where none was run, nothing was shown to be safe."""
    arguments = {
        "no attack applies": {"attacks": ["bayes-estimate"]},
        "the levels are larger than the table": {"grants": veil.Grants.only(pairs=500, sample=0.001)},
        "nothing granted": {"grants": veil.Grants.only()},
    }[why]
    try:
        audit = veil.audit(numbers, veil.OrthogonalTransform(), seed=0, **arguments)
    except VeilError:
        return
    assert not audit.passed
