"""Order and units are arbitrary: a guess does not depend on them, to 1e-8 of a standard deviation.

Rows and columns are permuted, columns rescaled by positive factors: powers of two, which round nothing, and others.
The guess on the transformed release must be the transformed guess, in standard deviations of the private column and up
to what the guess declares open (``up_to``).

The manifest is transformed with the columns. Where a method mixes columns, private columns (units, names, knowledge)
and released columns are permuted by themselves. By design there is no such symmetry, and no test, for:

- SerialAttack under row permutations: the order is its knowledge.
- transforms in a public basis (P10) under permutations of the private columns: the basis names their order.
- pairwise rotations (P5) under a permutation of one side only: a released column keeps its private column's place.

Permutations here are even: an odd one turns a rotation into a reflection, and the manifest says which it is.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

import veil
from veil import LinkageAttack, MembershipAttack
from veil.attacks import GuessingAttack, every_attack
from veil.attacks.knowledge import (
    ExternalTable,
    IndependentSignals,
    KnownAttributes,
    KnownMatrix,
    KnownNoise,
    KnownPairs,
    KnownRanges,
    KnownRecords,
    KnownSample,
    TimeOrder,
)
from veil.attacks.knowledge.previous_releases import PreviousReleases
from veil.auditing.exposure import secret_matrix
from veil.auditing.judge import Judge
from veil.release.manifest import Manifest
from veil.release.release import memory_release

FACTORS = {
    "powers of two": 2.0 ** np.array([3, -5, 0, 20, -11]),
    "other factors": np.array([3.7, 1e-6, 1e9, 0.1, 7 / 3]),
}
N, D = 160, 5
EVEN = np.roll(np.arange(D), -1)
BY_COLUMN = {
    "additive-noise",
    "combined-noise",
    "multiplicative-noise",
    "log-normal-noise",
    "discretize",
    "randomized-response",
    "market-basket",
}


def private_tables():
    """Skewed, correlated and positive numbers; the same with gaps, as bits and as whole numbers; categories."""
    rng = np.random.default_rng(0)
    numbers = rng.gamma(2.0, size=(N + 60, D)) @ (rng.uniform(0.1, 1.0, size=(D, D)) + np.eye(D)) + np.arange(1, D + 1)
    rng = np.random.default_rng(3)
    common, own = rng.integers(0, 3, (N + 60, 1)), rng.integers(0, 3, (N + 60, D))
    return {
        "numbers": numbers,
        "gaps": np.where(rng.random(numbers.shape) < 0.05, np.nan, numbers),
        "bits": np.asarray(numbers > np.median(numbers, axis=0), dtype=np.float64),
        "whole": numbers.round().astype(np.int64),
        "categories": np.where(rng.random(own.shape) < 0.7, common, own),
    }


PRIVATE = private_tables()
SEED = {"random_state": 1}
RELEASES = {
    "normal noise": (veil.AdditiveNoise(**SEED), "numbers"),
    "laplace noise": (veil.AdditiveNoise(distribution="laplace", **SEED), "numbers"),
    "uniform noise": (veil.AdditiveNoise(0.7, distribution="uniform", **SEED), "numbers"),
    "correlated noise": (veil.AdditiveNoise(similarity=0.7, **SEED), "numbers"),
    "noise and gaps": (veil.AdditiveNoise(**SEED), "gaps"),
    "factors": (veil.MultiplicativeNoise(**SEED), "numbers"),
    "factors and noise": (veil.CombinedNoise(**SEED), "numbers"),
    "log-normal factors": (veil.LogNormalNoise(**SEED), "numbers"),
    "classes": (veil.Discretize(**SEED), "numbers"),
    "orthogonal": (veil.OrthogonalTransform(**SEED), "numbers"),
    "orthogonal, bands": (veil.OrthogonalTransform(**SEED), "numbers"),
    "linear, bands": (veil.LinearTransform(**SEED), "numbers"),
    "rotation, translated": (veil.OrthogonalTransform(proper=True, translation=1.0, **SEED), "numbers"),
    "orthogonal, whole numbers": (veil.OrthogonalTransform(scaling=None, dither=False, **SEED), "whole"),
    "z-scores in pairs": (veil.PairwiseRotation(**SEED), "numbers"),
    "[0, 1] in pairs": (veil.PairwiseRotation(normalize="minmax", thresholds=0.001, **SEED), "numbers"),
    "linear": (veil.LinearTransform(**SEED), "numbers"),
    "linear, noise": (veil.LinearTransform(noise_scale=0.1, **SEED), "numbers"),
    "projection": (veil.RandomProjection(3, **SEED), "numbers"),
    "projection, whole numbers": (veil.RandomProjection(3, scaling=None, dither=False, **SEED), "whole"),
    "sparse projection": (veil.RandomProjection(3, kind="achlioptas3", **SEED), "numbers"),
    "projection of records": (veil.RandomProjection(60, axis="records", **SEED), "numbers"),
    "coefficients": (veil.TransformDomain(**SEED), "numbers"),
    "some coefficients": (veil.TransformDomain(3, **SEED), "numbers"),
    "parities": (veil.BinaryProjection(8, **SEED), "bits"),
    "baskets": (veil.MarketBasket(**SEED), "bits"),
    "baskets, gamma": (veil.MarketBasket("gamma", **SEED), "bits"),
    "responses": (veil.RandomizedResponse(epsilon=1.0, **SEED), "categories"),
    "responses, joint": (veil.RandomizedResponse(gamma=3.0, joint=True, **SEED), "categories"),
}


def bands(name, x):
    """Public copies of two columns, where a release has them."""
    if "bands" not in name:
        return {}
    return {"low": np.digitize(x[:, 0], [4.0, 6.0, 9.0]), "high": np.digitize(x[:, 3], [7.0, 10.0])}


def publication(name, perturbation):
    x = PRIVATE[RELEASES[name][1]]
    columns, public = {f"x{j}": pa.array(x[:N, j], from_pandas=True) for j in range(D)}, bands(name, x[:N])
    roles = {**{f"x{j}": "sensitive" for j in range(D)}, **dict.fromkeys(public, "public")}
    return veil.publish(pa.table({**columns, **public}), perturbation, roles=roles)


@cache
def granted(name):
    """The release, its private table and what may be granted about it."""
    perturbation, which = RELEASES[name]
    x, other = PRIVATE[which], veil.RandomizedResponse if which == "categories" else veil.AdditiveNoise
    release, key = publication(name, perturbation)
    earlier, _ = publication(name, other(random_state=2))
    matrix = secret_matrix(release, key)
    x = x.astype(np.float64)
    rows = np.flatnonzero(~np.isnan(x[:N]).any(axis=1))
    sample = x[N:][~np.isnan(x[N:]).any(axis=1)]
    covariate = np.nan_to_num(x[:N, 0], nan=5.0) + np.random.default_rng(9).normal(size=N)
    mixed = release.only_part.method not in BY_COLUMN
    attribute = KnownAttributes("x1", x[:N, 1]) if mixed else KnownAttributes("other", covariate)
    external = pa.table({f"x{j}": pa.array(x[20:60, j], from_pandas=True) for j in (0, 2, 3)})
    known = (
        ExternalTable(external),
        KnownPairs(x[rows[:4]], rows[:4]),
        KnownRecords(x[rows[:6]]),
        KnownSample(sample, public=pa.table(bands(name, sample)) if "bands" in name else None),
        KnownRanges(np.nanmin(x, axis=0), np.nanmax(x, axis=0)),
        KnownMatrix(np.eye(D) if matrix is None else matrix),
        attribute,
        PreviousReleases(earlier),
        IndependentSignals(),
        TimeOrder(),
    )
    return release, x[:N], {type(item): item for item in known}


def rebuilt(release, table=None, **step):
    manifest = replace(release.manifest, parts=(replace(release.only_part, **step),))
    manifest = Manifest.from_json(manifest.to_json())
    return memory_release(release.table.read() if table is None else table, manifest, "pyarrow", {})


def of_records(release):
    return release.only_part.parameters.get("axis") == "records"


def changed(knowledge, columns, rows=None, matrix=None):
    """Knowledge with ``columns`` applied to arrays of private columns, new rows of pairs and a new matrix."""
    found = []
    for item in knowledge:
        if isinstance(item, KnownPairs):
            item = KnownPairs(columns(item.records), item.rows if rows is None else rows[item.rows])
        elif isinstance(item, KnownRecords):
            item = KnownRecords(columns(item.records))
        elif isinstance(item, KnownSample):
            item = KnownSample(columns(item.sample), public=item.public)
        elif isinstance(item, KnownRanges):
            item = KnownRanges(columns(item.lower[None])[0], columns(item.upper[None])[0])
        elif isinstance(item, KnownMatrix) and matrix is not None:
            item = KnownMatrix(matrix(item.matrix))
        found.append(item)
    return found


def same(array):
    return array


def row_order(release, seed=7):
    return np.random.default_rng(seed).permutation(release.table.read().num_rows)


def remade(step, parameters):
    """The part's model with other values."""
    return type(step.model).from_json(parameters)


