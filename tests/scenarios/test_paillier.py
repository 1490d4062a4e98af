"""Paillier's cryptosystem: sums under encryption, and what it refuses."""

from __future__ import annotations

import copy
import pickle
import secrets
import sys

import gmpy2
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import veil
from veil.errors import InputError, KeyRefusedError, MissingExtraError
from veil.scenarios import PaillierKey, PaillierPublicKey

quickly = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
numbers = st.integers(-(2**200), 2**200)


@quickly
@given(numbers, numbers, st.integers(-(2**200), 2**200))
def test_sums_and_multiples_of_ciphertexts(key, a, b, factor):
    public = key.public
    first, second = public.encrypt(a), key.encrypt(b)
    assert key.decrypt(public.add(first, second)) == a + b
    assert key.decrypt(public.multiply(first, factor)) == a * factor


@quickly
@given(st.lists(st.tuples(numbers, st.integers(-(2**70), 2**70)), min_size=1, max_size=5))
def test_combinations(key, pairs):
    ciphertexts = [key.encrypt(a) for a, _ in pairs]
    assert key.decrypt(key.public.combine(ciphertexts, [f for _, f in pairs])) == sum(a * f for a, f in pairs)


def test_factors_at_the_edges_of_words(key):
    c = key.encrypt(3)
    for bits in (0, 1, 61, 62, 63, 64, 65, 126, 127, 128):
        for factor in (2**bits, 2**bits - 1, 1 - 2**bits, -(2**bits)):
            assert key.decrypt(key.public.multiply(c, factor)) == 3 * factor


