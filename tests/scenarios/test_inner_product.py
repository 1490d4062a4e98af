"""The private inner product: exact, or refused."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from veil.errors import InputError, KeyRefusedError, VeilError
from veil.scenarios import (
    InnerProductAnswer,
    InnerProductAnswerer,
    InnerProductAsker,
    InnerProductMessage,
    PaillierKey,
    PaillierPublicKey,
    private_inner_product,
)

MARKED = 314159265358979
words = st.integers(-(2**63) + 1, 2**63 - 1)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(words, words), min_size=1, max_size=8))
def test_exact(key, pairs):
    x, y = zip(*pairs, strict=True)
    asker = InnerProductAsker(x, key=key)
    assert asker.receive(InnerProductAnswerer(y).answer(asker.send())) == sum(a * b for a, b in pairs)


def test_both_parties_in_one_call():
    x, y = np.arange(-3, 4), np.array([5, 0, -2, 7, 1, 1, 2], dtype=np.int16)
    assert private_inner_product(x, y) == int(x @ y)
    assert private_inner_product([2**100], [-(2**900)], bound=2**900) == -(2**1000)


def test_shares_add_up_and_hide_the_product(key):
    asker = InnerProductAsker([7, -8, 9], key=key)
    message = asker.send()
    seen = set()
    for _ in range(20):
        share = message.key.random_number()
        hers = asker.receive(InnerProductAnswerer([1, 2, 3]).answer(message, share=share))
        assert message.key.centred(hers + share) == 18
        seen.add(hers)
    assert len(seen) == 20
    assert all(abs(hers) > 2**300 for hers in seen)  # 20 uniform numbers of 511 bits


def test_the_answer_is_fresh_so_that_guesses_of_y_cannot_be_tested(key):
    """As Liu prints it, the asker finds y among all that give the same product; with a fresh encryption none fits."""
    x, y = [1] * 6, [1, 0, 1, 1, 0, 0]
    asker, answerer = InnerProductAsker(x, key=key), InnerProductAnswerer(y)
    message = asker.send()
    guesses = {message.key.combine(message.ciphertexts, guess): guess for guess in itertools.product((0, 1), repeat=6)}
    printed = message.key.combine(message.ciphertexts, y)
    assert guesses[printed] == tuple(y)
    answers = {answerer.answer(message) for _ in range(20)}
    assert len(answers) == 20
    assert not {answer.ciphertext for answer in answers} & set(guesses)
    assert {asker.receive(w) for w in answers} == {3}


def test_each_question_is_fresh(key):
    asker = InnerProductAsker([0, 0], key=key)
    first, second = asker.send(), asker.send()
    assert len({*first.ciphertexts, *second.ciphertexts}) == 4


def test_overflow_is_refused_at_its_very_edge(key):
    n = key.public.n
    most = (n // 2) // 15  # 3 · bound · 5 stays at or below n/2
    answerer = InnerProductAnswerer([5, 5, -5], bound=5)
    asker = InnerProductAsker([most, most, -most], bound=most, key=key)
    assert asker.receive(answerer.answer(asker.send())) == 15 * most
    asker = InnerProductAsker([1, 1, 1], bound=most + 1, key=key)
    with pytest.raises(InputError, match=r"with d = 3 must stay below n/2.*longer key"):
        answerer.answer(asker.send())
    with pytest.raises(InputError, match="bound must be below n/2"):
        InnerProductAsker([1], bound=n, key=key)
    with pytest.raises(InputError, match="stay below n/2"):
        private_inner_product([1], [2**2000], bound=2**2000)


@pytest.mark.parametrize("y", [[0, 0], [1, -1], [5, 5]])
def test_refusals_depend_on_the_bounds_and_not_on_y(key, y):
    answerer, most = InnerProductAnswerer(y, bound=5), key.public.n // 2 // 10
    assert isinstance(answerer.answer(InnerProductMessage(key.public, (1, 1), most)), InnerProductAnswer)
    with pytest.raises(InputError, match="stay below n/2"):
        answerer.answer(InnerProductMessage(key.public, (1, 1), most + 1))


def test_keys_without_a_proof_are_not_answered(key):
    message, answerer = InnerProductAsker([1], key=key).send(), InnerProductAnswerer([1])
    for public in (PaillierPublicKey(key.public.n), dataclasses.replace(key.public, roots=key.public.roots[::-1])):
        with pytest.raises(InputError, match="no valid proof"):
            answerer.answer(dataclasses.replace(message, key=public))


def test_answers_of_another_key_are_refused_unless_a_share_hides_them(key):
    asker, other = InnerProductAsker([3], key=key), InnerProductAsker([3], key=PaillierKey.generate())
    with pytest.raises(InputError, match="made under another key"):
        other.receive(InnerProductAnswerer([1]).answer(asker.send()))
    shared = InnerProductAnswerer([1]).answer(asker.send(), share=7)
    assert shared.shared
    assert asker.receive(shared) == 3 - 7
    assert other.receive(shared) != 3 - 7


def test_answers_beyond_the_bounds_are_refused(key):
    asker = InnerProductAsker([2, 2], bound=2, key=key)
    for number in (20, -20):
        assert asker.receive(InnerProductAnswer(key.encrypt(number), 5, shared=False)) == number
    for number in (21, -21, key.public.n // 2):
        answer = InnerProductAnswer(key.encrypt(number), 5, shared=False)
        with pytest.raises(InputError, match="no inner product within the bounds"):
            asker.receive(answer)
        assert asker.receive(dataclasses.replace(answer, shared=True)) == number


def test_lengths_that_differ_are_named(key):
    with pytest.raises(InputError, match="has 3 numbers of x, and y has 2"):
        InnerProductAnswerer([1, 2]).answer(InnerProductAsker([1, 2, 3], key=key).send())


def test_whole_floats_are_refused_with_the_way_to_convert_them():
    with pytest.raises(InputError, match=r"3 of 3 are not; floats such as 2\.0 become integers by \[round\(v\)"):
        InnerProductAnswerer([1.0, 2.0, 3.0])
    assert InnerProductAnswerer([round(v) for v in np.array([1.0, 2.0])])._y.reveal() == [1, 2]


def test_the_other_party_multiplies_with_python_integers(key):
    """A bound that came as numpy's 64-bit number must not itself overflow in the check."""
    message = dataclasses.replace(InnerProductAsker([5], key=key).send(), bound=np.int64(2**63 - 1))
    with pytest.raises(InputError, match="stay below n/2"):
        InnerProductAnswerer([2**450], bound=2**450).answer(message)


