"""P20: keyed pseudonyms.

*Model.* A value v of a column is replaced by the first bits of ``HMAC-SHA-256(k, v)``, k derived from the key for the
column's domain (Ketel, on replacing identifiers). Values are canonical: a tag of their type and their text in NFC. The
same value has the same pseudonym in every file of one key and domain, so that joins survive.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from veil.arguments import whole
from veil.data.blocks import Block, Matrix
from veil.data.schema import Kind, Role
from veil.errors import InputError
from veil.numerics.moments import Moments
from veil.perturbations.base import Kept, Perturbation, Place
from veil.perturbations.coded import ValueScan, plain_values
from veil.perturbations.scan import Scan


class Pseudonymize(Perturbation):
    """P20. Replace identifiers by keyed pseudonyms.

    Parameters
    ----------
    domain : str, optional
        Columns of one domain share pseudonyms, also across files of one key; a column's own name by default.
    bits : int, default 128
        Length of a pseudonym; a multiple of 8 from 128 to 256.
    random_state : None or int
        None draws 256 secret bits. A seed is for tests and papers: the release says so.

    Attributes
    ----------
    collision_probability_ : float
        An upper bound of the chance that two different values of a column share a pseudonym.

    Notes
    -----
    *Threat.* Released: pseudonyms, and with them which records have equal values and how often each occurs; rare and
    frequent values can be recognised by their frequency, and whoever has the key can test any value. Secret: the key.
    Missing values stay missing. There is no formal guarantee.

    Examples
    --------
    >>> import pandas as pd, veil
    >>> frame = pd.DataFrame({"name": ["Ada", "Bob", "Ada"], "age": [36, 41, 36]})
    >>> plan = veil.Plan([("name", veil.Pseudonymize(random_state=0)), ("age", veil.AdditiveNoise())])
    >>> names = veil.publish(frame, plan)[0].data["name"]
    >>> bool(names[0] == names[2]) and bool(names[0] != names[1])
    True
    """

    catalogue = "P20"
    covers = frozenset({Kind.TEXT, Kind.CATEGORY, Kind.NUMERIC, Kind.BOOLEAN})
    element_wise = True
    natural_role = Role.QUASI
    takes = "categories"
    scored = False
    collision_probability_: float

    def __init__(self, *, domain: str | None = None, bits: int = 128, random_state: Any = None) -> None:
        self.domain = domain
        self.bits = bits
        self.random_state = random_state

    def new_scan(self, columns: Sequence[str], secret: bytes) -> Scan:
        """A pass for the fingerprint."""
        return ValueScan(columns, secret=secret, method=type(self).__name__)

    def _learn(self, moments: Moments, columns: Sequence[str], kept: Kept) -> None:
        if self.domain is not None and not (isinstance(self.domain, str) and self.domain):
            raise InputError("domain must be a text that is not empty, or None for the column's name")
        bits = whole(self.bits, "bits", least=128)
        if bits % 8 or bits > 256:
            raise InputError(f"bits must be a multiple of 8 from 128 to 256; got {bits}")
        # No more different values than rows: at most n²/2 pairs, each alike with probability 2^−bits.
        self.collision_probability_ = float(f"{1.05 * float(moments.n_rows) ** 2 / 2.0 ** (bits + 1):.1e}")

    def disclose(self) -> dict[str, Any]:
        """Length, domain, and what remains visible."""
        return {
            "bits": int(self.bits),
            "domain": self.domain,
            "collision_probability_below": self.collision_probability_,
            "warning": "equal values have equal pseudonyms: equality and frequency remain",
        }

    def _adopt(self, parameters: Mapping[str, Any]) -> None:
        self.collision_probability_ = parameters["collision_probability_below"]

    def fit(self, X: Any, y: Any = None) -> Pseudonymize:
        """Not for arrays: pseudonyms are texts."""
        raise InputError("Pseudonymize works on whole tables; use veil.publish")

    def perturb_block(self, block: Matrix, place: Place) -> Matrix:
        """Pseudonyms are texts; see :meth:`released_arrays`."""
        raise InputError("Pseudonymize works on tables, not on arrays of numbers; use veil.publish")

    def released_arrays(self, block: Block, columns: Sequence[str], place: Place) -> list[pa.Array]:
        """Pseudonyms of the block's values, each distinct one made once."""
        return [self._pseudonyms(plain_values(block.column(name), name), name) for name in columns]

    def released_fields(self, columns: Sequence[str], schema: pa.Schema) -> list[pa.Field]:
        """Texts under the columns' own names."""
        return [pa.field(name, pa.string()) for name in columns]

    def _pseudonyms(self, array: pa.Array, name: str) -> pa.Array:
        secret = self._key().derive("pseudonyms", name if self.domain is None else self.domain)
        encoded = array.dictionary_encode()
        made = [pseudonym(secret, value, int(self.bits)) for value in encoded.dictionary.to_pylist()]
        return pa.array(made, type=pa.string()).take(encoded.indices)


def pseudonym(secret: bytes, value: Any, bits: int = 128) -> str:
    """The pseudonym of one value, in lower-case base 32.

    >>> secret = b"k" * 32
    >>> pseudonym(secret, "Zoë") == pseudonym(secret, "Zoe\\u0308"), pseudonym(secret, 1) == pseudonym(secret, "1")
    (True, False)
    """
    text = f"{type(value).__name__}:{unicodedata.normalize('NFC', str(value))}"
    digest = hmac.new(secret, text.encode(), hashlib.sha256).digest()[: bits // 8]
    return base64.b32encode(digest).decode().rstrip("=").lower()
