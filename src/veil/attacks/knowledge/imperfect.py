"""Imperfect knowledge: a biased or an older sample, rounded records, and records that are partly wrong.

What an attacker has is seldom exact. These kinds are drawn like those that they spoil, and given to attacks as such:
an attack does not know that its sample is biased. They say how far an audit's answer rests on perfect knowledge.
"""

from __future__ import annotations

import numpy as np

from veil.attacks.knowledge.base import Grant, Knowledge, PrivateTable, Unit, counted
from veil.attacks.knowledge.records import KnownPairs, KnownRecords, KnownSample
from veil.data.blocks import Matrix, Vector
from veil.numerics.dependence import dependence
from veil.release.models import Model

BIAS = 1.0
"""A standard deviation more in the selecting column makes a person e^BIAS times as likely to be in a biased sample."""
DRIFT, GROWTH, CHANGED = 0.25, 1.1, 0.1
"""An older sample: how far means move, in standard deviations, how spreads grow, and the share of other categories."""
GRAIN = 0.25
"""What rounded records are rounded to, in standard deviations."""
WRONG = 0.2
"""The share of wrong records, at least one."""


class BiasedSample(Knowledge):
    """A sample in which people with high values of the most telling column are over-represented."""

    kind = "biased_sample"
    article = "a"
    noun = "biased sample"
    rank = 10
    unit = Unit.SHARE
    audit_help = "Shares of a known sample that is biased."

    @classmethod
    def label(cls, amount: float) -> str:
        """The sample's share of the table."""
        return f"biased {KnownSample.label(amount)}"

    @classmethod
    def words(cls, amount: float) -> str:
        """Who is in the sample."""
        return f"{KnownSample.words(amount)[:-1]}, among whom high values of the most telling column are too frequent."

    @classmethod
    def gives(cls, *, own_sample: bool) -> tuple[type[Knowledge], ...]:
        """A sample, like any other."""
        return KnownSample.gives(own_sample=own_sample)

    @classmethod
    def grant(cls, private: PrivateTable, amount: float, rng: np.random.Generator) -> Grant:
        """Complete records, drawn with odds that rise with the most telling column."""
        score = _standard(_telling(private)[private.complete])
        odds = np.exp(BIAS * np.clip(score, -3.0, 3.0))
        n = cls.size(amount, len(private.values))
        rows = np.sort(rng.choice(private.complete, size=n, replace=False, p=odds / odds.sum()))
        sample = KnownSample.of(private, rows)
        if not private.own_sample:
            return Grant((sample,), withheld=rows)
        return Grant((sample, KnownRecords(private.values[rng.permutation(rows)])), given=rows)


class OlderSample(Knowledge):
    """A sample of another year: means have moved, spreads have grown, and some categories have changed."""

    kind = "older_sample"
    article = "an"
    noun = "older sample"
    rank = 11
    unit = Unit.SHARE
    audit_help = "Shares of a known sample of another year."

    @classmethod
    def label(cls, amount: float) -> str:
        """The sample's share of the table."""
        return f"older {KnownSample.label(amount)}"

    @classmethod
    def words(cls, amount: float) -> str:
        """Who is in the sample."""
        return f"{KnownSample.words(amount)[:-1]}, of another year, since when values have drifted."

    @classmethod
    def gives(cls, *, own_sample: bool) -> tuple[type[Knowledge], ...]:
        """A sample; of nobody's present values, so that no record is known."""
        return (KnownSample,)

    @classmethod
    def grant(cls, private: PrivateTable, amount: float, rng: np.random.Generator) -> Grant:
        """Complete records as they were: the people themselves are not in the release."""
        rows = cls.draw(private, amount, rng)
        records = private.values[rows].copy()
        for j, codes in enumerate(private.categorical):
            column = private.values[private.complete, j]
            if codes:
                other = rng.random(len(rows)) < CHANGED
                records[other, j] = rng.choice(column, size=int(other.sum()))
            else:
                drift = DRIFT * column.std() * rng.choice([-1.0, 1.0])
                records[:, j] = column.mean() + drift + GROWTH * (records[:, j] - column.mean())
        return Grant((KnownSample(records, public=private.public(rows)),), withheld=rows)


