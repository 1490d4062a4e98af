"""Sealed work: what a cluster's scheduler, logs and dashboard see of a run is noise.

A run has a random session key. Each worker process makes a key pair of its own and shows the public
half; the session key and the work go to every worker sealed to that half (X25519, HKDF-SHA-256,
AES-256-GCM), and results come back sealed with the session key. Tasks carry the session's name and a
span of blocks, nothing else. A scheduler that is curious learns how many rows there are; one that
lies could put itself between client and workers, against which the cluster's own TLS helps.

A message is pickled inside its envelope, which only this run's processes can make.
"""

from __future__ import annotations

import os
import pickle
import secrets
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from veil._version import __version__
from veil.data.blas import arithmetic
from veil.errors import ClusterError
from veil.secret import allow_key_pickling

PATIENCE = 60.0
"""Seconds that a task waits on a worker for its session to arrive there."""


@dataclass(frozen=True)
class Greeting:
    """What a worker says of itself."""

    public: bytes
    arithmetic: str
    veil: str
    process: int


@dataclass
class _Desk:
    """What a process knows: its key pair, and the sessions it was let into."""

    private: X25519PrivateKey = field(default_factory=X25519PrivateKey.generate)
    sessions: dict[str, tuple[bytes, Any]] = field(default_factory=dict)
    arrived: threading.Condition = field(default_factory=threading.Condition)


_DESK = _Desk()


def greet() -> Greeting:
    """On a worker: its public key, and what its arithmetic depends on."""
    return Greeting(_DESK.private.public_key().public_bytes_raw(), arithmetic(), __version__, os.getpid())


def admit(name: str, sender: bytes, envelope: bytes) -> None:
    """On a worker: take a session key and the work that belongs to it."""
    shared = _shared(_DESK.private, sender, name)
    key, content = _opened(shared, envelope, name)
    with _DESK.arrived:
        _DESK.sessions[name] = (key, content)
        _DESK.arrived.notify_all()


def dismiss(name: str) -> None:
    """On a worker: forget a session."""
    with _DESK.arrived:
        _DESK.sessions.pop(name, None)


def attend(name: str, patience: float = PATIENCE) -> tuple[bytes, Any]:
    """On a worker: a session's key and work; waits for them, since a worker may be younger than the run."""
    end = time.monotonic() + patience
    with _DESK.arrived:
        while name not in _DESK.sessions:
            left = end - time.monotonic()
            if left <= 0:
                raise ClusterError("a worker was not let into the run in time; it may be cut off from the client")
            _DESK.arrived.wait(left)
        return _DESK.sessions[name]


class Session:
    """A run's own key, on the client; masked like every secret."""

    __slots__ = ("__key", "__private", "name")

    def __init__(self) -> None:
        self.name = secrets.token_hex(8)
        self.__key = AESGCM.generate_key(256)
        self.__private = X25519PrivateKey.generate()

    def __repr__(self) -> str:
        return "<secret>"

    def __reduce__(self) -> Any:
        raise ClusterError("a session is never pickled")

    @property
    def public(self) -> bytes:
        """The client's public key for this run."""
        return self.__private.public_key().public_bytes_raw()

    def envelope(self, greeting: Greeting, content: Any) -> bytes:
        """The session key and the work, sealed for one worker."""
        shared = _shared(self.__private, greeting.public, self.name)
        return _sealed(shared, (self.__key, content), self.name)

    def stay(self, content: Any) -> None:
        """Let this very process into the session, for schedulers that run in it."""
        with _DESK.arrived:
            _DESK.sessions[self.name] = (self.__key, content)
            _DESK.arrived.notify_all()

    def opened(self, envelope: bytes) -> Any:
        """A result that came back."""
        return _opened(self.__key, envelope, self.name)


def sealed_result(key: bytes, name: str, result: Any) -> bytes:
    """On a worker: a result for the client's eyes only."""
    return _sealed(key, result, name)


def _shared(private: X25519PrivateKey, peer: bytes, name: str) -> bytes:
    secret = private.exchange(X25519PublicKey.from_public_bytes(peer))
    return HKDF(SHA256(), 32, None, b"veil session " + name.encode()).derive(secret)


def _sealed(key: bytes, content: Any, name: str) -> bytes:
    nonce = os.urandom(12)
    with allow_key_pickling():
        plain = pickle.dumps(content, protocol=5)
    return nonce + AESGCM(key).encrypt(nonce, plain, name.encode())


def _opened(key: bytes, envelope: bytes, name: str) -> Any:
    try:
        plain = AESGCM(key).decrypt(envelope[:12], envelope[12:], name.encode())
    except (InvalidTag, ValueError):
        raise ClusterError("a message from the cluster was not sealed by this run; somebody interferes") from None
    return pickle.loads(plain)  # noqa: S301 - whoever sealed it has this run's key
