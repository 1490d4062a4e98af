"""A23: hidden columns from published rules, trees and cluster centres, and what is known of people."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import veil
from veil import PublishedResults, PublishedResultsAttack
from veil.attacks.results.forms import lower_bound
from veil.errors import InputError, MissingKnowledgeError, NotApplicableError

ILLNESSES = ("asthma", "flu", "none")
N = 20_000


def law(seed=0):
    """P(age group, town, illness), 3 × 2 × 3."""
    return np.random.default_rng(seed).dirichlet(np.full(18, 0.7)).reshape(3, 2, 3)


def drawn(joint, rng, n=N):
    cells = rng.choice(joint.size, n, p=joint.ravel())
    age, town, illness = np.unravel_index(cells, joint.shape)
    return pd.DataFrame({"age": age, "town": np.array(["Ulm", "Bonn"])[town], "illness": np.array(ILLNESSES)[illness]})


def full_tree(joint, records=1_000_000):
    """The law itself as a tree: by age group, then by town."""

    def leaf(shares):
        return {"counts": dict(zip(ILLNESSES, records * shares, strict=True))}

    def below(age):
        split = {"if": {"column": "town", "is": "Ulm"}, "then": leaf(joint[age, 0]), "else": leaf(joint[age, 1])}
        if age == 2:
            return split
        return {"if": {"column": "age", "within": [None, age]}, "then": split, "else": below(age + 1)}

    root = {"if": {"column": "age", "within": [0, 0]}, "then": below(0)["then"], "else": below(1)}
    return PublishedResults(trees=[{"column": "illness", "root": root}])


def released(frame, public=("age", "town")):
    """A release that hides the illness by randomized response, with the rest unchanged."""
    plan = veil.Plan(
        [(["illness"], veil.RandomizedResponse(keep=0.05, random_state=0))], roles=dict.fromkeys(public, "public")
    )
    return veil.publish(frame, plan)[0]


def names(release, guess):
    listing = np.array([*release.only_part.model.categories[0], None], dtype=object)
    return listing[np.nan_to_num(guess.values[:, 0], nan=len(listing) - 1).astype(int)]


def standard_error(rate, n=N):
    return np.sqrt(rate * (1 - rate) / n)


# -- trees ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1])
def test_a_full_tree_gives_the_bayes_rate_of_what_is_hidden_given_what_is_known(seed):
    joint = law(seed)
    frame = drawn(joint, np.random.default_rng(seed))
    release = released(frame)
    guess = PublishedResultsAttack().run(release, full_tree(joint))
    rate, best = np.mean(names(release, guess) == frame["illness"]), joint.max(axis=2).sum()
    assert rate == pytest.approx(best, abs=4 * standard_error(best))
    assert rate > joint.sum(axis=(0, 1)).max() + 4 * standard_error(best), "the law is one that known columns tell of"
    assert guess.details.forms == {"illness": ("tree",)}
    assert guess.details.known == ("age", "town")
    assert not guess.of_people


def test_a_split_on_what_is_not_known_is_averaged_over():
    """The age alone is known: the leaves of both towns count, as often as people of that age live there."""
    joint = law(2)
    frame = drawn(joint, np.random.default_rng(2))
    guess = PublishedResultsAttack().run(released(frame), full_tree(joint), veil.ExternalTable(frame[["age"]]))
    assert guess.of_people
    of_age = joint.sum(axis=1)
    wanted = np.array(ILLNESSES)[of_age.argmax(axis=1)][frame["age"]]
    np.testing.assert_array_equal(names(released(frame[:100]), guess), wanted)
    best = of_age.max(axis=1).sum()
    assert np.mean(wanted == frame["illness"]) == pytest.approx(best, abs=4 * standard_error(best))


def test_of_a_regression_tree_as_many_are_hit_as_the_law_says():
    """Around its cell's mean a value is normal with deviation s: 2Φ(t/s) − 1 are within t."""
    rng = np.random.default_rng(3)
    group, spread = rng.integers(0, 4, N), 0.5
    means = np.array([0.0, 3.0, -2.0, 7.0])
    frame = pd.DataFrame({"group": group, "cost": means[group] + spread * rng.normal(size=N)})
    leaves = [{"mean": float(m), "count": 5_000, "spread": spread} for m in means]
    root = {"if": {"column": "group", "within": [2, None]}}
    for half, start in (("then", 2), ("else", 0)):
        condition = {"column": "group", "is": start}
        root[half] = {"if": condition, "then": leaves[start], "else": leaves[start + 1]}
    release, _ = veil.publish(frame, veil.AdditiveNoise(3.0, random_state=0), roles={"group": "public"})
    guess = PublishedResultsAttack().run(release, PublishedResults(trees=[{"column": "cost", "root": root}]))
    np.testing.assert_array_equal(guess.values[:, 0], means[group])
    best = 2 * norm.cdf(0.2 / spread) - 1
    rate = np.mean(np.abs(guess.values[:, 0] - frame["cost"]) <= 0.2)
    assert rate == pytest.approx(best, abs=4 * standard_error(best))


