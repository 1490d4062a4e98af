"""The one source of randomness of a method: it asks by column and purpose, and never meets an address.

Noise is a pure function of the key, the method and all its public values, the column and the table (or the id and the
cell); a secret matrix is made once and then kept in the key.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from veil.data.blocks import Matrix, Words, missing_in, one_array, room_for
from veil.errors import KeyRefusedError
from veil.keys.key import Key
from veil.keys.noise import open_uniform, standard_normal
from veil.keys.randomness import Generator, cell_words, group_words, record_words, row_words
from veil.release.models import Model

_SIGNS, _NO_SIGN = 26, 255
"""Signs of base 32 that hold 128 bits, and the value of a sign that is none of them."""
_BASE32 = np.full(256, _NO_SIGN, dtype=np.uint8)
_BASE32[np.frombuffer(b"abcdefghijklmnopqrstuvwxyz234567", dtype=np.uint8)] = np.arange(32)


@dataclass(frozen=True)
class GroupRows:
    """The groups of a block's rows: n × 16 digests, and which rows have none."""

    digests: npt.NDArray[np.uint8]
    alone: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, pseudonyms: pa.Array) -> GroupRows:
        """By released pseudonyms, so that a release and its key are enough to make the draws again.

        The first 128 bits of a pseudonym are its digest: draws are made of it by a cipher with a secret key.

        >>> a, b = "abcdefghijklmnopqrstuvwxyz", "2bcdefghijklmnopqrstuvwxyz"
        >>> rows = GroupRows.of(pa.array([a, b, None, a, "home 7"]))
        >>> len(np.unique(rows.digests, axis=0)), rows.alone.tolist()
        (4, [False, False, True, False, False])
        """
        texts = one_array(pa.chunked_array([pseudonyms])).cast(pa.large_string())
        alone = missing_in(texts).copy()
        offsets = np.frombuffer(texts.buffers()[1], dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
        data = np.frombuffer(texts.buffers()[2] or b"", dtype=np.uint8)
        signs = np.append(data, np.zeros(_SIGNS, dtype=np.uint8))[offsets[:-1, None] + np.arange(_SIGNS)]
        values = _BASE32[signs]
        bits = np.unpackbits(values[:, :, None], axis=2)[:, :, 3:].reshape(len(values), -1)
        digests = np.packbits(bits[:, :128], axis=1)
        other = (values == _NO_SIGN).any(axis=1) | (np.diff(offsets) < _SIGNS)  # of a method with names of its own
        digests[alone] = 0
        for row in np.flatnonzero(other & ~alone):
            digest = hashlib.blake2b(texts[row].as_py().encode(), digest_size=16).digest()
            digests[row] = np.frombuffer(digest, dtype=np.uint8)
        return cls(digests, alone)

    def part(self, rows: slice) -> GroupRows:
        """Those of some rows."""
        return GroupRows(self.digests[rows], self.alone[rows])


@dataclass(frozen=True)
class Place:
    """Where a block is: the table's fingerprint and first row, or the ids of its rows.

    ``groups`` are those of the columns, by number, whose noise is one per group.
    """

    fingerprint: str
    start: int
    ids: npt.NDArray[np.uint8] | None = None
    groups: Mapping[int, GroupRows] = field(default_factory=dict)


class Secrets:
    """What a method may ask of the key while it learns.

    Parameters
    ----------
    key
        The key.
    method, columns, table
        The method's name, the private columns, and the fingerprint of the table that it is fitted on.
    """

    def __init__(self, key: Key, method: str, columns: Sequence[str], table: str) -> None:
        self.key, self.method, self.columns, self.table = key, method, list(columns), table

    def matrix(self, name: str, about: Any, make: Callable[[Generator], Matrix] | None = None) -> Matrix:
        """A secret matrix: made once, then kept in the key. ``about`` are the public values that it depends on."""
        return self.key.matrix([self.method, about, self.columns, self.table, name], make or _not_kept)

    def name_of(self, secret: Any) -> str:
        """A keyed name of a secret parameter: tells two of them apart and says nothing about either."""
        return self.key.derive("name of parameter", secret).hex()[:16]

    def generator(self, purpose: str, about: Any, *address: Any) -> Generator:
        """A source of numbers that are made anew each time."""
        return self.key.generator(purpose, [self.method, about, self.columns, self.table, *address])

    def subkey(self, purpose: str, address: Any) -> bytes:
        """A key of its own for one purpose."""
        return self.key.derive(purpose, address)


def _not_kept(_: Generator) -> Matrix:
    raise KeyRefusedError("the key does not hold the secret matrix of this release; use the key that made it")


class Draws:
    """The randomness of one block.

    Attributes
    ----------
    start
        The block's first row in the table.
    secrets
        Keyed names, generators and sub-keys.
    """

    def __init__(self, secrets: Secrets, model: Model, place: Place, block: Any, *, room: Matrix | None = None) -> None:
        self.secrets, self._model, self._place, self._block, self._room = secrets, model, place, block, room

    @property
    def start(self) -> int:
        """The block's first row in the table."""
        return self._place.start

    @property
    def table(self) -> str:
        """The table's fingerprint."""
        return self._place.fingerprint

    def room(self, k: int) -> Matrix:
        """Memory for the k released columns of the block, where they are to end up if that is known."""
        return self._room if self._room is not None else room_for(k, self._block.shape[1])

    @property
    def grouped(self) -> tuple[int, ...]:
        """The columns whose rows share their words within groups, those of larger groups first."""
        return tuple(self._place.groups)

    def words(self, j: int, stream: str = "noise") -> Words:
        """Random 64-bit words of the ``j``-th column, one per row; ``stream`` keeps purposes apart.

        Rows of a group share theirs, in a column that is constant within groups.
        """
        groups = self._place.groups.get(j)
        if groups is None:
            return self._words_of_rows(j, stream)
        secrets = self.secrets
        address = self._model.address(secrets.method, stream, secrets.columns, j)
        if self._place.ids is not None:
            words = cell_words(secrets.subkey("cells of groups", address), groups.digests, self._block[j])
        else:
            words = group_words(secrets.subkey("groups", [*address, self._place.fingerprint]), groups.digests)
        if groups.alone.any():
            words[groups.alone] = self._words_of_rows(j, stream)[groups.alone]
        return words

    def _words_of_rows(self, j: int, stream: str) -> Words:
        secrets = self.secrets
        address = self._model.address(secrets.method, stream, secrets.columns, j)
        if self._place.ids is not None:
            return cell_words(secrets.subkey("cells", address), self._place.ids, self._block[j])
        subkey = secrets.subkey("rows", [*address, self._place.fingerprint])
        return row_words(subkey, self._place.start, self._block.shape[1])

    def record_words(self, records: Matrix, columns: Sequence[str], stream: str) -> Words:
        """Random words of some columns of a record, which depend on its values there alone: equal ones get equal words.

        They are the same in every release of this key, so that neither equal records nor releases average them out.
        """
        return record_words(self.secrets.subkey("records", [stream, list(columns)]), records, len(columns))

    def normal(self, j: int, stream: str = "noise") -> Matrix:
        """Standard normal numbers of the ``j``-th column, one per row."""
        return standard_normal(self.words(j, stream))

    def uniform(self, j: int, stream: str = "noise") -> Matrix:
        """Numbers uniform in (0, 1) of the ``j``-th column, one per row."""
        return open_uniform(self.words(j, stream))

    def matrix(self, name: str, make: Callable[[Generator], Matrix] | None = None, about: Any = None) -> Matrix:
        """A secret matrix: made once, then kept in the key. It depends on ``about``, by default the whole model."""
        return self.secrets.matrix(name, self._model.to_json() if about is None else about, make)

    def generator(self, purpose: str, *address: Any) -> Generator:
        """A source of numbers that are made anew each time."""
        return self.secrets.generator(purpose, self._model.to_json(), *address)

    def tile(self, part: slice) -> Draws:
        """The randomness of some rows of the block."""
        groups = {j: rows.part(part) for j, rows in self._place.groups.items()}
        place = Place(self._place.fingerprint, self._place.start + part.start, groups=groups)
        return Draws(self.secrets, self._model, place, self._block[:, part])
