"""Independent signals (A12, A16) and AK-ICA (A13): the numbers of Liu 2007, Figs 4.17-4.20 and 5.11-5.12, and of T.

``python benchmarks/bench_ica.py --data DIR`` separates the four sounds and four images of DIR; without it only the
synthetic AK-ICA runs are made. Printed are |correlations| of each source with its matched (k = 4) or best (k = 2)
signal over random matrices, and the centred relative Frobenius error of AK-ICA, medians over runs.
"""

from __future__ import annotations

import argparse
import struct
import time
import zlib
from pathlib import Path

import numpy as np
from scipy.io import wavfile
from scipy.stats import ortho_group

from veil.attacks.noise.additive import clipped_prior
from veil.attacks.separation.akica import recover_linear
from veil.attacks.separation.independence import separate, separate_orthogonal
from veil.attacks.separation.overcomplete import separate_sparse
from veil.measures.matching import match_signals

NAMES = {
    "sounds": ("ica_audio_*.wav", 50),
    "images": ("ica_image_*.png", 20),
}


def read_png(path: Path) -> np.ndarray:
    """An 8-bit greyscale image without interlacing, as floats."""
    raw, at, packed, width, height = path.read_bytes(), 8, b"", 0, 0
    while at < len(raw):
        (length,), kind = struct.unpack(">I", raw[at : at + 4]), raw[at + 4 : at + 8]
        chunk = raw[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour, _, _, interlace = struct.unpack(">IIBBBBB", chunk)
            if (depth, colour, interlace) != (8, 0, 0):
                raise ValueError(f"{path.name}: only 8-bit greyscale without interlacing is read")
        elif kind == b"IDAT":
            packed += chunk
        at += length + 12
    lines = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, width + 1)
    above, rows = [0] * (width + 1), []
    for line in lines.tolist():
        kind, row = line[0], [0]
        for j, value in enumerate(line[1:], start=1):
            left, up, corner = row[j - 1], above[j], above[j - 1]
            if kind == 4:
                near = left + up - corner
                guess = min((left, up, corner), key=lambda byte: abs(near - byte))
            else:
                guess = (0, left, up, (left + up) // 2)[kind]
            row.append((value + guess) % 256)
        rows.append(row[1:])
        above = row
    return np.array(rows, dtype=np.float64)


def read_signals(folder: Path, pattern: str) -> np.ndarray:
    """Every file that fits the pattern as one column."""
    paths = sorted(folder.glob(pattern))
    if not paths:
        raise FileNotFoundError(f"{folder}: no {pattern}")
    read = read_png if pattern.endswith(".png") else (lambda path: wavfile.read(path)[1].astype(np.float64))
    return np.column_stack([read(path).ravel() for path in paths])


def best_correlations(x: np.ndarray, signals: np.ndarray) -> np.ndarray:
    """Per source, its largest |correlation| with any signal."""
    d = x.shape[1]
    return np.abs(np.corrcoef(x.T, signals.T)[:d, d:]).max(axis=1)


def square(x: np.ndarray, runs: int) -> dict[str, np.ndarray]:
    """Matched |correlations| over random orthogonal matrices; the scale is that of the recovered deviations."""
    found: dict[str, list[np.ndarray]] = {"FastICA": [], "likelihood": [], "orthogonal": [], "scale error": []}
    for seed in range(runs):
        y = x @ ortho_group.rvs(x.shape[1], random_state=seed).T
        found["FastICA"].append(match_signals(x, separate(y, refine=False).signals).correlations)
        found["likelihood"].append(match_signals(x, separate(y).signals).correlations)
        signals = separate_orthogonal(y).signals
        match = match_signals(x, signals)
        found["orthogonal"].append(match.correlations)
        found["scale error"].append(np.abs(signals[:, match.order].std(axis=0) / x.std(axis=0) - 1.0))
    return {name: np.array(rows) for name, rows in found.items()}


def projected(x: np.ndarray, runs: int, k: int = 2) -> tuple[np.ndarray, int]:
    """Best |correlations| over random k × d matrices, and how often lines of sparse signals were found."""
    rows, lines = [], 0
    for seed in range(runs):
        matrix = np.random.default_rng(seed).standard_normal((k, x.shape[1])) / np.sqrt(k)
        y = x @ matrix.T
        sparse = separate_sparse(y, x.shape[1])
        lines += sparse is not None
        rows.append(best_correlations(x, (sparse or separate(y)).signals))
    return np.array(rows), lines


def five_sources(rng: np.random.Generator, n: int) -> np.ndarray:
    """Exponential, Laplace, uniform, log-normal and bimodal signals, not centred."""
    bimodal = np.where(rng.random(n) < 0.5, 1.0, 5.0) + rng.normal(0.0, 0.5, n)
    skewed = rng.exponential(1.0, n), rng.lognormal(0.0, 0.5, n)
    return np.column_stack([skewed[0], rng.laplace(3.0, 1.0, n), rng.uniform(0.0, 4.0, n), skewed[1], bimodal])


def linear_problem(seed: int, known: int, records: int = 50_000) -> tuple[np.ndarray, np.ndarray]:
    """Private records and a known sample: five sources mixed by a random matrix."""
    rng = np.random.default_rng(seed)
    table = five_sources(rng, records + known) @ rng.standard_normal((5, 5)).T
    return table[known:], table[:known]


def centred_error(x: np.ndarray, guess: np.ndarray) -> float:
    """Centred relative Frobenius error (F-RE): guessing the mean scores 1."""
    return float(np.linalg.norm(guess - x) / np.linalg.norm(x - x.mean(axis=0)))


def sample_size(runs: int, records: int) -> None:
    print(f"\nAK-ICA: centred F-RE against the number of known records, {records} records, median of {runs}")
    print("  known  density only  FastICA+means   best   expected")
    expected = {50: 0.9, 100: 0.27, 200: 0.24, 500: 0.12, 1_000: 0.08, 2_000: 0.05, 5_000: 0.04}
    for known, number in expected.items():
        errors = []
        for seed in range(runs):
            x, sample = linear_problem(seed, known, records)
            y = x @ np.random.default_rng(1_000 + seed).standard_normal((5, 5)).T
            kinds = ((False, False), (False, True), (True, True))
            errors.append([centred_error(x, recover_linear(y, sample, refine=r, means=m).values) for r, m in kinds])
        density, plain, best = np.median(errors, axis=0)
        print(f"  {known:5d}  {density:12.3f}  {plain:13.3f}  {best:5.3f}   {number:8.2f}", flush=True)


def matrices(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """R = I, orthogonal, R1 (|det| .444, norm 3.167) and R2 (norm 281.8) of the tutorial."""
    left, right = (ortho_group.rvs(5, random_state=rng) for _ in range(2))
    # Singular values 1, .., 1, a, b of the given norm and determinant.
    a, b = np.roots([1.0, -np.sqrt(3.167**2 - 3.0 + 2 * 0.444), 0.444])
    second = rng.standard_normal((5, 5))
    return {
        "I": np.eye(5),
        "orthogonal": left,
        "R1": left @ np.diag([1.0, 1.0, 1.0, a, b]) @ right,
        "R2": second * (281.8 / np.linalg.norm(second)),
    }


def bayes(y: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    """The Bayes estimate (A6) of records released with independent noise of known deviations."""
    if not deviations.any():
        return y
    noise, mean = np.diag(deviations**2), y.mean(axis=0)
    prior = clipped_prior(np.cov(y.T), noise)
    return mean + (y - mean) @ np.linalg.solve(prior + noise, prior)


def noise_level(runs: int, records: int) -> None:
    levels = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4)
    print(f"\nAK-ICA: centred F-RE against noise in deviations of each released column, 1,000 known, median of {runs}")
    print("  R           " + "".join(f"{level:8.2f}" for level in levels) + "   (FastICA+means / best)")
    for name in ("I", "orthogonal", "R1", "R2"):
        cells = []
        for level in levels:
            errors = []
            for seed in range(runs):
                x, sample = linear_problem(seed, 1_000, records)
                rng = np.random.default_rng(2_000 + seed)
                clean = x @ matrices(rng)[name].T
                y = clean + rng.standard_normal(clean.shape) * level * clean.std(axis=0)
                row = [centred_error(x, recover_linear(y, sample, refine=r).values) for r in (False, True)]
                # With R = I and the noise's law known, the Bayes estimate (A6) needs no sample.
                errors.append([*row, centred_error(x, bayes(y, level * clean.std(axis=0))) if name == "I" else np.nan])
            cells.append(np.median(errors, axis=0))
        for kind, row in zip(("plain", "best", "Bayes"), np.array(cells).T, strict=True):
            if np.isnan(row).any():
                continue
            print(f"  {name:10s} {kind:5s}" + "".join(f"{cell:7.3f} " for cell in row), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with ica_audio_*.wav and ica_image_*.png")
    parser.add_argument(
        "--matrices", type=int, help="random matrices per number of signals; 50 for sounds, 20 for images"
    )
    parser.add_argument("--runs", type=int, default=10, help="runs of AK-ICA per number; 0 for none")
    parser.add_argument("--records", type=int, default=20_000, help="records of AK-ICA's releases")
    parser.add_argument("--quick", action="store_true", help="one run of AK-ICA per number, on 3,000 records")
    options = parser.parse_args()
    if options.quick:
        options.runs, options.records, options.matrices = 1, 3_000, 2
    for name, (pattern, runs) in NAMES.items() if options.data else ():
        x, runs = read_signals(options.data, pattern), options.matrices or runs
        began = time.perf_counter()
        print(f"\n{name}: {x.shape[0]} records, k = 4, {runs} orthogonal matrices")
        for method, rows in square(x, runs).items():
            low, middle, high = rows.min(axis=0), np.median(rows, axis=0), rows.max(axis=0)
            shown = "  ".join(f"{m:.4f} ({a:.4f}-{b:.4f})" for a, m, b in zip(low, middle, high, strict=True))
            print(f"  {method:12s} {shown}")
        for label, table in (("", x), (", equal variances", x / x.std(axis=0))):
            rows, lines = projected(table, runs)
            some = float((rows.max(axis=1) >= 0.9).mean())
            quarters = "  ".join(
                f"{m:.2f} ({a:.2f}-{b:.2f})" for a, m, b in np.quantile(rows, [0.1, 0.5, 0.9], axis=0).T
            )
            print(f"  k = 2{label}: median (10-90 %) {quarters}; some source >= .9 in {some:.0%}; lines in {lines}")
        print(f"  {time.perf_counter() - began:.0f} s")
    if options.runs:
        sample_size(options.runs, options.records)
        noise_level(options.runs, options.records)


if __name__ == "__main__":
    main()
