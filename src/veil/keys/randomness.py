"""Keyed randomness: every random word is a pure function of the key and an address.

A word is AES-256 under a sub-key derived by HMAC-SHA-256 from the secret and the address
(method, parameters, column, fingerprint), in counter mode with the row as the counter. So
noise does not depend on chunking, order or engine; the same table published again gets the
same noise, and anything else gets unrelated noise, so that nothing can be subtracted.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from veil.data.blocks import BLOCK_ROWS, Matrix, Words


def derive(secret: bytes, purpose: str, address: Any = None) -> bytes:
    """A 256-bit sub-key for one purpose and address (HMAC-SHA-256, canonical JSON).

    >>> derive(b"k" * 32, "noise", {"a": 1}) == derive(b"k" * 32, "noise", {"a": 1})
    True
    >>> derive(b"k" * 32, "noise", {"a": 1}) == derive(b"k" * 32, "matrix", {"a": 1})
    False
    """
    message = json.dumps(["veil/1", purpose, address], sort_keys=True, ensure_ascii=True).encode()
    return hmac.digest(secret, message, "sha256")


def _encryptor(key: bytes, counter: int | None = None) -> Any:
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    # ECB here is the block cipher itself, used as a pseudo-random function of single blocks.
    mode = modes.ECB() if counter is None else modes.CTR(counter.to_bytes(16, "big"))  # noqa: S305
    return Cipher(algorithms.AES(key), mode).encryptor()


def _encrypt(key: bytes, data: bytes) -> bytes:
    encrypted: bytes = _encryptor(key).update(data)
    return encrypted


_ZEROS = memoryview(bytes(8 * (BLOCK_ROWS + 1)))


def row_words(subkey: bytes, start: int, count: int) -> Words:
    """One 64-bit word for each of the rows ``start`` to ``start + count`` (AES-256-CTR).

    >>> whole = row_words(b"k" * 32, 0, 7)
    >>> bool((row_words(b"k" * 32, 4, 3) == whole[4:]).all())
    True
    """
    lead = start % 2
    size = 8 * (count + lead)
    stream = np.empty(count + lead + 2, dtype="<u8")  # the library wants room for a block more
    zeros = _ZEROS[:size] if size <= len(_ZEROS) else bytes(size)
    _encryptor(subkey, start // 2).update_into(zeros, stream.view(np.uint8).data)
    return stream[lead : lead + count].astype(np.uint64, copy=False)


def cell_words(subkey: bytes, ids: npt.NDArray[np.uint8], values: npt.NDArray[np.float64]) -> Words:
    """One 64-bit word for each (id, value): CBC-MAC of two blocks, a PRF at fixed length.

    ``ids`` is an n × 16 array of id digests (:func:`id_digests`).
    """
    first = np.frombuffer(_encrypt(subkey, np.ascontiguousarray(ids).tobytes()), dtype="<u8").reshape(-1, 2)
    block = first.copy()
    block[:, 0] ^= np.ascontiguousarray(values, dtype="<f8").view("<u8")
    return np.frombuffer(_encrypt(subkey, block.tobytes()), dtype="<u8")[::2].astype(np.uint64, copy=True)


def group_words(subkey: bytes, groups: npt.NDArray[np.uint8]) -> Words:
    """One 64-bit word for each row, the same for all rows of a group: AES of its digest (n × 16)."""
    words = np.frombuffer(_encrypt(subkey, np.ascontiguousarray(groups).tobytes()), dtype="<u8")
    return words[::2].astype(np.uint64, copy=True)


def record_words(subkey: bytes, records: Matrix, count: int) -> Words:
    """``count`` 64-bit words for each record (column of a d × n block), a row for each: equal records get equal words.

    CBC-MAC over a record's cells, a PRF at fixed length, then one block of AES for every two words.

    >>> words = record_words(b"k" * 32, np.array([[1.0, 1.0, 2.0], [0.5, 0.5, 0.5]]), 3)
    >>> words.shape, bool((words[:, 0] == words[:, 1]).all()), bool((words[:, 0] == words[:, 2]).any())
    ((3, 3), True, False)
    """
    d, n = records.shape
    state, room = np.zeros((n, 2), dtype="<u8"), np.empty((n + 1, 2), dtype="<u8")
    chained, drawn = _encryptor(derive(subkey, "record")), _encryptor(derive(subkey, "words"))
    for first in range(0, d, 2):
        for side, column in enumerate(records[first : first + 2]):
            state[:, side] ^= np.ascontiguousarray(column, dtype="<f8").view("<u8")
        chained.update_into(state.view(np.uint8).reshape(-1).data, room.view(np.uint8).reshape(-1).data)
        state[:] = room[:n]
    words = np.empty((count, n), dtype=np.uint64)
    for first in range(0, count, 2):
        state[:, 0] ^= np.uint64(first)
        drawn.update_into(state.view(np.uint8).reshape(-1).data, room.view(np.uint8).reshape(-1).data)
        state[:, 0] ^= np.uint64(first)
        words[first : first + 2] = room[:n].T[: count - first]
    return words


def id_digests(secret: bytes, ids: list[Any]) -> npt.NDArray[np.uint8]:
    """Keyed 128-bit digests of identifiers; integers and texts that look alike stay apart.

    ``secret`` is a sub-key of at most 64 bytes.
    """
    digests = [hashlib.blake2b(f"{type(i).__name__}:{i}".encode(), key=secret, digest_size=16).digest() for i in ids]
    return np.frombuffer(b"".join(digests), dtype=np.uint8).reshape(-1, 16)


class Generator:
    """A reproducible, cryptographic source of the few numbers a matrix or permutation needs."""

    def __init__(self, secret: bytes, purpose: str, address: Any = None) -> None:
        self._subkey = derive(secret, purpose, address)
        self._used = 0

    def words(self, count: int) -> Words:
        """The next 64-bit words."""
        start, self._used = self._used, self._used + count
        return row_words(self._subkey, start, count)

    def normal(self, *shape: int) -> Matrix:
        """Standard normal numbers."""
        from veil.keys.noise import standard_normal

        return standard_normal(self.words(int(np.prod(shape)))).reshape(shape)

    def permutation(self, n: int) -> npt.NDArray[np.intp]:
        """A uniform permutation of ``n`` rows."""
        return np.argsort(self.words(n), kind="stable")


DIGEST = 16
"""Bytes of a column's digest."""


def column_digests(secret: bytes, columns: Iterable[Any]) -> bytes:
    """A keyed 128-bit digest of each column of a canonical block: rows of a d × n matrix, or canonical bytes.

    GMAC, at ten times the speed of SHA-256. One nonce serves all: the digests are seen by nobody, so they are a
    universal hash under a secret key, and two columns of n bytes agree with a probability of n/2¹³².
    """
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    hashed = AESGCM(derive(secret, "column digests"))
    return b"".join(hashed.encrypt(bytes(12), b"", _buffer(column)) for column in columns)


def _buffer(column: Any) -> Any:
    return np.ascontiguousarray(column).view(np.uint8).data if isinstance(column, np.ndarray) else column


def fingerprint(secret: bytes, columns: list[str], digests: bytes, n_rows: int) -> str:
    """The keyed Merkle hash of a table: the HMAC-SHA-256 of its blocks' column digests with the column names.

    Without the key it says nothing about the table. ``digests`` are those of all blocks in order.
    """
    root = hmac.new(derive(secret, "fingerprint", columns), digests, "sha256")
    root.update(f"{n_rows}/{BLOCK_ROWS}".encode())
    return root.hexdigest()
