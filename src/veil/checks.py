"""Contracts that every perturbation and every attack keeps, for authors of new ones.

Run them over a class of your own::

    from veil.checks import check_attack, check_perturbation

    check_perturbation(MyNoise())
    check_attack(MyAttack())

Each check raises AssertionError with a sentence that says what broke.
"""

from __future__ import annotations

import json
import pickle
import re
from typing import Any

import numpy as np
import pyarrow as pa

from veil.attacks.base import Attack, Guess, Links
from veil.attacks.knowledge import (
    ExternalTable,
    IndependentSignals,
    Knowledge,
    KnownAttributes,
    KnownMatrix,
    KnownNoise,
    KnownPairs,
    KnownRanges,
    KnownRecords,
    KnownSample,
    PrivateTable,
    TimeOrder,
)
from veil.attacks.knowledge.previous_releases import PreviousReleases
from veil.data.blocks import BLOCK_ROWS, Matrix
from veil.errors import InputError, KeyRefusedError, MissingKnowledgeError, NotApplicableError
from veil.keys.key import Key, LedgerPart
from veil.perturbations import PERTURBATIONS, Perturbation, Takes
from veil.perturbations.additive import AdditiveNoise
from veil.perturbations.codecs import decoded
from veil.perturbations.driving import rebuild, released_fields
from veil.publishing.publish import publish
from veil.publishing.restore import restore
from veil.release.release import Release

_SEED = 918273645


