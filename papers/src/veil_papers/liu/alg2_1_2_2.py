"""Algorithm 2.1.2.2: the inner product of two parties' vectors by homomorphic encryption."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

import veil
from veil.scenarios import InnerProductAnswerer, InnerProductAsker, PaillierKey
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Curve, Curves

D, BITS = 100, 2048
LARGEST = 10**6
SHARES = 5
GUESSED = 8
"""Bits of y in the trial of guessing it from an answer that is not encrypted afresh."""


def run(context: Context) -> Result:
    """The protocol over d, its edge, and what the printed answer gives away."""
    generated, key = timed(lambda: PaillierKey.generate(BITS))
    proof, _ = timed(key.public.is_proven)  # remembered, so that no width bears it
    widths = context.pick((2, 5, 10, 30, D, 300, 1_000), (10, 30, D))
    rows: list[tuple[Any, ...]] = []
    for i, d in enumerate(widths):
        rows.append(measured(context, key, d))
        context.step("widths", i + 1, len(widths))
    at = next(row for row in rows if row[0] == D)
    shared, edge, same, fits = shares(context, key), edges(key), *guesses(key)
    exact = sum(row[1] for row in rows)
    claims = (
        Claim(
            "Alice gets x · y",
            "x · y mod μ",
            f"exact for {exact} of {len(rows)} widths, d = {D} among them",
            agrees=exact == len(rows),
            holds=exact == len(rows),
        ),
        Claim(
            "x · y beyond the range of the key",
            "x · y mod μ",
            "right up to μ/2 and refused above" if edge else "not refused",
            agrees=None,
            why="a product that wraps around is a wrong number, so ours is not taken modulo μ: both declare bounds, "
            "by which Bob makes sure",
            holds=edge,
        ),
        Claim(
            "both parties' outputs as shares of the inner product",
            "–",
            f"{shared} of {SHARES} pairs of shares add up",
            agrees=None,
            why="in the paper “the output for a party is either the inner product or nothing”",
            holds=shared == SHARES,
        ),
        Claim(
            "Alice learns nothing but x · y",
            "“private in a strong sense”",
            f"of {same} vectors y with the same product, the printed w fits {fits[0]}",
            f"{fits[1]} with a fresh encryption of 0, as in Goethals et al. 2004",
            agrees=False,
            why="L-af: step 3 leaves the fresh encryption out: w = Πcᵢ^yᵢ lets Alice try vectors",
            holds=bool(same == 70 and fits == (1, 0)),
        ),
        Claim(
            "cryptography costs much, perturbation little",
            "“strong privacy protection, but […] high communication and computational cost”",
            f"d = {D}: {at[2] + at[3] + at[4]:.2g} s and {at[5]:,} bytes, {at[5] / at[6]:.0f} times the numbers' own",
            f"a projection to d/2: {at[7]:,} bytes, with a standard error of {at[8]:.0%} of |x||y|",
            agrees=bool(at[5] > 10 * at[6] > 10 * at[7]),
            holds=bool(at[5] == key.public.n_bytes + (D + 1) * BITS // 4 and 0.1 < at[8] < 0.25),
        ),
    )
    protocol = ("d", "exact", "Alice encrypts, s", "Bob answers, s", "Alice decrypts, s", "bytes", "plain bytes")
    columns = (*protocol, "projected bytes", "projection: standard error / |x||y|", "projection: error / |x||y|")
    notes = (
        f"Times are processor seconds of this machine and run; a new key of {BITS} bits took {generated:.2g} s, and "
        f"Bob's look at its proof, once for each key, {proof:.2g} s. Bytes are those of key, proof and ciphertexts.",
    )
    return Result(claims, (Table("cost", columns, tuple(rows)),), figures(rows), notes)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Processor seconds, and what came out."""
    began = time.process_time()
    result = work()
    return time.process_time() - began, result