@pytest.mark.parametrize("make", [lambda v: InnerProductAsker(v, bound=2**60), InnerProductAnswerer])
@pytest.mark.parametrize(
    ("values", "match"),
    [
        ([], "at least one"),
        ([1, 2.0, MARKED + 0.5], "2 of 3 are not"),
        ([float("nan"), float("inf")], "2 of 2 are not"),
        ([True, 1], "1 of 2 are not"),
        (["1", None, 3], "2 of 3 are not"),
        (np.array([1.0, 2.0]), "2 of 2 are not"),
        (np.eye(2, dtype=int), "one-dimensional"),
        (iter([1, 2]), "one-dimensional"),
        ({1: 2}.values(), "one-dimensional"),
        (memoryview(b"12"), "one-dimensional"),
        (np.array([True]), "1 of 1 are not"),
        (5, "one-dimensional"),
        (None, "one-dimensional"),
        ("123", "one-dimensional"),
        (b"123", "one-dimensional"),
        ({1: 2}, "one-dimensional"),
        (np.array(5), "one-dimensional"),
    ],
)
def test_bad_vectors(make, values, match):
    with pytest.raises(InputError, match=match) as refused:
        make(values)
    assert str(MARKED) not in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("bound", [0, -1, 1.5, True, None, "9", float("nan")])
