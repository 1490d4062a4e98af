"""A29 on a table of people: what it hits of hidden columns, beside each learner alone, and what is about the person.

Known are the columns that anybody may know, hidden all others. With ``--data`` a table in a CSV file is used (for
example the census extract Adult), else one that is drawn here. Two things are measured:

* *hits*: the release is half of the table, practically as it is; people of the other half are guessed. A29, which
  chooses a learner for every column on released rows that were left out, may lie under the best of mode, neighbours
  and forest alone by no more than two standard errors of the difference. A hit is within a tenth of the released
  column's unit: nobody who has the release alone knows that of the people who are guessed.
* *individual advantage*: a release that is a fresh sample of the same population says nothing about the people who are
  asked about. Of the audits' 95 % intervals all but one in twenty should begin at 0, up to chance.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from claims import Claims
from scipy.stats import binom

import veil
from veil.measures import standard_units

ALONE = ("forest", "neighbours")
KNOWN = "age,education,marital-status,race,sex"
EXACTLY = 1e-4
"""Noise, in standard deviations, of a release that is practically the table."""


def drawn(n: int) -> pd.DataFrame:
    """Numbers and categories that hang together."""
    rng = np.random.default_rng(1)
    age, school = rng.integers(17, 90, n), rng.integers(1, 16, n)
    married = np.where(rng.random(n) < 1 / (1 + np.exp(-(age - 30) / 6)), "yes", "no")
    hours = np.where(rng.random(n) < 0.5, 40, rng.normal(38, 10, n).round())
    rich = rng.random(n) < 1 / (1 + np.exp(6 - 0.35 * school - 1.2 * (married == "yes") - 0.02 * hours))
    return pd.DataFrame(
        {
            "age": age,
            "education": school,
            "marital-status": married,
            "sex": rng.choice(["f", "m"], n),
            "race": rng.choice(list("abc"), n, p=[0.7, 0.2, 0.1]),
            "hours": hours,
            "gain": np.where(rng.random(n) < 0.9, 0, rng.lognormal(8, 1, n).round()),
            "rich": np.where(rich, "yes", "no"),
        }
    )


def coded(frame: pd.DataFrame) -> pd.DataFrame:
    """The same with categories as whole numbers, in the order of their names."""
    return frame.apply(lambda c: c if c.dtype.kind in "if" else c.fillna("?").astype("category").cat.codes).astype(
        float
    )


def hit(guess: np.ndarray, truth: np.ndarray, reach: float) -> np.ndarray:
    """Whether each value is within reach."""
    return 1.0 * (np.abs(guess - truth) <= reach * (1 + 1e-9))


def compare_learners(frame: pd.DataFrame, known: list[str], claims: Claims) -> None:
    """Hits on people who are not in the release, column by column."""
    table = coded(frame.sample(frac=1.0, random_state=0))
    inside, outside = table[: len(table) // 2], table[len(table) // 2 :]
    release = veil.publish(inside, veil.AdditiveNoise(EXACTLY, random_state=0))[0]
    register = veil.ExternalTable(outside[known])
    attack: Any = veil.AttributeInferenceAttack
    guesses = {name: attack(learner=name).run(release, register) for name in ALONE}
    best = attack().run(release, register)
    for name in table.columns.difference(known):
        truth, reach = outside[name].to_numpy(), 0.1 * float(standard_units(inside[[name]].to_numpy())[0])
        ours = hit(best.of_columns([name]).values[:, 0], truth, reach)
        alone = {each: hit(guess.of_columns([name]).values[:, 0], truth, reach) for each, guess in guesses.items()}
        places = np.sort(inside[name].to_numpy())
        last = np.searchsorted(places, places + 2 * reach, side="right")
        first = (last - np.arange(len(places))).argmax()
        alone["mode"] = hit(np.full(len(truth), (places[first] + places[last[first] - 1]) / 2), truth, reach)
        rival = max(alone, key=lambda each: alone[each].mean())
        short = alone[rival] - ours
        kept = short.mean() <= 2 * short.std() / np.sqrt(len(short))
        rates = ", ".join(f"{each} {rate.mean():.4f}" for each, rate in alone.items())
        claims.verdict(name, f"{name}: hits {ours.mean():.4f} by {best.details.learners[name]}; alone {rates}", kept)


def advantage(frame: pd.DataFrame, known: list[str], n: int, seed: int) -> Any:
    """The highest individual advantage of A29 in an audit of a release that is another sample of the population."""
    rows = np.random.default_rng(seed).permutation(len(frame))[: 2 * n]
    private, release = frame.iloc[rows[:n]], frame.iloc[rows[n:]]
    texts = [name for name in frame if frame[name].dtype.kind not in "if"]
    roles = {name: "quasi" if name in known else "sensitive" for name in {*known, *texts}}
    audit = veil.audit(private, release=release, match=None, roles=roles, seed=seed)
    scores = [row.value for row in audit.rows if row.attack.startswith("attribute-inference")]
    return max((score.advantage for score in scores), key=lambda gain: gain.low)


def main() -> int:
    """Measure and judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a table in a CSV file")
    parser.add_argument("--known", default=KNOWN, help=f"columns that anybody may know; {KNOWN} by default")
    parser.add_argument("--records", type=int, default=1_500, help="of a fresh sample")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--quick", action="store_true", help="three seeds, small tables, limits are only printed")
    options = parser.parse_args()
    claims = Claims(judge=not options.quick)
    frame = drawn(2_000 if options.quick else 12_000) if options.data is None else pd.read_csv(options.data)
    known = [name for name in options.known.split(",") if name in frame]
    compare_learners(frame, known, claims)
    seeds, n = (3, 400) if options.quick else (options.seeds, options.records)
    gains = list(map(partial(advantage, frame, known, n), range(seeds)))
    outside = sum(gain.low > 0 for gain in gains)
    mean = float(np.mean([float(gain) for gain in gains]))
    words = f"fresh samples of {n:,}: mean advantage {mean:.4f}, {seeds - outside} of {seeds} intervals hold 0"
    claims.verdict("fresh samples", words, outside <= binom.ppf(0.999, seeds, 0.05))
    return claims.status()


if __name__ == "__main__":
    raise SystemExit(main())
