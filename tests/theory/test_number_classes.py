"""Randomized responses on classes of numbers (P16): what is released, what is recovered, and what can be guessed."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests._tables import within_standard_errors

import veil
from veil.auditing.exposure import Exposures
from veil.auditing.trials.target import PartTarget
from veil.auditing.truth import Truth
from veil.auditing.utility import plan_utilities
from veil.errors import InputError, NotApplicableError
from veil.numerics.response_matrix import epsilon_matrix
from veil.perturbations.number_classes import class_numbers
from veil.perturbations.scan import ClassTotals
from veil.recovery.class_numbers import class_distribution
from veil.release.models import NumberClasses, ResponseModel, model_from

EDGES = [1, 5_000, 15_000]


def gains(n: int, seed: int, zeros: float = 0.92) -> np.ndarray:
    """Whole numbers of which most are zero, and the rest spread over three powers of ten."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(n) < zeros, 0, np.exp(rng.normal(8.5, 1.0, n)).astype(np.int64) + 1)


def table(n: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed + 1)
    return pd.DataFrame({"gain": gains(n, seed), "age": rng.normal(40.0, 12.0, n)})


def method(**settings: object) -> veil.RandomizedResponse:
    return veil.RandomizedResponse(**{"epsilon": 3.0, "classes": {"gain": EDGES}, "random_state": 0, **settings})


def places(x: np.ndarray) -> np.ndarray:
    return np.searchsorted(EDGES, x, side="right")


# -- what is released ----------------------------------------------------------------------------------------


def test_reports_follow_the_matrix_of_the_classes():
    n = 200_000
    x = gains(n, 3, zeros=0.5)
    release, _ = veil.publish(pd.DataFrame({"gain": x}), method())
    codes, matrix = release.codes()[:, 0], epsilon_matrix(3.0, 4)
    for true in range(4):
        own = codes[places(x) == true]
        shares = np.bincount(own, minlength=4) / len(own)
        error = np.sqrt(matrix[:, true] * (1 - matrix[:, true]) / len(own))
        assert within_standard_errors(shares, matrix[:, true], error)


def test_classes_are_released_as_whole_numbers_of_their_own():
    frame = table(5_000)
    release, _ = veil.publish(frame[["gain"]], method())
    known = release.only_part.model.categories[0]
    assert known[0] == 0
    assert places(np.array(known)).tolist() == [0, 1, 2, 3]
    assert release.data["gain"].dtype == frame["gain"].dtype
    assert set(release.data["gain"]) <= set(known)
    means = frame["gain"].groupby(places(frame["gain"].to_numpy())).mean()
    assert np.allclose(known[1:], means[1:], rtol=0.05)


def test_fractions_are_released_as_floats_and_missing_values_as_such():
    x = np.array([0.0, 0.25, np.nan, 1.75] * 50)
    chosen = veil.RandomizedResponse(epsilon=3, classes={"x": [0.1, 1.0]}, missing="category", random_state=0)
    release, _ = veil.publish(pd.DataFrame({"x": x}), chosen)
    assert release.only_part.model.categories == ((0.0, 0.25, 1.8, None),)
    assert release.data["x"].isna().any()


def test_a_class_of_few_records_is_released_as_what_its_edges_say():
    totals = ClassTotals(np.array([9, 9, 100, 9]), np.array([-810.0, 9e3, 8e5, 9e9]), 0)
    assert class_numbers(np.array([0.0, 100.0, 50_000.0]), totals) == [-1, 0, 8_000, 50_000]
    assert class_numbers(np.array([-10.0]), ClassTotals(np.array([0, 0]), np.zeros(2), 1)) == [-20, 0]


@pytest.mark.parametrize(
    ("mean", "low", "high", "number"),
    [(9_996.0, 5_000.0, 10_000.0, 9_996), (7_321.0, 5_000.0, 10_000.0, 7_300), (15_004.0, 15_001.0, 1e9, 15_004)],
)
def test_a_class_mean_has_two_digits_or_as_many_as_it_takes_to_lie_in_the_class(mean, low, high, number):
    totals = ClassTotals(np.array([0, 20, 0]), np.array([0.0, 20 * mean, 0.0]), 0)
    assert class_numbers(np.array([low, high]), totals)[1] == number


def test_the_model_survives_json_and_refuses_what_does_not_fit():
    release, _ = veil.publish(table(2_000)[["gain"]], method())
    raw = json.loads(json.dumps(release.only_part.model.to_json()))
    assert model_from(raw, method="randomized-response", name="response") == release.only_part.model
    model = ResponseModel.from_json({**raw, "edges": [[5, 1, 15_000]]})
    with pytest.raises(ValueError, match="do not fit"):
        model.check(1, 1)
    without = veil.publish(pd.DataFrame({"a": ["x", "y"] * 50}), veil.RandomizedResponse(epsilon=1))[0]
    assert "edges" not in without.only_part.parameters  # addresses of noise never change


