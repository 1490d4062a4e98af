"""Oblivious transfer: the chosen message and no other."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import sys

import pytest

from veil.errors import InputError, KeyRefusedError, MissingExtraError
from veil.scenarios import TransferAnswer, TransferReceiver, TransferRequest, TransferSender
from veil.scenarios import oblivious_transfer as transfer
from veil.scenarios import residue_group as group

MESSAGES = [b"the first message", b"number two, no  2", b"\0" * 17, bytes(range(17))]
MARKED = b"SECRETMESSAGE"


def play(messages, choice):
    sender, receiver = TransferSender(messages), TransferReceiver(choice, of=len(messages))
    answer = sender.answer(receiver.request(sender.offer()))
    return receiver, answer


@pytest.mark.parametrize(("n", "choice"), [(2, 0), (2, 1), *((4, i) for i in range(4)), (7, 6)])
def test_the_chosen_message_arrives(n, choice):
    messages = (MESSAGES * 2)[:n]
    receiver, answer = play(messages, choice)
    assert receiver.receive(answer) == messages[choice]


def test_long_messages():
    messages = [bytes([i]) * transfer.LONGEST for i in (1, 2)]
    receiver, answer = play(messages, 1)
    assert receiver.receive(answer) == messages[1]


def test_no_other_message_opens():
    """What the receiver knows, (g^r)^k, opens its own message, and none at another place or with another index."""
    messages = [MARKED * 3] * 4
    receiver, answer = play(messages, 2)
    element = receiver._element.reveal()
    opened = [
        (place, index)
        for place in range(4)
        for index in range(4)
        if transfer._padded(answer.sealed[place], element, index, answer.session) == messages[0]
    ]
    assert opened == [(2, 2)]
    assert len(set(answer.sealed)) == 4  # equal messages do not look equal
    other = bytes(32)
    assert transfer._padded(answer.sealed[2], element, 2, other) != messages[0]


def test_keys_of_all_places_multiply_to_the_constants():
    """PK_0 · PK_i = C_i: who knows two logarithms would know that of a constant, which the sender drew as a square."""
    p = int(group.modulus())
    sender = TransferSender(MESSAGES)
    offer = sender.offer()
    for choice in range(4):
        receiver = TransferReceiver(choice, of=4)
        request = receiver.request(offer)
        own = request.element if choice == 0 else int(group.quotient(offer.constants[choice - 1], request.element))
        r = sender._exponent.reveal()
        assert int(receiver._element.reveal()) == pow(own, int(r), p)


def test_requests_are_fresh_group_elements():
    offer = TransferSender(MESSAGES).offer()
    elements = [TransferReceiver(choice, of=4).request(offer).element for choice in (0, 0, 1, 1, 3, 3)]
    assert len(set(elements)) == 6
    assert all(group.is_member(element) for element in elements)


def test_a_sender_answers_once():
    sender = TransferSender(MESSAGES)
    offer = sender.offer()
    assert sender.offer() is offer
    requests = [TransferReceiver(i, of=4).request(offer) for i in (0, 1)]
    sender.answer(requests[0])
    for request in requests:
        with pytest.raises(InputError, match="new TransferSender for each transfer"):
            sender.answer(request)


def test_a_receiver_takes_one_offer():
    sender, receiver = TransferSender(MESSAGES), TransferReceiver(2, of=4)
    offer = sender.offer()
    request = receiver.request(offer)
    assert receiver.request(dataclasses.replace(offer)) == request
    other = TransferSender(MESSAGES).offer()
    for changed in (other, dataclasses.replace(other, session=offer.session)):
        with pytest.raises(InputError, match="new TransferReceiver for each transfer"):
            receiver.request(changed)
    assert receiver.receive(sender.answer(request)) == MESSAGES[2]


def test_parties_of_another_process_are_refused(monkeypatch):
    sender, receiver = TransferSender(MESSAGES), TransferReceiver(2, of=4)
    offer = sender.offer()
    request = TransferReceiver(2, of=4).request(offer)
    monkeypatch.setattr("os.getpid", lambda: -1)
    for step in (sender.offer, lambda: sender.answer(request), lambda: receiver.request(offer)):
        with pytest.raises(InputError, match="made in another process"):
            step()
    monkeypatch.undo()
    assert sender.answer(request).sealed


def test_messages_of_another_session_are_refused():
    sender, other = TransferSender(MESSAGES), TransferSender(MESSAGES)
    receiver, stranger = TransferReceiver(1, of=4), TransferReceiver(1, of=4)
    request, elsewhere = receiver.request(sender.offer()), stranger.request(other.offer())
    with pytest.raises(InputError, match="another session"):
        sender.answer(elsewhere)
    with pytest.raises(InputError, match="another session"):
        TransferSender(MESSAGES).answer(request)  # no offer yet
    answer, replayed = sender.answer(request), other.answer(elsewhere)
    with pytest.raises(InputError, match="another session"):
        receiver.receive(replayed)
    with pytest.raises(InputError, match="another session"):
        TransferReceiver(1, of=4).receive(answer)  # no request yet
    disguised = dataclasses.replace(replayed, session=answer.session)
    assert receiver.receive(disguised) != MESSAGES[1]
    assert receiver.receive(answer) == MESSAGES[1]


def test_requests_outside_the_group_are_refused_and_do_not_use_up_the_sender():
    sender, receiver = TransferSender(MESSAGES), TransferReceiver(3, of=4)
    request = receiver.request(sender.offer())
    p = int(group.modulus())
    nonresidue = p - group.GENERATOR  # −4: −1 is no square modulo a safe prime
    for element in (0, 1, p, p - 1, nonresidue, request.element + p, -request.element, 4.0, None, True, "4"):
        with pytest.raises(InputError, match="not in the group"):
            sender.answer(TransferRequest(request.session, element))
    for wrong in (None, request.element, sender.offer()):
        with pytest.raises(InputError, match="TransferRequest"):
            sender.answer(wrong)
    assert receiver.receive(sender.answer(request)) == MESSAGES[3]


def test_offers_outside_the_group_are_refused():
    """A constant that is no residue would show the choice in the request's Jacobi symbol."""
    offer, receiver = TransferSender(MESSAGES).offer(), TransferReceiver(1, of=4)
    bad = int(group.modulus()) - offer.constants[0]
    first, *rest = offer.constants
    for element in (bad, 0, 1, None, 2.0):
        with pytest.raises(InputError, match="1 of the offer's 4 elements"):
            receiver.request(dataclasses.replace(offer, constants=(element, *rest)))
        with pytest.raises(InputError, match="1 of the offer's 4 elements"):
            receiver.request(dataclasses.replace(offer, power=element))
    for constants in ((), (first,), (*offer.constants, first), list(offer.constants), None):
        with pytest.raises(InputError, match="must have 3 constants"):
            receiver.request(dataclasses.replace(offer, constants=constants))
    for session in (b"", b"short", "x" * 32, None):
        with pytest.raises(InputError, match="session must have 32 bytes"):
            receiver.request(dataclasses.replace(offer, session=session))
    with pytest.raises(InputError, match="TransferOffer"):
        receiver.request(None)


