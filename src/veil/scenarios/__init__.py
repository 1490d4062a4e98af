"""Parties that compute together without showing their data.

Two protocols of chapter 2 of Liu's dissertation, on Paillier's cryptosystem and on discrete logarithms. Each party is
an object of its own that exchanges plain messages with the other; the functions :func:`private_inner_product` and
:func:`and_shares` play both parties in one process. All of it needs gmpy2 (``pip install 'veil[protocols]'``).
"""

from __future__ import annotations

from veil.scenarios.and_shares import AndShareReceiver, AndShareSender, Shares, and_shares
from veil.scenarios.inner_product import (
    InnerProductAnswer,
    InnerProductAnswerer,
    InnerProductAsker,
    InnerProductMessage,
    private_inner_product,
)
from veil.scenarios.oblivious_transfer import (
    TransferAnswer,
    TransferOffer,
    TransferReceiver,
    TransferRequest,
    TransferSender,
)
from veil.scenarios.paillier import PaillierKey, PaillierPublicKey

__all__ = [
    "AndShareReceiver",
    "AndShareSender",
    "InnerProductAnswer",
    "InnerProductAnswerer",
    "InnerProductAsker",
    "InnerProductMessage",
    "PaillierKey",
    "PaillierPublicKey",
    "Shares",
    "TransferAnswer",
    "TransferOffer",
    "TransferReceiver",
    "TransferRequest",
    "TransferSender",
    "and_shares",
    "private_inner_product",
]