def rows_permuted(release, knowledge, seed=7):
    """Rows of the release in another order; where these are no records, the guess stays as it is."""
    order = row_order(release, seed)
    place = np.argsort(order)
    known = changed(knowledge, same, rows=place, matrix=(lambda m: m[order]) if of_records(release) else None)
    known = [KnownAttributes(k.columns, k.values[order]) if isinstance(k, KnownAttributes) else k for k in known]
    there, back = (same, same) if of_records(release) else (lambda x: x[order], lambda v: v[place])
    return rebuilt(release, release.table.read().take(pa.array(order))), known, there, back


def records_permuted(release, knowledge):
    """Private records in another order, where the release is made of sums over them."""
    order = np.random.default_rng(7).permutation(N)
    known = changed(knowledge, same, matrix=lambda m: m[:, order])
    return release, known, lambda x: x[order], lambda v: v[np.argsort(order)]


def private_columns_permuted(release, knowledge):
    step, parameters = release.only_part, dict(release.only_part.parameters)
    for name in ("scale", "grid", "unit", "edges", "names", "categories", "matrices", "factor"):
        if isinstance(parameters.get(name), list) and len(parameters[name]) == D:
            parameters[name] = [parameters[name][j] for j in EVEN]
    if parameters.get("compound") is not None:
        parameters["compound"] = [[cell[j] for j in EVEN] for cell in parameters["compound"]]
    in_place = step.method == "pairwise-rotation"
    follows = step.method in BY_COLUMN or of_records(release) or in_place
    matrix = None if of_records(release) else (lambda m: m[np.ix_(EVEN, EVEN)] if in_place else m[:, EVEN])
    new = rebuilt(
        release,
        model=remade(step, parameters),
        columns=tuple(step.columns[j] for j in EVEN),
        released=tuple(step.released[j] for j in EVEN) if follows else step.released,
    )
    known = changed(knowledge, lambda x: x[:, EVEN], matrix=matrix)
    return new, known, lambda x: x[:, EVEN], lambda v: v[:, np.argsort(EVEN)]


