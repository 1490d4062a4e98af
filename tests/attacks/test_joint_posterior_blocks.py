"""A28 block by block: the whole table's guesses where all rows are learned from, and nearly those where few are."""

import pickle

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import veil
from veil.attacks.blockwise import guess_all
from veil.attacks.folders import KnowledgeFiles, attack_file
from veil.attacks.posterior import learning_rows
from veil.attacks.posterior.blocks import learn_blocks
from veil.attacks.posterior.joint_posterior import _places
from veil.attacks.posterior.others import known_others
from veil.data.passes import Lane, Threads
from veil.release.release import Release, memory_release

A28 = veil.JointPosteriorAttack
N = 3_000
SEED = {"random_state": 1}


def private(n, seed=0):
    """Three clusters of numbers and a text, with what is public of them."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 3, n)
    x = np.array([[-3.0, 1.0, 4.0], [2.0, -4.0, 1.0], [1.0, 3.0, -2.0]])[label] + 0.5 * rng.normal(size=(n, 3))
    numbers = {f"x{j}": x[:, j] for j in range(3)}
    text = np.array(["a", "b", "c"])[(label + (rng.random(n) < 0.3)) % 3]
    sex = np.array(["f", "m"])[(rng.random(n) < 0.2 + 0.3 * label).astype(int)]
    children = (label + rng.integers(0, 2, n)).astype(np.float64)
    return numbers, text, sex, children


def published(perturbation, columns, shuffle=True, **public):
    table = pa.table({name: pa.array(values, from_pandas=True) for name, values in {**columns, **public}.items()})
    roles = dict.fromkeys(columns, "sensitive") | dict.fromkeys(public, "public")
    return veil.publish(table, perturbation, roles=roles, shuffle=shuffle)[0]


def by_blocks(attack, release, knowledge, rows):
    others, settings = known_others(release, knowledge), attack._settled(release, knowledge)
    return learn_blocks(release, knowledge, others, _places(release)[0], settings, rows)


def cases():
    numbers, text, sex, children = private(N)
    rng = np.random.default_rng(1)
    signed = {name: values * np.where(rng.random(N) < 0.2, -1.0, 1.0) for name, values in numbers.items()}
    gaps = {name: np.where(rng.random(N) < 0.05, np.nan, values) for name, values in numbers.items()}
    other, _, other_sex, other_children = private(300, seed=2)
    sample = veil.KnownSample(
        np.column_stack(list(other.values())), public=pa.table({"sex": other_sex, "children": other_children})
    )
    alone = veil.KnownSample(np.column_stack(list(other.values())))
    noise, people = veil.AdditiveNoise(1.0, **SEED), {"sex": sex, "children": children}
    both = veil.Plan([(["t"], veil.RandomizedResponse(epsilon=1.0, **SEED)), (None, noise)])
    return {
        "noise": (noise, numbers, {}, ()),
        "another law": (veil.AdditiveNoise(1.0, distribution="laplace", **SEED), numbers, {}, ()),
        "two methods": (both, {**numbers, "t": text}, {"sex": sex}, ()),
        "public columns": (noise, numbers, people, ()),
        "gaps": (noise, gaps, {"sex": sex}, ()),
        "factors": (veil.MultiplicativeNoise(**SEED), signed, {}, ()),
        "factors and noise": (veil.CombinedNoise(**SEED), signed, {}, (alone,)),
        "classes": (veil.Discretize(**SEED), numbers, {}, ()),
        "classes and a sample": (veil.Discretize(**SEED), numbers, {}, (alone,)),
        "a sample of known people": (noise, numbers, people, (sample,)),
    }


CASES = cases()


@pytest.mark.parametrize("name", CASES)
def test_all_rows_as_one_block_give_the_bits_of_the_whole_table(name):
    """What was learned travels, and holds no row."""
    perturbation, columns, public, knowledge = CASES[name]
    release = published(perturbation, columns, **public)
    whole = A28().run(release, *knowledge)
    learned = by_blocks(A28(), release, knowledge, np.arange(N))
    guess = guess_all(release, pickle.loads(pickle.dumps(learned)))
    np.testing.assert_array_equal(guess.values, whole.values)
    assert guess.columns == whole.columns
    assert guess.details.keys() == whole.details.keys()
    for key, value in whole.details.items():
        np.testing.assert_array_equal(guess.details[key], value, err_msg=key)
    assert not guess.entangled
    assert not whole.entangled
    assert (guess.without is None) == (whole.without is None)
    if whole.without is not None:
        some = np.array([5, 0, N - 1])
        np.testing.assert_array_equal(guess.without(some), whole.without(some))
    if not knowledge:
        assert len(pickle.dumps(learned)) < 300_000


@pytest.mark.parametrize("prior", ["records", "mixture"])
def test_other_priors_go_block_by_block_too(prior):
    perturbation, columns, public, knowledge = CASES["a sample of known people"]
    release, attack = published(perturbation, columns, **public), A28(prior=prior, aim="mean")
    guess = guess_all(release, by_blocks(attack, release, knowledge, np.arange(N)))
    np.testing.assert_array_equal(guess.values, attack.run(release, *knowledge).values)


class Elsewhere:
    """An engine whose work and results travel, as on a cluster."""

    def run(self, work, table, *, what="", progress=None):
        for span in table.spans():
            there = pickle.loads(pickle.dumps(work))
            yield pickle.loads(pickle.dumps(there(table, span, Lane())))


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A release of 40,000 rows in the order of the table, in memory and as files, and the private columns."""
    numbers, text, sex, _ = private(40_000)
    home = tmp_path_factory.mktemp("large")
    both = veil.Plan([(["t"], veil.RandomizedResponse(epsilon=1.0, **SEED)), (None, veil.AdditiveNoise(1.0, **SEED))])
    release = published(both, {**numbers, "t": text}, shuffle=False, sex=sex)
    release.save(home / "release")
    release.save(home / "csv", format="csv")
    return release, home, {**numbers, "t": text}