def test_damaged_answers_are_refused():
    receiver, answer = play(MESSAGES, 1)
    sealed = answer.sealed
    for wrong in ((), sealed[:3], (*sealed, sealed[0]), (*sealed[:3], b"x"), (*sealed[:3], 5), None, (b"",) * 4):
        with pytest.raises(InputError, match="sealed messages"):
            receiver.receive(TransferAnswer(answer.session, wrong))
    with pytest.raises(InputError, match="1 to 8,160 bytes"):
        receiver.receive(TransferAnswer(answer.session, (bytes(9000),) * 4))
    with pytest.raises(InputError, match="TransferAnswer"):
        receiver.receive(sealed)


@pytest.mark.parametrize(
    ("messages", "match"),
    [
        ([], "at least two"),
        ([MARKED], "at least two"),
        (MARKED, "at least two"),
        (None, "at least two"),
        ({0: b"a", 1: b"b"}, "at least two"),
        ([MARKED, "text"], "1 of 2 are not"),
        ([MARKED, None, 5], "2 of 3 are not"),
        ([MARKED, b"short"], "one length"),
        ([b"", b""], "1 to 8,160"),
        ([bytes(9000)] * 2, "1 to 8,160"),
    ],
)
def test_bad_messages(messages, match):
    with pytest.raises(InputError, match=match) as refused:
        TransferSender(messages)
    assert MARKED.decode() not in str(refused.value)


@pytest.mark.parametrize("choice", [-1, 4, 1.0, True, None, "1", float("nan")])
def test_bad_choices(choice):
    with pytest.raises(InputError, match="choice must be a whole number from 0 to 3"):
        TransferReceiver(choice, of=4)


@pytest.mark.parametrize("of", [1, 0, 2.0, True, None, 2**20 + 1, 10**5000], ids=lambda of: type(of).__name__)
def test_bad_numbers_of_messages(of):
    with pytest.raises(InputError, match="of must be"):
        TransferReceiver(0, of=of)


def test_parties_do_not_show_what_they_hold():
    sender, receiver = TransferSender([MARKED] * 2), TransferReceiver(1, of=2)
    request = receiver.request(sender.offer())
    shown = f"{sender} {sender!r} {vars(sender)} {receiver!r} {vars(receiver)} {request} {sender.answer(request)}"
    assert MARKED.decode() not in shown
    assert str(sender._exponent.reveal()) not in shown
    assert str(receiver._element.reveal()) not in shown
    for party in (sender, receiver):
        for send in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(KeyRefusedError, match="never pickled"):
                send(party)


def test_without_gmpy2_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "gmpy2", None)
    group.modulus.cache_clear()
    with pytest.raises(MissingExtraError) as missing:
        TransferSender(MESSAGES).offer()
    assert str(missing.value) == "protocols need gmpy2: pip install 'veil[protocols]'"
