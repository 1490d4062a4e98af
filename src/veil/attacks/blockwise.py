"""Attacks that learn from passes over a release and then guess any block of it by itself.

What such an attack needs to know of the whole table is small: moments, counts, a matrix. It takes that from passes
(:meth:`veil.release.release.Release.summed`) and keeps it in a :class:`Reconstruction`, beside a function from a
block of the release to a guess of its records. Memory does not grow with the release, and since blocks are canonical
the guess is the same, bit for bit, however the release is stored and whoever runs the passes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from veil.attacks.base import Ambiguity, Details, Guess, GuessingAttack, full_guess, on_grid
from veil.attacks.knowledge import Knowledge
from veil.attacks.knowledge.base import Rows
from veil.data.blas import one_blas_thread
from veil.data.blocks import Block, Matrix, Vector, tiles
from veil.data.passes import map_blocks
from veil.release.models import Model
from veil.release.models.linear import Dithered
from veil.release.release import Release


@dataclass(frozen=True)
class BlockGuess:
    """The guess of a block's records.

    Attributes
    ----------
    values
        n × d guesses in the private table's units and column order.
    tally
        Counts that add up over blocks.
    beside
        What else there is to say of every record, by its name in the attack's details: arrays of n rows.
    """

    values: Matrix
    tally: dict[str, int] = field(default_factory=dict)
    beside: dict[str, Matrix] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Reconstruction:
    """What an attack has learned from its passes; guesses any block by itself, here or on another machine.

    Attributes
    ----------
    columns
        The released columns that it reads.
    guess
        The guess of a block's records; a module's function with what it has learned, so that it travels.
    details
        What else the attack found out.
    counted
        The details, given the counts of all blocks, where they depend on them.
    ambiguity, up_to
        As in :class:`veil.attacks.base.Guess`.
    names
        The private columns that it guesses, where they are not those of the release's only part.
    without
        The guess of a block's people without their own rows; None where there is none.
    entangled
        As in :class:`veil.attacks.base.Guess`, as far as the guess has ``names`` of its own.
    """

    columns: tuple[str, ...]
    guess: Callable[[Block], BlockGuess]
    details: Details = field(default_factory=Details)
    counted: Callable[[Mapping[str, int]], Details] | None = None
    ambiguity: str = "none"
    up_to: tuple[str, ...] = ()
    names: tuple[str, ...] | None = None
    without: Callable[[Block], BlockGuess] | None = None
    entangled: bool = False

    def guessed(self, release: Release) -> tuple[str, ...]:
        """The private columns that it guesses."""
        return release.only_part.names if self.names is None else self.names

    def details_with(self, tally: Mapping[str, int]) -> Details:
        """The details, given the counts of all blocks."""
        return self.details if self.counted is None else self.counted(tally)


@dataclass(frozen=True)
class LinearFilter:
    """``x̂ = centre + G (y − mean)``, for records without missing values."""

    mean: Vector
    centre: Vector
    gain: Matrix


def linear_guess(columns: Sequence[str], linear: LinearFilter, block: Block) -> BlockGuess:
    """A block's records through a linear filter."""
    y = block.matrix(columns, lent=True)
    values = np.empty((len(linear.centre), block.n_rows))
    for tile in tiles(block.n_rows):
        np.matmul(linear.gain, y[:, tile] - linear.mean[:, None], out=values[:, tile])
        values[:, tile] += linear.centre[:, None]
    return BlockGuess(values.T)


def guess_on_grid(model: Model, guess: Callable[[Block], BlockGuess], block: Block) -> BlockGuess:
    """The guess of a block, with dithered columns on their grid."""
    free = guess(block)
    return replace(free, values=on_grid(model, free.values))


def placed_guess(guess: Callable[[Block], BlockGuess], block: Block) -> tuple[int, BlockGuess]:
    """The guess of a block, with its first row's number."""
    return block.start, guess(block)