# -- rules ---------------------------------------------------------------------------------------------------


def rule(then, confidence, support, **conditions):
    said = [
        {"column": name, "within" if isinstance(value, list) else "is": value} for name, value in conditions.items()
    ]
    return {"if": said, "then": {"column": "illness", "is": then}, "confidence": confidence, "support": support}


def test_rules_reach_their_confidence_on_those_they_cover_and_say_nothing_sure_about_others():
    joint = law(4)
    frame = drawn(joint, np.random.default_rng(4))
    cell = joint[1, 0]
    top = int(cell.argmax())
    rules = [rule(ILLNESSES[top], cell[top] / cell.sum(), cell[top], age=[1, 1], town="Ulm")]
    release = released(frame)
    guess = PublishedResultsAttack().run(release, PublishedResults(rules, records=N))
    covered = ((frame["age"] == 1) & (frame["town"] == "Ulm")).to_numpy()
    assert guess.details.covered["illness"] == pytest.approx(covered.mean())
    confidence = cell[top] / cell.sum()
    rate = np.mean(frame["illness"][covered] == names(release, guess)[covered])
    assert rate == pytest.approx(confidence, abs=4 * standard_error(confidence, covered.sum()))
    assert (names(release, guess)[~covered] == ILLNESSES[top]).all(), "others are guessed by the largest support"


def test_of_several_rules_the_one_with_the_highest_lower_bound_counts():
    """A rule of three records out of three is worth .44, one of 900 out of 1,000 is worth .88."""
    frame = pd.DataFrame(
        {"age": [30, 70, 70, 20], "town": ["Ulm", "Ulm", "Bonn", "Bonn"], "illness": [*ILLNESSES, "flu"]}
    )
    rules = [
        rule("asthma", 1.0, 3 / 10_000, town="Ulm"),
        rule("flu", 0.9, 0.09, age=[60, None]),
        rule("none", 0.5, 0.5),
    ]
    release = released(frame)
    guess = PublishedResultsAttack().run(release, PublishedResults(rules, records=10_000))
    assert names(release, guess).tolist() == ["none", "flu", "flu", "none"]
    few = PublishedResults(rules[:1] + rules[2:], records=60)  # the same shares of 60 records say little of anything
    assert names(release, PublishedResultsAttack().run(release, few)).tolist() == ["none"] * 4
    assert lower_bound(1.0, 3) == pytest.approx(0.4385, abs=1e-4)
    assert lower_bound(0.9, 1_000) == pytest.approx(0.8799, abs=1e-4)


def test_equally_good_rules_give_way_to_the_more_specific_one_in_whatever_order():
    frame = pd.DataFrame({"age": [70], "town": ["Ulm"], "illness": ["flu"]})
    frame = pd.concat([frame, pd.DataFrame({"age": [1, 2], "town": ["Bonn"] * 2, "illness": ["asthma", "none"]})])
    rules = [rule("asthma", 0.8, 0.1, town="Ulm"), rule("flu", 0.8, 0.1, town="Ulm", age=[60, None])]
    release = released(frame)
    for order in (rules, rules[::-1]):
        guess = PublishedResultsAttack().run(release, PublishedResults(order, records=100))
        assert names(release, guess)[0] == "flu"


