"""The proof that a Paillier key is one: that taking n-th powers is a permutation of the numbers prime to n.

*Model*: a hash of n gives eight numbers, and the owner of the key sends their n-th roots modulo n. If a prime a divides
both n and φ(n), at most one in a of the numbers prime to n has an n-th root. As n is checked to have no prime factor
below α = 65,537, eight roots exist with a chance of at most α⁻⁸ < 2⁻¹²⁸ for each n that a forger tries (the hash taken
as a random function).

*What it proves*: gcd(n, φ(n)) = 1. Then n has no square factor, and every number below n² without a factor of n is the
encryption of exactly one number modulo n. So a random share added to it hides it whatever else is wrong with the key.

*What it does not prove*: that n has two prime factors, that they are long, or that only its owner knows them. Those are
the owner's own risk: what is encrypted under the key is hers.

*Reference*: Goldberg, Reyzin, Sagga and Baldimtsi 2019, "Efficient noninteractive certification of RSA moduli and
beyond", the protocol for Paillier's exponent.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from hashlib import shake_256
from typing import Any

from veil.scenarios.arithmetic import gmp

LEAST_FACTOR = 65537
"""A prime; no smaller one may divide n."""
ROOTS = 8
"""LEAST_FACTOR^ROOTS > 2^128."""
_BIAS_BYTES = 32


def elements(n: int) -> list[int]:
    """The numbers whose roots are asked for, uniform modulo n but for a bias below 2^−256."""
    length = (n.bit_length() + 7) // 8
    named = b"veil Paillier key" + n.to_bytes(length, "big")
    digests = (shake_256(named + bytes([i])).digest(length + _BIAS_BYTES) for i in range(ROOTS))
    return [int.from_bytes(digest, "big") % n for digest in digests]


def roots_of(p: Any, q: Any) -> tuple[int, ...]:
    """The proof for n = p · q, by who knows the primes."""
    g, n = gmp(), p * q
    degrees = [(prime, g.invert(n, prime - 1)) for prime in (p, q)]
    return tuple(
        int(joined([g.powmod_sec(element % prime, degree, prime) for prime, degree in degrees], p, q))
        for element in elements(int(n))
    )


def is_proof(n: int, roots: tuple[int, ...]) -> bool:
    """Whether the roots prove it; remembered, so that a key is looked at once."""
    return len(roots) == ROOTS and all(0 < root < n for root in roots) and _are_roots(n, roots)


@lru_cache(maxsize=256)
def _are_roots(n: int, roots: tuple[int, ...]) -> bool:
    g = gmp()
    if g.gcd(n, _small_primes()) != 1:
        return False
    wanted = zip(roots, elements(n), strict=True)
    return all(g.gcd(element, n) == 1 and g.powmod(root, n, n) == element for root, element in wanted)


def joined(rests: Sequence[Any], first: Any, second: Any) -> Any:
    """The number below first · second that has these two rests (Chinese remainders)."""
    a, b = rests
    return a + first * ((b - a) * gmp().invert(first, second) % second)


@cache
def _small_primes() -> Any:
    """The product of all primes below LEAST_FACTOR."""
    return gmp().primorial(LEAST_FACTOR - 1)