def _expect(condition: Any, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def _table(n: int = 300, d: int = 4, seed: int = 0) -> Matrix:
    """Skewed, correlated and positive, so that every method takes it."""
    rng = np.random.default_rng(seed)
    mixing = rng.uniform(0.1, 1.0, size=(d, d)) + np.eye(d)
    return np.asarray(rng.gamma(2.0, size=(n, d)) @ mixing + np.arange(1, d + 1))


def _table_for(perturbation: Perturbation, n: int = 300, d: int = 4) -> Matrix:
    """A table that the method takes: zeros and ones where it releases such."""
    x = _table(n, d)
    return np.asarray(x > np.median(x, axis=0), dtype=np.float64) if perturbation.layout.takes is Takes.BITS else x


def _categories(n: int = 300, changed: int = 0) -> pa.Table:
    """Columns of texts and of whole numbers; ``changed`` cells differ."""
    rng = np.random.default_rng(0)
    text, numbers = rng.choice(["a", "b", "c"], n), rng.integers(0, 4, n)
    text[:changed] = np.where(text[:changed] == "a", "b", "a")
    return pa.table({"x0": text, "x1": numbers})


def _seeded(perturbation: Perturbation, seed: int = _SEED) -> Perturbation:
    twin = type(perturbation)(**perturbation.get_params(deep=False))
    twin.set_params(random_state=seed)
    return twin


def check_perturbation(perturbation: Perturbation) -> None:
    """Run every contract of a perturbation."""
    if perturbation.layout.tabular:
        for check in (check_names, check_categories):
            check(_seeded(perturbation))
        return
    for check in (
        check_names,
        check_disclosure,
        check_rebuilding,
        check_secret_is_masked,
        check_pickling_drops_the_key,
        check_blocks,
        check_same_noise_and_unrelated_noise,
        check_missing_values,
        check_restoring,
    ):
        check(_seeded(perturbation))


def check_names(perturbation: Perturbation) -> None:
    """It has a catalogue id, a command-line name, a threat paragraph and a place in the registry or outside."""
    _expect(re.fullmatch(r"[PX]\d+", perturbation.catalogue), "catalogue must be an id like P1, or X1 of your own")
    name = perturbation.method_name()
    _expect(re.fullmatch(r"[a-z]+(-[a-z]+)*", name), f"{name!r} is not a command-line name")
    _expect(
        PERTURBATIONS.get(name, type(perturbation)) is type(perturbation),
        f"{name!r} is taken by another class",
    )
    _expect(perturbation.threat, "threat must say what is released, what is secret, and which knowledge breaks it")


def check_categories(perturbation: Perturbation) -> None:
    """On categories: the same table gets the same release, the disclosed parameters are enough to make it again, and
    neither renderings nor pickles hold the key.
    """
    x = _categories()
    release, key = publish(x, perturbation)
    _expect(
        publish(x, perturbation)[0].table.read().equals(release.table.read()),
        "the same table was perturbed differently",
    )
    disclosed = json.dumps(release.only_part.parameters, allow_nan=False)
    _expect(str(_SEED) not in disclosed, "disclose() shows the seed")
    _expect(str(_SEED) not in repr(perturbation) + perturbation._repr_html_(), "a rendering shows the seed")
    twin = rebuild(key.ledger[0].parts[0], key)
    _expect(twin.disclose() == json.loads(disclosed), "the method rebuilt from its model differs")
    if perturbation.layout.addressed:
        other = publish(_categories(changed=1), perturbation)[0].table.read().column("x0")
        same = np.mean(
            [a == b for a, b in zip(other.to_pylist(), release.table.read().column("x0").to_pylist(), strict=True)]
        )
        _expect(same < 0.95, "one changed cell left the other reports as they were")


def check_disclosure(perturbation: Perturbation) -> None:
    """``disclose`` is plain JSON and holds neither the seed nor an extreme or mean of the table."""
    x = _table_for(perturbation)
    disclosed = json.dumps(perturbation.fit(x).disclose(), allow_nan=False)
    _expect(str(_SEED) not in disclosed, "disclose() shows the seed")
    facts = [("mean", x.mean(axis=0))]
    if perturbation.layout.takes is not Takes.BITS:  # of zeros and ones, the extremes are no secret
        facts += [("minimum", x.min(axis=0)), ("maximum", x.max(axis=0))]
    for what, values in facts:
        for value in values:
            _expect(repr(float(value)) not in disclosed, f"disclose() shows a column's {what}")


def check_rebuilding(perturbation: Perturbation) -> None:
    """Settings, disclosed parameters and key are enough to make the same release again."""
    x = _table_for(perturbation)
    fitted = perturbation.fit(x)
    settings, parameters = json.loads(json.dumps([fitted.settings(), fitted.disclose()]))
    columns, name = ["x0", "x1", "x2", "x3"], fitted.model_.recorded_name()
    part = LedgerPart(fitted.method_name(), settings, parameters, columns, fitted._fitted_on, name)
    twin = rebuild(part, fitted.key_)
    del twin.feature_names_in_
    _expect(np.array_equal(twin.transform(x), fitted.transform(x)), "the method rebuilt from its model differs")


def check_secret_is_masked(perturbation: Perturbation) -> None:
    """The seed shows in no rendering, alone or in a pipeline; the secret has one address."""
    from sklearn.pipeline import make_pipeline

    fitted = perturbation.fit(_table_for(perturbation))
    pipeline = make_pipeline(fitted)
    for shown in (
        repr(fitted),
        fitted._repr_html_(),
        repr(pipeline),
        pipeline._repr_html_(),
        str(vars(fitted)),
    ):
        _expect(str(_SEED) not in shown, "a rendering shows the seed")
    holders = [name for name, value in vars(fitted).items() if isinstance(value, Key)]
    _expect(holders == ["key_"], f"the key must live in key_ only, found in {holders}")


def check_pickling_drops_the_key(perturbation: Perturbation) -> None:
    """A pickled fitted perturbation has no key and says so."""
    x = _table_for(perturbation)
    thawed = pickle.loads(pickle.dumps(perturbation.fit(x)))  # noqa: S301 - our own bytes
    try:
        thawed.transform(x)
    except KeyRefusedError:
        return
    raise AssertionError("a pickled perturbation still transforms: it carried its key along")


def check_blocks(perturbation: Perturbation) -> None:
    """``publish`` and ``transform`` give the same bits over more than one block."""
    x = _table_for(perturbation, BLOCK_ROWS + 11, 2)
    release, _ = publish(x, perturbation)
    direct = perturbation.fit(x).transform(x)
    names = [f"x{j}" for j in range(x.shape[1])]
    fields = released_fields(perturbation, names, pa.table(dict(zip(names, x.T, strict=True))).schema)
    arrays = decoded(perturbation.model_, direct.T, fields)
    released = [release.table.read().column(n).combine_chunks() for n in release.only_part.released]
    _expect(
        all(a.equals(b) for a, b in zip(arrays, released, strict=True)), "publish and transform differ across blocks"
    )


def check_same_noise_and_unrelated_noise(perturbation: Perturbation) -> None:
    """The same table gets the same release; with addressed noise, one changed cell gets unrelated noise."""
    # Two values only, so that among equal cells the release differs by its randomness alone.
    x = np.random.default_rng(0).integers(1, 3, size=(4_000, 3)).astype(np.float64)
    x = x - 1 if perturbation.layout.takes is Takes.BITS else x
    fitted = perturbation.fit(x)
    first = fitted.transform(x)
    _expect(np.array_equal(first, fitted.transform(x)), "the same table was perturbed differently")
    if not (perturbation.layout.addressed and perturbation.layout.passes_missing):
        return
    other = x.copy()
    other[0, 0] = 3 - other[0, 0]
    second = fitted.transform(other)
    for j in range(x.shape[1]):
        same = (x[:, j] == 1) & (other[:, j] == 1)
        related = abs(np.corrcoef(first[same, j], second[same, j])[0, 1])
        _expect(related < 5 / np.sqrt(same.sum()), "one changed cell left the noise related")


def check_missing_values(perturbation: Perturbation) -> None:
    """Element-wise methods pass missing values through; methods that mix columns refuse them with a count."""
    x = _table_for(perturbation)
    x[3, 1] = np.nan
    if perturbation.layout.passes_missing:
        released = publish(x, perturbation)[0].table.read()
        gaps = np.column_stack([released.column(j).is_null().to_numpy() for j in range(x.shape[1])])
        _expect(np.array_equal(gaps, np.isnan(x)), "the pattern of missing values changed")
        return
    try:
        publish(x, perturbation)
    except InputError as error:
        _expect("'x1' (1)" in str(error), "the error must name the column and the count of missing values")
        return
    raise AssertionError("a method that mixes columns accepted missing values")


def check_restoring(perturbation: Perturbation) -> None:
    """An invertible method gives the table back; another is refused by ``restore``."""
    x = _table_for(perturbation)
    release, key = publish(x, perturbation)
    if not perturbation.fit(x).invertible(consistent=False):
        return
    size = np.abs(x).max()
    _expect(np.allclose(restore(release, key), x, rtol=0, atol=1e-5 * size), "restore differs from the original")


def check_attack(attack: Attack) -> None:
    """Run every contract of an attack, on every kind of release that it applies to."""
    _expect(re.fullmatch(r"[A-Z]+\d+", attack.catalogue), "catalogue must be an id like A1")
    _expect(attack.attack_name().endswith("-attack"), "an attack's class name ends in Attack")
    met = 0
    for cls in PERTURBATIONS.values():
        if cls().layout.tabular:
            met += _check_on_categories(attack, cls)
            continue
        x = _table_for(cls())
        release, key = publish(x[:280], _seeded(cls()))
        if attack.applies_to(release.only_part.model):
            matrix = rebuild(key.ledger[0].parts[0], key).secret_matrix()
            known = _known_of_numbers(x, matrix)
            met += _check_attack_on(attack, release, {**_drawn(attack, x[:280]), **known})
    _expect(met, "the attack applies to no registered perturbation")


def _check_on_categories(attack: Attack, cls: type[Perturbation]) -> bool:
    """The attack on randomized categories, where it applies and what it requires can be said of categories."""
    release, _ = publish(_categories(), _seeded(cls()))
    known = _known_of_categories(cls)
    if not attack.applies_to(release.only_part.model) or not set(attack.requires) <= known.keys():
        return False
    return _check_attack_on(attack, release, known)


def _known_of_numbers(x: Matrix, matrix: Matrix | None) -> dict[type[Knowledge], Knowledge]:
    """All that an attacker may know about a release of the first 280 records."""
    earlier, _ = publish(x[:280], _seeded(AdditiveNoise(), _SEED + 1))
    known = (
        KnownPairs(x[:3], [0, 1, 2]),
        KnownSample(x[280:]),
        KnownNoise(np.ones(x.shape[1])),
        KnownRecords(x[:6]),
        KnownRanges(x.min(axis=0), x.max(axis=0)),
        KnownMatrix(matrix if matrix is not None else np.eye(x.shape[1])),
        IndependentSignals(),
        KnownAttributes("other", x[:280, 0] + 1.0),
        TimeOrder(),
        ExternalTable(x[:20, :2]),
        PreviousReleases(earlier),
    )
    return {type(item): item for item in known}


def _drawn(attack: Attack, x: Matrix) -> dict[type[Knowledge], Knowledge]:
    """The usual amount of each kind of knowledge that the attack has a use for and audits can draw."""
    names = tuple(f"x{j}" for j in range(x.shape[1]))
    private = PrivateTable(x, names, np.zeros(x.shape[1], dtype=bool))
    rng = np.random.default_rng(0)
    drawn = [
        item
        for kind in (*attack.requires, *attack.uses)
        if kind.kind and not kind.needs_quasi
        for item in kind.grant(private, float(kind.usual[0]) if kind.usual else 1, rng).knowledge
    ]
    return {type(item): item for item in drawn}


def _known_of_categories(cls: type[Perturbation]) -> dict[type[Knowledge], Knowledge]:
    """What an attacker may know about a release of categories, beside numbers."""
    earlier, _ = publish(_categories(), _seeded(cls(), _SEED + 1))
    known = (IndependentSignals(), TimeOrder(), ExternalTable(_categories().slice(0, 20)), PreviousReleases(earlier))
    return {type(item): item for item in known}


def _check_attack_on(attack: Attack, release: Release, known: dict[type[Knowledge], Knowledge]) -> bool:
    """Whether the attack has a theory for the release; if so, it keeps its contracts."""
    for needed in attack.requires:
        rest = [known[kind] for kind in attack.requires if kind is not needed]
        try:
            attack.run(release, *rest)
        except MissingKnowledgeError as error:
            _expect(needed.__name__ in str(error), f"the error must name {needed.__name__}")
        else:
            raise AssertionError(f"the attack ran without {needed.__name__}")
    try:
        attack.run(release, np.zeros((2, 2)))  # type: ignore[arg-type]
    except InputError:
        pass
    else:
        raise AssertionError("the attack took a bare table for knowledge")
    before = release.table.read()
    granted = [known[kind] for kind in (*attack.requires, *attack.uses) if kind in known]
    try:
        guess = attack.run(release, *granted)
    except NotApplicableError:
        return False
    _expect(before.equals(release.table.read()), "the attack changed the release")
    again = attack.run(release, *granted)
    if isinstance(guess, Links) and isinstance(again, Links):
        _expect(np.array_equal(guess.rows, again.rows), "the same attack gave other links")
        return True
    if not isinstance(guess, Guess) or not isinstance(again, Guess):
        raise AssertionError("an attack returns a Guess or Links")
    width = len(release.only_part.names)
    _expect(guess.values.shape == (len(guess.rows), width), "guess.values must be rows × private columns")
    _expect(guess.columns == release.only_part.names, "guess.columns must be the private columns in order")
    _expect(np.array_equal(guess.values, again.values, equal_nan=True), "the same attack gave another guess")
    return True