def test_a_rule_whose_condition_is_not_known_of_a_person_does_not_apply():
    people = pd.DataFrame({"age": [70.0, None], "town": ["Ulm", None]})
    frame = drawn(law(), np.random.default_rng(5), 200)
    release = released(frame)
    rules = [rule("flu", 0.9, 0.2, age=[60, None]), rule("none", 0.6, 0.6)]
    guess = PublishedResultsAttack().run(release, PublishedResults(rules, records=1_000), veil.ExternalTable(people))
    assert names(release, guess).tolist() == ["flu", "none"]


# -- cluster centres -----------------------------------------------------------------------------------------

SIZES, X, H, SHARES = np.array([600.0, 1_400.0]), np.array([-1.0, 1.5]), np.array([10.0, 20.0]), np.array([0.9, 0.2])
SPREAD_X, SPREAD_H = np.array([1.0, 0.7]), np.array([2.0, 1.0])


def mixture(rng, n=N, spread=SPREAD_X):
    k = (rng.random(n) < SIZES[1] / SIZES.sum()).astype(int)
    illness = np.where(rng.random(n) < SHARES[k], "asthma", "none")
    x, h = X[k] + spread[k] * rng.normal(size=n), H[k] + SPREAD_H[k] * rng.normal(size=n)
    return pd.DataFrame({"x": x, "h": h, "illness": illness})


def centres(**more):
    columns = ["x", "h", {"column": "illness", "is": "asthma"}, {"column": "illness", "is": "none"}]
    rows = np.column_stack([X, H, SHARES, 1 - SHARES]).tolist()
    return PublishedResults(centres=[{"columns": columns, "rows": rows, "sizes": SIZES.tolist(), **more}])


def second(x, spread=SPREAD_X):
    """The posterior probability of the second cluster."""
    odds = SIZES * norm.pdf((np.asarray(x)[:, None] - X) / spread) / spread
    return odds[:, 1] / odds.sum(axis=1)


def hidden_mixture(frame):
    plan = veil.Plan(
        [
            (["h"], veil.AdditiveNoise(9.0, random_state=0)),
            (["illness"], veil.RandomizedResponse(keep=0.05, random_state=0)),
        ]
    )
    return veil.publish(frame, plan, roles={"x": "public"})[0]


def test_centres_give_the_conditional_mean_and_the_bayes_rate_of_the_mixture():
    frame = mixture(np.random.default_rng(6))
    spreads = np.column_stack([SPREAD_X, SPREAD_H, np.zeros((2, 2))]).tolist()
    release, results = hidden_mixture(frame), centres(spreads=spreads)
    guess = PublishedResultsAttack(aim="mean").run(release, results)
    p = second(frame["x"])
    np.testing.assert_allclose(guess.values[:, 0], (1 - p) * H[0] + p * H[1], rtol=1e-10)
    listing = release.manifest.parts[1].model.categories[0]
    ill = (1 - p) * SHARES[0] + p * SHARES[1]
    wanted = np.where(ill > 0.5, listing.index("asthma"), listing.index("none"))
    np.testing.assert_array_equal(guess.values[:, 1], wanted)
    grid = np.linspace(-8.0, 8.0, 4_001)
    density = (SIZES / SIZES.sum() * norm.pdf((grid[:, None] - X) / SPREAD_X) / SPREAD_X).sum(axis=1)
    q = second(grid)
    top = np.maximum(s := (1 - q) * SHARES[0] + q * SHARES[1], 1 - s)
    best = np.trapezoid(density * top, grid)
    right = np.mean(np.array(listing)[guess.values[:, 1].astype(int)] == frame["illness"])
    assert right == pytest.approx(best, abs=4 * standard_error(best))


def test_a_hit_is_aimed_at_the_fullest_window_and_not_at_the_mean_between_clusters():
    frame = mixture(np.random.default_rng(7))
    release, results = hidden_mixture(frame), centres(spreads=[1.0, 1.0, 0.0, 0.0])
    rates = {}
    for aim in ("hit", "mean"):
        guess = PublishedResultsAttack(aim=aim).run(release, results)
        rates[aim] = np.mean(np.abs(guess.values[:, 0] - frame["h"]) <= 0.1 * frame["h"].std())
    assert rates["hit"] > rates["mean"] + 4 * np.sqrt(0.5 / N)


