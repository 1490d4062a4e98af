"""A28 block by block: a prior from some rows of a large release, and a guess of each block by itself.

*What is learned.* Everything comes from the rows of :mod:`veil.attacks.posterior.learning_rows`: 100,000 of them tell
moments and margins to a third of a percent. The mixture is fitted to up to 40,000, several times as many as that of a
small release: its likelihood, like its hits, still rises with them. A covariate keeps how it is read: the states of its
texts, the quartiles at which it bends. With that any block is observed as those rows were, so that memory is that of
these rows and of a few blocks, whatever the size of the release.

*What others tell.* Rows of a frequent public value, and neighbours along a public number, tell of a record by that
value alone: a block's row is told what the rows of the same or the nearest value were
(:mod:`veil.attacks.posterior.alike`).

*What needs the whole table.* Rows that share a pseudonym, a mark or a rare public value with a record, or stand beside
it in the file, are to be found nowhere else. Whether these tell of it, the rows that are learned from show, as they are
runs of neighbours (:mod:`veil.attacks.posterior.relatives`): where they do, nothing is learned, and the whole table is
read into memory. So it is for attributes that are known of everybody, which have a value for each row, for pseudonyms
of which two are equal, for columns with one noise per group, for public values that repeat more often than some rows
can show, and for known texts that name single people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa

from veil.attacks.blockwise import BlockGuess, Reconstruction
from veil.attacks.knowledge import Knowledge
from veil.attacks.knowledge.previous_releases import count_rows
from veil.attacks.posterior.candidates import is_covariate
from veil.attacks.posterior.fitting import Posterior, Settings, fit_posterior
from veil.attacks.posterior.guessing import details_of
from veil.attacks.posterior.learning_rows import Rows, rows_of
from veil.attacks.posterior.mixture import MOST_REFITTED
from veil.attacks.posterior.observations import Number, Observations, Shown, Variable
from veil.attacks.posterior.others import Others
from veil.attacks.posterior.own_rows import people_are_known, told_by_others, without_own_rows
from veil.attacks.posterior.reading import draft_parts, observe, present_cells, read_columns, signs
from veil.attacks.posterior.relatives import values_repeat
from veil.attacks.posterior.row_marks import pseudonyms, pseudonyms_repeat
from veil.attacks.posterior.shared_noise import shared_by
from veil.data.blocks import Block, one_array
from veil.release.manifest import Manifest
from veil.release.release import Release, memory_release

REFITTED, MOST_REFITTED_LARGE = 0.1, 40_000
"""The share of a release's records that the chosen mixture is fitted to, where that is more than of a small one, and
how many at most: the time that the fit takes stays below that of the guesses."""


@dataclass(frozen=True, eq=False)
class BlockReading:
    """How any block of a release is observed; ``like`` is what was observed of some rows, without these rows."""

    manifest: Manifest
    like: Observations

    @classmethod
    def of(cls, manifest: Manifest, observations: Observations) -> BlockReading:
        """As some rows were observed."""
        nothing, none = np.empty(0), np.empty(0, dtype=np.int64)
        numbers = tuple(
            number.with_cells(nothing, None if number.sign is None else nothing, number.law)
            for number in observations.numbers
        )
        variables = tuple(variable.with_reports(none) for variable in observations.variables)
        like = replace(observations, n_rows=0, numbers=numbers, variables=variables, codes={}, labels=())
        return cls(manifest, like)

    def observed(self, block: Block) -> Observations:
        """What is seen of the records of a block."""
        release, n = memory_release(pa.Table.from_batches([block.batch]), self.manifest, "pyarrow", {}), block.n_rows
        draft = draft_parts(release, n, np.arange(block.start, block.start + n), {})
        public = {c.name: one_array(release.table.read([c.name]).column(0)) for c in self.manifest.public}
        shown = Shown(public, present_cells(release))
        drawn = {number.name: number for number in draft.numbers}
        reports = {variable.names: variable for variable in draft.variables if max(variable.places) >= 0}
        numbers = tuple(_number(number, drawn, shown) for number in self.like.numbers)
        variables = tuple(_variable(variable, drawn, reports, shown) for variable in self.like.variables)
        return replace(self.like, n_rows=n, numbers=numbers, variables=variables)


def _number(like: Number, drawn: Mapping[str, Number], shown: Shown) -> Number:
    """A number of a block's records."""
    if like.read is not None:
        return like.with_cells(like.read(shown), None, None)
    own = drawn[like.name]
    return like.with_cells(own.z, own.sign, own.law)


def _variable(
    like: Variable, drawn: Mapping[str, Number], reports: Mapping[tuple[str, ...], Variable], shown: Shown
) -> Variable:
    """A variable of a block's records."""
    if like.read is not None:
        return like.with_reports(like.read(shown))
    if like.names in reports:
        return like.with_reports(reports[like.names].reports)
    number = drawn[like.names[0]]
    return like.with_reports(signs(number.name, number.z if number.sign is None else number.sign, 0).reports)


def block_guess(reading: BlockReading, posterior: Posterior, hidden: bool, block: Block) -> BlockGuess:
    """The guess of a block's records, or what is guessed of the same people without their own rows."""
    seen = reading.observed(block)
    values, probability = posterior.guessed(without_own_rows(seen) if hidden else seen)
    return BlockGuess(values, beside={"probability": probability})


def learn_blocks(
    release: Release,
    knowledge: Sequence[Knowledge],
    others: Others | None,
    at: Sequence[int],
    settings: Settings,
    rows: Rows,
) -> Reconstruction | None:
    """What some rows tell; None where they show that a guess needs the whole table.

    ``at`` says where the guessed columns stand among all private ones.
    """
    manifest = release.manifest
    if shared_by(manifest):
        return None
    columns = read_columns(manifest)
    table = rows_of(release, (*columns, *pseudonyms(manifest)), rows)
    some = memory_release(table, manifest, "pyarrow", {})
    n_rows = count_rows(release)
    if pseudonyms_repeat(some) or values_repeat(some, len(rows) / n_rows):
        return None
    observations = observe(some, knowledge, others, rows)
    if not _by_themselves(observations):
        return None
    refitted = max(min(int(REFITTED * n_rows), MOST_REFITTED_LARGE), MOST_REFITTED)
    posterior = fit_posterior(observations, others, manifest, at, settings, refitted)
    reading = BlockReading.of(manifest, observations)
    guess = partial(block_guess, reading, posterior)
    return Reconstruction(
        columns=columns,
        names=observations.names,
        guess=partial(guess, False),
        details=details_of(posterior, observations.names, np.empty((0, len(observations.names)))),
        without=partial(guess, True) if people_are_known(observations) else None,
        entangled=told_by_others(observations),
    )


def _by_themselves(observations: Observations) -> bool:
    """Whether the rows of a block say all that is observed of them."""
    numbers = all(number.place >= 0 or number.read is not None for number in observations.numbers)
    return (
        numbers
        and not observations.labels
        and all(each.read is not None or not is_covariate(each) for each in observations.variables)
    )