def test_the_whole_range_and_no_more(key):
    n = key.public.n
    for m in (0, 1, -1, n // 2, -(n // 2)):
        assert key.decrypt(key.public.encrypt(m)) == m
        assert key.decrypt(key.encrypt(m)) == m
    for encrypt in (key.encrypt, key.public.encrypt):
        for m in (n // 2 + 1, -(n // 2) - 1, n, 10**400):
            with pytest.raises(InputError, match="between"):
                encrypt(m)


def test_sums_beyond_the_range_wrap_around(key):
    n = key.public.n
    assert key.decrypt(key.public.add(key.encrypt(n // 2), key.encrypt(1))) == -(n // 2)
    assert key.public.centred(n // 2 + 1) == -(n // 2)
    assert key.public.centred(n // 2) == n // 2
    assert all(2 * abs(key.public.random_number()) < n for _ in range(50))


@pytest.mark.parametrize("with_key", [False, True])
def test_no_two_encryptions_are_the_same(key, with_key):
    encrypt = key.encrypt if with_key else key.public.encrypt
    assert len({encrypt(5) for _ in range(50)}) == 50


def test_encryption_with_the_key_draws_nth_powers(key, primes):
    """c / (1 + mn) is an n-th power: its power to (p − 1)(q − 1) is 1, which 1 in n numbers below n² satisfies."""
    n = key.public.n
    for encrypt in (key.encrypt, key.public.encrypt):
        noise = encrypt(7) * pow(1 + 7 * n, -1, n * n) % n**2
        assert pow(noise, (primes[0] - 1) * (primes[1] - 1), n * n) == 1
        assert len({encrypt(0) % primes[0] for _ in range(20)}) == 20


def test_a_power_can_be_recognized_until_it_is_encrypted_afresh(key):
    """Why the answerer of an inner product adds an encryption of 0."""
    c = key.encrypt(4)
    bare = key.public.multiply(c, 9)
    assert bare == key.public.multiply(c, 9)
    assert bare != key.public.add(bare, key.public.encrypt(0))


@pytest.mark.parametrize("m", [1.0, float("nan"), True, None, "1", 1j, np.float64(2), np.bool_(True), [1]])
def test_only_whole_numbers(key, m):
    for call in (key.encrypt, key.public.encrypt, lambda v: key.public.multiply(key.encrypt(1), v)):
        with pytest.raises(InputError, match="whole number"):
            call(m)


def test_numpy_integers_are_whole_numbers(key):
    assert key.decrypt(key.encrypt(np.int64(-(2**63)))) == -(2**63)
    assert key.decrypt(key.public.multiply(key.encrypt(np.uint8(200)), np.int8(-128))) == -25600


def test_what_cannot_be_a_ciphertext(key, primes):
    n = key.public.n
    good = key.encrypt(1)
    for bad in (0, n, n * n, n * n + 1, -1, primes[0], 3 * primes[1], 1.0, True, None, "1", b"1"):
        for call in (
            lambda c: key.decrypt(c),
            lambda c: key.public.add(good, c),
            lambda c: key.public.multiply(c, 2),
            lambda c: key.public.combine([good, c], [1, 1]),
            lambda c: key.public.check([good, c]),
        ):
            with pytest.raises(InputError, match=r"1 of [12] are not"):
                call(bad)


def test_a_public_bound_on_the_factors(key):
    c = key.encrypt(3)
    for bound in (5, 2**62, 2**63 - 1, 2**63, 2**200):
        assert key.decrypt(key.public.combine([c], [-5], bound=bound)) == -15
    for bound in (4, 5.0, "5", True):
        with pytest.raises(InputError, match="bound must be"):
            key.public.combine([c], [-5], bound=bound)


def test_as_many_factors_as_ciphertexts(key):
    for ciphertexts, factors in (([key.encrypt(1)], [1, 2]), ([], [])):
        with pytest.raises(InputError, match="as many factors"):
            key.public.combine(ciphertexts, factors)


def test_new_keys():
    first, second = PaillierKey.generate(), PaillierKey.generate()
    assert first.public.n.bit_length() == 2048
    assert first.public != second.public
    assert first.public.ciphertext_bytes == 512
    assert first.decrypt(first.public.encrypt(-(10**300))) == -(10**300)
    small, large = sorted((first, second), key=lambda key: key.public.n)
    assert large.decrypt(small.encrypt(42)) != 42  # a number in range decrypts to something


@pytest.mark.parametrize("bits", [0, 1024, 2047, 2049, 2048.0, True, None, "2048", 10**9])
def test_short_or_senseless_keys_are_refused(bits):
    with pytest.raises(InputError, match="bits must be"):
        PaillierKey.generate(bits)


def test_primes_that_are_none(primes):
    p, q = primes
    for pair in ((p, p), (p, q + 1), (4, q), (p, 1.0), (p, None), (p, -q), (3, 7), (True, q)):
        with pytest.raises(KeyRefusedError, match="two different primes") as refused:
            PaillierKey(*pair)
        assert str(p) not in str(refused.value)


def test_short_keys_are_for_tests_only(primes):
    with pytest.raises(KeyRefusedError, match="2048 to 8192 bits"):
        PaillierKey(*primes)
    for least in (511, 512.0, None, True):
        with pytest.raises(InputError, match="least_bits must be"):
            PaillierKey(*primes, least_bits=least)


def test_primes_that_are_easily_found(primes):
    p, q = primes
    close = next(prime for prime in range(p + 2, p + 10_000, 2) if gmpy2.is_prime(prime))
    short = int(gmpy2.next_prime(2**200))
    for pair in ((p, close), (p, short * 2**40), (p, int(gmpy2.next_prime(2**300))), (short, q)):
        with pytest.raises(KeyRefusedError, match="of one length, far apart"):
            PaillierKey(*pair, least_bits=512)


@pytest.mark.parametrize("n", [0, 15, 2**600, -(2**600) + 1, 1e300, None, True, "15"])
def test_moduli_that_are_none(n):
    with pytest.raises(InputError, match="odd whole number"):
        PaillierPublicKey(n)
    for roots in (None, [1], (1.0,), ("1",), 5):
        with pytest.raises(InputError, match="roots must be a tuple"):
            PaillierPublicKey(2**600 + 1, roots)


def test_a_key_does_not_show(key, primes):
    shown = f"{key} {key!r} {key:>20} {key._repr_html_()} {[key]} {key.public!r}"
    assert "<secret>" in shown
    assert not any(str(prime) in shown or f"{prime:x}" in shown for prime in primes)
    assert not hasattr(key, "__dict__")
    assert copy.copy(key) is key
    assert copy.deepcopy([key])[0] is key


def test_a_key_is_not_pickled(key):
    with pytest.raises(KeyRefusedError, match="never pickled"):
        pickle.dumps(key)
    with veil.allow_key_pickling():
        again = pickle.loads(pickle.dumps(key))
    assert again.decrypt(key.encrypt(11)) == 11
    assert pickle.loads(pickle.dumps(key.public)) == key.public


def test_without_gmpy2_one_line_says_what_to_install(monkeypatch, key):
    monkeypatch.setitem(sys.modules, "gmpy2", None)
    for call in (PaillierKey.generate, lambda: key.public.encrypt(secrets.randbelow(10)), lambda: PaillierKey(3, 5)):
        with pytest.raises(MissingExtraError) as missing:
            call()
        assert str(missing.value) == "protocols need gmpy2: pip install 'veil[protocols]'"
