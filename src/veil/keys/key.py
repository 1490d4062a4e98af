"""Keys: 256 secret bits, and the ledger of what they were used for.

The key is the only secret of a release. Its file is JSON (never pickle), mode 0600, and
optionally encrypted with a passphrase (scrypt and AES-256-GCM). Its ledger holds one entry
per release: what ``restore`` needs, and what tells a repeated publication from a second one.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from veil.data.blocks import Matrix
from veil.errors import KeyRefusedError
from veil.keys.randomness import Generator, derive
from veil.secret import MASK, key_pickling_allowed
from veil.storage.atomic import write_private

FORMAT = 1
_SCRYPT = {"n": 2**16, "r": 8, "p": 1}
_SCRYPT_LIMIT = 2**20


@dataclass(frozen=True)
class LedgerPart:
    """One perturbation of a release: its method, the owner's settings, what it disclosed, and where.

    ``model`` is the name of the model that describes it; key files of version 0.1 have none. ``groups`` are the columns
    whose noise is one per group, with the released pseudonyms that tell the groups.
    """

    method: str
    settings: dict[str, Any]
    parameters: dict[str, Any]
    columns: list[str]
    fingerprint: str
    model: str | None = None
    groups: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class LedgerEntry:
    """One release made with a key.

    ``corrections`` holds, by column, the rows and differences of integers so large that a mixing
    method's rounding would bring them back off by a few units; ``content`` the keyed digests of the released cells,
    by which a release that was altered is told: one for each kind of processor that made it, none in version 0.1.
    """

    parts: list[LedgerPart]
    columns: list[dict[str, str]]
    kind: str
    native: dict[str, str]
    n_rows: int
    shuffled: bool = False
    consistent_on: str | None = None
    number: int = 0
    release_id: str = ""
    corrections: dict[str, tuple[list[int], list[int]]] = field(default_factory=dict)
    content: list[str] = field(default_factory=list)

    @property
    def address(self) -> dict[str, Any]:
        """What makes two publications the same one: everything but the key that determines a release."""
        parts = [[p.method, p.parameters, p.columns, p.fingerprint] for p in self.parts]
        roles = [[c["name"], c["role"]] for c in self.columns]
        return {
            "steps": parts,  # the name that addresses have always had
            "roles": roles,
            "rows": self.n_rows,
            "shuffled": self.shuffled,
            "consistent_on": self.consistent_on,
        }


class Key:
    """The secret of one or more releases. Its text, repr and HTML are ``<secret>``."""

    __slots__ = ("__matrices", "__secret", "ledger", "seeded")

    def __init__(self, secret: bytes | None = None, *, seeded: bool = False) -> None:
        if secret is not None and not (isinstance(secret, bytes) and len(secret) == 32):
            raise KeyRefusedError("a key has 32 bytes; let Key() draw them, or load one with Key.load(path)")
        self.__secret = secret if secret is not None else secrets.token_bytes(32)
        self.seeded = seeded
        self.ledger: list[LedgerEntry] = []
        self.__matrices: dict[str, Matrix] = {}

    @classmethod
    def from_seed(cls, seed: int) -> Key:
        """A key that anybody who guesses the seed has: for tests and papers only."""
        return cls(hashlib.sha256(f"veil seed {int(seed)}".encode()).digest(), seeded=True)

    def derive(self, purpose: str, address: Any = None) -> bytes:
        """A sub-key for one purpose."""
        return derive(self.__secret, purpose, address)

    def same_as(self, other: Key) -> bool:
        """Whether two keys hold the same secret."""
        return hmac.compare_digest(self.derive("same"), other.derive("same"))

    def generator(self, purpose: str, address: Any = None) -> Generator:
        """A cryptographic generator for one purpose."""
        return Generator(self.__secret, purpose, address)

    def matrix(self, address: Any, make: Callable[[Generator], Matrix]) -> Matrix:
        """The secret matrix at an address: made once, then kept in the key and its file."""
        name = self.derive("name of matrix", address).hex()
        if name not in self.__matrices:
            self.__matrices[name] = make(self.generator("matrix", address))
        return self.__matrices[name]

    def entry(self, release_id: str) -> LedgerEntry:
        """The ledger entry of a release made with this key."""
        for entry in self.ledger:
            if entry.release_id == release_id:  # both are public
                return entry
        raise KeyRefusedError("this key did not make this release; use the key file that was written with it")

    def record(self, entry: LedgerEntry, *, again: bool) -> LedgerEntry:
        """Enter a release in the ledger, or return the entry of the same release made before.

        The entry gets its number and its id: a keyed name that ties the release to this key and
        tells nothing else.

        Raises
        ------
        KeyRefusedError
            When the key was already used for something else and ``again`` is false.
        """
        release_id = self.derive("release", entry.address).hex()[:32]
        for known in self.ledger:
            if known.release_id == release_id:
                return known
        if self.ledger and not again:
            raise KeyRefusedError(
                f"this key already made {len(self.ledger)} other release(s), and releases under one key can be "
                "compared by an attacker; use a new key, or again=True if that is meant",
                parameter="again",
            )
        numbered = replace(entry, number=len(self.ledger) + 1, release_id=release_id)
        self.ledger.append(numbered)
        return numbered

    def row_order(self, entry: LedgerEntry) -> npt.NDArray[np.intp] | None:
        """The secret order of a shuffled release's rows; None when they kept theirs."""
        if not entry.shuffled:
            return None
        return self.generator("permutation", entry.address).permutation(entry.n_rows)

    def save(self, path: str | Path, passphrase: str | None = None, *, replace: bool = False) -> None:
        """Write the key file, mode 0600; an existing file is refused unless ``replace``."""
        body: dict[str, Any] = {
            "secret": self.__secret.hex(),
            "seeded": self.seeded,
            "ledger": [asdict(entry) for entry in self.ledger],
            "matrices": {name: _to_base64(matrix) for name, matrix in self.__matrices.items()},
        }
        head: dict[str, Any] = {"veil": "key", "format": FORMAT}
        if passphrase is not None and not (isinstance(passphrase, str) and passphrase):
            raise KeyRefusedError("the passphrase must be a text that is not empty; None leaves the key file unlocked")
        body["check"] = self._check(body)
        document = head | (_locked(body, passphrase) if passphrase is not None else body)
        write_private(Path(path), json.dumps(document).encode(), replace=replace)

    def _check(self, body: dict[str, Any]) -> str:
        """A keyed digest of the key file: a flipped digit must not restore a wrong table."""
        return self.derive("check", {name: value for name, value in body.items() if name != "check"}).hex()

    @classmethod
    def load(cls, path: str | Path, passphrase: str | None = None) -> Key:
        """Read a key file."""
        path = Path(path)
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise KeyRefusedError(f"{path.name}: cannot read the key file ({error.strerror})") from None
        except (ValueError, RecursionError):
            raise KeyRefusedError(f"{path.name}: not a Veil key file") from None
        if not isinstance(document, dict) or document.get("veil") != "key" or document.get("format") != FORMAT:
            raise KeyRefusedError(f"{path.name}: not a Veil key file of format {FORMAT}")
        if "sealed" in document:
            if passphrase is None:
                raise KeyRefusedError(f"{path.name}: the key is locked; give its passphrase", parameter="passphrase")
            document = _unlocked(document, passphrase, path)
        try:
            key = cls(bytes.fromhex(document["secret"]), seeded=document["seeded"])._adopt(
                [_entry(raw) for raw in document["ledger"]],
                {name: _from_base64(raw) for name, raw in document["matrices"].items()},
            )
            body = {name: document[name] for name in ("secret", "seeded", "ledger", "matrices")}
            whole = hmac.compare_digest(document["check"], key._check(body))
        except (ArithmeticError, AttributeError, KeyError, MemoryError, TypeError, ValueError):
            whole = False
        if not whole:
            raise KeyRefusedError(f"{path.name}: the key file is damaged")
        return key

    def __repr__(self) -> str:
        return MASK

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(MASK, spec)

    def _repr_html_(self) -> str:
        return "&lt;secret&gt;"

    def __getstate__(self) -> str:
        # Python hands out slots here to whoever asks; pickle goes through __reduce__ and does not.
        return MASK

    def __copy__(self) -> Key:
        return _rebuild(self.__secret, self.seeded, self.ledger, self.__matrices)

    def __deepcopy__(self, memo: dict[int, Any]) -> Key:
        return _rebuild(self.__secret, self.seeded, list(self.ledger), dict(self.__matrices))

    def __reduce__(self) -> tuple[Any, ...]:
        if not key_pickling_allowed():
            raise KeyRefusedError("a key is never pickled; use key.save(path), or veil.allow_key_pickling()")
        return _rebuild, (self.__secret, self.seeded, self.ledger, self.__matrices)

    def _adopt(self, ledger: list[LedgerEntry], matrices: dict[str, Matrix]) -> Key:
        self.ledger, self.__matrices = ledger, matrices
        return self