class BlockwiseAttack(GuessingAttack):
    """An attack that learns from passes over the release and guesses block by block.

    A subclass says what it learns; where a setting needs all records at once it learns nothing, and :meth:`_whole`
    guesses.
    """

    @abstractmethod
    def learn(self, release: Release, knowledge: Sequence[Knowledge]) -> Reconstruction | None:
        """What passes over the release tell; None where this setting needs the whole table in memory."""

    def prepare(self, release: Release, *knowledge: Knowledge) -> Reconstruction | None:
        """Check and learn as :meth:`run` does, and guess nothing yet.

        Returns None where the attack needs the whole table in memory in this setting, so that only :meth:`run` will do.
        """
        checked = self._checked(release, knowledge)
        with one_blas_thread():
            return self._learned(release, checked)

    def _learned(self, release: Release, knowledge: Sequence[Knowledge]) -> Reconstruction | None:
        """What was learned; the guesses of columns that were dithered are on their grid."""
        reconstruction = self.learn(release, knowledge)
        model = release.only_part.model if len(release.manifest.parts) == 1 else None
        if reconstruction is None or not isinstance(model, Dithered) or model.dither is None:
            return reconstruction
        if reconstruction.ambiguity != Ambiguity.NONE:
            return reconstruction
        return replace(reconstruction, guess=partial(guess_on_grid, model, reconstruction.guess))

    def _run(self, release: Release, knowledge: Sequence[Knowledge]) -> Guess:
        reconstruction = self._learned(release, knowledge)
        return self._whole(release, knowledge) if reconstruction is None else guess_all(release, reconstruction)

    def _whole(self, release: Release, knowledge: Sequence[Knowledge]) -> Guess:
        """Guess with the whole table in memory, where nothing can be learned from passes."""
        raise NotImplementedError(f"{type(self).__name__} learned nothing and has no other way")


def guess_all(release: Release, reconstruction: Reconstruction) -> Guess:
    """The guesses of all blocks in one."""
    values, beside, tally = _all_blocks(release, reconstruction, reconstruction.guess)
    details = replace(reconstruction.details_with(tally), **beside)
    ambiguity, up_to = reconstruction.ambiguity, reconstruction.up_to
    if reconstruction.names is None:
        return full_guess(release, values, details, ambiguity=ambiguity, up_to=up_to)
    hidden = reconstruction.without
    without = None if hidden is None else partial(_hidden_guess, release, reconstruction, hidden)
    return Guess(
        values,
        reconstruction.names,
        np.arange(len(values)),
        ambiguity,
        details,
        up_to,
        without=without,
        entangled=reconstruction.entangled,
    )


def _hidden_guess(
    release: Release, reconstruction: Reconstruction, hidden: Callable[[Block], BlockGuess], rows: Rows
) -> Matrix:
    """What is guessed of some rows' people without their own rows."""
    return _all_blocks(release, reconstruction, hidden)[0][rows]


def _all_blocks(
    release: Release, reconstruction: Reconstruction, guess: Callable[[Block], BlockGuess]
) -> tuple[Matrix, dict[str, Matrix], Counter[str]]:
    """The values of all blocks, what is beside them, and their counts."""
    work = partial(placed_guess, guess)
    guesses = map_blocks(work, release.table, reconstruction.columns, engine=release.engine, what="guessing")
    n_rows = release.table.n_rows
    if n_rows is None:
        held = deque(guesses)
        n_rows = sum(len(guess.values) for _, guess in held)
        guesses = _drained(held)
    values = np.empty((n_rows, len(reconstruction.guessed(release))))
    beside: dict[str, Matrix] = {}
    tally = Counter[str]()
    for start, guess_of_block in guesses:
        rows = slice(start, start + len(guess_of_block.values))
        values[rows] = guess_of_block.values
        tally.update(guess_of_block.tally)
        for name, more in guess_of_block.beside.items():
            beside.setdefault(name, np.empty((n_rows, *more.shape[1:])))[rows] = more
    return values, beside, tally


def _drained(held: deque[Any]) -> Iterator[Any]:
    """What is held, each let go of once it was used, so that pieces and whole do not fill memory twice."""
    while held:
        yield held.popleft()