def test_bad_bounds(key, bound):
    with pytest.raises(InputError, match="bound must be"):
        InnerProductAsker([0], bound=bound, key=key)
    message = dataclasses.replace(InnerProductAsker([0], key=key).send(), bound=bound)
    with pytest.raises(InputError, match="bound must be"):
        InnerProductAnswerer([1]).answer(message)
    with pytest.raises(InputError, match="bound must be"):
        InnerProductAnswerer([0], bound=bound)
    with pytest.raises(InputError, match="bound must be"):
        InnerProductAsker([0], key=key).receive(InnerProductAnswer(1, bound, shared=False))


def test_numbers_beyond_the_bound_are_counted_not_shown(key):
    with pytest.raises(InputError, match="2 of 3 values do not") as refused:
        InnerProductAsker([MARKED, 3, -MARKED], bound=10, key=key)
    assert str(MARKED) not in str(refused.value)
    with pytest.raises(InputError, match="y must stay within its public bound, and 1 of 2 values do not") as refused:
        InnerProductAnswerer([MARKED, 3], bound=10)
    assert str(MARKED) not in str(refused.value)


def test_bad_messages(key):
    message = InnerProductAsker([1, 2], key=key).send()
    answerer = InnerProductAnswerer([3, MARKED])
    n, (first, second) = key.public.n, message.ciphertexts

    def changed(**fields):
        return dataclasses.replace(message, **fields)

    bad = [
        None,
        message.ciphertexts,
        changed(ciphertexts=(first,)),
        changed(ciphertexts=(first, second, first)),
        changed(ciphertexts=[first, second]),
        changed(ciphertexts=5),
        *(changed(ciphertexts=(first, c)) for c in (0, n, n * n, -second, 2.5, None, "1", second + n * n)),
        changed(key=key.public.n),
        changed(key=None),
        changed(key=key),
    ]
    for one in bad:
        with pytest.raises(InputError) as refused:
            answerer.answer(one)
        assert str(MARKED) not in str(refused.value)
    for share in (0.5, True, None, "1", n, -n):
        with pytest.raises(InputError, match="share must be"):
            answerer.answer(message, share=share)


def test_bad_answers_and_keys(key):
    asker = InnerProductAsker([1], key=key)
    for w in (0, key.public.n, key.public.n**2, -1, 1.0, None, "w", (1,)):
        with pytest.raises(InputError, match="ciphertext"):
            asker.receive(InnerProductAnswer(w, 1, shared=False))
        with pytest.raises(InputError, match="InnerProductAnswer"):
            asker.receive(w)
    for shared in (None, 0, "no", np.array([True, False])):
        with pytest.raises(InputError, match="whether a share is kept"):
            asker.receive(InnerProductAnswer(key.encrypt(1), 1, shared=shared))
    with pytest.raises(InputError, match="could have wrapped around"):
        asker.receive(InnerProductAnswer(key.encrypt(1), key.public.n, shared=False))
    for wrong in (key.public, 5, "key"):
        with pytest.raises(InputError, match="PaillierKey"):
            InnerProductAsker([1], key=wrong)
    with pytest.raises(InputError, match="bits must be"):
        InnerProductAsker([1], bits=1024)


def test_parties_do_not_show_what_they_hold(key):
    asker, answerer = InnerProductAsker([MARKED], key=key), InnerProductAnswerer([MARKED])
    shown = f"{asker} {asker!r} {answerer} {answerer!r} {vars(asker)} {vars(answerer)} {asker.send()}"
    assert str(MARKED) not in shown
    for party in (asker, answerer):
        for send in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(KeyRefusedError, match="never pickled"):
                send(party)


def test_messages_travel_as_plain_data(key):
    message = InnerProductAsker([1, 2, 3], key=key).send()
    public = PaillierPublicKey(int(str(message.key.n)), tuple(int(str(root)) for root in message.key.roots))
    assert InnerProductMessage(public, tuple(message.ciphertexts), message.bound) == message
    assert message.n_bytes == 64 + 8 * 64 + 3 * 128
    assert all(type(c) is int for c in message.ciphertexts)
    assert issubclass(InputError, VeilError)
