"""A32: households are found by all of their members, who are twins of others one by one."""

from itertools import permutations
from math import factorial

import numpy as np
import pandas as pd
import pytest

import veil
from _tables import within_standard_errors
from veil.attacks.linkage.members import add_groups, assigned, permanent
from veil.errors import NotApplicableError
from veil.measures import group_counts

ROLES = {"home": "group", "age": "quasi", "sex": "key", "region": "key"}


def people(n: int = 300, seed: int = 0) -> pd.DataFrame:
    """Households of one to five: ages that follow each other's, one region and one income for all members."""
    rng = np.random.default_rng(seed)
    home = np.repeat(np.arange(n), rng.choice([1, 2, 3, 5], n, p=[0.3, 0.3, 0.2, 0.2]))
    apart = rng.normal(0.0, 20.0, len(home))
    columns = {
        "home": home + 900,
        "age": rng.uniform(20.0, 80.0, n)[home] + apart,
        "sex": rng.choice(["f", "m"], len(home)),
    }
    return pd.DataFrame({**columns, "region": rng.choice(list("abcd"), n)[home], "income": rng.normal(size=n)[home]})


def released(frame: pd.DataFrame, scale: float) -> tuple[veil.Release, np.ndarray]:
    """A release in a secret order, and the row of everybody."""
    plan = veil.Plan(
        [("age", veil.AdditiveNoise(scale, random_state=1)), ("income", veil.AdditiveNoise(3.0, random_state=1))]
    )
    release, key = veil.publish(frame, plan, roles=ROLES, shuffle=True)
    return release, np.argsort(key.row_order(key.ledger[0]))


def known(frame: pd.DataFrame) -> veil.ExternalTable:
    return veil.ExternalTable(frame.drop(columns="income"))


def test_twins_are_told_apart_by_who_lives_with_them():
    """Ages of ten classes: nobody is unique, and hardly a household is not."""
    frame = people(200)
    frame["age"] = np.round(frame["age"] / 10.0) * 10.0
    release, own = released(frame, 1e-6)
    alone, together = (
        attack().run(release, known(frame)).rows for attack in (veil.LinkageAttack, veil.HouseholdLinkageAttack)
    )
    home = release.data["home"].to_numpy()
    unique = group_counts(frame[["age", "sex", "region"]], frame[["home"]])
    found = pd.Series(home[together] == home[own]).groupby(frame["home"]).all()
    assert found.sum() >= unique.unique > 150
    assert (together == own).mean() > 1.3 * (alone == own).mean()


def test_noise_that_hides_one_does_not_hide_a_household():
    frame = people()
    release, own = released(frame, 0.3)
    one, all_of_them = (
        veil.LinkageAttack().run(release, known(frame)),
        veil.HouseholdLinkageAttack().run(release, known(frame)),
    )
    assert (all_of_them.rows == own).mean() > 2.0 * (one.rows == own).mean()


def test_what_is_expected_is_what_is_found():
    """The mean of the posteriors is the share of right links, to four standard errors over households."""
    frame = people(600, seed=3)
    release, own = released(frame, 0.3)
    links = veil.HouseholdLinkageAttack().run(release, known(frame))
    error = pd.Series((links.rows == own) - links.probability).groupby(frame["home"]).sum().std() * np.sqrt(600)
    assert 0.2 < links.probability.mean() < 0.8
    assert within_standard_errors(links.probability.sum(), (links.rows == own).sum(), error)


def test_behind_noise_that_hides_everything_only_sizes_and_open_columns_tell():
    frame = people().assign(sex="f", region="a")
    release, own = released(frame, 1_000.0)
    links = veil.HouseholdLinkageAttack().run(release, known(frame))
    sizes = frame.groupby("home").size().value_counts()
    # Of the households of a size one is right, and of its members one in as many.
    expected = sum(size * (1.0 / size) for size in sizes.index) / len(frame)
    assert within_standard_errors((links.rows == own).mean(), expected, np.sqrt(expected / len(frame)))