@pytest.fixture
def few_rows(monkeypatch):
    monkeypatch.setattr(learning_rows, "MOST_LEARNED", 10 * learning_rows.RUN)


def test_few_rows_guess_about_as_well_as_all(large, few_rows, monkeypatch):
    """A quarter of the rows: hits fall by less than three standard errors of a comparison on the same rows."""
    release, _, truth = large
    guess = A28().run(release)
    monkeypatch.undo()
    whole = A28().run(release)
    x = np.column_stack([truth[name] for name in guess.columns if name != "t"])
    at = [j for j, name in enumerate(guess.columns) if name != "t"]
    hits = [np.abs(each.values[:, at] - x) <= 0.1 * x.std(axis=0) for each in (guess, whole)]
    error = np.sqrt((hits[0] != hits[1]).mean() / x.size)
    assert hits[0].mean() > hits[1].mean() - max(3 * error, 0.002)
    text = guess.columns.index("t")
    assert np.mean(guess.values[:, text] == whole.values[:, text]) > 0.98


def test_pieces_files_and_workers_give_the_same_bits(large, few_rows):
    """And the file is never read at once."""
    release, home, _ = large
    table = release.table.read()
    pieces = pa.concat_tables([table.slice(0, 7), table.slice(7, 20_000), table.slice(20_007)])
    guess = A28().run(release)
    filed, text_file = Release.load(home / "release"), Release.load(home / "csv")
    assert text_file.table.n_rows is None
    others = [
        memory_release(pieces, release.manifest, "pyarrow", {}),
        Release(filed.table, filed.manifest, Elsewhere()),
        Release(filed.table, filed.manifest, Threads(1)),
        text_file,
    ]
    for other in others:
        other.table.read = None
        again = A28().run(other)
        np.testing.assert_array_equal(guess.values, again.values)
        np.testing.assert_array_equal(guess.details.probability, again.details.probability)


def test_a_guess_file_holds_texts(large, few_rows, tmp_path):
    release, home, _ = large
    guess, target = A28().run(release), tmp_path / "guess.parquet"
    summary = attack_file(home / "release", A28(), target, KnowledgeFiles())
    assert (summary.n_rows, summary.columns) == (40_000, guess.columns)
    assert summary.details["components"] == guess.details.components
    table = ds.dataset(target, format="parquet").to_table()
    for name, values in zip(guess.columns, guess.values.T, strict=True):
        written = table.column(name).to_numpy()
        expected = np.array(["a", "b", "c"])[values.astype(int)] if name == "t" else values
        assert (written == expected).all()


def test_small_releases_and_known_attributes_are_guessed_as_a_whole(large, few_rows, monkeypatch):
    release, home, truth = large
    known = veil.KnownAttributes("x0", truth["x0"])
    assert A28().prepare(release, known) is None
    monkeypatch.undo()
    assert A28().prepare(release) is None
    assert A28().prepare(Release.load(home / "csv")) is None


