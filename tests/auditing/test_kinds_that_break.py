"""Kinds of releases that audits once passed: the default audit, no attack and no knowledge chosen, breaks each of them.

Gaps, columns released unchanged, the pattern of gaps, households, and the words for the guess of one part. Each is
stopped at the first break, since all that is asked is whether it breaks.
"""

import numpy as np
import pandas as pd
import pytest

import veil


def stopped(frame, plan, **roles):
    return veil.audit(frame, plan, roles=roles, seed=0, first_break=True)


def with_gaps(n: int = 500) -> pd.DataFrame:
    """Six columns of one cause; a quarter of the cells are missing, and 82 % of the records have a gap."""
    rng = np.random.default_rng(14)
    x = rng.normal(size=(n, 1)) + 0.15 * rng.normal(size=(n, 6))
    x[rng.random(x.shape) < 0.25] = np.nan
    return pd.DataFrame(x, columns=list("abcdef"))


def households(n: int, members: int) -> pd.DataFrame:
    rng = np.random.default_rng(18)
    home, income = np.repeat(np.arange(n), members), rng.normal(size=n)
    return pd.DataFrame({"home": home, "income": income[home], "age": rng.normal(size=n * members)})


def test_gaps_do_not_keep_the_strong_attacks_away():
    """Noise of one deviation, of which the other five columns filter most."""
    audit = stopped(with_gaps(), veil.AdditiveNoise(1.0))
    assert not audit.passed
    assert audit.worst.value.advantage.low > 0.05
    refusals = [each.reason for each in audit.candidates[0].skipped if "not tried" not in each.reason]
    assert not [reason for reason in refusals if "missing" in reason or "complete" in reason or "gaps" in reason]


@pytest.mark.slow
def test_all_strong_attacks_are_run_on_a_table_with_gaps():
    frame = with_gaps()
    audit = veil.audit(frame, veil.AdditiveNoise(0.5), roles={"f": "quasi"}, seed=0, repetitions=1)
    run = {row.attack.split(" (")[0] for row in audit.rows}
    strong = [
        "spectral-filter",
        "pca",
        "svd",
        "bayes-estimate",
        "joint-posterior",
        "akica",
        "linkage",
        "univariate-bayes",
    ]
    assert {f"{name}-attack" for name in strong} <= run
    levels = {row.knowledge for row in audit.rows if row.attack.startswith("joint-posterior")}
    assert {"nothing", "10 % sample", "column ranges"} <= levels


def test_everything_that_is_released_unchanged_links():
    """Fourteen public categories make nearly everybody unique, whatever noise the secrets have."""
    rng = np.random.default_rng(15)
    frame = pd.DataFrame({f"p{j}": rng.choice(list("abcd")[: 2 + j % 3], 600) for j in range(14)})
    public = dict.fromkeys(frame.columns, "public")
    frame = frame.assign(amount=rng.lognormal(8, 1, 600), age=rng.normal(45, 12, 600))
    audit = stopped(frame, veil.AdditiveNoise(20.0), **public)
    assert audit.public.unique > 0.85
    assert not audit.passed
    assert audit.worst.attack == "linkage-attack"
    assert audit.worst.record.rate >= audit.public.unique


def test_the_pattern_of_gaps_tells():
    """Who has no income is a child: two constants, where the best single one finds a fifth of the ages."""
    rng, n = np.random.default_rng(16), 2_000
    child = rng.random(n) < 0.25
    age = np.where(child, rng.normal(9.0, 1.2, n), rng.normal(50.0, 12.0, n))
    income = np.where(child, np.nan, rng.lognormal(10.0, 0.6, n))
    plan = veil.AdditiveNoise(2.0)
    audit = stopped(pd.DataFrame({"age": age, "income": income}), plan)
    assert not audit.passed
    told = audit.worst.columns["age"].advantage
    # The same ages, and an income that everybody has, are told by no more than the noise leaves: a seventh of it.
    control = stopped(pd.DataFrame({"age": age, "income": rng.lognormal(10.0, 0.6, n)}), plan)
    others = [
        row.columns["age"].advantage for row in control.rows if row.level.kind == "nothing" and "age" in row.columns
    ]
    assert told.low > 0.05
    assert max(float(each) for each in others) < 0.5 * float(told)


def test_noise_drawn_for_each_member_is_averaged_over_a_household():
    """Five members with noise of 1.2 deviations are as one with 0.54, and one noise for all of them is not."""
    frame = households(800, 5)
    noise = (["income", "age"], veil.AdditiveNoise(1.2))
    apart = stopped(frame, veil.Plan([("home", veil.Pseudonymize()), noise]), home="quasi")
    assert not apart.passed
    assert apart.worst.attack == "joint-posterior-attack"
    assert apart.worst.columns["income"].advantage.low > 0.05
    together = veil.audit(
        frame,
        veil.AdditiveNoise(1.2),
        roles={"home": "group"},
        seed=0,
        attacks=["joint-posterior"],
        grants=veil.Grants.only(),
        repetitions=3,
    )
    assert float(together.rows[0].columns["income"].advantage) < 0.5 * float(apart.worst.columns["income"].advantage)


def test_equal_pseudonyms_count_the_household_and_link_it_by_all_of_its_members():
    rng = np.random.default_rng(19)
    home = np.repeat(np.arange(150), rng.integers(1, 6, 150))
    frame = pd.DataFrame({"home": home, "age": rng.normal(size=len(home)), "income": rng.normal(size=len(home))})
    plan = veil.Plan([("age", veil.AdditiveNoise(1.0)), ("income", veil.AdditiveNoise(20.0))], shuffle=True)
    audit = veil.audit(frame, plan, roles={"home": "group", "age": "key"}, seed=0, repetitions=1)
    assert not audit.passed
    assert audit.worst.attack == "household-linkage-attack"
    assert audit.groups[0].n_groups == 150
    assert sum(n for _, n in audit.groups[0].sizes) == 150
    assert any("'home' names 150 groups" in str(remark) for remark in audit.remarks)


def test_a_guess_of_one_part_is_not_said_to_bring_records_back():
    rng, n = np.random.default_rng(20), 600
    columns = {"gender": rng.choice(["f", "m"], n), "income": rng.lognormal(10, 1, n), "age": rng.normal(40, 12, n)}
    answers = ("gender", veil.RandomizedResponse(epsilon=3.0))
    audit = stopped(pd.DataFrame(columns), veil.Plan([answers, (["income", "age"], veil.AdditiveNoise(5.0))]))
    assert not audit.passed
    text = " ".join(str(audit).split())
    assert "of the values right in column 'gender'" in text
    assert "of the records right" not in text
    singled = next(risk for risk in audit.model().candidates[0].risks if risk.risk == "singling out")
    assert singled.part != ("gender",)