def test_members_who_are_missing_or_elsewhere_and_households_of_others():
    frame = people(400, seed=5)
    release, own = released(frame[frame["home"] < 1_200], 0.05)
    there = (frame["home"] < 1_200).to_numpy()
    some = np.random.default_rng(0).random(len(frame)) < 0.9
    whose = np.full(len(frame), -1)
    whose[there] = own
    links = veil.HouseholdLinkageAttack().run(release, known(frame[some]))
    right = links.rows == whose[some]
    assert right[there[some]].mean() > 0.5
    linked = links.rows >= 0
    assert linked[~there[some]].mean() < 0.5 * linked[there[some]].mean()


def test_the_order_of_rows_and_people_and_the_names_of_homes_choose_nothing():
    frame = people(80)
    release, _ = released(frame, 0.1)
    links = veil.HouseholdLinkageAttack().run(release, known(frame))
    order = np.random.default_rng(1).permutation(len(frame))
    other = frame.iloc[order].assign(home=lambda t: "home " + (7 * t["home"] % 1_009).astype(str))
    again = veil.HouseholdLinkageAttack().run(release, known(other))
    assert np.array_equal(again.rows, links.rows[order])
    assert np.allclose(again.probability, links.probability[order], atol=1e-9)


@pytest.mark.parametrize(("s", "t"), [(1, 1), (2, 3), (4, 2), (3, 3), (6, 6)])
def test_households_are_weighed_by_the_mean_over_all_ways(s, t):
    scores = np.random.default_rng(s + 10 * t).normal(size=(s, t))
    few = np.exp(scores if s <= t else scores.T)
    ways = [np.prod([few[e, i] for e, i in enumerate(way)]) for way in permutations(range(max(s, t)), min(s, t))]
    assert permanent(np.exp(scores)) == pytest.approx(sum(ways))
    assert len(ways) == factorial(max(s, t)) // factorial(abs(s - t))
    out = np.zeros((1, 1))
    add_groups(scores, np.array([0, s]), np.array([0, t]), out)
    assert out[0, 0] == pytest.approx(np.log(np.mean(ways)))
    at, to, shares = assigned(scores)
    for e, i, share in zip(at, to, shares, strict=True):
        pairs = (e, i) if s <= t else (i, e)
        mine = [
            np.prod([few[a, b] for a, b in enumerate(way)])
            for way in permutations(range(max(s, t)), min(s, t))
            if way[pairs[0]] == pairs[1]
        ]
        assert share == pytest.approx(sum(mine) / sum(ways))


@pytest.mark.parametrize(("s", "t"), [(7, 7), (5, 8), (8, 6), (1, 9)])
def test_the_approximation_for_large_groups_is_near(s, t):
    """Of seven to nine members the ways can still be counted: Bethe leaves out about ½ ln 2πn of ln Λ."""
    for seed in range(5):
        scores = 1.5 * np.random.default_rng(seed).normal(size=(s, t))
        out = np.zeros((1, 1))
        add_groups(scores, np.array([0, s]), np.array([0, t]), out)
        exact = np.log(permanent(np.exp(scores))) - sum(np.log(max(s, t) - e) for e in range(min(s, t)))
        assert out[0, 0] - exact == pytest.approx(-0.5 * np.log(2.0 * np.pi * max(s, t)), abs=1.0)


def test_large_groups_are_weighed_without_all_ways():
    """Firms of fifty, whose ways nobody could go through."""
    rng = np.random.default_rng(0)
    firm = np.repeat(np.arange(20), 50)
    frame = pd.DataFrame({"home": firm, "age": rng.normal(size=20)[firm] + rng.normal(size=1_000)})
    release, key = veil.publish(frame, veil.AdditiveNoise(0.5, random_state=0), roles={"home": "group"}, shuffle=True)
    own = np.argsort(key.row_order(key.ledger[0]))
    links = veil.HouseholdLinkageAttack().run(release, veil.ExternalTable(frame))
    home = release.data["home"].to_numpy()
    assert (home[links.rows] == home[own]).mean() > 0.7  # means of firms, told to 0.1, of which 20 lie 0.2 apart