def test_a_common_spread_that_is_not_published_is_found_from_the_known_columns():
    frame = mixture(np.random.default_rng(8), spread=np.full(2, 0.8))
    guess = PublishedResultsAttack(aim="mean").run(hidden_mixture(frame), centres())
    p = second(frame["x"], np.full(2, 0.8))
    # The spread of 20,000 values is known to 0.5 %, and moves the posterior by less than that.
    np.testing.assert_allclose(guess.values[:, 0], (1 - p) * H[0] + p * H[1], atol=0.05 * np.ptp(H))


def test_known_categories_tell_of_clusters_and_unheard_ones_of_those_that_have_others():
    columns = [{"column": "town", "is": "Ulm"}, {"column": "town", "is": "Bonn"}, "cost"]
    rows = [[0.9, 0.1, 5.0], [0.05, 0.15, 9.0]]  # the rest, 80 %, live elsewhere
    results = PublishedResults(centres=[{"columns": columns, "rows": rows}])
    frame = pd.DataFrame({"town": ["Ulm", "Bonn", "Wien", None] * 5, "cost": np.arange(20.0)})
    release, _ = veil.publish(frame, veil.AdditiveNoise(3.0, random_state=0), roles={"town": "public"})
    guess = PublishedResultsAttack(aim="mean").run(release, results).values[:4, 0]
    floor = 1e-3
    likelihood = np.array([[0.9, 0.05], [0.1, 0.15], [floor, 0.8], [1.0, 1.0]])
    expected = likelihood @ [5.0, 9.0] / likelihood.sum(axis=1)
    np.testing.assert_allclose(guess, expected, rtol=1e-12)


# -- who is known, and how -----------------------------------------------------------------------------------


def test_results_of_several_forms_are_used_together_and_the_surest_counts():
    joint = law(9)
    frame = drawn(joint, np.random.default_rng(9))
    release, tree = released(frame), full_tree(joint)
    certain = rule("flu", 1.0, 0.5, town="Ulm")
    both = PublishedResults([certain], tree.trees, records=10**9)
    alone, guess = (PublishedResultsAttack().run(release, each) for each in (tree, both))
    ulm = (frame["town"] == "Ulm").to_numpy()
    assert (names(release, guess)[ulm] == "flu").all()
    np.testing.assert_array_equal(guess.values[~ulm], alone.values[~ulm])
    assert guess.details.forms["illness"] == ("rules", "tree")


def test_known_attributes_are_used_as_numbers_and_as_codes_of_categories():
    joint = law(10)
    frame = drawn(joint, np.random.default_rng(10), 500)
    plan = veil.RandomizedResponse(keep=0.05, random_state=0)
    release, _ = veil.publish(frame.astype({"age": str}), plan)
    part = release.only_part
    codes = {
        name: np.array([listing.index(v) for v in frame[name].astype(str)])
        for name, listing in zip(part.names, part.model.categories, strict=True)
        if name != "illness"
    }
    known = veil.KnownAttributes(list(codes), np.column_stack(list(codes.values())))
    rules = [
        rule(ILLNESSES[int(joint[a, t].argmax())], 0.9, 0.1, age=str(a), town=town)
        for a in range(3)
        for t, town in enumerate(("Ulm", "Bonn"))
    ]
    guess = PublishedResultsAttack().run(release, PublishedResults(rules, records=1_000), known)
    listing = part.model.categories[2]
    towns = {"Ulm": 0, "Bonn": 1}
    wanted = [ILLNESSES[int(joint[a, towns[t]].argmax())] for a, t in zip(frame["age"], frame["town"], strict=True)]
    assert [listing[int(code)] for code in guess.values[:, 2]] == wanted
    with pytest.raises(InputError, match="must hold codes of its 2 categories"):
        PublishedResultsAttack().run(
            release, PublishedResults(rules, records=9), veil.KnownAttributes("town", np.full(500, 5.0))
        )


