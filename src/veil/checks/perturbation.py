"""What every perturbation keeps: names, disclosure, secrets, blocks, noise, missing values, restoring."""

from __future__ import annotations

import json
import pickle
import re

import numpy as np
import pyarrow as pa

from veil.checks.tables import SEED, category_table, expect, seeded, table_for
from veil.data.blocks import BLOCK_ROWS
from veil.errors import InputError, KeyRefusedError
from veil.keys.key import Key, LedgerPart
from veil.perturbations import PERTURBATIONS, Perturbation, Takes
from veil.perturbations.codecs import decoded
from veil.perturbations.driving import released_fields
from veil.perturbations.registry import rebuild
from veil.publishing.publish import publish
from veil.publishing.restore import restore


def check_perturbation(perturbation: Perturbation) -> None:
    """Run every contract of a perturbation."""
    if perturbation.layout.tabular:
        for check in (check_names, check_categories):
            check(seeded(perturbation))
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
        check(seeded(perturbation))


def check_names(perturbation: Perturbation) -> None:
    """It has a catalogue id, a command-line name, a threat paragraph and a place in the registry or outside."""
    expect(re.fullmatch(r"[PX]\d+", perturbation.catalogue), "catalogue must be an id like P1, or X1 of your own")
    name = perturbation.method_name()
    expect(re.fullmatch(r"[a-z]+(-[a-z]+)*", name), f"{name!r} is not a command-line name")
    expect(
        PERTURBATIONS.get(name, type(perturbation)) is type(perturbation),
        f"{name!r} is taken by another class",
    )
    expect(perturbation.threat, "threat must say what is released, what is secret, and which knowledge breaks it")


def check_categories(perturbation: Perturbation) -> None:
    """On categories: the same table gets the same release, the disclosed parameters are enough to make it again, and
    neither renderings nor pickles hold the key.
    """
    x = category_table()
    release, key = publish(x, perturbation)
    expect(
        publish(x, perturbation)[0].table.read().equals(release.table.read()),
        "the same table was perturbed differently",
    )
    disclosed = json.dumps(release.only_part.parameters, allow_nan=False)
    expect(str(SEED) not in disclosed, "disclose() shows the seed")
    expect(str(SEED) not in repr(perturbation) + perturbation._repr_html_(), "a rendering shows the seed")
    twin = rebuild(key.ledger[0].parts[0], key)
    expect(twin.disclose() == json.loads(disclosed), "the method rebuilt from its model differs")
    if perturbation.layout.addressed:
        other = publish(category_table(changed=1), perturbation)[0].table.read().column("x0")
        same = np.mean(
            [a == b for a, b in zip(other.to_pylist(), release.table.read().column("x0").to_pylist(), strict=True)]
        )
        expect(same < 0.95, "one changed cell left the other reports as they were")


def check_disclosure(perturbation: Perturbation) -> None:
    """``disclose`` is plain JSON and holds neither the seed nor an extreme or mean of the table."""
    x = table_for(perturbation)
    disclosed = json.dumps(perturbation.fit(x).disclose(), allow_nan=False)
    expect(str(SEED) not in disclosed, "disclose() shows the seed")
    facts = [("mean", x.mean(axis=0))]
    if perturbation.layout.takes is not Takes.BITS:  # of zeros and ones, the extremes are no secret
        facts += [("minimum", x.min(axis=0)), ("maximum", x.max(axis=0))]
    for what, values in facts:
        for value in values:
            expect(repr(float(value)) not in disclosed, f"disclose() shows a column's {what}")


def check_rebuilding(perturbation: Perturbation) -> None:
    """Settings, disclosed parameters and key are enough to make the same release again."""
    x = table_for(perturbation)
    fitted = perturbation.fit(x)
    settings, parameters = json.loads(json.dumps([fitted.settings(), fitted.disclose()]))
    columns, name = ["x0", "x1", "x2", "x3"], fitted.model_.recorded_name()
    part = LedgerPart(fitted.method_name(), settings, parameters, columns, fitted._fitted_on, name)
    twin = rebuild(part, fitted.key_)
    del twin.feature_names_in_
    expect(np.array_equal(twin.transform(x), fitted.transform(x)), "the method rebuilt from its model differs")


