"""Category keys of releases from elsewhere link people to rows, whatever was done to them.

The model is a credit file: categories that an outsider may know, and numbers with noise. What links are held against is
what anybody would try: exact agreement on as many keys as possible, and of these rows the nearest numbers.
"""

import numpy as np
import pandas as pd
import pytest

import veil

N = 700
SIZES = {"status": 4, "purpose": 8, "employment": 5, "sex": 2, "property": 4, "housing": 3}
KEYS, NUMBERS = list(SIZES), ["age", "duration", "amount"]
RECODED = {"purpose": lambda code: "goods" if code < "purpose4" else "other", "employment": lambda code: code[:4] + "*"}


def credit(seed: int = 0) -> pd.DataFrame:
    """Four kinds of people."""
    rng = np.random.default_rng(seed)
    kind, columns = rng.integers(0, 4, N), {}
    for name, k in SIZES.items():
        shares = rng.dirichlet(np.full(k, 1.2), size=4)
        codes = np.minimum((rng.random(N)[:, None] > np.cumsum(shares[kind], axis=1)).sum(axis=1), k - 1)
        columns[name] = np.array([f"{name}{i}" for i in range(k)])[codes]
    duration = 4.0 + rng.gamma(3.0, 6.0, N)
    amount = np.exp(rng.normal(7.5 + 0.02 * duration, 0.7))
    return pd.DataFrame({"age": 18.0 + rng.gamma(2.5, 7.0, N), "duration": duration, "amount": amount, **columns})


def noisy(frame: pd.DataFrame, scale: float = 0.7) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return frame.assign(**{name: frame[name] + scale * frame[name].std() * rng.normal(size=N) for name in NUMBERS})


def swapped(frame):
    rng, release = np.random.default_rng(2), noisy(frame)
    for name in KEYS:
        chosen = rng.random(N) < 0.1
        release.loc[chosen, name] = rng.permutation(frame[name].to_numpy())[chosen]
    return release


def suppressed(frame):
    rng, release = np.random.default_rng(3), noisy(frame)
    for name in KEYS:
        release.loc[rng.random(N) < 0.15, name] = "*"
    return release


def recoded(frame):
    return noisy(frame).assign(**{name: frame[name].map(change) for name, change in RECODED.items()})


def anybodys_links(frame, release, recode=False):
    """The share of right links of the obvious attack, which may be told how keys were recoded."""
    if recode:
        frame = frame.assign(**{name: frame[name].map(change) for name, change in RECODED.items()})
    y = release[NUMBERS].to_numpy()
    spread, right = y.std(axis=0), 0
    keys, released = frame[KEYS].to_numpy(dtype=object), release[KEYS].to_numpy(dtype=object)
    for i, x in enumerate(frame[NUMBERS].to_numpy()):
        agreeing = (keys[i] == released).sum(axis=1)
        apart = (((x - y) / spread) ** 2).sum(axis=1)
        right += int(np.where(agreeing == agreeing.max(), apart, np.inf).argmin() == i)
    return right / N


def links(frame, release, **how):
    grants = veil.Grants.only(external=True)
    audit = veil.audit(frame, release=release, seed=0, grants=grants, attacks=["linkage"], repetitions=1, **how)
    return audit, next(float(row.record.rate) for row in audit.rows if row.links)


@pytest.mark.parametrize("role", ["key", "quasi"])
@pytest.mark.parametrize("change", [noisy, swapped, suppressed, recoded], ids=lambda change: change.__name__)
def test_links_are_at_least_as_good_as_exact_keys_and_nearest_numbers(change, role):
    frame = credit()
    release = change(frame)
    _, rate = links(frame, release, roles=dict.fromkeys(KEYS, role) | dict.fromkeys(NUMBERS, "quasi"))
    least = anybodys_links(frame, release, recode=change is recoded)
    assert rate >= least
    assert rate > least + 0.05 or change is noisy


def test_a_larger_share_is_found_than_anybody_finds_on_average():
    """Over four tables, with the difference's standard error: more by far."""
    gains = []
    for seed in range(4):
        frame = credit(seed)
        release = noisy(frame, 1.0)
        _, rate = links(frame, release, roles=dict.fromkeys([*KEYS, *NUMBERS], "quasi"))
        gains.append(rate - anybodys_links(frame, release))
    assert np.mean(gains) > 4 * np.std(gains, ddof=1) / 2


def test_without_roles_categories_are_keys():
    """They link, and are no secrets; so do numbers that are said to be keys, with noise or as they are."""
    frame = credit()
    cells = frame.groupby(KEYS).ngroups
    audit, rate = links(frame, noisy(frame))
    assert set(audit.columns) == set(NUMBERS)
    assert rate == pytest.approx(cells / N, abs=4 * np.sqrt(cells) / N)
    _, more = links(frame, noisy(frame), roles={"age": "key"})
    assert more > 1.1 * rate
    _, changed = links(frame, recoded(frame))
    assert 1.0 / N < changed < rate


def test_names_of_records_are_no_keys_and_described_methods_leave_open_what_they_do_not_name():
    frame = credit().assign(name=[f"person {i}" for i in range(N)])
    audit, _ = links(frame, noisy(frame))
    assert "name" not in audit.public.columns
    assert set(audit.public.columns) == set(KEYS)
    described, rate = links(frame, noisy(frame), perturbations=veil.AdditiveNoise(0.7), roles={"age": "quasi"})
    assert set(described.public.columns) == set(KEYS)
    assert rate > 0.5


def test_a_key_that_was_changed_is_not_called_unchanged():
    frame = credit()
    audit, _ = links(frame, suppressed(frame).assign(sex=frame["sex"]))
    assert audit.public.columns == ("sex",)
    gaps = noisy(frame).assign(sex=frame["sex"].where(np.arange(N) % 3 > 0))
    assert "sex" in links(frame, gaps)[0].public.columns


def test_the_default_audit_of_a_credit_file_fails_on_its_keys():
    frame = credit()
    audit = veil.audit(frame, release=noisy(frame, 20.0), seed=0, first_break=True)
    assert not audit.passed
    assert audit.worst.attack == "linkage-attack"
    assert audit.matching == "known"


def test_groups_of_another_tool_keep_members_together():
    """Their numbers were drawn anew; households are found by all of their members nevertheless."""
    frame = credit().assign(home=np.repeat(np.arange(N // 2), 2))
    anew = np.random.default_rng(4).permutation(N // 2)[frame["home"]]
    roles = dict.fromkeys(KEYS[3:], "key") | dict.fromkeys(KEYS[:3], "drop") | {"age": "key", "home": "group"}
    rates = {}
    for names in (anew, np.array([f"h{i}" for i in anew])):
        audit = veil.audit(
            frame,
            release=noisy(frame).assign(home=names),
            roles=roles,
            seed=0,
            grants=veil.Grants.only(external=True),
            attacks=["linkage", "household-linkage"],
            repetitions=1,
        )
        rates = {row.attack: float(row.record.rate) for row in audit.rows if row.links}
        assert rates["household-linkage-attack"] > 1.5 * rates["linkage-attack"]
    assert (
        veil.audit(
            frame,
            release=noisy(frame).assign(home=anew),
            roles=roles,
            seed=0,
            match=None,
            repetitions=1,
            first_break=True,
        ).matching
        == "inferred"
    )