def test_declared_numbers_have_a_guarantee_and_others_have_none():
    frame = table(1_000)[["gain"]]
    declared = {"gain": [0, 2_500, 10_000, 30_000]}
    assert veil.publish(frame, method(categories=declared, random_state=None))[0].only_part.guarantee.startswith(
        "local differential privacy: epsilon 3 for one value"
    )
    assert veil.publish(frame, method(random_state=None))[0].only_part.guarantee == "none"


def test_every_kind_of_table_gets_the_same_release(tmp_path):
    frame = table(3_000)
    plan = veil.Plan([(["gain"], method()), (["age"], veil.AdditiveNoise(1.0, random_state=0))])
    first, _ = veil.publish(frame, plan)
    second, _ = veil.publish(pa.table({name: frame[name].to_numpy() for name in frame}), plan)
    assert first.table.read().column("gain").equals(second.table.read().column("gain"))
    first.save(tmp_path / "release", format="csv")
    assert (veil.Release.load(tmp_path / "release").part(0).codes() == first.part(0).codes()).all()


def test_columns_can_be_randomized_together():
    frame = pd.DataFrame({"gain": gains(20_000, 5), "sex": np.tile(["f", "m"], 10_000)})
    release, _ = veil.publish(frame, method(joint=True, epsilon=4.0))
    found = veil.ProportionRecovery().fit(release)
    truth = np.bincount(places(frame["gain"].to_numpy()), minlength=4) / len(frame)
    shares, errors = (np.array(list(each["gain"].values())) for each in (found.unconstrained_, found.randomization_se_))
    assert within_standard_errors(shares, truth, errors)


def test_an_invariant_matrix_keeps_the_shares_of_the_classes():
    n = 50_000
    x = gains(n, 9, zeros=0.6)
    release, _ = veil.publish(pd.DataFrame({"gain": x}), method(epsilon=2.0, invariant=True))
    shares = np.bincount(places(x), minlength=4) / n
    reported = np.bincount(release.codes()[:, 0], minlength=4) / n
    # The matrix keeps shares of two digits: half a step of these beside the standard error.
    assert within_standard_errors(reported, shares, np.sqrt(shares * (1 - shares) / n) + 0.0015)


def test_noise_kept_with_an_id_keeps_the_numbers_of_the_first_release():
    frame = table(2_000)[["gain"]].assign(id=np.arange(2_000))
    one, key = veil.publish(frame, method(random_state=None), roles={"id": "drop"}, consistent_on="id")
    changed = frame.assign(gain=frame["gain"] * 1.2).astype({"gain": np.int64})
    options = {"roles": {"id": "drop"}, "consistent_on": "id"}
    two, _ = veil.publish(changed, method(random_state=None), key=key, again=True, **options)
    assert one.only_part.model.categories == two.only_part.model.categories
    same = places(frame["gain"].to_numpy()) == places(changed["gain"].to_numpy())
    assert (one.data["gain"] == two.data["gain"])[same].all()


# -- what is recovered ---------------------------------------------------------------------------------------


def test_mean_and_shares_are_recovered_within_their_errors():
    rng = np.random.default_rng(7)
    law, values = np.array([0.9, 0.06, 0.03, 0.01]), np.array([0, 2_000, 9_000, 40_000])
    declared = {"gain": values.tolist()}
    deviations = []
    for key in range(60):
        frame = pd.DataFrame({"gain": rng.choice(values, 3_000, p=law)})
        release, _ = veil.publish(frame, method(epsilon=2.5, categories=declared, random_state=key))
        found = veil.ProportionRecovery().fit(release)
        deviations.append((found.means_["gain"] - law @ values) / found.mean_se_["gain"])
    spread = float(np.std(deviations))
    # The rounding of the numbers is in the error, and these are exact: the spread may be a little under 1.
    assert abs(float(np.mean(deviations))) < 4 / np.sqrt(60)
    assert 0.7 < spread < 1 + 4 / np.sqrt(2 * 60)


def test_the_distribution_has_the_shares_and_the_mean_of_the_classes():
    classes = NumberClasses(np.array([1.0, 5_000.0, 15_000.0]), np.array([0.0, 2_600.0, 8_600.0, 31_000.0]))
    shares = np.array([0.92, 0.04, 0.03, 0.01])
    at, heights = class_distribution(classes, shares)
    assert np.interp(classes.edges, at, heights) == pytest.approx(np.cumsum(shares)[:-1])
    mean = float(np.diff(heights) @ (at[1:] + at[:-1]) / 2)
    assert mean == pytest.approx(float(shares @ classes.numbers))


