"""Oblivious transfer: the receiver gets one of n messages, and the sender does not learn which.

*Model*: the sender offers group elements C_1 … C_{n−1} and g^r. The receiver, who wants message σ, draws k and requests
with PK_0 = g^k (σ = 0) or C_σ / g^k. The sender pads message i with a hash of (PK_i)^r, where PK_i = C_i / PK_0; the
receiver knows (PK_σ)^r = (g^r)^k and nothing of the others. The hash is HKDF-SHA256 of (element, index, session); the
group has 2048 bits (RFC 3526, group 14).

*Threat*: a request is a uniform group element whatever σ is, so no sender, however strong or malicious, learns σ from
it. A receiver who does as he likes learns at most one message, if Diffie–Hellman is hard in the group and the hash is
as good as a random function; a sender answers once, so he cannot ask again: not from another thread either, nor from a
fork of the sender's process.

*Not protected*: that the messages are right. A malicious sender can spoil some of them and learn from a receiver's
complaint whether his was among them, and pads do not show that a message was changed on its way: the channel must be
authenticated. Neither the number nor the length of the messages is hidden.

*Reference*: Naor and Pinkas 2001, protocol 3.1, for n messages; Liu 2007, section 2.1.2.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from veil.arguments import whole
from veil.errors import InputError
from veil.scenarios import residue_group as group
from veil.scenarios.arithmetic import is_whole
from veil.scenarios.party import OneTimeParty, expect
from veil.secret import Secret

LONGEST = 255 * 32
"""Bytes that one HKDF-SHA256 gives."""
SESSION_BYTES = 32
MOST_MESSAGES = 2**20
"""Of a transfer; each costs two long powers."""


@dataclass(frozen=True)
class TransferOffer:
    """What the sender opens with: a fresh session, C_1 … C_{n−1} and g^r."""

    session: bytes
    constants: tuple[int, ...] = field(repr=False)
    power: int = field(repr=False)


@dataclass(frozen=True)
class TransferRequest:
    """The receiver's choice, hidden in PK_0."""

    session: bytes
    element: int = field(repr=False)


@dataclass(frozen=True)
class TransferAnswer:
    """All messages, each under a pad of its own."""

    session: bytes
    sealed: tuple[bytes, ...] = field(repr=False)


class TransferSender(OneTimeParty):
    """The party with the messages: bytes, all of one length (at most 8,160; send keys to seal longer ones).

    It serves one transfer, in the process that made it.
    """

    def __init__(self, messages: Sequence[bytes]) -> None:
        super().__init__()
        listed = list(messages) if isinstance(messages, list | tuple) else []
        if not 2 <= len(listed) <= MOST_MESSAGES:
            raise InputError(f"messages must be a list of at least two, and at most {MOST_MESSAGES:,}")
        wrong = sum(not isinstance(message, bytes) for message in listed)
        if wrong:
            raise InputError(f"messages must be bytes, and {wrong} of {len(listed)} are not; encode them first")
        if len({len(message) for message in listed}) > 1:
            raise InputError(f"the {len(listed)} messages must have one length; pad the shorter ones")
        if not 1 <= len(listed[0]) <= LONGEST:
            raise InputError(
                f"messages must have 1 to {LONGEST:,} bytes; send keys, and seal longer messages with them"
            )
        self._messages = Secret(listed)
        self._exponent = Secret(None)
        self._offer: TransferOffer | None = None
        self._answered = False

    def offer(self) -> TransferOffer:
        """The opening message; the same one each time."""
        with self._alone():
            if self._offer is None:
                r = group.random_exponent()
                constants = tuple(int(group.random_member()) for _ in self._messages.reveal()[1:])
                opening = int(group.power(group.GENERATOR, r))
                self._exponent, self._offer = Secret(r), TransferOffer(_new_session(), constants, opening)
            return self._offer

    def answer(self, request: TransferRequest) -> TransferAnswer:
        """All messages sealed, once: a second request would open a second message.

        A request that is refused does not count.
        """
        expect(request, TransferRequest, "the receiver")
        _expect_session(request.session, "request")
        with self._alone():
            if self._offer is None or request.session != self._offer.session:
                raise InputError(
                    "the request belongs to another session; answer the one that followed this sender's offer"
                )
            if self._answered:
                raise InputError("this sender has answered a request; make a new TransferSender for each transfer")
            if not group.is_member(request.element):
                raise InputError(
                    "the request's element is not in the group; it was damaged, or is not of this protocol"
                )
            self._answered = True
            r = self._exponent.reveal()
            first = group.power(request.element, r)
            powers = [first, *(group.quotient(group.power(c, r), first) for c in self._offer.constants)]
            messages = enumerate(self._messages.reveal())
            sealed = (_padded(message, powers[i], i, request.session) for i, message in messages)
            return TransferAnswer(request.session, tuple(sealed))


