"""Knowledge of two kinds at once: what neither tells alone, both may.

An attack is run with a combination only where it uses all of it; with one kind alone it would say what it says there.
"""

from __future__ import annotations

import numpy as np

from veil.attacks.knowledge.base import Grant, Knowledge, PrivateTable, Rows, Unit, counted
from veil.attacks.knowledge.columns import KnownAttributes
from veil.attacks.knowledge.records import KnownPairs, KnownRecords, KnownSample
from veil.release.models import Model

SAMPLE = 0.02
"""The sample that goes with known records, as a share of the table."""
COLUMNS = 1
"""The known columns that go with a sample."""


class PairsAndSample(Knowledge):
    """Some records with their rows, and a sample of the population."""

    kind = "pairs_and_sample"
    noun = "known records with a sample"
    rank = 8
    unit = Unit.RECORDS
    together = True
    audit_help = f"Numbers of known records, together with a {SAMPLE * 100:g} % sample."

    @classmethod
    def gives(cls, *, own_sample: bool) -> tuple[type[Knowledge], ...]:
        """Both kinds; a sample of the table's own records makes these known, too."""
        return (KnownPairs, *KnownSample.gives(own_sample=own_sample))

    @classmethod
    def idle(cls, model: Model) -> bool:
        """Where known records are no more than a sample's, a sample is all there is."""
        return KnownPairs.idle(model)

    @classmethod
    def label(cls, amount: float) -> str:
        """The number of known records."""
        return f"{counted(amount, 'known record')} and a {SAMPLE * 100:g} % sample"

    @classmethod
    def words(cls, amount: float) -> str:
        """Who is known."""
        return f"{KnownPairs.words(amount)[:-1]}, and holds {SAMPLE * 100:g} % as many records of other people."

    @classmethod
    def size(cls, amount: float, n_rows: int) -> int:
        """The known records and the sample's."""
        return int(amount) + KnownSample.size(SAMPLE, n_rows)

    @classmethod
    def grant(cls, private: PrivateTable, amount: float, rng: np.random.Generator) -> Grant:
        """Complete records: some with their rows, others as the sample."""
        rows = rng.permutation(cls.draw(private, amount, rng))
        known, sampled = np.sort(rows[: int(amount)]), np.sort(rows[int(amount) :])
        sample = _sampled(private, sampled, rng)
        places = known - np.searchsorted(sample.withheld, known)
        pairs = Grant((KnownPairs(private.values[known], places),), given=places)
        return pairs.with_more(sample)


class ColumnsAndSample(Knowledge):
    """The most telling column of everybody, and a sample of the population."""

    kind = "columns_and_sample"
    noun = "sample with a known column"
    article = "a"
    rank = 9
    unit = Unit.SHARE
    together = True
    audit_help = "Shares of a known sample, together with a column known of everybody."

    @classmethod
    def gives(cls, *, own_sample: bool) -> tuple[type[Knowledge], ...]:
        """Both kinds; a sample of the table's own records makes these known, too."""
        return (KnownAttributes, *KnownSample.gives(own_sample=own_sample))

    @classmethod
    def label(cls, amount: float) -> str:
        """The sample's share of the table."""
        return f"{KnownSample.label(amount)} and {counted(COLUMNS, 'known column')}"

    @classmethod
    def words(cls, amount: float) -> str:
        """What is known of whom."""
        return f"{KnownAttributes.words(COLUMNS)[:-1]}, and holds {amount * 100:g} % as many records of other people."

    @classmethod
    def obstacle(cls, private: PrivateTable, amount: float) -> str:
        """What either kind lacks."""
        return KnownSample.obstacle(private, amount) or KnownAttributes.obstacle(private, COLUMNS)

    @classmethod
    def known_columns(cls, private: PrivateTable, amount: float) -> tuple[int, ...]:
        """The most telling columns."""
        return KnownAttributes.known_columns(private, COLUMNS)

    @classmethod
    def grant(cls, private: PrivateTable, amount: float, rng: np.random.Generator) -> Grant:
        """The column of everybody in the release, and complete records of others."""
        sample = _sampled(private, cls.draw(private, amount, rng), rng)
        at = cls.known_columns(private, amount)
        released = np.delete(private.values, sample.withheld, axis=0)[:, at]
        columns = Grant((KnownAttributes([private.columns[j] for j in at], released),), columns=at)
        return columns.with_more(sample)


def _sampled(private: PrivateTable, rows: Rows, rng: np.random.Generator) -> Grant:
    """A sample of these records: withheld from the release or, where they stay in it, known as records too."""
    sample = KnownSample.of(private, rows)
    if not private.own_sample:
        return Grant((sample,), withheld=rows)
    return Grant((sample, KnownRecords(private.values[rng.permutation(rows)])), given=rows)
