"""P19: market-basket randomization.

*Model.* A transaction is a record of 0 and 1, one column per item; t are the items it has, y what is reported.

* ``mask`` (MASK: Rizvi and Haritsa 2002): every item by itself, a 1 stays with probability p (``keep``) and a 0 turns
  into a 1 with probability ρ (``insert``, 1 − p in the paper).
* ``select`` (select-a-size in its cut-and-paste form: Evfimievski, Srikant, Agrawal and Gehrke 2002): j is uniform on
  0…K (``cutoff``), min(j, m) of the m items of t are kept, chosen uniformly, and every other item, of t or not, is
  there with probability ρ. How likely a given item is kept depends on m, so m is released: supports need it.
* ``gamma`` (FRAPP: Agrawal and Haritsa 2005): the whole record is one of n = 2^d patterns; the true one is reported
  with probability γx, any other with x = 1/(γ + n − 1).

*Amplification* γ, the largest ratio of the probabilities of one report under two truths; ε = ln γ is local
differential privacy (liu2007 §2.1.1; Evfimievski, Gehrke and Srikant 2003):

* mask, one item: the larger of p/ρ and (1 − ρ)/(1 − p), for p > ρ; one transaction: its d-th power.
* select, between transactions of the same size: with j items of t reported, P(y | t) is proportional to
  ``Σ_i P(i kept) C(j, i)/C(m, i) ρ⁻ⁱ``, so γ ≤ 1 + ρ⁻¹ + … + ρ⁻ᴷ, with equality from d = 2K items on. One item more or
  less changes the released size: for that there is no bound.
* gamma: γ, for a transaction and so for an item.

Reports compare the upper 63 bits of a word with whole numbers, so the law of the sampler is known exactly.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from veil.arguments import number, whole
from veil.data.blocks import Matrix, Words, from_float, tiles
from veil.data.schema import Kind
from veil.errors import InputError
from veil.numerics.moments import Moments
from veil.numerics.response_matrix import UNITS, cumulative, draw_reports, exact_probabilities, implemented_epsilon
from veil.perturbations.base import Kept, Perturbation, Place
from veil.perturbations.binary import BinaryScan
from veil.perturbations.scan import Scan

SIZE = "basket_size"
"""The released column with the sizes of transactions, where the method needs them."""
MOST_CUT = 20
MOST_PATTERN_ITEMS = 12
_LEAST = 1e-6
_UP = 1.0 + 2.0**-50  # more than the rounding of a logarithm
_DEFAULTS: dict[str, dict[str, Any]] = {
    "mask": {"keep": 0.9, "insert": None},
    "select": {"insert": 0.1, "cutoff": 3},
    "gamma": {"gamma": 19.0},
}


class MarketBasket(Perturbation):
    """P19. Randomize transactions of zeros and ones so that supports of itemsets can be recovered.

    Parameters
    ----------
    kind : {"mask", "select", "gamma"}, default "mask"
        Item by item; keep a few items of a transaction and insert others; or report the whole pattern of at most 12
        items.
    keep : float, default 0.9
        ``mask``: probability that an item of the transaction stays. 0.1 shows as much as 0.9; at ``insert`` (0.5
        without one) the release would say nothing, at 1 everything, and both are refused.
    insert : float
        ``mask``: probability that another item is inserted, 1 − keep by default. ``select``: 0.1 by default.
    cutoff : int, default 3
        ``select``: most items that are kept on purpose; supports of larger itemsets cannot be recovered.
    gamma : float, default 19
        ``gamma``: the amplification, at which a prior of 5 % can rise to 50 %.
    random_state : None or int
        None draws 256 secret bits. A seed is for tests and papers: it voids the guarantee.

    Attributes
    ----------
    item_epsilon_ : float, local ε of one item; infinite for ``select``, which releases the size
    epsilon_ : float, local ε of one transaction; for ``select``, among transactions of the same size

    Notes
    -----
    *Threat.* Released: the reports and the law; with ``select``, also how many items each transaction truly has, so
    that one of no item or of all is known. Secret: which reports are true. Supports are public by design, and with them
    the posterior of every report (A20): of an item of support s, a reported 1 under ``mask`` is true with probability
    ps/(ps + ρ(1 − s)), and items that go together sharpen it. ``mask`` protects single items: over a transaction of d
    items ε is d times that of one, which protects no long transaction; ``select`` and ``gamma`` protect whole ones. The
    number of transactions is public, and the key does not bring the table back.

    Examples
    --------
    >>> import numpy as np, veil
    >>> from veil import MarketBasket
    >>> x = np.random.default_rng(0).random((1000, 5)) < 0.2
    >>> release, _ = veil.publish(x, MarketBasket(keep=0.8))
    >>> release.only_part.guarantee.split(";")[0]
    'local differential privacy: epsilon 1.38629 for one item, 6.93147 for all 5 items of one transaction'
    """

    catalogue = "P19"
    covers = frozenset({Kind.NUMERIC, Kind.BOOLEAN})
    addressed = True
    boolean = True
    takes = "bits"
    item_epsilon_: float
    epsilon_: float
    _law: dict[str, Any]

    def __init__(
        self,
        kind: str = "mask",
        *,
        keep: float | None = None,
        insert: float | None = None,
        cutoff: int | None = None,
        gamma: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.kind = kind
        self.keep = keep
        self.insert = insert
        self.cutoff = cutoff
        self.gamma = gamma
        self.random_state = random_state

    @property
    def keeps_cells(self) -> bool:
        """The guarantee is for fresh noise, and most kinds draw for whole records."""
        return False

    def new_scan(self, columns: Sequence[str], secret: bytes) -> Scan:
        """A pass that refuses everything but 0 and 1."""
        return BinaryScan(columns, secret=secret, method=type(self).__name__)

    # -- the law ------------------------------------------------------------------------------

    def _learn(self, moments: Moments, columns: Sequence[str], kept: Kept) -> None:
        self._set_law(self._checked(), len(columns))

    def _given(self) -> dict[str, Any]:
        """The parameters of this kind, defaults filled in."""
        defaults = _DEFAULTS[self.kind]
        return {n: default if getattr(self, n) is None else getattr(self, n) for n, default in defaults.items()}

    def _checked(self) -> dict[str, Any]:
        """The same, once every rule holds; nothing depends on the table."""
        if not (isinstance(self.kind, str) and self.kind in _DEFAULTS):
            raise InputError("kind must be 'mask', 'select' or 'gamma'")
        for name in ("keep", "insert", "cutoff", "gamma"):
            if getattr(self, name) is not None and name not in _DEFAULTS[self.kind]:
                raise InputError(f"{name} is no parameter of kind={self.kind!r}; leave it out, or choose another kind")
        law = self._given()
        if self.kind == "gamma":
            rule = "a number above 1 (at 1 the release says nothing) and at most 1e9"
            return {"gamma": number(law["gamma"], "gamma", least=1.0 + _LEAST, most=1e9, rule=rule)}
        if self.kind == "select":
            cutoff = whole(law["cutoff"], "cutoff", least=1)
            if cutoff > MOST_CUT:
                raise InputError(f"cutoff must be at most {MOST_CUT}; got {cutoff}")
            return {"insert": _probability(law["insert"], "insert"), "cutoff": cutoff}
        keep = _probability(law["keep"], "keep")
        insert = round(1.0 - keep, 12) if law["insert"] is None else _probability(law["insert"], "insert")
        if abs(keep - insert) < _LEAST:
            raise InputError(
                f"keep must differ from insert (1 − keep by default): at {keep:g} each, reports say nothing about items"
            )
        return {"keep": keep, "insert": insert}

    def _set_law(self, law: dict[str, Any], d: int) -> None:
        """Thresholds of the sampler, and what they amount to."""
        self._law = {"kind": self.kind, "n_items": d, **law}
        if self.kind == "mask":
            p, rho = law["keep"], law["insert"]
            self._reports = cumulative([[1.0 - rho, 1.0 - p], [rho, p]])
            self.item_epsilon_ = implemented_epsilon(self._reports)
            self.epsilon_ = d * self.item_epsilon_
        elif self.kind == "select":
            rho, width = law["insert"], law["cutoff"] + 1
            self._reports = cumulative([[1.0 - rho], [rho]])
            self._sizes = cumulative(np.full((width, 1), 1.0 / width))
            inserted = exact_probabilities(self._reports)[1][0]
            chosen = [row[0] for row in exact_probabilities(self._sizes)]
            ratio = sum((w / chosen[0] / inserted**i for i, w in enumerate(chosen)), Fraction(0))
            self.item_epsilon_, self.epsilon_ = math.inf, _logarithm(ratio)
        else:
            if d > MOST_PATTERN_ITEMS:
                raise InputError(
                    f"kind='gamma' takes at most {MOST_PATTERN_ITEMS} columns, as the truth drowns among 2^d patterns; "
                    f"there are {d}: split them over the parts of a plan, or use kind='mask'"
                )
            # Rounded up, so that no ratio exceeds γ.
            self._unit = math.ceil(UNITS / (Fraction(law["gamma"]) + 2**d - 1))
            true = UNITS - (2**d - 1) * self._unit
            self.item_epsilon_ = self.epsilon_ = _logarithm(Fraction(true, self._unit))

    def disclose(self) -> dict[str, Any]:
        """The kind, the number of items and the law."""
        return dict(self._law)

    def _adopt(self, parameters: Mapping[str, Any]) -> None:
        law = {n: v for n, v in parameters.items() if n not in ("kind", "n_items")}
        self._set_law(law, parameters["n_items"])

    def column_parameters(self, j: int) -> dict[str, Any]:
        """The law, which is the same for all columns."""
        return self.disclose()

    def describe(self) -> str:
        """The method, its kind and its parameters."""
        said = [f"{n} {v}" for n, v in self._given().items() if v is not None] if self.kind in _DEFAULTS else []
        return f"market basket ({', '.join([str(self.kind), *said])})"

    def formal_guarantee(self, *, consistent: bool = False) -> str:
        """Local differential privacy of items and transactions; none with a seed."""
        if self.key_.seeded:
            return "none"
        d, outside = self._law["n_items"], "the number of transactions is outside it"
        if self.kind == "mask":
            return (
                f"local differential privacy: epsilon {self.item_epsilon_:.6g} for one item, {self.epsilon_:.6g} for "
                f"all {d} items of one transaction; {outside}"
            )
        if self.kind == "gamma":
            return (
                f"local differential privacy: epsilon {self.epsilon_:.6g} for one transaction of {d} items; {outside}"
            )
        # Items are chosen by the order of 64-bit words, uniformly unless two words are equal or one is the largest.
        delta = (1.0 + math.exp(self.epsilon_)) * d * d * 2.0**-64
        return (
            f"local differential privacy: epsilon {self.epsilon_:.6g}, delta {delta:.3g} for one transaction, among "
            f"those of the same size; the sizes are released as they are; {outside}"
        )

    # -- the release --------------------------------------------------------------------------

    def released_names(self, columns: Sequence[str]) -> list[str]:
        """The private columns' names; with ``select``, and the size."""
        return [*columns, SIZE] if self.kind == "select" else list(columns)

    def _n_released(self) -> int:
        return int(self.n_features_in_) + (self.kind == "select")

    def released_fields(self, columns: Sequence[str], schema: pa.Schema) -> list[pa.Field]:
        """True and false under the private columns' names; the size is a whole number."""
        fields = [pa.field(name, pa.bool_()) for name in columns]
        return [*fields, pa.field(SIZE, pa.int64())] if self.kind == "select" else fields

    def decoded(self, values: Matrix) -> list[pa.Array]:
        """Reports as true and false, sizes as whole numbers."""
        d = int(self.n_features_in_)
        return [from_float(row, pa.bool_() if j < d else pa.int64()) for j, row in enumerate(values)]

    def perturb_block(self, block: Matrix, place: Place) -> Matrix:
        """Reports of a block of transactions."""
        other = int(((block != 0) & (block != 1)).sum())
        if other:
            raise InputError(f"MarketBasket takes 0 and 1 only; {other} values are neither")
        if self.kind == "mask":
            codes = block.astype(np.int64)
            reports = [draw_reports(self._reports, c, self._words(j, block[j], place)) for j, c in enumerate(codes)]
            return np.array(reports, dtype=np.float64)
        if self.kind == "gamma":
            return self._patterns(block, self._words(0, block[0], place, "pattern"))
        out = np.empty((len(block) + 1, block.shape[1]))
        for tile in tiles(block.shape[1]):
            there = Place(place.fingerprint, place.start + tile.start)
            out[:-1, tile] = self._cut_and_pasted(block[:, tile], there)
        out[-1] = block.sum(axis=0)
        return out

    def _patterns(self, block: Matrix, words: Words) -> Matrix:
        """One report of a whole pattern per record: words below (n − 1)·unit stand for the other patterns in turn."""
        places = np.arange(len(block))[:, None]
        true = (block.astype(np.int64) << places).sum(axis=0)
        turn = np.minimum((words >> np.uint64(1)) // np.uint64(self._unit), np.uint64(2 ** len(block) - 1))
        other = turn.astype(np.int64)
        other += other >= true
        reported = np.where(turn < 2 ** len(block) - 1, other, true)
        return np.asarray((reported >> places) & 1, dtype=np.float64)

    def _cut_and_pasted(self, block: Matrix, place: Place) -> npt.NDArray[np.bool_]:
        """Keep the items of lowest rank in a random order, as many as drawn, and insert the others by chance."""
        d, n = block.shape
        zeros, has = np.zeros(n, dtype=np.int64), block == 1
        most = draw_reports(self._sizes, zeros, self._words(0, block[0], place, "size"))
        ranks = np.array([self._words(j, block[j], place, "order") for j in range(d)])
        order = np.argsort(np.where(has, ranks, np.uint64(2**64 - 1)), axis=0, kind="stable")
        first = np.zeros((d, n), dtype=bool)
        np.put_along_axis(first, order, np.arange(d)[:, None] < most, axis=0)
        pasted = np.array([draw_reports(self._reports, zeros, self._words(j, block[j], place)) for j in range(d)])
        return np.asarray((first & has) | (pasted == 1))


def _probability(value: Any, name: str) -> float:
    rule = f"a probability from {_LEAST:g} to 1 − {_LEAST:g} (at 0 and 1 reports would be certain)"
    return number(value, name, least=_LEAST, most=1.0 - _LEAST, rule=rule)


def _logarithm(ratio: Fraction) -> float:
    """ln of a ratio of at least 1, rounded up."""
    return math.log1p(float(ratio - 1)) * _UP