def released_columns_permuted(release, knowledge):
    step, parameters = release.only_part, dict(release.only_part.parameters)
    order = np.roll(np.arange(len(step.released)), 1)
    if "noise" in parameters:
        parameters["noise"] = [parameters["noise"][i] for i in order]
    new = rebuilt(release, model=remade(step, parameters), released=tuple(step.released[i] for i in order))
    return new, changed(knowledge, same, matrix=lambda m: m[order]), same, same


def rescaled(release, knowledge, factor):
    step, parameters, table = release.only_part, dict(release.only_part.parameters), release.table.read()
    for name in ("scale", "grid", "unit"):
        if name in parameters:
            parameters[name] = (np.array(parameters[name]) * factor).tolist()
    if "edges" in parameters:
        parameters["edges"] = [(np.array(e) * f).tolist() for e, f in zip(parameters["edges"], factor, strict=True)]
    if step.method == "additive-noise" and "factor" in parameters:
        parameters["factor"] = (np.array(parameters["factor"]) * factor[:, None]).tolist()
    if step.method in BY_COLUMN - {"discretize"}:
        columns = [
            pa.array(table.column(n).to_numpy() * f, from_pandas=True)
            for n, f in zip(step.released, factor, strict=True)
        ]
        table = pa.table(columns, names=list(step.released))
    new = rebuilt(release, table, model=remade(step, parameters))
    known = [
        KnownAttributes(item.columns, item.values * factor[1])
        if isinstance(item, KnownAttributes) and item.columns == ("x1",)
        else item
        for item in changed(knowledge, lambda x: x * factor)
    ]
    return new, known, lambda x: x * factor, lambda v: v / factor


