"""Shares of an AND: two parties turn shared bits into shares of their product.

*Model*: the bits a = a₁ + a₂ and b = b₁ + b₂ are shared (+ is XOR), party i holds a_i and b_i. Party 1 draws c₁ and
offers c₁ + (a₁ + i)(b₁ + j) for the four (i, j); party 2 takes number 2a₂ + b₂ by 1-of-4 oblivious transfer and has c₂
with c₁ + c₂ = ab. With XOR, which each party does alone, this computes any circuit.

*Threat*: semi-honest parties. Party 1 sees a request that is uniform whatever a₂ and b₂ are; party 2 sees c₂, which is
uniform because c₁ is. What is not protected is what :mod:`veil.scenarios.oblivious_transfer` does not protect: above
all, a party 1 who lies in some of the four.

*Reference*: Liu 2007, algorithm 2.1.2.1 and table 2.2.
"""

from __future__ import annotations

import secrets
from itertools import product
from typing import NamedTuple

from veil.errors import InputError
from veil.scenarios.arithmetic import bit
from veil.scenarios.oblivious_transfer import (
    TransferAnswer,
    TransferOffer,
    TransferReceiver,
    TransferRequest,
    TransferSender,
)
from veil.scenarios.party import Party
from veil.secret import Secret


class AndShareSender(Party):
    """Party 1, which draws its share of the result."""

    def __init__(self, a: int, b: int) -> None:
        a, b, drawn = bit(a, "a"), bit(b, "b"), secrets.randbits(1)
        self._share = Secret(drawn)
        self._transfer = TransferSender([bytes([drawn ^ ((a ^ i) & (b ^ j))]) for i, j in product((0, 1), repeat=2)])

    @property
    def share(self) -> int:
        """c₁, a uniform bit."""
        return int(self._share.reveal())

    def offer(self) -> TransferOffer:
        """The first message."""
        return self._transfer.offer()

    def answer(self, request: TransferRequest) -> TransferAnswer:
        """The third message; a party answers once."""
        return self._transfer.answer(request)


class AndShareReceiver(Party):
    """Party 2, which receives its share of the result."""

    def __init__(self, a: int, b: int) -> None:
        self._transfer = TransferReceiver(2 * bit(a, "a") + bit(b, "b"), of=4)

    def request(self, offer: TransferOffer) -> TransferRequest:
        """The second message."""
        return self._transfer.request(offer)

    def receive(self, answer: TransferAnswer) -> int:
        """c₂, from the third message."""
        received = self._transfer.receive(answer)
        if received not in (b"\0", b"\1"):
            raise InputError("the received message is not a bit; it was changed on its way, or the sender lies")
        return received[0]


class Shares(NamedTuple):
    """What each party holds: two bits whose sum modulo 2 is the result."""

    first: int
    second: int


def and_shares(a1: int, b1: int, a2: int, b2: int) -> Shares:
    """Shares (c₁, c₂) of (a₁ + a₂)(b₁ + b₂), both parties in this process.

    >>> c1, c2 = and_shares(1, 0, 0, 1)
    >>> c1 ^ c2
    1
    """
    sender, receiver = AndShareSender(a1, b1), AndShareReceiver(a2, b2)
    request = receiver.request(sender.offer())
    return Shares(sender.share, receiver.receive(sender.answer(request)))
