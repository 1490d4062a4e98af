"""What a release and granted attributes show of every record, as the joint posterior (A28) takes it.

Every column that says something is either a *number*, seen as ``z = u + e`` in a working scale u of its own with normal
noise e of a known covariance, or a *variable* of finitely many states, seen through a channel ``P[report, state]``:

=============================  =====================================================================================
additive noise (P1, P2, P21)   number, u = x; of uniform or Laplace noise e has the noise's variance
multiplicative (P3)            number, u = ln |x|, z = ln |y| − E ln r; sign and zeros are a variable without noise
combined (P22)                 number, u = x, z = y/E r; e has the mean variance of the error
log-normal (P4)                number, u = ln x
randomized response, baskets   variable; columns randomized as one are one variable of all combinations
recoded categories (P23, P25)  variable; every category has one label, and a suppressed cell shows nothing
classes (P17)                  number, z the middle of the class, e of the variance that values in it have
public and known columns       number or variable without noise
=============================  =====================================================================================

Where the noise is not normal, its own law is put in the place of the normal one when the column itself is guessed
(:mod:`veil.attacks.posterior.own_laws`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from veil.attacks.posterior.own_laws import FactorSum, Interval, OwnLaw
from veil.data.blocks import Matrix, Vector
from veil.numerics.response_likelihood import most_likely

MARGIN_STEPS, MARGIN_GAP = 200, 1e-6
Codes = npt.NDArray[np.int64]


class Shown(NamedTuple):
    """What some rows show without noise: public columns outside dictionaries, and which cells are not empty (n × d)."""

    public: Mapping[str, pa.Array]
    present: npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Number:
    """A column seen with noise.

    Attributes
    ----------
    name, place
        The column, and where it stands in the guess; −1 for a covariate.
    z
        What is seen, in the working scale; NaN where nothing is.
    logs
        Whether the working scale is that of ln |x|.
    sign
        Of the values of a column in logarithms: −1, 0 or 1 for each record.
    bounds
        Ends that the method itself put to the values.
    law
        The law of the noise where it is not normal.
    whole
        Whether the values are whole numbers.
    known
        The exact values, where they are known.
    feature
        Whether it is a function of a covariate, for a prior that is linear in what is known.
    sampled
        A covariate's values for the records of a sample, NaN where unknown; None where there is nothing.
    hidden
        Whether cells are hidden, and guessed all the same, where else one without a value is left out.
    own_row
        Whether nobody knows it of a person who has no row in the release.
    read
        A covariate's values for other rows; None where these rows by themselves do not say.
    """

    name: str
    place: int
    z: Vector
    logs: bool = False
    sign: Vector | None = None
    bounds: tuple[float, float] = (-np.inf, np.inf)
    law: OwnLaw | FactorSum | Interval | None = None
    whole: bool = False
    known: Vector | None = None
    feature: bool = False
    sampled: Vector | None = None
    hidden: bool = False
    own_row: bool = False
    read: Callable[[Shown], Vector] | None = None

    def with_cells(self, z: Vector, sign: Vector | None, law: OwnLaw | FactorSum | Interval | None) -> Number:
        """The same of other rows of the release; what is known of all its rows is kept."""
        known = None if self.known is None else z
        other = replace(self, z=z, sign=sign, law=law, known=known, sampled=None)
        kept = {"variance": isinstance(law, FactorSum), "spread": known is not None, "usual_sign": sign is not None}
        other.__dict__.update({name: getattr(self, name) for name, needed in kept.items() if needed})
        return other

    @cached_property
    def variance(self) -> float:
        """Of what is seen."""
        return float(np.nanvar(self.z))

    @cached_property
    def spread(self) -> float:
        """How widely known values lie, by their deviation or their quartiles (Silverman 1986)."""
        low, high = np.nanquantile(self.z, (0.25, 0.75))
        deviation = float(np.nanstd(self.z))
        return min(deviation, float(high - low) / 1.34) or deviation or 1.0

    @cached_property
    def usual_sign(self) -> float:
        """The sign that most values have."""
        if self.sign is None:
            return 1.0
        signs, counts = np.unique(self.sign[~np.isnan(self.sign)], return_counts=True)
        return float(signs[counts.argmax()]) if len(signs) else 1.0

    def working(self, x: Vector) -> Vector:
        """Private values in the working scale; NaN for a zero in logarithms."""
        if not self.logs:
            return np.clip(x, *self.bounds)
        size = np.abs(x)
        return np.log(size, out=np.full(len(x), np.nan), where=size > 0)


@dataclass(frozen=True, eq=False)
class Variable:
    """Some columns seen through a channel.

    Attributes
    ----------
    names
        The columns.
    reports
        The report of every record; −1 where nothing is seen.
    channel
        P[report, state].
    states
        One row of codes for each state, one column for each of ``names``.
    places
        Where the columns stand in the guess; −1 for a covariate.
    encode
        The states of private records (m × columns), −1 for what is no state; None for a covariate.
    sampled
        A covariate's states for the records of a sample, −1 where unknown; None where there is nothing.
    hidden, own_row, read
        As of a number.
    """

    names: tuple[str, ...]
    reports: Codes
    channel: Matrix
    states: Codes
    places: tuple[int, ...]
    encode: Callable[[Matrix], Codes] | None = None
    sampled: Codes | None = None
    hidden: bool = False
    own_row: bool = False
    read: Callable[[Shown], Codes] | None = None

    def with_reports(self, reports: Codes) -> Variable:
        """The same with reports of other records of the population, whose states are distributed alike."""
        other = replace(self, reports=reports)
        other.__dict__["margin"] = self.margin  # the likeliest one takes long to find: it is not looked for again
        return other

    @cached_property
    def margin(self) -> Vector:
        """The distribution of the states of largest likelihood."""
        there = self.reports[self.reports >= 0]
        counts = np.bincount(there, minlength=len(self.channel)).astype(np.float64)
        reports, states = self.channel.shape
        if not counts.any():
            return np.full(states, 1.0 / states)
        if reports == states:
            return np.asarray(most_likely(counts, [self.channel], gap=MARGIN_GAP))
        share = np.full(states, 1.0 / states)
        for _ in range(MARGIN_STEPS):
            share = share * ((counts / np.maximum(self.channel @ share, 1e-300)) @ self.channel)
            share /= share.sum()
        return share


@dataclass(frozen=True, eq=False)
class Label:
    """A known text with too many values for a variable: which it is, of every record and of a sample's; −1 for none."""

    codes: Codes
    sampled: Codes


