"""Published results as knowledge: files, fitted models, and errors that say where."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import veil
from veil import PublishedResults, PublishedResultsAttack
from veil.errors import FileAccessError, FileFormatError, InputError
from veil.recovery import frequent_itemsets

RULE = {
    "if": [{"column": "age", "within": [60, None]}, {"column": "smoker", "is": "yes"}],
    "then": {"column": "illness", "is": "asthma"},
    "confidence": 0.8,
    "support": 0.05,
}
LEAF = {"counts": {"asthma": 30, "none": 970}}
TREE = {
    "column": "illness",
    "root": {
        "if": {"column": "age", "within": [None, 59.5]},
        "then": LEAF,
        "else": {"shares": {"asthma": 0.2, "none": 0.8}, "count": 1000},
    },
}
NUMBERS = {
    "column": "cost",
    "root": {
        "if": {"column": "smoker", "is": True},
        "then": {"mean": 5.0, "count": 3, "spread": 0.5},
        "else": {"mean": 2.5, "count": 9},
    },
}
CENTRES = {
    "columns": ["age", {"column": "smoker", "is": "yes"}, "income"],
    "rows": [[30, 0.2, 21.5], [70, 0.1, 18.0]],
    "sizes": [1200, 800],
    "spreads": [9, 0, 4],
}
FILE = {
    "format": "veil published results",
    "version": 1,
    "records": 2000,
    "rules": [RULE],
    "trees": [TREE, NUMBERS],
    "centres": [CENTRES],
}


def test_what_a_file_says_comes_back(tmp_path):
    path, copy = tmp_path / "results.json", tmp_path / "copy.json"
    path.write_text(json.dumps(FILE))
    results = PublishedResults.load(path)
    assert repr(results) == "<PublishedResults: published results (1 rule, 2 trees, 2 cluster centres)>"
    assert results.tells == {"illness", "cost", "age", "smoker", "income"}
    results.save(copy)
    again = PublishedResults.load(copy)
    assert again.to_json() == results.to_json()
    assert again.rules == results.rules
    assert again.trees == results.trees
    np.testing.assert_array_equal(again.centres[0].spreads, [[9, 0, 4]] * 2)
    assert again.digest() == results.digest() != PublishedResults(trees=[TREE]).digest()
    with pytest.raises(FileAccessError, match="already exists"):
        results.save(copy)


def changed(part, **fields):
    """The file with some fields of a part of it replaced; None leaves one out."""
    raw = json.loads(json.dumps(FILE))
    place = raw
    for key in part:
        place = place[key]
    for name, value in fields.items():
        name = name.rstrip("_")
        if value is None:
            place.pop(name)
        else:
            place[name] = value
    return raw


ROOT = ("trees", 0, "root")
BAD = [
    (changed((), version=2), "must say format 'veil published results' and version 1"),
    (changed((), format="other"), "must say format"),
    (changed((), rulez=[]), "no field of results is called 'rulez'; did you mean 'rules'"),
    (changed((), rules={}), "rules must be a list; got an object"),
    (changed((), records=None), "records must say how many records the rules were counted among"),
    (changed((), records=0.5), "records must be a whole number"),
    (
        changed(("rules", 0), confidence=1.2),
        "rule 1: confidence must be a share above 0 and at most 1; got another number",
    ),
    (changed(("rules", 0), confidence="high"), "rule 1: confidence must be a share .* got a text"),
    (changed(("rules", 0), support=None), "rule 1 lacks 'support'; add it"),
    (changed(("rules", 0), support=0.9), "rule 1: support must not be above confidence"),
    (changed(("rules", 0), then=None), "rule 1 lacks 'then'"),
    (changed(("rules", 0), then={"column": "cost", "within": [5, None]}), "rule 1: then must have both ends"),
    (changed(("rules", 0), then={"column": "age", "is": 3}), "rule 1: then is about 'age', which its conditions"),
    (changed(("rules", 0, "if", 0), within=[70, 60]), "rule 1: condition 1: within must rise"),
    (changed(("rules", 0, "if", 0), within=[70]), "rule 1: condition 1: within must be two numbers"),
    (changed(("rules", 0, "if", 0), is_="old"), "rule 1: condition 1 must have one of 'is' .* and 'within'"),
    (changed(("rules", 0, "if", 1), is_=[1]), "rule 1: condition 2: is must be a text, a number"),
    (changed(("rules", 0, "if", 1), column=7), "rule 1: condition 2: column must be a text; got another number"),
    (changed(("rules", 0), if_=["age"]), "rule 1: condition 1 must be an object with column, is, within; got a text"),
    (changed(ROOT, else_=None), "tree 1: root lacks 'else'"),
    (changed(ROOT, then={"counts": {}}), "tree 1: root.then: counts must be numbers of at least 0"),
    (changed(ROOT, then={"counts": {"asthma": 0}}), "tree 1: root.then: counts must have a sum above 0"),
    (changed(ROOT, then={"counts": {"asthma": -1}}), "tree 1: root.then: counts must be numbers of at least 0"),
    (changed(ROOT, then={"shares": {"asthma": 0.4}, "count": 3}), "root.then: shares must have the sum 1; it is 0.4"),
    (changed(ROOT, then={"shares": {"asthma": 1.0}}), "root.then lacks 'count'"),
    (changed(ROOT, then={"mean": 3.0, "count": 3}), "tree 1 has leaves with shares and leaves with a mean"),
    (changed(ROOT, then={"mean": 3.0, **LEAF}), "root.then must be a split .* or have one of"),
    (changed(("trees", 0), column="age"), "tree 1 tells 'age' and asks for it"),
    (changed(("trees", 1, "root", "then"), spread=-1), "tree 2: root.then: spread must be a number of at least 0"),
    (changed(("centres", 0), columns=["age"]), "centres 1: rows must be numbers, 1 in each row"),
    (changed(("centres", 0), columns=["age", "age", "x"]), "centres 1: columns must name .* each once"),
    (
        changed(("centres", 0), columns=["age", {"column": "age", "is": 1}, "x"]),
        "a column, or categories of it, and not",
    ),
    (changed(("centres", 0), rows=[[30, 2.0, 21.5]]), "shares from 0 to 1 of a category of 'smoker'"),
    (changed(("centres", 0), rows=[[30, "x", 21.5]]), "centres 1: rows must be numbers, 3 in each row"),
    (changed(("centres", 0), rows=[[30, 0.1, 1e200]]), "centres 1: rows must be finite; 1 are not"),
    (changed(("centres", 0), sizes=[3]), "centres 1: sizes must be numbers, 2 in each row"),
    (changed(("centres", 0), sizes=[3, 0]), "centres 1: sizes must be above 0; 1 are not"),
    (changed(("centres", 0), spreads=[1, 2]), "centres 1: spreads must be numbers, 3 in each row"),
    (changed(("centres", 0), spreads=[[1, 1, 1]] * 3), "centres 1: spreads must be at least 0, in one row"),
    (changed((), rules=None, trees=None, centres=None), "neither rules nor trees nor centres"),
    ([FILE], "results must be an object with format"),
]


@pytest.mark.parametrize(("raw", "words"), BAD, ids=[words for _, words in BAD])
def test_a_bad_file_is_refused_with_the_place_the_rule_and_the_fix(tmp_path, raw, words):
    path = tmp_path / "results.json"
    path.write_text(json.dumps(raw))
    with pytest.raises(FileFormatError, match=words) as refusal:
        PublishedResults.load(path)
    assert str(refusal.value).startswith("results.json: ")
    assert "\n" not in str(refusal.value)


def test_what_is_no_json_or_too_deep_is_refused(tmp_path):
    path = tmp_path / "results.json"
    with pytest.raises(FileAccessError, match=r"results.json: cannot read the results \(No such file"):
        PublishedResults.load(path)
    for text in ("{", "\udcff", "[" * 100_000):
        path.write_text(text, errors="surrogateescape")
        with pytest.raises(FileFormatError, match=r"results.json: is no JSON"):
            PublishedResults.load(path)
    root = LEAF
    for _ in range(202):
        root = {"if": {"column": "age", "is": 1}, "then": LEAF, "else": root}
    with pytest.raises(InputError, match="tree 1 has more than 200 splits"):
        PublishedResults(trees=[{"column": "illness", "root": root}])


# -- fitted models -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def patients():
    rng = np.random.default_rng(0)
    n = 1_500
    frame = pd.DataFrame({"age": rng.integers(20, 90, n), "town": rng.choice(["Ulm", "Bonn", "Wien"], n)})
    frame["smoker"] = rng.random(n) < 0.3
    risk = 0.1 + 0.5 * (frame["age"] > 60) + 0.3 * (frame["town"] == "Ulm") * frame["smoker"]
    frame["illness"] = np.where(rng.random(n) < risk, "asthma", np.where(rng.random(n) < 0.5, "flu", "none"))
    frame["cost"] = 10 * risk + rng.normal(size=n)
    return frame


@pytest.fixture(scope="module")
def release(patients):
    plan = veil.Plan(
        [
            (["illness"], veil.RandomizedResponse(keep=0.1, random_state=0)),
            (["cost"], veil.AdditiveNoise(5.0, random_state=0)),
        ]
    )
    return veil.publish(patients, plan, roles=dict.fromkeys(["age", "town", "smoker"], "public"))[0]


COORDINATES = ["age", "smoker", ("town", "Bonn"), ("town", "Ulm"), ("town", "Wien")]


def one_hot(patients):
    towns = pd.get_dummies(patients["town"]).astype(float)[["Bonn", "Ulm", "Wien"]]
    return np.column_stack([patients["age"], patients["smoker"], towns]).astype(float)


@pytest.mark.parametrize("depth", [1, 3, None])
def test_a_fitted_classifier_is_read_as_it_predicts(patients, release, depth):
    x = one_hot(patients)
    model = DecisionTreeClassifier(max_depth=depth, min_samples_leaf=5, random_state=0).fit(x, patients["illness"])
    results = PublishedResults.from_tree(model, "illness", COORDINATES)
    guess = PublishedResultsAttack().run(release, results).of_columns(["illness"])
    listing = np.array(release.manifest.parts[0].model.categories[0])
    probability = model.predict_proba(x)
    top = np.sort(probability, axis=1)
    clear = top[:, -1] > top[:, -2] + 1e-9  # of equal shares any may be guessed
    assert (listing[guess.values[:, 0].astype(int)] == model.predict(x))[clear].all()
    assert clear.mean() > 0.8


def test_a_fitted_regressor_and_named_columns(patients, release):
    x = patients[["age", "smoker"]].astype(float)
    model = DecisionTreeRegressor(max_depth=4).fit(x, patients["cost"])
    results = PublishedResults.from_tree(model, "cost")
    guess = PublishedResultsAttack().run(release, results).of_columns(["cost"])
    np.testing.assert_allclose(guess.values[:, 0], model.predict(x), rtol=1e-12)
    leaf = results.trees[0].leaves[0]
    assert leaf.spread > 0
    assert sum(each.count for each in results.trees[0].leaves) == len(x)


def test_a_noisy_tree_is_read_like_a_fitted_one(patients):
    frame = patients[["age", "cost"]].assign(group=(patients["cost"] > 5).astype(str))
    noisy, _ = veil.publish(frame, veil.AdditiveNoise(0.3, random_state=0), roles={"group": "public"})
    model = veil.NoisyTreeClassifier(max_depth=3, random_state=0).fit(noisy, "group")
    results = PublishedResults.from_tree(model, "group")
    assert results.tells == {"group"}
    assert results.asks_for <= {"age", "cost"}


def test_the_centres_of_a_fitted_k_means(patients, release):
    x = np.column_stack([one_hot(patients), patients["cost"]])
    model = KMeans(3, n_init=2, random_state=0).fit(x)
    results = PublishedResults.from_kmeans(model, [*COORDINATES, "cost"])
    (centres,) = results.centres
    np.testing.assert_array_equal(centres.rows, model.cluster_centers_)
    np.testing.assert_array_equal(centres.sizes, np.bincount(model.labels_))
    guess = PublishedResultsAttack(aim="mean").run(release, results).of_columns(["cost"]).values[:, 0]
    assert ((guess >= centres.rows[:, -1].min()) & (guess <= centres.rows[:, -1].max())).all()
    assert np.corrcoef(guess, patients["cost"])[0, 1] > 0.3


def test_rules_of_frequent_itemsets_have_their_supports():
    rng = np.random.default_rng(1)
    bread = rng.random(5_000) < 0.5
    beer = rng.random(5_000) < np.where(bread, 0.8, 0.1)
    x = np.column_stack([bread, beer]).astype(float)
    basket = veil.MarketBasket(random_state=0)
    release, _ = veil.publish(pd.DataFrame(x, columns=["bread", "beer"]), basket)
    itemsets = frequent_itemsets(release.to_numpy(), release.only_part.model, 0.05)
    results = PublishedResults.from_itemsets(itemsets, ["bread", "beer"], "beer", records=5_000)
    (there, absent) = [rule for rule in results.rules if rule.conditions]
    assert there.confidence == pytest.approx(0.8, abs=0.1)
    assert there.confidence + absent.confidence == pytest.approx(1.0)
    assert there.support == pytest.approx(0.4, abs=0.06)
    guess = PublishedResultsAttack().run(release, results, veil.ExternalTable({"bread": [1, 1]}))
    assert guess.of_columns(["beer"]).values.ravel().tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: PublishedResults.from_tree(DecisionTreeClassifier(), "y"), "must be a fitted decision tree"),
        (
            lambda: PublishedResults.from_tree(DecisionTreeClassifier().fit([[0], [1]], [0, 1]), "y"),
            "columns must name the 1",
        ),
        (
            lambda: PublishedResults.from_tree(DecisionTreeClassifier().fit([[0], [1]], [0, 1]), "y", ["a", "b"]),
            "got 2",
        ),
        (lambda: PublishedResults.from_kmeans(KMeans(2)), "must be a fitted k-means"),
        (lambda: PublishedResults.from_itemsets([], ["a"], "b", records=5), "column must be one of the 1 items"),
        (lambda: PublishedResults(), "neither rules nor trees nor centres"),
    ],
)
def test_models_that_cannot_be_read_are_refused(make, words):
    with pytest.raises(InputError, match=words):
        make()