TRANSFORMATIONS = {
    "rows": rows_permuted,
    "records": records_permuted,
    "private columns": private_columns_permuted,
    "released columns": released_columns_permuted,
    "powers of two": lambda release, knowledge: rescaled(release, knowledge, FACTORS["powers of two"]),
    "other factors": lambda release, knowledge: rescaled(release, knowledge, FACTORS["other factors"]),
}


def symmetries(name, attack):
    """The transformations under which nothing that the attack is told changes its meaning."""
    release, _, _ = granted(name)
    method = release.only_part.method
    found = [] if attack.attack_name() == "serial-attack" else ["rows"]
    found += ["records"] if of_records(release) else []
    found += [] if method == "transform-domain" else ["private columns"]
    mixes = method not in BY_COLUMN and not of_records(release)
    found += ["released columns"] if mixes and method != "pairwise-rotation" else []
    return found + (list(FACTORS) if RELEASES[name][1] in ("numbers", "gaps") else [])


QUICK = {
    "bayes-estimate-attack (prior mixture, aim hit)": (),
    "ica-attack": ("orthogonal",),
    "akica-attack": ("linear", "z-scores in pairs"),
    "regression-attack": ("projection", "baskets, gamma"),
    "known-columns-attack": ("orthogonal", "rotation, translated", "linear", "coefficients"),
    "hypersphere-attack (form matrix)": ("orthogonal",),
}
"""Searches that take a while: on these releases always, on the others in the slow tests."""
SLOW = ("known-sample-attack", "projected-sample-attack")


def refused(name, attack, kinds):
    """Whether the attack says that it has no theory, or not the knowledge, for this release."""
    kind, mixture = attack.attack_name(), getattr(attack, "prior", "") == "mixture"
    return (
        attack.needs_public != ("bands" in name)
        or (kind in ("partial-disclosure-attack", "attribute-inference-attack") and not kinds)
        or getattr(attack, "learner", "") == "nearest"
        or (name == "noise and gaps" and (mixture or kind in ("spectral-filter-attack", "pca-attack", "svd-attack")))
        or (name in ("laplace noise", "uniform noise") and mixture)
        or (name == "rotation, translated" and kinds == (KnownMatrix,))
        or (kind == "akica-attack" and "projection" in name)
        or (getattr(attack, "form", "") == "matrix" and ("projection" in name or "linear" in name))
        or (kind == "lattice-attack" and "whole numbers" not in name)
        or (kind == "known-columns-attack" and "projection" in name and KnownSample not in kinds)
    )


def plays():
    """Every attack on every release that it applies to, with what it requires and with all that it uses."""
    found = []
    for name in RELEASES:
        model = granted(name)[0].only_part.model
        for attack in filter(lambda each: each.applies_to(model) and isinstance(each, GuessingAttack), every_attack()):
            more = tuple(kind for kind in attack.uses if kind not in (KnownNoise, ExternalTable))
            for kinds in dict.fromkeys([attack.requires, (*attack.requires, *more)]):
                if refused(name, attack, kinds) or not set(kinds) <= granted(name)[2].keys():
                    continue
                said = "+".join(kind.__name__ for kind in kinds) or "nothing"
                slow = attack.label in SLOW or name not in QUICK.get(attack.label, RELEASES)
                for transformation in symmetries(name, attack):
                    label = f"{name}-{attack.label}-{said}-{transformation}"
                    marks = [pytest.mark.slow] if slow else []
                    found.append(pytest.param(name, attack, kinds, transformation, marks=marks, id=label))
    return found