@dataclass(frozen=True, eq=False)
class Observations:
    """All that is seen of N records.

    ``names`` are the columns that are guessed; ``noise`` the covariance of the numbers' noise; ``given`` the columns of
    the guess that are known, with their values; ``codes`` what was reported in each column of categories; ``labels``
    are texts by which records of a sample may be like others.
    """

    n_rows: int
    names: tuple[str, ...]
    numbers: tuple[Number, ...]
    noise: Matrix
    variables: tuple[Variable, ...]
    given: dict[int, Vector]
    codes: dict[str, Codes]
    labels: tuple[Label, ...] = ()

    @cached_property
    def z(self) -> Matrix:
        """What is seen of the numbers (N × q)."""
        return np.column_stack([number.z for number in self.numbers]) if self.numbers else np.empty((self.n_rows, 0))

    def with_whole(self, whole: npt.NDArray[np.bool_]) -> Observations:
        """The same, where some of the columns that are guessed are known to hold whole numbers."""
        numbers = tuple(
            replace(number, whole=number.whole or (number.place >= 0 and bool(whole[number.place])))
            for number in self.numbers
        )
        return replace(self, numbers=numbers)


@dataclass
class Draft:
    """Numbers and variables of N records on the way.

    Where a sample's records have columns that are known of everybody, their values stand below those of the release.
    ``rows`` are the numbers of the N records in the file.
    """

    n_rows: int
    rows: Codes
    numbers: list[Number] = field(default_factory=list)
    blocks: list[Matrix] = field(default_factory=list)
    variables: list[Variable] = field(default_factory=list)
    codes: dict[str, Codes] = field(default_factory=dict)
    labels: list[Label] = field(default_factory=list)

    def add(self, numbers: Sequence[Number], noise: Matrix) -> None:
        self.numbers += numbers
        self.blocks.append(noise)
