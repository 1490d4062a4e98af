"""Guesses that say nothing, as a null for what the judge's own matching brings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from veil.attacks.base import Guess


def turned(guess: Guess, runs: int = 19) -> list[Guess]:
    """Guesses that say nothing but have the same spread: the guess's columns, turned at random among themselves.

    Of columns that are turned at random, the best matched one still looks like some private column (its correlation
    is at least 1/√d); what the judge's matching brings such guesses is not the attack's merit.
    """
    values = np.nan_to_num(guess.values, posinf=0.0, neginf=0.0)
    centre, spread = values.mean(axis=0), values.std(axis=0)
    white = np.where(spread > 0, (values - centre) / np.where(spread > 0, spread, 1.0), 0.0)
    guesses = []
    for run in range(runs):
        gauss = np.random.default_rng(run).standard_normal((values.shape[1], values.shape[1]))
        basis, corner = np.linalg.qr(gauss)
        guesses.append(replace(guess, values=(white @ (basis * np.sign(np.diag(corner)))) * spread + centre))
    return guesses