@pytest.mark.parametrize("mark", ["visits", "household", "file", "period"])
def test_relatives_need_the_whole_table(few_rows, monkeypatch, mark):
    """What rows have in common, by a pseudonym, a public value, their place in the file or a period of it."""
    n, rng = 20_000, np.random.default_rng(0)
    group = {
        "visits": rng.integers(0, n // 3, n),
        "household": rng.permutation(np.repeat(np.arange(n // 2), 2)),
        "file": np.arange(n) // 50,
        "period": np.arange(n) % 7,
    }[mark]
    own = rng.normal(size=n)
    x = {"x": own[group] + 0.3 * rng.normal(size=n), "y": own[::-1][group] + 0.3 * rng.normal(size=n)}
    noise = veil.AdditiveNoise(1.0, **SEED)
    if mark == "visits":
        plan = veil.Plan([(["id"], veil.Pseudonymize(**SEED)), (["x", "y"], noise)])
        table = pa.table({"id": pa.array(group.astype(str)), **x})
        release = veil.publish(table, plan, roles={"id": "identifier", "x": "sensitive", "y": "sensitive"})[0]
    elif mark == "household":
        release = published(noise, x, household=pa.array(group.astype(str)))
    else:
        release = published(noise, x, shuffle=False)
    assert A28().prepare(release) is None
    guess = A28().run(release)
    monkeypatch.undo()
    whole = A28().run(release)
    np.testing.assert_array_equal(guess.values, whole.values)
    assert guess.entangled


@pytest.mark.parametrize("kind", ["age", "income", "ward"])
def test_others_of_a_public_value_are_asked_block_by_block(few_rows, monkeypatch, kind):
    """A wave along a public number and the means of 70 wards: some rows tell nearly as much as all."""
    n, rng = 24_000, np.random.default_rng(0)
    age, income, ward = rng.integers(18, 90, n), rng.lognormal(size=n), rng.integers(0, 70, n)
    wave = {"age": np.sin(age / 7.0), "income": np.sin(3.0 * np.log(income)), "ward": rng.normal(size=70)[ward]}[kind]
    public = {"age": age, "income": income, "ward": ward.astype(str)}[kind]
    x = {"x": wave + 0.5 * rng.normal(size=n), "y": rng.normal(size=n)}
    release = published(veil.AdditiveNoise(1.0, **SEED), x, shuffle=False, public=public)
    learned = A28().prepare(release)
    guess = guess_all(release, pickle.loads(pickle.dumps(learned)))
    monkeypatch.undo()
    whole = A28().run(release)
    assert guess.entangled
    assert whole.entangled
    alone = A28().run(published(veil.AdditiveNoise(1.0, **SEED), x, shuffle=False))
    hits = [np.abs(each.values[:, 0] - x["x"]) <= 0.1 * x["x"].std() for each in (guess, whole, alone)]
    error = np.sqrt((hits[0] != hits[1]).mean() / n)
    assert hits[0].mean() > hits[1].mean() - 3 * error
    assert hits[0].mean() > hits[2].mean() + 0.02
    some = np.arange(0, n, 7)
    assert np.abs(guess.without(some) - whole.without(some))[:, 0].mean() < 0.1


def test_learning_rows_are_spread_and_rise(few_rows):
    rows = learning_rows.learning_rows(40_000)
    assert len(rows) == learning_rows.MOST_LEARNED
    assert (np.diff(rows) > 0).all()
    assert (rows // 4_000 == np.repeat(np.arange(10), learning_rows.RUN)).all()
    np.testing.assert_array_equal(rows, learning_rows.learning_rows(40_000))


def test_one_noise_per_group_needs_the_whole_table():
    """What members say of each other is counted once per group, of which some rows show a part."""
    numbers, *_ = private(N)
    table = pa.table({"home": np.arange(N) // 2, "income": np.repeat(numbers["x0"][::2], 2), "age": numbers["x1"]})
    release, _ = veil.publish(table, veil.AdditiveNoise(1.0, **SEED), roles={"home": "group"}, shuffle=True)
    assert release.manifest.parts[0].groups == {"income": "home"}
    assert by_blocks(A28(), release, [], np.arange(0, N, 2)) is None
