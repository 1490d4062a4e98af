"""A population survey as statistical offices have it: persons in households, with weights, gaps and heavy incomes.

Every record is drawn; nobody is in it. What makes such tables hard to release is there on purpose: columns that all
members of a household share, codes that look like numbers, incomes of which most are zero and a few are enormous, sums
(income = wage + capital income + benefits), answers in whole and in round numbers, gaps that depend on other columns,
and weights of a stratified sample.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from veil.arguments import whole

if TYPE_CHECKING:
    import pandas as pd

MEMBERS = 2.5
"""Persons per household."""
REGIONS = tuple(f"R{number:02d}" for number in range(1, 13))
RATES = (0.5, 1.0, 2.0)
"""How often households of three kinds of regions are drawn, as against the mean: weights are their inverse."""
REPRESENTED = 800.0
"""Persons of the population that a drawn one stands for, on average over regions drawn at the mean rate."""
EDUCATION = ("none", "primary", "lower secondary", "upper secondary", "bachelor", "master", "doctorate")
SECTORS = (1100, 2300, 4110, 5120, 5230, 6220, 7110, 7310, 8500, 9210)
"""Occupations by four digits, from low to high pay in an order of their own."""
PAY = (-0.3, 0.5, 0.0, -0.2, -0.25, 0.1, 0.15, 0.3, 0.2, -0.4)
TAIL, BODY = 1.8, 0.45
"""The exponent of the Pareto tail of incomes and the spread of their logarithm below it."""

Codes = npt.NDArray[np.int64]


def survey(n: int = 30_000, *, seed: int = 0) -> pd.DataFrame:
    """Persons in households: 25 columns of all kinds.

    Parameters
    ----------
    n
        Persons, at least 100; households have 2.5 on average.
    seed
        The same seed draws the same table.

    Examples
    --------
    >>> from veil import datasets
    >>> people = datasets.survey(1_000, seed=1)
    >>> people.shape
    (1000, 25)
    >>> bool((people["income"] == people["wage"] + people["capital_income"] + people["benefits"]).all())
    True
    """
    import pandas as pd

    n = whole(n, "n", least=100)
    rng = np.random.default_rng([whole(seed, "seed", least=0), 18])
    house = _households(n, rng)
    home = np.repeat(np.arange(len(house["size"])), house["size"])[:n]
    person = _persons(home, house, rng)
    columns: dict[str, Any] = {"person": 100_000 + rng.permutation(n), "household": 7_000 + home}
    columns |= {name: house[name][home] for name in ("region", "postcode", "urban", "dwelling", "rent")}
    columns |= person
    columns["weight"] = house["weight"][home]
    frame = pd.DataFrame(columns)
    for name, rate in _gaps(frame).items():
        frame.loc[rng.random(n) < rate, name] = None if frame[name].dtype == object else np.nan
    return frame


def _households(n: int, rng: np.random.Generator) -> dict[str, Any]:
    """What all members share."""
    m = int(n / MEMBERS * 1.1) + 10
    size = rng.choice([1, 2, 3, 4, 5, 6], m, p=[0.3, 0.3, 0.16, 0.15, 0.06, 0.03])
    region = rng.integers(0, len(REGIONS), m)
    urban = rng.random(m) < np.linspace(0.25, 0.9, len(REGIONS))[region]
    owner = rng.random(m) < np.where(urban, 0.35, 0.7)
    rent = np.round(np.exp(rng.normal(6.3, 0.35, m)) * np.where(urban, 1.3, 1.0) * size**0.3, -1)
    rates = np.array(RATES)[region % len(RATES)]
    return {
        "size": size,
        "region": np.array(REGIONS)[region],
        "postcode": 1000 + 100 * region + rng.integers(0, 40, m),
        "urban": np.where(urban, "urban", "rural"),
        "dwelling": np.where(owner, "owned", np.where(rng.random(m) < 0.8, "rented", "free")),
        "rent": np.where(owner, 0.0, rent),
        "weight": np.round(REPRESENTED / rates * rng.uniform(0.9, 1.1, m), 1),
        "wealth": rng.normal(size=m) + 0.6 * owner,
    }


def _persons(home: Codes, house: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Who they are, what they do and earn, and how they are."""
    n = len(home)
    place = np.arange(n) - np.searchsorted(home, home)  # 0, 1: adults; then children
    head = rng.integers(20, 90, home[-1] + 1)[home]
    own = np.where(place == 0, head, np.where(place == 1, head + rng.normal(0, 4, n), head - rng.integers(22, 40, n)))
    age = np.clip(np.round(own), 0, 100).astype(np.int64)
    adult, alone = age >= 16, house["size"][home] == 1
    civil = np.where(~adult | (age < 22), "single", np.where(alone, "divorced", "married"))
    civil = np.where((civil == "divorced") & (age > 68), "widowed", civil)
    degree = np.clip(np.round(3.3 + 1.2 * rng.normal(size=n) - 0.02 * np.maximum(age - 40, 0)), 0, 6).astype(np.int64)
    degree = np.where(age < 12, 0, np.where(age < 18, np.minimum(degree, 2), degree))
    job = np.clip(rng.normal(1.2 * degree, 2.5, n).astype(np.int64), 0, len(SECTORS) - 1)
    at_work = adult & (age < 67) & (rng.random(n) < np.where(age < 22, 0.4, 0.78))
    status = np.where(~adult, "child", np.where(at_work, "employed", np.where(age >= 67, "retired", "other")))
    hours = np.where(at_work, np.clip(np.round(rng.normal(37, 9, n)), 4, 80), 0.0)
    luck = BODY * rng.normal(size=n) + np.where(rng.random(n) < 0.02, rng.exponential(1.0 / TAIL, n) + 0.8, 0.0)
    pay = 7.3 + 0.16 * degree + np.array(PAY)[job] + 0.012 * np.minimum(age - 20, 30) + luck
    wage = np.where(at_work, np.round(np.exp(pay) * hours / 38 * 12, -1), 0.0)
    rich = house["wealth"][home] + 0.5 * luck + 0.02 * (age - 45)
    saves = adult & (rng.random(n) < 1 / (1 + np.exp(1.6 - rich)))
    capital = np.where(saves, np.round(np.exp(rng.normal(5.5 + rich, 1.4, n))), 0.0)
    entitled = (status == "retired") | ((status == "other") & (rng.random(n) < 0.6))
    benefits = np.where(entitled, np.round(np.exp(rng.normal(9.5 + 0.06 * degree, 0.3, n)), -1), 0.0)
    health = np.clip(np.round(88 - 0.35 * age + 1.5 * degree + rng.normal(0, 11, n)), 0, 100)
    visits = rng.poisson(np.exp(0.4 + 0.02 * (80 - health)))
    satisfied = np.clip(np.round(4.5 + 0.03 * health + 0.15 * np.log1p(wage) / 2 + rng.normal(0, 1.5, n)), 0, 10)
    travel = np.where(at_work, 5.0 * np.round(np.exp(rng.normal(3.0, 0.7, n)) / 5), np.nan)
    return {
        "age": age,
        "sex": np.where(rng.random(n) < 0.51, "f", "m"),
        "civil_status": civil,
        "education": np.array(EDUCATION)[degree].astype(object),
        "born_abroad": rng.random(n) < 0.14,
        "status": status,
        "occupation": np.where(at_work, np.array(SECTORS)[job], 0),
        "hours": hours,
        "wage": wage,
        "capital_income": capital,
        "benefits": benefits,
        "income": wage + capital + benefits,
        "wealth": np.round(np.exp(9.0 + 1.3 * rich + rng.normal(0, 0.6, n)), -2),
        "health": health,
        "doctor_visits": visits,
        "satisfaction": satisfied,
        "commute": travel,
    }


def _gaps(frame: pd.DataFrame) -> dict[str, Any]:
    """How probable a gap is in each record: answers are refused by chance, and by the old and the rich more often."""
    return {
        "education": 0.03,
        "wealth": np.where(frame["income"] > frame["income"].quantile(0.8), 0.3, 0.12),
        "health": np.where(frame["age"] > 70, 0.2, 0.05),
        "satisfaction": np.where(frame["age"] < 12, 1.0, 0.05),
    }
