"""The group of the transfers is the one of RFC 3526."""

from __future__ import annotations

import gmpy2
import pytest

from veil.scenarios import residue_group as group


def test_the_prime_is_safe_and_the_published_one():
    p = int(group.modulus())
    assert p.bit_length() == 2048
    assert gmpy2.is_prime(p, 40)
    assert gmpy2.is_prime((p - 1) // 2, 40)
    # The ends that the RFC prints.
    assert f"{p:X}".startswith("FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E08")
    assert f"{p:X}".endswith("DE2BCBF6955817183995497CEA956AE515D2261898FA051015728E5A8AACAA68FFFFFFFFFFFFFFFF")


def test_the_generator_generates_the_residues():
    p, q = int(group.modulus()), int(group.order())
    assert pow(group.GENERATOR, q, p) == 1  # of prime order q, as it is not 1
    assert group.is_member(group.GENERATOR)


def test_membership_is_eulers_criterion():
    p, q = int(group.modulus()), int(group.order())
    found = set()
    for x in range(2, 12):
        member = pow(x, q, p) == 1
        assert group.is_member(x) is member
        found.add(member)
    assert found == {False, True}
    assert all(pow(int(group.random_member()), q, p) == 1 for _ in range(3))


@pytest.mark.parametrize("element", [0, 1, -4, 4.0, True, None, "4", b"4", float("nan")])
def test_what_is_no_element(element):
    assert not group.is_member(element)


def test_the_ends_are_no_elements():
    p = int(group.modulus())
    assert not any(group.is_member(x) for x in (p - 1, p, p + 4))


def test_quotients_and_powers():
    p = int(group.modulus())
    a, k = group.random_member(), group.random_exponent()
    assert group.quotient(group.power(a, k), a) == pow(int(a), int(k) - 1, p)