def check_secret_is_masked(perturbation: Perturbation) -> None:
    """The seed shows in no rendering, alone or in a pipeline; the secret has one address."""
    from sklearn.pipeline import make_pipeline

    fitted = perturbation.fit(table_for(perturbation))
    pipeline = make_pipeline(fitted)
    for shown in (
        repr(fitted),
        fitted._repr_html_(),
        repr(pipeline),
        pipeline._repr_html_(),
        str(vars(fitted)),
    ):
        expect(str(SEED) not in shown, "a rendering shows the seed")
    holders = [name for name, value in vars(fitted).items() if isinstance(value, Key)]
    expect(holders == ["key_"], f"the key must live in key_ only, found in {holders}")


def check_pickling_drops_the_key(perturbation: Perturbation) -> None:
    """A pickled fitted perturbation has no key and says so."""
    x = table_for(perturbation)
    thawed = pickle.loads(pickle.dumps(perturbation.fit(x)))  # noqa: S301 - our own bytes
    try:
        thawed.transform(x)
    except KeyRefusedError:
        return
    raise AssertionError("a pickled perturbation still transforms: it carried its key along")


def check_blocks(perturbation: Perturbation) -> None:
    """``publish`` and ``transform`` give the same bits over more than one block."""
    x = table_for(perturbation, BLOCK_ROWS + 11, 2)
    release, _ = publish(x, perturbation)
    direct = perturbation.fit(x).transform(x)
    names = [f"x{j}" for j in range(x.shape[1])]
    fields = released_fields(perturbation, names, pa.table(dict(zip(names, x.T, strict=True))).schema)
    arrays = decoded(perturbation.model_, direct.T, fields)
    released = [release.table.read().column(n).combine_chunks() for n in release.only_part.released]
    expect(
        all(a.equals(b) for a, b in zip(arrays, released, strict=True)), "publish and transform differ across blocks"
    )


def check_same_noise_and_unrelated_noise(perturbation: Perturbation) -> None:
    """The same table gets the same release; with addressed noise, one changed cell gets unrelated noise."""
    # Two values only, so that among equal cells the release differs by its randomness alone.
    x = np.random.default_rng(0).integers(1, 3, size=(4_000, 3)).astype(np.float64)
    x = x - 1 if perturbation.layout.takes is Takes.BITS else x
    fitted = perturbation.fit(x)
    first = fitted.transform(x)
    expect(np.array_equal(first, fitted.transform(x)), "the same table was perturbed differently")
    if not (perturbation.layout.addressed and perturbation.layout.passes_missing):
        return
    other = x.copy()
    other[0, 0] = 3 - other[0, 0]
    second = fitted.transform(other)
    for j in range(x.shape[1]):
        same = (x[:, j] == 1) & (other[:, j] == 1)
        related = abs(np.corrcoef(first[same, j], second[same, j])[0, 1])
        expect(related < 5 / np.sqrt(same.sum()), "one changed cell left the noise related")


def check_missing_values(perturbation: Perturbation) -> None:
    """Element-wise methods pass missing values through; methods that mix columns refuse them with a count."""
    x = table_for(perturbation)
    x[3, 1] = np.nan
    if perturbation.layout.passes_missing:
        released = publish(x, perturbation)[0].table.read()
        gaps = np.column_stack([released.column(j).is_null().to_numpy() for j in range(x.shape[1])])
        expect(np.array_equal(gaps, np.isnan(x)), "the pattern of missing values changed")
        return
    try:
        publish(x, perturbation)
    except InputError as error:
        expect("'x1' (1)" in str(error), "the error must name the column and the count of missing values")
        return
    raise AssertionError("a method that mixes columns accepted missing values")


def check_restoring(perturbation: Perturbation) -> None:
    """An invertible method gives the table back; another is refused by ``restore``."""
    x = table_for(perturbation)
    release, key = publish(x, perturbation)
    if not perturbation.fit(x).invertible(consistent=False):
        return
    size = np.abs(x).max()
    expect(np.allclose(restore(release, key), x, rtol=0, atol=1e-5 * size), "restore differs from the original")