PLAYS = plays()


def test_every_attack_is_played():
    """A new kind of knowledge is to be granted, and transformed, here."""
    played = {play.values[1].label for play in PLAYS} | {LinkageAttack().label, *(a.label for a in OF_PEOPLE)}
    played.add(veil.PublishedResultsAttack().label)  # whose results are transformed in test_published_results.py
    played |= {MembershipAttack().label}
    played.add(veil.HouseholdLinkageAttack().label)  # whose rows and people are transformed in test_households.py
    assert played == {attack.label for attack in every_attack()}


@cache
def first_guess(name, attack, kinds):
    release, truth, known = granted(name)
    return settled(attack.run(release, *(known[kind] for kind in kinds)), truth)


def settled(guess, truth):
    """The guess with its signals matched to the private columns, where it leaves that open, and what it declares."""
    judge = Judge(truth, guess.columns, 0.1)
    values = judge.matched(guess, np.arange(len(truth))).values if guess.up_to else guess.values
    return values, (guess.ambiguity, guess.up_to)


def earlier_too(item, transformation):
    if not isinstance(item, PreviousReleases):
        return item
    return PreviousReleases([TRANSFORMATIONS[transformation](earlier, [])[0] for earlier in item.releases])


def furthest(values, found, truth):
    """The largest difference of two guesses, in standard deviations of the private column."""
    np.testing.assert_array_equal(np.isnan(found), np.isnan(values))
    return np.nanmax(np.abs(found - values) / np.nanstd(truth, axis=0))


@pytest.mark.parametrize(("name", "attack", "kinds", "transformation"), PLAYS)
def test_the_guess_is_the_transformed_guess(name, attack, kinds, transformation):
    release, truth, known = granted(name)
    values, declared = first_guess(name, attack, kinds)
    new, knowledge, there, back = TRANSFORMATIONS[transformation](release, [known[kind] for kind in kinds])
    if transformation != "released columns":  # the earlier release is of noise, column by column
        knowledge = [earlier_too(item, transformation) for item in knowledge]
    found, said = settled(attack.run(new, *knowledge), there(truth))
    assert said == declared
    assert furthest(values, back(found), truth) <= 1e-8


OF_PEOPLE = (veil.AttributeInferenceAttack(), veil.AttributeInferenceAttack(learner="nearest"))
BY_NAME = ("normal noise", "noise and gaps", "factors", "log-normal factors", "classes", "baskets", "responses")


def in_other_units(external, names, transformation):
    """The external table with its columns rescaled as the private ones of their names."""
    if transformation not in FACTORS:
        return external
    table, units = external.table, dict(zip(names, FACTORS[transformation], strict=True))
    columns = [pa.array(table.column(n).to_numpy() * units[n], from_pandas=True) for n in table.column_names]
    return ExternalTable(pa.table(columns, names=table.column_names))


@pytest.mark.parametrize("attack", OF_PEOPLE, ids=lambda attack: attack.label)
@pytest.mark.parametrize("name", BY_NAME)
def test_people_are_guessed_alike(name, attack):
    """People of a table have no place in the release: the order of rows changes nothing, units of columns theirs."""
    release, truth, known = granted(name)
    values = attack.run(release, known[ExternalTable]).values
    assert len(values) == known[ExternalTable].table.num_rows
    for transformation in symmetries(name, attack):
        new, _, _, back = TRANSFORMATIONS[transformation](release, [])
        external = in_other_units(known[ExternalTable], release.only_part.names, transformation)
        guess = attack.run(new, external).values
        assert furthest(values, guess if transformation == "rows" else back(guess), truth) <= 1e-8, transformation


LINKED = ("normal noise", "correlated noise", "noise and gaps", "factors", "factors and noise", "classes", "responses")