def test_the_release_itself_is_not_used():
    """Other noise, or another method, leaves the guess as it is."""
    frame = mixture(np.random.default_rng(11), 300)[["x", "h"]]
    frame["z"] = 1.0 + frame["h"] ** 2
    results = PublishedResults(
        centres=[{"columns": ["x", "h"], "rows": np.column_stack([X, H]).tolist(), "spreads": [1, 2]}]
    )
    methods = (veil.AdditiveNoise(0.01), veil.AdditiveNoise(5.0), veil.RandomProjection(1))
    releases = [veil.publish(frame, method, roles={"x": "public"})[0] for method in methods]
    first, *others = (PublishedResultsAttack().run(release, results).of_columns(["h"]).values for release in releases)
    for other in others:
        np.testing.assert_array_equal(other, first)


def test_order_of_people_and_units_of_columns_do_not_matter():
    frame = mixture(np.random.default_rng(12), 400)[["x", "h"]]
    columns, rows, spreads = ["x", "h"], np.column_stack([X, H]), np.array([1.0, 2.0])
    release, _ = veil.publish(frame, veil.AdditiveNoise(3.0, random_state=0), roles={"x": "public"})
    guess = PublishedResultsAttack().run(
        release, PublishedResults(centres=[{"columns": columns, "rows": rows.tolist(), "spreads": spreads.tolist()}])
    )
    order, factor = np.random.default_rng(1).permutation(400), np.array([10.0, 0.01])
    scaled, _ = veil.publish((frame * factor).iloc[order], veil.AdditiveNoise(3.0), roles={"x": "public"})
    said = {"columns": columns, "rows": (rows * factor).tolist(), "spreads": (spreads * factor).tolist()}
    other = PublishedResultsAttack().run(scaled, PublishedResults(centres=[said]))
    np.testing.assert_allclose(other.values[:, 0] / factor[1], guess.values[order, 0], rtol=1e-8)


# -- refusals ------------------------------------------------------------------------------------------------


def test_without_results_or_without_anything_known_the_attack_says_so():
    frame = drawn(law(), np.random.default_rng(0), 200)
    release = released(frame)
    with pytest.raises(MissingKnowledgeError, match="needs PublishedResults"):
        PublishedResultsAttack().run(release)
    other = PublishedResults([rule("flu", 0.9, 0.1, height=[180, None])], records=100)
    with pytest.raises(NotApplicableError, match=r"ask for 'height'; release such a column"):
        PublishedResultsAttack().run(release, other)
    elsewhere = {**rule("x", 0.9, 0.1, age=[0, 1]), "then": {"column": "rent", "is": "x"}}
    with pytest.raises(NotApplicableError, match="no private column that is hidden: they tell 'rent'"):
        PublishedResultsAttack().run(release, PublishedResults([elsewhere], records=100))


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ({"column": "town", "within": [0, 1]}, "'town' is compared with an interval"),
        ({"column": "age", "is": "old"}, "'age' is compared with a text"),
    ],
)
def test_conditions_of_another_kind_than_what_is_known_are_refused(condition, words):
    release = released(drawn(law(), np.random.default_rng(0), 200))
    said = {"if": [condition], "then": {"column": "illness", "is": "flu"}, "confidence": 0.9, "support": 0.1}
    with pytest.raises(InputError, match=words):
        PublishedResultsAttack().run(release, PublishedResults([said], records=100))


def test_a_text_for_a_hidden_number_is_refused_and_an_unheard_category_says_nothing():
    frame = pd.DataFrame({"age": [1.0, 2.0, 3.0, 4.0], "cost": [1.0, 2.0, 3.0, 5.0]})
    release, _ = veil.publish(frame, veil.AdditiveNoise(1.0, random_state=0), roles={"age": "public"})
    said = {
        "if": [{"column": "age", "is": 1}],
        "then": {"column": "cost", "is": "much"},
        "confidence": 0.9,
        "support": 0.1,
    }
    with pytest.raises(InputError, match="'cost' holds numbers"):
        PublishedResultsAttack().run(release, PublishedResults([said], records=100))
    unheard = PublishedResults([rule("plague", 0.9, 0.1, age=[0, 9])], records=100)
    guess = PublishedResultsAttack().run(released(drawn(law(), np.random.default_rng(0), 200)), unheard)
    assert np.isnan(guess.values).all()
    assert guess.details.covered == {"illness": 0.0}
