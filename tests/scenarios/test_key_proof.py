"""The proof that a public key is a Paillier key: what it lets pass, and what it does not."""

from __future__ import annotations

import dataclasses
import itertools

import gmpy2
import pytest

from veil.scenarios import PaillierKey, PaillierPublicKey
from veil.scenarios import key_proof as proof

A = 1_000_000_007


def roots(element, n, factors):
    """An n-th root of the element modulo square-free n, or None where there is none."""
    found = []
    for p in factors:
        common = int(gmpy2.gcd(n, p - 1))
        if pow(element, (p - 1) // common, p) != 1:
            return None
        if common > 1:  # enough for these tests: a root exists, and is not asked for
            return 0
        found.append(pow(element, pow(n, -1, p - 1), p))
    return sum(r * (n // p) * pow(n // p, -1, p) for r, p in zip(found, factors, strict=True)) % n


def test_proofs_of_keys(key):
    for one in (key, PaillierKey.generate()):
        public = one.public
        assert len(public.roots) == proof.ROOTS == 8
        assert public.is_proven()
        assert all(pow(r, public.n, public.n) == e for r, e in zip(public.roots, proof.elements(public.n), strict=True))
        assert public.n_bytes == 9 * public.ciphertext_bytes // 2


def test_a_chance_of_2_to_the_minus_128():
    assert proof.LEAST_FACTOR**proof.ROOTS > 2**128
    assert gmpy2.is_prime(proof.LEAST_FACTOR)
    assert proof._small_primes() % 65521 == 0  # the prime before it
    assert proof._small_primes() % proof.LEAST_FACTOR != 0


def test_elements_depend_on_n_and_fill_its_range(key):
    n = key.public.n
    found = proof.elements(n)
    assert found == proof.elements(n)
    assert len({*found, *proof.elements(n + 2)}) == 16
    assert all(0 <= element < n for element in found)
    assert max(found) > n // 16  # fails once in 16^8


def test_changed_proofs(key):
    public = key.public
    first, *rest = public.roots
    n = public.n
    for changed in (
        (),
        tuple(rest),
        (*public.roots, first),
        (first,) * 8,
        tuple(public.roots[::-1]),
        (n - first, *rest),
        (first + n, *rest),
        (first - n, *rest),
        (0, *rest),
        (1, *rest),
        (first ^ 1, *rest),
    ):
        assert not dataclasses.replace(public, roots=changed).is_proven()
    assert not PaillierPublicKey(n + 2, public.roots).is_proven()
    assert public.is_proven()


def test_a_modulus_with_a_factor_in_common_with_its_order_has_no_roots_to_send():
    """n = p · a with a | p − 1: only one number in a has a root."""
    p = next(q for q in ((2**600 + 2 * k) * A + 1 for k in itertools.count()) if gmpy2.is_prime(q))
    assert [roots(e, p * A, (p, A)) for e in proof.elements(p * A)] == [None] * 8


def test_a_square_has_no_roots_to_send(primes):
    """n = p²: n-th powers modulo p² are p-th powers, whose power to p − 1 is 1; of all numbers one in p is such."""
    p = primes[0]
    assert all(pow(e, p - 1, p * p) != 1 for e in proof.elements(p * p))


@pytest.mark.parametrize("small", [4099, 65521])
def test_short_factors_are_refused_even_with_right_roots(primes, small):
    p = next(q for q in map(int, (gmpy2.next_prime(2**600 + 999 * k) for k in range(40))) if q % small not in (0, 1))
    n = small * p
    found = tuple(roots(e, n, (small, p)) for e in proof.elements(n))
    assert all(pow(r, n, n) == e for r, e in zip(found, proof.elements(n), strict=True))
    assert not PaillierPublicKey(n, found).is_proven()


def test_what_it_does_not_prove(primes):
    """Three factors pass: with them, too, every ciphertext hides one number."""
    factors = (*primes, int(gmpy2.next_prime(2**70)))
    n = factors[0] * factors[1] * factors[2]
    assert PaillierPublicKey(n, tuple(roots(e, n, factors) for e in proof.elements(n))).is_proven()
