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
from typing import Any

import pyarrow as pa

from veil.arguments import whole
from veil.errors import InputError
from veil.perturbations.base import Perturbation
from veil.perturbations.draws import Draws
from veil.perturbations.facts import Facts
from veil.perturbations.layout import Layout, Noise, Takes
from veil.perturbations.method import Learned
from veil.release.models import PseudonymModel


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

    Examples
    --------
    >>> import pandas as pd, veil
    >>> frame = pd.DataFrame({"name": ["Ada", "Bob", "Ada"], "age": [36, 41, 36]})
    >>> plan = veil.Plan([("name", veil.Pseudonymize(random_state=0)), ("age", veil.AdditiveNoise())])
    >>> names = veil.publish(frame, plan)[0].data["name"]
    >>> bool(names[0] == names[2]) and bool(names[0] != names[1])
    True
    """

    threat = (
        "Released: pseudonyms, and with them which records have equal values and how often each occurs; rare and "
        "frequent values can be recognised by their frequency, and whoever has the key can test any value. Equal "
        "pseudonyms tell the rows of one person, and what is constant in them is averaged: 50 rows leave a seventh of "
        "the noise. Secret: the key. Missing values stay missing. There is no formal guarantee."
    )
    catalogue = "P20"
    summary = "Replace identifiers by keyed pseudonyms."
    layout = Layout(Takes.IDENTIFIERS, noise=Noise.NONE)
    model_: PseudonymModel
    collision_probability_ = Learned("collision_probability")

    def __init__(self, *, domain: str | None = None, bits: int = 128, random_state: Any = None) -> None:
        self.domain = domain
        self.bits = bits
        self.random_state = random_state

    def learn(self, facts: Facts) -> PseudonymModel:
        """The chance of a collision, from the number of rows alone."""
        if self.domain is not None and not (isinstance(self.domain, str) and self.domain):
            raise InputError("domain must be a text that is not empty, or None for the column's name")
        bits = whole(self.bits, "bits", least=128)
        if bits % 8 or bits > 256:
            raise InputError(f"bits must be a multiple of 8 from 128 to 256; got {bits}")
        # No more different values than rows: at most n²/2 pairs, each alike with probability 2^−bits.
        chance = float(f"{1.05 * float(facts.moments.n_rows) ** 2 / 2.0 ** (bits + 1):.1e}")
        return PseudonymModel(int(bits), self.domain, chance)

    def perturb(self, block: Any, draws: Draws) -> Any:
        """Pseudonyms of the columns' values, each distinct one made once."""
        columns = zip(block, draws.secrets.columns, strict=True)
        return [self._pseudonyms(array, name, draws) for array, name in columns]

    def _pseudonyms(self, array: pa.Array, name: str, draws: Draws) -> pa.Array:
        domain = name if self.model_.domain is None else self.model_.domain
        subkey = draws.secrets.subkey("pseudonyms", domain)
        encoded = array.dictionary_encode()
        texts = [pseudonym(subkey, value, self.model_.bits) for value in encoded.dictionary.to_pylist()]
        return pa.array(texts, type=pa.string()).take(encoded.indices)


def pseudonym(secret: bytes, value: Any, bits: int = 128) -> str:
    """The pseudonym of one value, in lower-case base 32.

    >>> secret = b"k" * 32
    >>> pseudonym(secret, "Zoë") == pseudonym(secret, "Zoe\\u0308"), pseudonym(secret, 1) == pseudonym(secret, "1")
    (True, False)
    """
    text = f"{type(value).__name__}:{unicodedata.normalize('NFC', str(value))}"
    digest = hmac.new(secret, text.encode(), hashlib.sha256).digest()[: bits // 8]
    return base64.b32encode(digest).decode().rstrip("=").lower()