def test_utilities_count_means_and_distributions_of_classes_by_column():
    frame = table(20_000)
    plan = veil.Plan([(["gain"], method(epsilon=4.0)), (["age"], veil.AdditiveNoise(0.5, random_state=0))])
    release, _ = veil.publish(frame, plan)
    kept = plan_utilities(Truth.of(pa.table(dict(frame.items())), ["gain", "age"]), release)
    assert kept["means"] > 0.95
    assert kept["distribution"] > 0.95
    assert kept["proportions"] > 0.8


# -- what can be guessed -------------------------------------------------------------------------------------


def bayes_rate(shares: np.ndarray, matrix: np.ndarray) -> float:
    """How often the best guess of a class from its report is right."""
    return float((matrix * shares).max(axis=1).sum())


@pytest.mark.parametrize("epsilon", [1.0, 3.0, 6.0])
def test_guesses_are_right_as_often_as_the_best_rule_is(epsilon):
    n = 40_000
    x = gains(n, 11)
    release, _ = veil.publish(pd.DataFrame({"gain": x}), method(epsilon=epsilon))
    shares = np.bincount(places(x), minlength=4) / n
    best = bayes_rate(shares, epsilon_matrix(epsilon, 4))
    for attack in (veil.ResponsePosteriorAttack(), veil.JointPosteriorAttack()):
        rate = float((attack.run(release).values[:, 0] == places(x)).mean())
        assert within_standard_errors(rate, best, np.sqrt(best * (1 - best) / n))


def test_knowledge_is_granted_in_private_numbers():
    frame = table(3_000).assign(gain=lambda t: np.where(t["age"] > 45, gains(3_000, 2, zeros=0.1), 0))
    plan = veil.Plan([(["gain"], method(epsilon=2.0)), (["age"], veil.AdditiveNoise(0.3, random_state=0))])
    release, _ = veil.publish(frame.iloc[1_000:], plan)
    classes = release.part(0).only_part.model.number_classes()[0]
    private = frame.to_numpy(dtype=float)
    numbered = private.copy()
    numbered[:, 0] = classes.numbered(private[:, 0])
    attack = veil.JointPosteriorAttack()
    alone, told, same = (
        attack.run(release, *known).values[:, 0]
        for known in ([], [veil.KnownSample(private[:1_000])], [veil.KnownSample(numbered[:1_000])])
    )
    truth = places(frame["gain"].to_numpy())[1_000:]
    assert (told == same).all()
    assert (told != alone).any()
    assert (told == truth).mean() > 0.7
    known = veil.KnownAttributes("gain", private[1_000:, 0])
    assert (attack.run(release, known).values[:, 0] == truth).all()


def test_people_of_another_table_are_linked_by_their_classes():
    frame = pd.DataFrame({f"x{j}": gains(300, j, zeros=0.3) for j in range(12)})
    classes = dict.fromkeys(frame, EDGES)
    release, _ = veil.publish(frame, veil.RandomizedResponse(epsilon=8.0, classes=classes, random_state=0))
    links = veil.LinkageAttack().run(release, veil.ExternalTable(frame))
    assert (links.rows == np.arange(300)).mean() > 0.9


def test_published_rules_in_numbers_tell_classes():
    frame = pd.DataFrame({"gain": [0] * 50 + [9_000] * 50, "member": ["no"] * 50 + ["yes"] * 50})
    release, _ = veil.publish(frame, veil.Plan([(["gain"], method())], roles={"member": "public"}))
    rule = {
        "if": [{"column": "member", "is": "yes"}],
        "then": {"column": "gain", "is": 9_000},
        "confidence": 1.0,
        "support": 0.5,
    }
    results = veil.PublishedResults(rules=[rule], records=100)
    guess = veil.PublishedResultsAttack().run(release, results)
    assert (guess.values[50:, 0] == 2).all()


def test_the_right_class_is_a_breach_wherever_a_near_value_is_one():
    x = gains(4_000, 1, zeros=0.6).astype(float)
    frame = pd.DataFrame({"gain": x})
    release, _ = veil.publish(frame, method(epsilon=2.0))
    exposures = Exposures(frame, [method(epsilon=2.0)], roles={}, grants=veil.Grants(), seed=0)
    target = PartTarget(0, release.only_part, exposures, 0.1)
    guess = target.stated(veil.ResponsePosteriorAttack(), veil.ResponsePosteriorAttack().run(release), release)
    by_class = guess.values[:, 0] == target.truth.values[:, 0]
    unit = float(veil.measures.standard_units(x[:, None])[0])
    near = np.abs(guess.values[:, 0] - x) <= 0.1 * unit
    reach = np.abs(np.subtract.outer(release.only_part.model.number_classes()[0].numbers, EDGES)).min(axis=1)
    apart = (reach > 0.1 * unit)[places(guess.values[:, 0])]
    assert near[apart].any()
    assert by_class[near & apart].all()
    assert by_class.sum() > near.sum()


