"""Quadratic residues modulo a safe prime: a group in which discrete logarithms are hard."""

from __future__ import annotations

import secrets
from functools import cache
from typing import Any

from veil.scenarios.arithmetic import gmp, is_whole

BITS = 2048
N_BYTES = BITS // 8
GENERATOR = 4
"""A square, so it generates all q residues."""


@cache
def modulus() -> Any:
    """The safe prime of RFC 3526, group 14: 2^2048 − 2^1984 − 1 + 2^64 · (⌊2^1918 · π⌋ + 124476)."""
    g = gmp()
    with g.context(precision=BITS + 64):  # not the caller's, which may round or trap
        numerator, denominator = g.const_pi().as_integer_ratio()
    digits = numerator * 2**1918 // denominator
    return g.mpz(2**2048 - 2**1984 - 1) + 2**64 * (digits + 124476)


def order() -> Any:
    """The number of residues, a prime: q = (p − 1)/2."""
    return modulus() // 2


def is_member(element: Any) -> bool:
    """Whether a number that came from elsewhere is a residue other than 1.

    For a prime modulus, Jacobi's symbol is 1 exactly where element^q = 1 (Euler).
    """
    p = modulus()
    return is_whole(element) and 1 < int(element) < p and bool(gmp().jacobi(int(element), p) == 1)


def power(base: Any, exponent: Any) -> Any:
    """A power with a secret exponent above 0, in constant time."""
    return gmp().powmod_sec(int(base), exponent, modulus())


def quotient(first: Any, second: Any) -> Any:
    """first / second in the group."""
    p = modulus()
    return first * gmp().invert(second, p) % p


def random_exponent() -> Any:
    """Uniform between 1 and q − 1."""
    return gmp().mpz(secrets.randbelow(int(order()) - 1) + 1)


def random_member() -> Any:
    """A uniform residue other than 1 whose logarithm nobody knows: the square of a number between 2 and q."""
    root = gmp().mpz(secrets.randbelow(int(order()) - 1) + 2)
    return root * root % modulus()