class RoundedPairs(Knowledge):
    """Known records whose numbers are known roughly."""

    kind = "rounded_pairs"
    noun = "roughly known records"
    rank = 12
    unit = Unit.RECORDS
    audit_help = "Numbers of known records whose numbers are rounded."

    @classmethod
    def label(cls, amount: float) -> str:
        """The number of known records."""
        return counted(amount, "roughly known record")

    @classmethod
    def words(cls, amount: float) -> str:
        """Whose values are known, and how well."""
        return f"{KnownPairs.words(amount)[:-1]}; numbers are rounded to {GRAIN:g} standard deviations."

    @classmethod
    def gives(cls, *, own_sample: bool) -> tuple[type[Knowledge], ...]:
        """Known records, like any others."""
        return (KnownPairs,)

    @classmethod
    def idle(cls, model: Model) -> bool:
        """As exact ones."""
        return KnownPairs.idle(model)

    @classmethod
    def grant(cls, private: PrivateTable, amount: float, rng: np.random.Generator) -> Grant:
        """Some complete records, rounded, with their rows."""
        rows = cls.draw(private, amount, rng)
        grain = GRAIN * private.values[private.complete].std(axis=0)
        rough = ~private.categorical & (grain > 0)
        records = private.values[rows].copy()
        records[:, rough] = np.round(records[:, rough] / grain[rough]) * grain[rough]
        return Grant((KnownPairs(records, rows),), given=rows)


class WrongPairs(Knowledge):
    """Known records of which some are those of other people than the attacker believes."""

    kind = "wrong_pairs"
    noun = "known records, some wrong"
    rank = 13
    unit = Unit.RECORDS
    audit_help = "Numbers of known records of which a fifth are wrong."

    @classmethod
    def label(cls, amount: float) -> str:
        """The number of known records."""
        return f"{counted(amount, 'known record')}, some wrong"

    @classmethod
    def words(cls, amount: float) -> str:
        """Whose values are known, and how many are not theirs."""
        wrong = _wrong(int(amount))
        return f"{KnownPairs.words(amount)[:-1]}, but {wrong} of them {'is' if wrong == 1 else 'are'} wrong."

    @classmethod
    def gives(cls, *, own_sample: bool) -> tuple[type[Knowledge], ...]:
        """Known records, like any others."""
        return (KnownPairs,)

    @classmethod
    def idle(cls, model: Model) -> bool:
        """As right ones."""
        return KnownPairs.idle(model)

    @classmethod
    def grant(cls, private: PrivateTable, amount: float, rng: np.random.Generator) -> Grant:
        """Some complete records with their rows; in place of some values stand those of other people."""
        rows = cls.draw(private, amount, rng)
        records = private.values[rows].copy()
        wrong = rng.choice(len(rows), size=_wrong(len(rows)), replace=False)
        records[wrong] = private.values[rng.choice(private.complete, size=len(wrong))]
        return Grant((KnownPairs(records, rows),), given=rows)


def _wrong(amount: int) -> int:
    return max(1, round(WRONG * amount))


def _telling(private: PrivateTable) -> Vector:
    """The column that says most about the others; a number where there is one that varies."""
    complete = private.values[private.complete]
    usable = [j for j, codes in enumerate(private.categorical) if not codes and np.ptp(complete[:, j]) > 0]
    if not usable:
        return np.asarray(private.values[:, 0])
    tells: Matrix = dependence(complete[:, usable])
    return np.asarray(private.values[:, usable[int(np.argmax(tells.sum(axis=1)))]])


def _standard(column: Vector) -> Vector:
    spread = float(column.std())
    return np.asarray((column - column.mean()) / (spread if spread > 0 else 1.0))