class TransferReceiver(OneTimeParty):
    """The party that wants message number ``choice`` (from 0) of ``of`` messages; it serves one transfer."""

    def __init__(self, choice: int, *, of: int) -> None:
        super().__init__()
        self._of = whole(of, "of", least=2)
        if self._of > MOST_MESSAGES:
            raise InputError(f"of must be at most {MOST_MESSAGES:,}")
        if not is_whole(choice) or not 0 <= choice < self._of:
            raise InputError(f"choice must be a whole number from 0 to {self._of - 1}")
        self._choice = Secret(int(choice))
        self._offer: TransferOffer | None = None
        self._request: TransferRequest | None = None
        self._element = Secret(None)

    def request(self, offer: TransferOffer) -> TransferRequest:
        """A group element that is uniform whatever the choice is; the work is the same for each choice, too.

        The same offer gets the same request again, another offer none.
        """
        expect(offer, TransferOffer, "the sender")
        _expect_session(offer.session, "offer")
        if not isinstance(offer.constants, tuple) or len(offer.constants) != self._of - 1:
            raise InputError(f"the offer must have {self._of - 1} constants, one less than there are messages")
        elements = (*offer.constants, offer.power)
        outside = sum(not group.is_member(element) for element in elements)
        if outside:
            raise InputError(
                f"{outside} of the offer's {len(elements)} elements are not in the group; refuse this sender"
            )
        with self._alone():
            if self._request is None:
                k = group.random_exponent()
                own = group.power(group.GENERATOR, k)
                hidden = [own, *(group.quotient(int(c), own) for c in offer.constants)][self._choice.reveal()]
                self._offer, self._element = offer, Secret(group.power(offer.power, k))
                self._request = TransferRequest(offer.session, int(hidden))
            elif offer != self._offer:
                raise InputError("this receiver has taken another offer; make a new TransferReceiver for each transfer")
            return self._request

    def receive(self, answer: TransferAnswer) -> bytes:
        """The chosen message."""
        expect(answer, TransferAnswer, "the sender")
        _expect_session(answer.session, "answer")
        if self._request is None or answer.session != self._request.session:
            raise InputError(
                "the answer belongs to another session; take the one that followed this receiver's request"
            )
        sealed = answer.sealed if isinstance(answer.sealed, tuple) else ()
        if (
            len(sealed) != self._of
            or not all(isinstance(s, bytes) for s in sealed)
            or len({len(s) for s in sealed}) > 1
        ):
            raise InputError(f"the answer must have {self._of} sealed messages of one length")
        if not 1 <= len(sealed[0]) <= LONGEST:
            raise InputError(f"sealed messages must have 1 to {LONGEST:,} bytes")
        choice = self._choice.reveal()
        return _padded(sealed[choice], self._element.reveal(), choice, answer.session)


def _expect_session(session: Any, message: str) -> None:
    if not isinstance(session, bytes) or len(session) != SESSION_BYTES:
        raise InputError(f"the {message}'s session must have {SESSION_BYTES} bytes")


def _new_session() -> bytes:
    return secrets.token_bytes(SESSION_BYTES)


def _padded(message: bytes, element: Any, index: int, session: bytes) -> bytes:
    """The message under, or out of, the pad of a group element."""
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    info = b"veil oblivious transfer" + index.to_bytes(8, "big")
    pad = HKDF(SHA256(), len(message), salt=session, info=info).derive(int(element).to_bytes(group.N_BYTES, "big"))
    return bytes(a ^ b for a, b in zip(message, pad, strict=True))
