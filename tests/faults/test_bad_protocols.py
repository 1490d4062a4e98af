"""Protocols against dishonest or clumsy parties: a refusal in one line, and nothing learnt beyond what is said."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import math
import os
import pickle
import threading
from contextlib import suppress
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from veil.errors import InputError, KeyRefusedError, VeilError
from veil.scenarios import (
    InnerProductAnswerer,
    InnerProductAsker,
    InnerProductMessage,
    PaillierKey,
    PaillierPublicKey,
    TransferReceiver,
    TransferRequest,
    TransferSender,
)
from veil.scenarios import residue_group as group
from veil.secret import Secret

gmpy2 = pytest.importorskip("gmpy2")

P = 84872176292826243098501397185917023692536245005080224499112273360334524752973
Q = 94114546217586972647631733969414630103680521590441323620021346179254905951937
MARKED = 314159265358979


@pytest.fixture(scope="module")
def key():
    return PaillierKey(P, Q, least_bits=512)


def kind(value):
    return type(value).__name__


def answered(y, message, **options):
    """An answer, or None where the party refuses."""
    try:
        return InnerProductAnswerer(y).answer(message, **options)
    except InputError:
        return None


# -- what a dishonest asker learns --------------------------------------------------------------


def test_a_share_protects_whatever_key_was_sent():
    """With n = p², r^n has no part of order p, so (1 + p)^Σ y_i B^i shows in the answer whatever the share is."""
    y, base, p = [1234567, -42, 99999, 0, -7], 2**64, int(gmpy2.next_prime(2**1030))
    n = p * p
    public = PaillierPublicKey(n)
    ciphertexts = tuple(pow(1 + p, base**i, n * n) for i in range(len(y)))
    w = answered(y, InnerProductMessage(public, ciphertexts, 1000), share=public.random_number())
    if w is None:
        return
    packed = -((pow(w.ciphertext, p - 1, p * p) - 1) // p) % p
    packed -= p * (packed > p // 2)
    found = []
    for _ in y:
        digit = (packed + base // 2) % base - base // 2
        found.append(digit)
        packed = (packed - digit) // base
    assert found != y


def test_a_share_protects_from_a_key_whose_factors_divide_each_other():
    m = 1_000_000_007
    p = next(q for q in ((2**600 + 2 * k) * m + 1 for k in itertools.count()) if gmpy2.is_prime(q))
    n, y = p * m, [4321]
    c = 2 + p * ((1 - 2) * pow(p, -1, m) % m)  # 2 modulo p, 1 modulo m
    public = PaillierPublicKey(n)
    w = answered(y, InnerProductMessage(public, (c,), 1), share=public.random_number())
    if w is None:
        return
    seen, step = pow(w.ciphertext, (p - 1) // m, p), pow(2, (p - 1) // m, p)
    guesses = [guess for guess in range(10_000) if pow(step, guess, p) == seen]
    assert guesses != y


def test_refusals_do_not_depend_on_y(key):
    message = InnerProductMessage(key.public, (1, 1, 1), key.public.n // 4)
    share = key.public.random_number()
    outcomes = {answered(y, message, share=share) is None for y in ([0, 0, 0], [0, 0, 1], [1, 1, 1])}
    assert len(outcomes) == 1


@pytest.mark.parametrize("bits", [2**14, 2**18])
def test_huge_keys_are_refused(bits):
    with pytest.raises(InputError):
        PaillierPublicKey(2**bits + 1)


def test_degenerate_ciphertexts_give_nothing_away(key):
    """1, −1 and repeated ciphertexts: the answer is still a fresh encryption."""
    n = key.public.n
    for c in (1, n * n - 1, 1 + n):
        message = InnerProductMessage(key.public, (c, c), 5)
        answers = {InnerProductAnswerer([1, 2]).answer(message) for _ in range(5)}
        assert len(answers) == 5
        assert {key.decrypt(w.ciphertext) for w in answers} == {3 if c == 1 + n else 0}


# -- what a dishonest or hasty receiver learns --------------------------------------------------


def test_two_threads_get_one_answer(monkeypatch):
    sender = TransferSender([b"red  ", b"green"])
    receivers = [TransferReceiver(i, of=2) for i in (0, 1)]
    requests = [receiver.request(sender.offer()) for receiver in receivers]
    together, is_member, got = threading.Barrier(2), group.is_member, []

    def slow(element):
        with suppress(threading.BrokenBarrierError):
            together.wait(0.5)
        return is_member(element)

    def ask(receiver, request):
        with suppress(InputError):
            got.append(receiver.receive(sender.answer(request)))

    monkeypatch.setattr(group, "is_member", slow)
    threads = [threading.Thread(target=ask, args=pair) for pair in zip(receivers, requests, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_sender_does_not_answer_twice():
    sender = TransferSender([b"a", b"b"])
    requests = [TransferReceiver(i, of=2).request(sender.offer()) for i in (0, 1)]
    sender.answer(requests[0]) if (child := os.fork()) else _answer_and_leave(sender, requests[1])
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


def _answer_and_leave(sender, request):
    code = 1
    try:
        sender.answer(request)
        code = 0
    finally:
        os._exit(code)


def test_a_receiver_that_asks_twice_opens_the_answer_or_refuses():
    sender, receiver = TransferSender([b"red  ", b"green"]), TransferReceiver(1, of=2)
    first = receiver.request(sender.offer())
    with suppress(InputError):
        receiver.request(sender.offer())
        assert receiver.receive(sender.answer(first)) == b"green"


def test_a_request_for_a_constant_itself_opens_one_message_at_most():
    """PK_0 = C_1 makes PK_1 = 1, whose pad anybody knows: one message, as any request gets."""
    from veil.scenarios import oblivious_transfer as transfer

    messages = [b"red  ", b"green", b"blue "]
    sender = TransferSender(messages)
    offer = sender.offer()
    answer = sender.answer(TransferRequest(offer.session, offer.constants[0]))
    opened = [transfer._padded(sealed, 1, i, offer.session) for i, sealed in enumerate(answer.sealed)]
    assert [got == message for got, message in zip(opened, messages, strict=True)] == [False, True, False]


def test_the_prime_is_that_of_the_rfc():
    """2^2048 − 2^1984 − 1 + 2^64 (⌊2^1918 π⌋ + 124476), with π by Machin's formula in whole numbers."""
    one = 1 << 2100

    def arctan(x):
        terms = (((-1) ** k, one // (x ** (2 * k + 1) * (2 * k + 1))) for k in range(500))
        return sum(sign * term for sign, term in terms)

    pi = 4 * (4 * arctan(5) - arctan(239))
    assert int(group.modulus()) == 2**2048 - 2**1984 - 1 + 2**64 * ((pi >> (2100 - 1918)) + 124476)


# -- keys that are none -------------------------------------------------------------------------


@pytest.mark.parametrize("weak", ["tiny", "neighbours"])
def test_weak_primes_are_refused(weak):
    if weak == "tiny":
        p, q = 3, next(q for q in map(int, (gmpy2.next_prime(2**600 + 999 * k) for k in range(40))) if q % 3 == 2)
    else:
        p, q = P, int(gmpy2.next_prime(P))
    with pytest.raises(KeyRefusedError):
        PaillierKey(p, q, least_bits=512)


# -- clumsy input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make", [InnerProductAnswerer, lambda v: InnerProductAsker(v, key=PaillierKey(P, Q, least_bits=512))]
)
def test_a_frame_is_no_vector(make):
    with pytest.raises(InputError):
        make(pd.DataFrame([[7, 8, 9], [1, 2, 3]]))


@pytest.mark.parametrize("value", [np.int64(7), np.uint64(7)])
def test_numpy_numbers_as_ciphertexts(key, value):
    message = InnerProductMessage(key.public, (value,), 5)
    for call in (
        lambda: key.decrypt(value),
        lambda: key.public.add(key.encrypt(1), value),
        lambda: InnerProductAnswerer([1]).answer(message).ciphertext,
    ):
        with suppress(VeilError):
            assert isinstance(call(), int)


def test_numpy_numbers_as_elements_and_primes():
    sender = TransferSender([b"a", b"b"])
    assert sender.answer(TransferRequest(sender.offer().session, np.int64(4))).sealed
    with pytest.raises(KeyRefusedError):
        PaillierKey(np.int64(101), int(gmpy2.next_prime(2**600)), least_bits=512)


@pytest.mark.parametrize("as_sent", [bytearray, memoryview, lambda s: np.frombuffer(s, np.uint8)])
def test_sessions_of_other_types(as_sent):
    sender, receiver = TransferSender([b"a", b"b"]), TransferReceiver(1, of=2)
    request = receiver.request(sender.offer())
    with suppress(VeilError):
        answer = sender.answer(dataclasses.replace(request, session=as_sent(request.session)))
        assert receiver.receive(answer) == b"b"


def test_a_refused_request_does_not_use_up_the_sender():
    sender, receiver = TransferSender([b"a", b"b"]), TransferReceiver(1, of=2)
    request = receiver.request(sender.offer())
    with pytest.raises(InputError, match="bytes"):
        sender.answer(dataclasses.replace(request, session=bytearray(request.session)))
    assert receiver.receive(sender.answer(request)) == b"b"


@pytest.mark.parametrize(
    "call",
    [
        lambda public, c: public.check(5),
        lambda public, c: public.check(None),
        lambda public, c: public.check(x for x in [0]),
        lambda public, c: public.combine([c], 5),
        lambda public, c: public.centred(math.nan),
        lambda public, c: public.centred(None),
        lambda public, c: public.centred(2.5),
        lambda public, c: public.centred("5"),
    ],
)
def test_wrong_arguments_of_a_public_key(key, call):
    with pytest.raises(InputError):
        call(key.public, key.encrypt(1))


@pytest.mark.parametrize(
    "call",
    [
        lambda public: repr(InnerProductMessage(public, (1,), 10**5000)),
        lambda public: TransferReceiver(-1, of=10**5000),
        lambda public: TransferReceiver(1, of=10**5000).request(TransferSender([b"a", b"b"]).offer()),
    ],
)
def test_numbers_with_many_digits(key, call):
    with suppress(VeilError):
        assert len(call(key.public)) < 1000


def test_the_group_does_not_depend_on_the_callers_context():
    with gmpy2.context(gmpy2.get_context(), trap_inexact=True):
        assert int(group.modulus.__wrapped__()) == int(group.modulus())


@pytest.mark.parametrize("element", [0, 1, -4, 4.0, Decimal(4), "4", None, 10**10_000, True], ids=kind)
def test_elements_that_are_none(element):
    sender = TransferSender([b"a", b"b"])
    with pytest.raises(InputError, match="not in the group"):
        sender.answer(TransferRequest(sender.offer().session, element))


@pytest.mark.parametrize("bound", [10**100_000, Decimal(5), np.float64(5), np.array([1, 2])], ids=kind)
def test_bounds_that_are_none(key, bound):
    with pytest.raises(InputError):
        InnerProductAnswerer([1]).answer(InnerProductMessage(key.public, (1,), bound))


@pytest.mark.parametrize("values", [[Decimal(1)], np.array([1, None], dtype=object), np.ma.array([1, 2], mask=[0, 1])])
def test_vectors_that_are_none(values):
    with pytest.raises(InputError, match="whole numbers only"):
        InnerProductAnswerer(values)


def test_unsigned_and_extreme_numbers(key):
    x, y = np.array([2**64 - 1, 0], dtype=np.uint64), np.array([-(2**63), 2**63 - 1])
    asker = InnerProductAsker(x, bound=2**64, key=key)
    assert asker.receive(InnerProductAnswerer(y, bound=2**63).answer(asker.send())) == -(2**63) * (2**64 - 1)


# -- what shows ---------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(object, "__getstate__"), reason="needs Python 3.11")
@pytest.mark.parametrize(
    "make",
    [
        lambda: PaillierKey(P, Q, least_bits=512),
        lambda: Secret(MARKED),
    ],
    ids=["key", "secret"],
)
def test_states_do_not_show(make):
    with suppress(VeilError):
        state = str(make().__getstate__())
        assert not any(str(secret) in state for secret in (P, Q, MARKED))


def test_parties_do_not_show_in_states_copies_and_pickles(key):
    sender = TransferSender([b"SECRETCELL", b"SECRETCELL"])
    receiver = TransferReceiver(1, of=2)
    receiver.request(sender.offer())
    for party in (sender, receiver, InnerProductAsker([MARKED], key=key), InnerProductAnswerer([MARKED])):
        shown = f"{party} {vars(party)}" + (str(party.__getstate__()) if hasattr(object, "__getstate__") else "")
        assert not any(secret in shown for secret in ("SECRETCELL", str(MARKED), str(P)))
        for send in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(KeyRefusedError):
                send(party)
