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

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from veil.arguments import number, whole
from veil.data.blocks import Matrix, Words, tiles
from veil.errors import InputError
from veil.numerics.response_matrix import draw_reports
from veil.perturbations.base import Perturbation
from veil.perturbations.basket_law import BasketLaw
from veil.perturbations.draws import Draws
from veil.perturbations.facts import Facts
from veil.perturbations.layout import Layout, MadeOf, Noise, Takes
from veil.release.models import BasketModel

SIZE = "basket_size"
"""The released column with the sizes of transactions, where the method needs them."""
MOST_CUT = 20
MOST_PATTERN_ITEMS = 12
_LEAST = 1e-6
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

    Examples
    --------
    >>> import numpy as np, veil
    >>> from veil import MarketBasket
    >>> x = np.random.default_rng(0).random((1000, 5)) < 0.2
    >>> release, _ = veil.publish(x, MarketBasket(keep=0.8))
    >>> release.only_part.guarantee.split(";")[0]
    'local differential privacy: epsilon 1.38629 for one item, 6.93147 for all 5 items of one transaction'
    """

    threat = (
        "Released: the reports and the law; with ``select``, also how many items each transaction truly has, so that "
        "one of no item or of all is known. Secret: which reports are true. Supports are public by design, and with "
        "them the posterior of every report (A20): of an item of support s, a reported 1 under ``mask`` is true with "
        "probability ps/(ps + ρ(1 − s)), and items that go together sharpen it. ``mask`` protects single items: over "
        "a transaction of d items ε is d times that of one, which protects no long transaction; ``select`` and "
        "``gamma`` protect whole ones. The number of transactions is public, and the key does not bring the table "
        "back."
    )
    catalogue = "P19"
    summary = "Randomize transactions of zeros and ones so that supports of itemsets can be recovered."
    layout = Layout(Takes.BITS, MadeOf.RECORD, Noise.RECORD)
    model_: BasketModel

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

    # -- the law ------------------------------------------------------------------------------

    def learn(self, facts: Facts) -> BasketModel:
        """The law; nothing depends on the table."""
        law, d = self._checked(), len(facts.columns)
        if self.kind == "gamma" and d > MOST_PATTERN_ITEMS:
            raise InputError(
                f"kind='gamma' takes at most {MOST_PATTERN_ITEMS} columns, as the truth drowns among 2^d patterns; "
                f"there are {d}: split them over the parts of a plan, or use kind='mask'"
            )
        return BasketModel(self.kind, d, **law)

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

    @property
    def item_epsilon_(self) -> float:
        """Local ε of one item."""
        return BasketLaw(self.model_).item_epsilon

    @property
    def epsilon_(self) -> float:
        """Local ε of one transaction."""
        return BasketLaw(self.model_).epsilon

    def describe(self) -> str:
        """The method, its kind and its parameters."""
        named = [f"{n} {v}" for n, v in self._given().items() if v is not None] if self.kind in _DEFAULTS else []
        return f"market basket ({', '.join([str(self.kind), *named])})"

    def guarantee(self) -> str:
        """Local differential privacy of items and transactions."""
        return BasketLaw(self.model_).guarantee()

    # -- the release --------------------------------------------------------------------------

    def released_names(self, columns: Sequence[str]) -> list[str]:
        """The private columns' names; with ``select``, and the size."""
        return [*columns, SIZE] if self.kind == "select" else list(columns)

    def perturb(self, block: Matrix, draws: Draws) -> Matrix:
        """Reports of a block of transactions."""
        other = int(((block != 0) & (block != 1)).sum())
        if other:
            raise InputError(f"MarketBasket takes 0 and 1 only; {other} values are neither")
        law = BasketLaw(self.model_)
        if self.kind == "mask":
            codes = block.astype(np.int64)
            reports = [draw_reports(law.reports, row, draws.words(j)) for j, row in enumerate(codes)]
            return np.array(reports, dtype=np.float64)
        if self.kind == "gamma":
            return _patterns(block, draws.words(0, "pattern"), law.unit)
        out = np.empty((len(block) + 1, block.shape[1]))
        for tile in tiles(block.shape[1]):
            out[:-1, tile] = _cut_and_pasted(block[:, tile], draws.tile(tile), law)
        out[-1] = block.sum(axis=0)
        return out


def _patterns(block: Matrix, words: Words, unit: int) -> Matrix:
    """One report of a whole pattern per record: words below (n − 1)·unit stand for the other patterns in turn."""
    places = np.arange(len(block))[:, None]
    true = (block.astype(np.int64) << places).sum(axis=0)
    turn = np.minimum((words >> np.uint64(1)) // np.uint64(unit), np.uint64(2 ** len(block) - 1))
    other = turn.astype(np.int64)
    other += other >= true
    reported = np.where(turn < 2 ** len(block) - 1, other, true)
    return np.asarray((reported >> places) & 1, dtype=np.float64)


def _cut_and_pasted(block: Matrix, draws: Draws, law: BasketLaw) -> npt.NDArray[np.bool_]:
    """Keep the items of lowest rank in a random order, as many as drawn, and insert the others by chance."""
    d, n = block.shape
    zeros, has = np.zeros(n, dtype=np.int64), block == 1
    most = draw_reports(law.sizes, zeros, draws.words(0, "size"))
    ranks = np.array([draws.words(j, "order") for j in range(d)])
    order = np.argsort(np.where(has, ranks, np.uint64(2**64 - 1)), axis=0, kind="stable")
    first = np.zeros((d, n), dtype=bool)
    np.put_along_axis(first, order, np.arange(d)[:, None] < most, axis=0)
    pasted = np.array([draw_reports(law.reports, zeros, draws.words(j)) for j in range(d)])
    return np.asarray((first & has) | (pasted == 1))


def _probability(value: Any, name: str) -> float:
    rule = f"a probability from {_LEAST:g} to 1 − {_LEAST:g} (at 0 and 1 reports would be certain)"
    return number(value, name, least=_LEAST, most=1.0 - _LEAST, rule=rule)