def _rebuild(secret: bytes, seeded: bool, ledger: list[LedgerEntry], matrices: dict[str, Matrix]) -> Key:
    return Key(secret, seeded=seeded)._adopt(ledger, matrices)


def key_from(random_state: Any) -> Key:
    """A key from a scikit-learn ``random_state``: fresh secret bits for None, else seeded."""
    if random_state is None:
        return Key()
    if isinstance(random_state, int | np.integer):
        return Key.from_seed(int(random_state))
    if isinstance(random_state, np.random.RandomState):
        return Key(random_state.bytes(32), seeded=True)
    if isinstance(random_state, np.random.Generator):
        return Key(random_state.bytes(32), seeded=True)
    raise KeyRefusedError("random_state must be None, an integer or a numpy random generator")


def _entry(raw: dict[str, Any]) -> LedgerEntry:
    """An entry of a key file; files of version 0.1 call its parts steps."""
    fields = dict(raw)
    parts = fields.pop("parts", None) or fields.pop("steps")
    return LedgerEntry(**{**fields, "parts": [LedgerPart(**part) for part in parts]})


def _to_base64(matrix: Matrix) -> dict[str, Any]:
    """An array as base64, so that it comes back bit for bit."""
    data = base64.b64encode(np.ascontiguousarray(matrix, dtype="<f8").tobytes()).decode()
    return {"float64": data, "shape": list(matrix.shape)}