@pytest.mark.parametrize(("epsilon", "holds"), [(1.0, True), (9.0, False)])
def test_audits_tell_small_from_large_epsilon(epsilon, holds):
    frame = pd.DataFrame({"gain": gains(1_500, 4, zeros=0.8), "loss": gains(1_500, 5, zeros=0.8)})
    chosen = veil.RandomizedResponse(epsilon=epsilon, classes={name: [1, 5_000] for name in frame})
    audit = veil.audit(frame, chosen, attacks=["response-posterior-attack", "joint-posterior-attack"], seed=3)
    assert audit.passed is holds


def test_releases_of_the_same_classes_are_combined_whatever_their_numbers():
    x = gains(20_000, 8, zeros=0.5)
    frames = [pd.DataFrame({"gain": np.where(x > 5_000, x + shift, x)}) for shift in (0, 2_000)]
    first, second = (veil.publish(frame, method(epsilon=1.5, random_state=s))[0] for s, frame in enumerate(frames))
    other, _ = veil.publish(frames[0], method(epsilon=1.5, classes={"gain": [700, 9_000]}, random_state=2))
    same = np.array([places(frame["gain"].to_numpy()) for frame in frames])
    known = [veil.PreviousReleases([first])]
    guess = veil.RepeatedReleaseAttack().run(second, *known).values[:, 0]
    alone = veil.ResponsePosteriorAttack().run(second).values[:, 0]
    assert first.only_part.model.categories != second.only_part.model.categories
    assert (guess == same[1]).mean() > (alone == same[1]).mean() + 0.03
    with pytest.raises(NotApplicableError, match="no earlier release holds reports of the same columns"):
        veil.RepeatedReleaseAttack().run(second, veil.PreviousReleases([other]))


# -- what is refused -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("frame", "settings", "message"),
    [
        (
            {"gain": [1, 1, 2]},
            {"classes": {"gain": [5, 1]}},
            "classes must be finite numbers that rise, for column 'gain'",
        ),
        ({"gain": [1, 1, 2]}, {"classes": {"gain": []}}, "classes must be finite numbers that rise"),
        ({"gain": [1, 1, 2]}, {"classes": [1, 2]}, "classes must map columns to the edges"),
        ({"gain": [1, 1, 2]}, {"classes": {"loss": [1]}}, "classes names columns that are not perturbed here: 'loss'"),
        ({"gain": ["a", "b"]}, {"classes": {"gain": [1]}}, r"column 'gain' \(.*string\) holds no numbers"),
        ({"gain": [True, False]}, {"classes": {"gain": [1]}}, r"column 'gain' \(bool\) holds no numbers"),
        ({"gain": [1.0, np.nan]}, {}, "refuses missing values unless missing='category': 'gain' \\(1\\)"),
        ({"gain": [1.0, np.inf]}, {}, "column 'gain' has 1 infinite values"),
        ({"gain": [1, 1, 2]}, {"classes": {"gain": list(range(600))}}, "at most 500 are reported"),
        ({"gain": [1, 1, 2]}, {"categories": {"gain": [0, 3]}}, "one number in each of its 4 classes; got 2"),
        ({"gain": [1, 1, 2]}, {"categories": {"gain": [0, 9e3, 8e3, 2e4]}}, "one number in each of its 4 classes"),
        ({"gain": [1, 1, 2]}, {"categories": {"gain": ["a", "b", "c", "d"]}}, "some are no numbers"),
    ],
)
def test_what_is_refused_is_said_in_one_line(frame, settings, message):
    with pytest.raises(InputError, match=message):
        veil.publish(pd.DataFrame(frame), method(**settings))


def test_classes_of_a_later_release_of_the_same_cells_are_those_of_the_first():
    frame = table(500)[["gain"]].assign(id=np.arange(500))
    options = {"roles": {"id": "drop"}, "consistent_on": "id"}
    _, key = veil.publish(frame, method(random_state=None), **options)
    assert key.ledger[0].parts[0].settings["classes"] == {"gain": [1.0, 5_000.0, 15_000.0]}


def test_a_fitted_method_and_its_errors_hold_no_private_number():
    frame = pd.DataFrame({"gain": [0] * 500 + [7_688_123] * 3 + [4_242] * 200})
    fitted = method().fit(frame)
    shown = json.dumps(fitted.disclose()) + str(vars(fitted)) + repr(fitted)
    assert "7688123" not in shown
    assert "4242" not in shown