def test_without_groups_it_says_so():
    frame = people(40)
    release, _ = released(frame, 0.1)
    with pytest.raises(NotApplicableError, match="does not say who belongs together"):
        veil.HouseholdLinkageAttack().run(release, veil.ExternalTable(frame[["age", "sex"]]))
    single = frame.assign(home=np.arange(len(frame)))
    with pytest.raises(NotApplicableError, match="has two members"):
        veil.HouseholdLinkageAttack().run(release, known(single))
    plain, _ = veil.publish(frame[["age", "income"]], veil.AdditiveNoise(0.1))
    with pytest.raises(NotApplicableError, match="has no theory"):
        veil.HouseholdLinkageAttack().run(plain, veil.ExternalTable(frame[["age"]]))


def test_an_audit_grants_whole_households_and_plays_it(monkeypatch):
    frame = people(150)
    plan = veil.Plan([("age", veil.AdditiveNoise(0.5)), ("income", veil.AdditiveNoise(3.0))], shuffle=True)
    grants = veil.Grants.only(external=True)
    audit = veil.audit(
        frame, plan, roles=ROLES, seed=0, grants=grants, attacks=["linkage", "household-linkage"], repetitions=2
    )
    rates = {row.attack: float(row.record.rate) for row in audit.rows if row.links}
    assert rates["household-linkage-attack"] > 2.0 * rates["linkage-attack"]
    assert audit.worst.attack == "household-linkage-attack"
    from veil.attacks.knowledge import external

    monkeypatch.setattr(external, "FEWEST_PEOPLE", 100)
    monkeypatch.setattr(external, "MOST_PAIRS", 1)
    some = external._some(veil.ExternalTable(frame).table, ("home",), 100, np.random.default_rng(0))
    whole = frame["home"].value_counts()
    kept = frame["home"].iloc[some].value_counts()
    assert (kept == whole[kept.index]).sum() >= len(kept) - 1


def test_inspections_and_reports_count_households_that_are_alone():
    frame = people(150)
    frame["age"] = np.round(frame["age"])
    counts = group_counts(frame[["age", "sex", "region"]], frame[["home"]])
    brute = frame.groupby("home").apply(
        lambda home: tuple(sorted(zip(home["age"], home["sex"], home["region"], strict=True)))
    )
    assert counts.unique == (brute.value_counts() == 1).sum()
    roles = {**ROLES, "age": "key"}
    (facts,) = veil.inspect(frame, roles=roles).keys.groups
    assert (facts.column, facts.n_groups, facts.unique) == ("home", 150, counts.unique)
    audit = veil.audit(
        frame,
        veil.AdditiveNoise(3.0),
        roles=roles,
        seed=0,
        grants=veil.Grants.only(),
        attacks=["bayes-estimate"],
        repetitions=1,
    )
    assert f"Of 150 groups in 'home', {counts.unique} are alone" in " ".join(str(audit).split())


def test_households_without_their_ids_are_counted_by_blocks(tmp_path):
    """Members who are far apart in a file, and people without a household."""
    frame = people(150).sample(frac=1.0, random_state=0).astype({"home": "object"})
    frame.loc[frame["home"] < 905, "home"] = None
    frame["age"] = np.round(frame["age"])
    named = frame[frame["home"].notna()]
    frame.to_csv(tmp_path / "people.csv", index=False)
    (facts,) = veil.inspect(tmp_path / "people.csv", roles={**ROLES, "age": "key"}).keys.groups
    counts = group_counts(named[["age", "sex", "region"]], named[["home"]])
    assert (facts.n_groups, facts.unique) == (counts.n_groups, counts.unique)
