"""How many people live together, as a clue for linkage (A22): pseudonyms keep households, and with them their sizes."""

import numpy as np
import pandas as pd
import pytest

import veil
from veil.attacks.linkage.sizes import size_clue


def people(n: int = 300, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    home = np.repeat(np.arange(n), rng.integers(1, 7, n))
    return pd.DataFrame({"home": home + 5_000, "age": rng.normal(size=len(home)), "income": rng.normal(size=len(home))})


def test_households_of_other_sizes_are_told_apart():
    frame = people()
    release, key = veil.publish(frame, veil.AdditiveNoise(1.0, random_state=0), roles={"home": "group"}, shuffle=True)
    own = np.argsort(key.row_order(key.ledger[0]))
    with_homes = veil.LinkageAttack().run(release, veil.ExternalTable(frame[["home", "age", "income"]]))
    without = veil.LinkageAttack().run(release, veil.ExternalTable(frame[["age", "income"]]))
    right, plain = (float((links.rows == own).mean()) for links in (with_homes, without))
    assert right > 2.5 * plain  # six sizes: three times as many, less what the noise tells already
    size = frame.groupby("home")["home"].transform("size").to_numpy()
    released = release.data.groupby("home")["home"].transform("size").to_numpy()
    assert (released[with_homes.rows] == size).mean() > 0.9


def test_other_homes_say_nothing():
    """The external table names other households: sizes agree by chance, and links are not worse than without."""
    frame = people()
    release, key = veil.publish(frame, veil.AdditiveNoise(0.2, random_state=0), roles={"home": "group"}, shuffle=True)
    own = np.argsort(key.row_order(key.ledger[0]))
    some = frame.assign(home=np.arange(len(frame)))  # everybody alone
    with_homes, without = (
        float((veil.LinkageAttack().run(release, veil.ExternalTable(table)).rows == own).mean())
        for table in (some, frame[["age", "income"]])
    )
    assert with_homes > 0.9 * without


def test_sizes_that_agree_are_worth_what_is_rare():
    """η = 5 %, and of N rows a share π has the size: ln(0.95/π + 0.05) where sizes agree, and ln 0.05 where not."""
    groups = np.repeat(np.arange(5), [1, 1, 2, 2, 4])
    scores = size_clue(groups, groups).score(slice(None))
    assert scores[0] == pytest.approx([np.log(0.95 / 0.2 + 0.05)] * 2 + [np.log(0.05)] * 8)
    assert size_clue(np.arange(4), np.arange(9)) is None