def _from_base64(raw: dict[str, Any]) -> Matrix:
    return np.frombuffer(base64.b64decode(raw["float64"]), dtype="<f8").reshape(raw["shape"]).copy()


def _locked(body: dict[str, Any], passphrase: str) -> dict[str, Any]:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    salt, nonce = os.urandom(16), os.urandom(12)
    sealed = AESGCM(_stretch(passphrase, salt, _SCRYPT)).encrypt(nonce, json.dumps(body).encode(), b"veil key")
    return {"scrypt": _SCRYPT, "salt": _text(salt), "nonce": _text(nonce), "sealed": _text(sealed)}


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _unlocked(document: dict[str, Any], passphrase: str, path: Path) -> dict[str, Any]:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    try:
        salt, nonce, sealed = (base64.b64decode(document[name]) for name in ("salt", "nonce", "sealed"))
        body = AESGCM(_stretch(passphrase, salt, document["scrypt"])).decrypt(nonce, sealed, b"veil key")
    except (ArithmeticError, AttributeError, InvalidTag, KeyError, MemoryError, TypeError, ValueError):
        raise KeyRefusedError(f"{path.name}: wrong passphrase, or the key file is damaged") from None
    loaded: dict[str, Any] = json.loads(body)
    return loaded


def _stretch(passphrase: str, salt: bytes, cost: dict[str, int]) -> bytes:
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    if not cost["n"] * cost["r"] * cost["p"] <= 16 * _SCRYPT_LIMIT:
        raise ValueError("a damaged file must not exhaust the memory")
    return Scrypt(salt=salt, length=32, n=cost["n"], r=cost["r"], p=cost["p"]).derive(passphrase.encode())
