"""What `advise` recommends for tables with default goals, what that keeps, and whether fresh audits agree.

    python benchmarks/bench_advice.py --data FOLDER --audits 20

Without ``--data`` one table is drawn: 15,000 records of 20 mixed columns (``--quick``: fewer). Texts, and whole
numbers that are all different, are sensitive. For every table: the time of advice, what it says, the utilities that an
analyst gets, and the verdicts of audits with other seeds. At least 19 of 20 must agree. An answer without a
recommendation must name what breaks the weakest setting that keeps the usual utilities.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd
from claims import Claims
from scipy.stats import binom

import veil

TABLES = ("california_housing", "wine_quality", "casc_census", "adult_train")
DISAGREE = 0.05


def drawn(n: int) -> pd.DataFrame:
    """Ten correlated numbers of several shapes, and ten categories that go with them."""
    rng = np.random.default_rng(20)
    factors = rng.normal(size=(n, 3))
    x = factors @ rng.normal(size=(3, 10)) + 0.7 * rng.normal(size=(n, 10))
    numbers = {f"x{j}": x[:, j] for j in range(6)}
    numbers |= {"whole": np.round(40 + 8 * x[:, 6]), "skewed": np.exp(0.5 * x[:, 7])}
    numbers |= {"heaped": np.where(x[:, 8] < 0, 0.0, np.exp(0.5 * x[:, 8]))}
    numbers |= {"count": rng.poisson(np.exp(0.3 * x[:, 9]))}
    codes = factors @ rng.normal(size=(3, 10)) + rng.normal(size=(n, 10))
    texts = {
        f"c{j}": np.array(list("abcdef")[: 2 + j % 5])[np.clip(np.round(codes[:, j] + 1), 0, 1 + j % 5).astype(int)]
        for j in range(10)
    }
    return pd.DataFrame(numbers | texts)


def advised(name: str, frame: pd.DataFrame, audits: int, seed: int, claims: Claims) -> None:
    """Print advice for a table, and how many fresh audits agree."""
    texts = [column for column in frame if frame[column].dtype.kind not in "if"]
    unique = [column for column in frame if frame[column].dtype.kind == "i" and frame[column].is_unique]
    roles = dict.fromkeys([*texts, *unique], "sensitive")
    began = time.perf_counter()
    advice = veil.advise(frame, roles=roles, seed=seed)
    print(f"{name}, {len(frame):,} × {frame.shape[1]}: {advice.state.value} in {time.perf_counter() - began:.0f} s")
    print(f"  {advice.words}")
    if advice.recommendation is None:
        claims.verdict(name, f"{name}: {advice.nearest}", "break" in advice.words)
        return
    kept = advice.audit.candidates[0].utility
    print("  " + ", ".join(f"{key} {value:.3f}" for key, value in kept.items() if value is not None), flush=True)
    agree = 0
    for other in range(1, audits + 1):
        audit = veil.audit(frame, advice.recommendation, roles=roles, seed=1_000 * seed + other)
        agree += audit.passed
        print(f"  audit {other}: {'holds' if audit.passed else 'fails'}, {audit.worst.name}", flush=True)
    enough = agree >= audits - binom.ppf(0.95, audits, DISAGREE) if audits else True
    claims.verdict(name, f"{name}: {agree} of {audits} fresh audits agree", enough)


def main() -> int:
    """Advise and audit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder with tables as NAME.csv.gz")
    parser.add_argument("--only", default="", help="tables with this in their names")
    parser.add_argument("--audits", type=int, default=3)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--quick", action="store_true", help="a small table, and limits are only printed")
    options = parser.parse_args()
    claims = Claims(judge=not options.quick)
    if options.data is None:
        advised("drawn", drawn(1_000 if options.quick else 15_000), options.audits, options.seed, claims)
        return claims.status()
    for name in TABLES:
        if options.only in name:
            frame = pd.read_csv(options.data / f"{name}.csv.gz")
            texts = [column for column in frame if frame[column].dtype.kind not in "if"]
            frame[texts] = frame[texts].fillna("?").astype(str)
            advised(name, frame, options.audits, options.seed, claims)
    return claims.status()


if __name__ == "__main__":
    raise SystemExit(main())
