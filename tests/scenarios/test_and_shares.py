"""Shares of an AND: table 2.2, with uniform shares."""

from __future__ import annotations

import pickle
from itertools import product

import numpy as np
import pytest
from scipy.stats import binomtest

from veil.errors import InputError, KeyRefusedError
from veil.scenarios import AndShareReceiver, AndShareSender, TransferReceiver, TransferSender, and_shares

LEVEL = 1e-6
"""The draws have no seed: tests of uniformity fail once in a million runs."""


def drawn(a, b, share):
    """A sender whose random share is the wanted one."""
    return next(sender for sender in iter(lambda: AndShareSender(a, b), None) if sender.share == share)


@pytest.mark.parametrize("inputs", list(product((0, 1), repeat=4)))
def test_all_32_cases(inputs):
    a1, b1, a2, b2 = inputs
    for c1 in (0, 1):
        sender, receiver = drawn(a1, b1, c1), AndShareReceiver(a2, b2)
        c2 = receiver.receive(sender.answer(receiver.request(sender.offer())))
        assert c1 ^ c2 == (a1 ^ a2) & (b1 ^ b2)


def test_the_function_plays_both():
    c1, c2 = and_shares(1, 1, 0, 0)
    assert {c1, c2} == {0, 1}
    assert and_shares(np.int8(1), 0, 1, 1) in ((0, 0), (1, 1))


@pytest.mark.parametrize("bits", list(product((0, 1), repeat=2)))
def test_the_senders_share_is_uniform(bits):
    ones = sum(AndShareSender(*bits).share for _ in range(2000))
    assert binomtest(ones, 2000).pvalue > LEVEL / 4


@pytest.mark.parametrize("bad", [2, -1, 0.0, 1.0, True, None, "1", float("nan")])
def test_bits_only(bad):
    for make in (AndShareSender, AndShareReceiver):
        for bits in ((bad, 0), (0, bad)):
            with pytest.raises(InputError, match="must be 0 or 1"):
                make(*bits)


def test_a_receiver_takes_bits_of_four_only():
    receiver, sender = AndShareReceiver(1, 0), TransferSender([b"\2"] * 4)
    with pytest.raises(InputError, match="not a bit"):
        receiver.receive(sender.answer(receiver.request(sender.offer())))
    with pytest.raises(InputError, match="3 constants"):
        receiver.request(TransferSender([b"\0"] * 5).offer())


def test_a_sender_answers_once():
    sender = AndShareSender(1, 0)
    request = AndShareReceiver(0, 1).request(sender.offer())
    sender.answer(request)
    with pytest.raises(InputError, match="new TransferSender"):
        sender.answer(TransferReceiver(3, of=4).request(sender.offer()))


def test_parties_do_not_show_their_bits():
    for sender in (AndShareSender(0, 0), AndShareSender(1, 1)):
        assert repr(sender) == "AndShareSender(<secret>)"
        assert {repr(value) for value in vars(sender).values()} == {"<secret>", "TransferSender(<secret>)"}
    for receiver in (AndShareReceiver(0, 0), AndShareReceiver(1, 1)):
        assert repr(list(vars(receiver).values())) == "[TransferReceiver(<secret>)]"
        with pytest.raises(KeyRefusedError):
            pickle.dumps(receiver)