def measured(context: Context, key: PaillierKey, d: int) -> tuple[Any, ...]:
    """One run of the protocol, and the estimate from projected vectors beside it."""
    rng = context.rng(d)
    x, y = rng.integers(-LARGEST, LARGEST + 1, (2, d))
    asker, answerer = InnerProductAsker(x, key=key), InnerProductAnswerer(y)
    asking, message = timed(asker.send)
    answering, w = timed(lambda: answerer.answer(message))
    reading, received = timed(lambda: asker.receive(w))
    truth, k = sum(int(a) * int(b) for a, b in zip(x, y, strict=True)), d // 2
    both = np.array([x, y], dtype=np.float64)
    perturbation = veil.RandomProjection(k, scaling=None, dither=False, random_state=int(rng.integers(2**31)))
    released = veil.publish(both, perturbation)[0].to_numpy()
    size = float(np.linalg.norm(both[0]) * np.linalg.norm(both[1]))
    spread = float(veil.measures.inner_product_variance(both[0], both[1], k, "gaussian")) ** 0.5 / size
    off = abs(float(released[0] @ released[1]) - truth) / size
    bytes_sent = message.n_bytes + key.public.ciphertext_bytes
    return (d, received == truth, asking, answering, reading, bytes_sent, 8 * d, 8 * k, spread, off)


def shares(context: Context, key: PaillierKey) -> int:
    """How many of a few runs give shares that add up to the product."""
    x, y = context.rng().integers(-LARGEST, LARGEST + 1, (2, 5)).tolist()
    asker, right = InnerProductAsker(x, key=key), 0
    message, answerer = asker.send(), InnerProductAnswerer(y)
    for _ in range(SHARES):
        share = message.key.random_number()
        hers = asker.receive(answerer.answer(message, share=share))
        right += message.key.centred(hers + share) == sum(a * b for a, b in zip(x, y, strict=True)) != hers
    return right


def edges(key: PaillierKey) -> bool:
    """Whether the largest product that the key can hold is right, and the next bound refused."""
    most = key.public.n // 2 // 15
    asker = InnerProductAsker([most, -most, most], bound=most, key=key)
    answerer = InnerProductAnswerer([5, -5, 5], bound=5)
    right = asker.receive(answerer.answer(asker.send())) == most * 15
    try:
        answerer.answer(InnerProductAsker([0, 0, 0], bound=most + 1, key=key).send())
    except veil.errors.InputError:
        return right
    return False


def guesses(key: PaillierKey) -> tuple[int, tuple[int, int]]:
    """Vectors of bits with the same product, and how many of them fit the printed answer and the fresh one."""
    y = [1, 0] * (GUESSED // 2)
    message = InnerProductAsker([1] * GUESSED, key=key).send()
    candidates = [guess for guess in product((0, 1), repeat=GUESSED) if sum(guess) == sum(y)]
    tried = [message.key.combine(message.ciphertexts, guess) for guess in candidates]
    printed = message.key.combine(message.ciphertexts, y)
    return len(candidates), (tried.count(printed), tried.count(InnerProductAnswerer(y).answer(message).ciphertext))


def figures(rows: list[tuple[Any, ...]]) -> tuple[Curves, ...]:
    """Seconds and bytes over d."""
    d = [row[0] for row in rows]
    seconds = ("Alice encrypts x", "Bob answers", "Alice decrypts")
    sent = ("encrypted, exact", "plain numbers", "projected to d/2, estimate")
    return (
        Curves(
            f"Time of a private inner product ({BITS}-bit key, one core)",
            "number of attributes d",
            "processor seconds",
            tuple(Curve(label, d, [row[2 + j] for row in rows]) for j, label in enumerate(seconds)),
            log="xy",
        ),
        Curves(
            "What is sent for one inner product",
            "number of attributes d",
            "bytes",
            tuple(Curve(label, d, [row[5 + j] for row in rows]) for j, label in enumerate(sent)),
            log="xy",
        ),
    )


EXPERIMENT = Experiment(
    id="liu-alg2.1.2.2",
    title="Private inner product by homomorphic encryption",
    stated="Alice sends x encrypted number by number, Bob returns Πcᵢ^yᵢ mod μ², Alice decrypts x · y mod μ",
    chosen=f"Paillier's cryptosystem with {BITS} bits; whole numbers up to a million, d = {D} and others; a projection "
    "to d/2 dimensions beside it. Keys and encryptions come from the system's generator, without a seed",
    run=run,
    errata=("L-af",),
)
