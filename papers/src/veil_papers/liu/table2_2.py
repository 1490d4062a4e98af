"""Table 2.2: shares of an AND by 1-of-4 oblivious transfer."""

from __future__ import annotations

import time
from itertools import product
from typing import Any

import numpy as np
from scipy.stats import binom, binomtest

from veil.scenarios import AndShareReceiver, AndShareSender
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Curve, Curves

INPUTS = tuple(product((0, 1), repeat=4))
CASES = 32
LEVEL = 1e-6
"""The shares have no seed: a test of their law fails once in a million runs."""


def run(context: Context) -> Result:
    """Transfers for all sixteen inputs until both values of party 1's share were seen, and many draws of that share."""
    repeats, draws = context.pick(60, 2), context.pick(100_000, 5_000)
    shared: list[tuple[int, ...]] = []
    began = time.process_time()
    for i, inputs in enumerate(INPUTS):
        shares: list[tuple[int, int]] = []
        while len(shares) < repeats or len({c1 for c1, _ in shares}) < 2:
            shares.append(transfer(*inputs))
        shared += [(*inputs, *pair) for pair in shares]
        context.step("inputs", i + 1, len(INPUTS))
    seconds = (time.process_time() - began) / len(shared)
    ones = {(a, b): sum(AndShareSender(a, b).share for _ in range(draws)) for a, b in product((0, 1), repeat=2)}
    least = min(binomtest(count, draws).pvalue for count in ones.values())
    rows = [truth_row(case, shared) for case in sorted(set(shared))]
    columns = ("a1", "b1", "a2", "b2", "1-of-4 input", "c1", "c2", "c1 + c2", "(a1 + a2)(b1 + b2)", "transfers")
    right = all(row[7] == row[8] for row in rows)
    printed = all(c2 == c1 ^ ((a1 ^ a2) & (b1 ^ b2)) for a1, b1, a2, b2, c1, c2 in shared)
    claims = (
        Claim(
            "c₁ + c₂ = (a₁ + a₂)(b₁ + b₂)",
            "the same in all columns of the truth table",
            f"right in {sum(row[7] == row[8] for row in rows)} of {CASES} cases, {len(shared):,} transfers",
            agrees=right,
            holds=right and len(rows) == CASES,
        ),
        Claim(
            "party 2 receives number 1 + 2a₂ + b₂ of four",
            "c₁ + a₁b₁, c₁ + a₁(b₁ + 1), c₁ + (a₁ + 1)b₁, c₁ + (a₁ + 1)(b₁ + 1)",
            "the same" if printed else "others",
            agrees=printed,
            holds=printed,
        ),
        Claim(
            "c₁ is random",
            "“randomly selects c₁”",
            f"ones: {', '.join(f'{count / draws:.3f}' for count in ones.values())} of {draws:,} draws for each "
            f"(a₁, b₁); least p-value {least:.2g}",
            agrees=bool(least > LEVEL / len(ones)),
            why="hence c₂ is uniform, too, and neither share says anything about the other party's bits",
            holds=bool(least > LEVEL / len(ones)),
        ),
    )
    notes = (f"One AND took {seconds * 1000:.0f} ms of processor time on this machine, both parties together.",)
    return Result(claims, (Table("cases", columns, tuple(rows)),), (figure(shared),), notes)


def transfer(a1: int, b1: int, a2: int, b2: int) -> tuple[int, int]:
    """One run of the protocol: three messages between two parties."""
    first, second = AndShareSender(a1, b1), AndShareReceiver(a2, b2)
    request = second.request(first.offer())
    return first.share, second.receive(first.answer(request))


def truth_row(case: tuple[int, ...], shared: list[tuple[int, ...]]) -> tuple[Any, ...]:
    """A line of the table."""
    a1, b1, a2, b2, c1, c2 = case
    return (a1, b1, a2, b2, 1 + 2 * a2 + b2, c1, c2, c1 ^ c2, (a1 ^ a2) & (b1 ^ b2), shared.count(case))


def figure(shared: list[tuple[int, ...]]) -> Curves:
    """How often each share and their sum are 1, by input."""
    bits = np.array(shared)
    groups = [bits[(bits[:, :4] == inputs).all(axis=1)] for inputs in INPUTS]
    n = np.array([len(group) for group in groups])
    first, second = (np.array([group[:, at].mean() for group in groups]) for at in (4, 5))
    both = np.array([(group[:, 4] ^ group[:, 5]).mean() for group in groups])
    at = np.array([8.0 * a1 + 4 * b1 + 2 * a2 + b2 for a1, b1, a2, b2 in INPUTS])
    low, high = (binom.ppf(q, n, 0.5) / n for q in (0.05, 0.95))
    return Curves(
        f"Either share is a coin, their sum is the AND ({n.min()} transfers or more for each input)",
        "input a₁b₁a₂b₂, read as a binary number",
        "share of ones",
        (
            Curve("a fair coin, 5–95 %", at, np.full(len(at), 0.5), low, high, kind="dashed", colour=5),
            Curve("c₁, party 1", at - 0.17, first, kind="points", colour=0),
            Curve("c₂, party 2", at + 0.17, second, kind="points", colour=3),
            Curve("c₁ + c₂", at, both, kind="points", colour=1),
            Curve(
                "(a₁ + a₂)(b₁ + b₂), the paper's",
                at,
                [float((a1 ^ a2) & (b1 ^ b2)) for a1, b1, a2, b2 in INPUTS],
                kind="paper",
                colour=2,
            ),
        ),
    )


EXPERIMENT = Experiment(
    id="liu-table2.2",
    title="Shares of an AND by oblivious transfer",
    stated="algorithm 2.1.2.1: party 1 draws c₁ and offers four bits, party 2 takes number 1 + 2a₂ + b₂ by a 1-of-4 "
    "transfer as c₂",
    chosen="the transfer is Naor and Pinkas 2001 in the 2048-bit group of RFC 3526; the table does not depend on it. "
    "The parties draw from the system's generator, which has no seed: every run has other shares and the same sums",
    run=run,
)
