"""A short key for the tests: its 512 bits are known to every reader."""

from __future__ import annotations

import pytest

pytest.importorskip("gmpy2")

from veil.scenarios import PaillierKey

P = 84872176292826243098501397185917023692536245005080224499112273360334524752973
Q = 94114546217586972647631733969414630103680521590441323620021346179254905951937


@pytest.fixture(scope="session")
def primes():
    return P, Q


@pytest.fixture(scope="session")
def key(primes):
    return PaillierKey(*primes, least_bits=512)