@pytest.mark.parametrize("variant", LinkageAttack.variants)
@pytest.mark.parametrize("name", LINKED)
def test_links_are_the_same_rows(name, variant):
    """External columns are found by name, so that only their units change. Of equal rows any one will do."""
    release, _, known = granted(name)
    cells = [release.table.read().column(n).to_pylist() for n in known[ExternalTable].table.column_names]
    records = [*zip(*cells, strict=True), None]  # the last for a link to no row
    attack, external = LinkageAttack(variant=variant), known[ExternalTable]
    links = attack.run(release, external)
    for transformation in symmetries(name, attack):
        new, _, _, _ = TRANSFORMATIONS[transformation](release, [])
        order = row_order(release) if transformation == "rows" else np.arange(N)
        found = attack.run(new, in_other_units(external, release.only_part.names, transformation))
        rows = np.append(order, -1)[found.rows]
        assert [records[i] for i in rows] == [records[i] for i in links.rows], transformation
        np.testing.assert_allclose(found.probability, links.probability, rtol=0, atol=1e-8)
        np.testing.assert_allclose(found.present, links.present, rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", [*LINKED, "baskets"])
def test_membership_is_the_same_odds(name):
    release, _, known = granted(name)
    attack, external = MembershipAttack(), known[ExternalTable]
    scores = attack.run(release, external).scores
    for transformation in symmetries(name, attack):
        new, _, _, _ = TRANSFORMATIONS[transformation](release, [])
        again = attack.run(new, in_other_units(external, release.only_part.names, transformation)).scores
        np.testing.assert_allclose(again, scores, rtol=0, atol=1e-6, err_msg=transformation)


@pytest.mark.parametrize(
    ("name", "attack", "kinds"),
    [
        ("normal noise", veil.UnivariateBayesAttack(variant="paper"), ()),
        ("normal noise", veil.IntervalAttack(joint=True), ()),
        ("normal noise", veil.IntervalAttack(), ()),
        ("normal noise", veil.BayesEstimateAttack(), ()),
        ("normal noise", veil.BayesEstimateAttack(variant="paper"), ()),
        ("correlated noise", veil.BayesEstimateAttack(), ()),
        ("noise and gaps", veil.BayesEstimateAttack(), ()),
        ("responses, joint", veil.ResponsePosteriorAttack(), ()),
        ("responses", veil.ResponsePosteriorAttack(joint=False), ()),
        ("baskets, gamma", veil.ResponsePosteriorAttack(), ()),
        ("normal noise", veil.UnivariateBayesAttack(), ()),
        ("normal noise", veil.UnivariateBayesAttack(aim="hit"), ()),
        ("laplace noise", veil.UnivariateBayesAttack(), ()),
        ("correlated noise", veil.IntervalAttack(), ()),
        pytest.param("correlated noise", veil.BayesEstimateAttack(prior="mixture"), (), marks=pytest.mark.slow),
        ("responses", veil.ResponsePosteriorAttack(), ()),
        ("projection", veil.ProjectionMAPAttack(), (KnownPairs,)),
    ],
)
def test_the_order_of_rows_chooses_nothing(name, attack, kinds):
    """Priors, folds and draws that a row's number decides show in some orders and not in others: eight of them."""
    release, truth, known = granted(name)
    values, _ = first_guess(name, attack, kinds)
    for seed in range(8):
        new, knowledge, there, back = rows_permuted(release, [known[kind] for kind in kinds], seed)
        assert furthest(values, back(settled(attack.run(new, *knowledge), there(truth))[0]), truth) <= 1e-8


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["paper", "best"])
def test_a_long_release_in_another_order_meets_the_same_sample(variant):
    rng = np.random.default_rng(0)
    x = rng.gamma(2.0, size=(2_600, D)) @ (rng.uniform(0.1, 1.0, size=(D, D)) + np.eye(D))
    release, _ = veil.publish(x[100:], veil.OrthogonalTransform(**SEED))
    sample, attack = KnownSample(x[:100]), veil.KnownSampleAttack(variant=variant)
    new, knowledge, _, back = rows_permuted(release, [sample])
    values, found = attack.run(release, sample).values, attack.run(new, *knowledge).values
    assert furthest(values, back(found), x[100:]) <= 1e-8
