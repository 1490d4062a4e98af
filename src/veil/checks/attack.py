"""What every attack keeps, on every kind of release that it applies to."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa

from veil.attacks.base import Attack, Guess, Links, Memberships
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
    PublishedResults,
    TimeOrder,
)
from veil.attacks.knowledge.previous_releases import PreviousReleases
from veil.checks.tables import SEED, category_table, expect, for_categories, seeded, table_for
from veil.data.blocks import Matrix
from veil.errors import InputError, MissingKnowledgeError, NotApplicableError
from veil.keys.key import Key
from veil.perturbations import PERTURBATIONS, Perturbation
from veil.perturbations.additive import AdditiveNoise
from veil.perturbations.registry import rebuild
from veil.publishing.publish import publish
from veil.release.release import Release


def check_attack(attack: Attack) -> None:
    """Run every contract of an attack, on every kind of release that it applies to."""
    expect(re.fullmatch(r"[A-Z]+\d+", attack.catalogue), "catalogue must be an id like A1")
    expect(attack.attack_name().endswith("-attack"), "an attack's class name ends in Attack")
    met = 0
    for cls in PERTURBATIONS.values():
        if cls().layout.tabular:
            met += _check_on_categories(attack, cls)
            continue
        x = table_for(cls())
        met += _check_on_numbers(attack, cls(), x) or _check_on_numbers(attack, _undithered(cls()), np.rint(20 * x))
    expect(met, "the attack applies to no registered perturbation")


def _undithered(method: Perturbation) -> Perturbation:
    """A method that leaves whole numbers whole before it mixes them."""
    return method.set_params(dither=False) if "dither" in method.get_params() else method


def _check_on_numbers(attack: Attack, method: Perturbation, x: Matrix) -> bool:
    """The attack on a table of numbers, where it applies: some need whole ones."""
    try:
        release, key = _published(attack, x[:280], seeded(method))
    except InputError:  # a method of other numbers
        return False
    if not attack.applies_to(release.only_part.model):
        return False
    matrix = rebuild(key.ledger[0].parts[0], key).secret_matrix()
    return _check_attack_on(attack, release, {**_drawn(attack, x[:280]), **_known_of_numbers(x, matrix)})


def _check_on_categories(attack: Attack, cls: type[Perturbation]) -> bool:
    """The attack on randomized categories, where it applies and what it requires can be said of categories."""
    release, _ = publish(category_table(), seeded(for_categories(cls)))
    known = _known_of_categories(cls)
    if not attack.applies_to(release.only_part.model) or not set(attack.requires) <= known.keys():
        return False
    return _check_attack_on(attack, release, known)


def _published(attack: Attack, x: Matrix, method: Perturbation) -> tuple[Release, Key]:
    """The release of a table, with bands of its first column where the attack needs something public."""
    if not attack.needs_public:
        return publish(x, method)
    columns = {f"x{j}": x[:, j] for j in range(x.shape[1])}
    band = np.digitize(x[:, 0], np.quantile(x[:, 0], (0.25, 0.5, 0.75)))
    return publish(pa.table({**columns, "band": band}), method, roles={"band": "public"})


def _known_of_numbers(x: Matrix, matrix: Matrix | None) -> dict[type[Knowledge], Knowledge]:
    """All that an attacker may know about a release of the first 280 records."""
    earlier, _ = publish(x[:280], seeded(AdditiveNoise(), SEED + 1))
    known = (
        KnownPairs(x[:3], [0, 1, 2]),
        KnownSample(x[280:]),
        KnownNoise(np.ones(x.shape[1])),
        KnownRecords(x[:6]),
        KnownRanges(x.min(axis=0), x.max(axis=0)),
        KnownMatrix(matrix if matrix is not None else np.eye(x.shape[1])),
        IndependentSignals(),
        KnownAttributes(("other", "x1"), np.column_stack([x[:280, 0] + 1.0, x[:280, 1]])),
        TimeOrder(),
        ExternalTable(x[:20, :2]),
        PreviousReleases(earlier),
        PublishedResults(centres=[_centres(x)]),
    )
    return {type(item): item for item in known}


def _centres(x: Matrix) -> dict[str, Any]:
    """Two cluster centres as they may be published."""
    high = x[:280, 0] > np.median(x[:280, 0])
    rows = [x[:280][half].mean(axis=0).tolist() for half in (high, ~high)]
    return {"columns": [f"x{j}" for j in range(x.shape[1])], "rows": rows, "spreads": x[:280].std(axis=0).tolist()}


def _drawn(attack: Attack, x: Matrix) -> dict[type[Knowledge], Knowledge]:
    """The usual amount of each kind of knowledge that the attack has a use for and audits can draw."""
    names = tuple(f"x{j}" for j in range(x.shape[1]))
    private = PrivateTable(x, names, np.zeros(x.shape[1], dtype=bool))
    rng = np.random.default_rng(0)
    drawn = [
        item
        for kind in (*attack.requires, *attack.uses)
        if kind.kind and not (kind.needs_outside or kind.handed)
        for item in kind.grant(private, float(kind.usual[0]) if kind.usual else 1, rng).knowledge
    ]
    return {type(item): item for item in drawn}


def _known_of_categories(cls: type[Perturbation]) -> dict[type[Knowledge], Knowledge]:
    """What an attacker may know about a release of categories, beside numbers."""
    earlier, _ = publish(category_table(), seeded(for_categories(cls), SEED + 1))
    known = (IndependentSignals(), TimeOrder(), ExternalTable(category_table().slice(0, 20)), PreviousReleases(earlier))
    return {type(item): item for item in known}


def _check_attack_on(attack: Attack, release: Release, known: dict[type[Knowledge], Knowledge]) -> bool:
    """Whether the attack has a theory for the release; if so, it keeps its contracts."""
    for needed in attack.requires:
        rest = [known[kind] for kind in attack.requires if kind is not needed]
        try:
            attack.run(release, *rest)
        except MissingKnowledgeError as error:
            expect(needed.__name__ in str(error), f"the error must name {needed.__name__}")
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
    expect(before.equals(release.table.read()), "the attack changed the release")
    again = attack.run(release, *granted)
    if isinstance(guess, Links) and isinstance(again, Links):
        expect(np.array_equal(guess.rows, again.rows), "the same attack gave other links")
        return True
    if isinstance(guess, Memberships) and isinstance(again, Memberships):
        expect(np.array_equal(guess.scores, again.scores), "the same attack gave other scores")
        return True
    if not isinstance(guess, Guess) or not isinstance(again, Guess):
        raise AssertionError("an attack returns a Guess, Links or Memberships")
    width = len(release.only_part.names)
    expect(guess.values.shape == (len(guess.rows), width), "guess.values must be rows × private columns")
    expect(guess.columns == release.only_part.names, "guess.columns must be the private columns in order")
    expect(np.array_equal(guess.values, again.values, equal_nan=True), "the same attack gave another guess")
    return True
