"""Paillier's cryptosystem: sums of encrypted numbers without the key.

*Model*: an encryption of m is (1 + n)^m · r^n mod n² with n = p·q and r random. The product of two encryptions is one
of the sum, a power is one of a multiple, both modulo n. Numbers are signed: m stands for m mod n, |m| < n/2.

*Threat*: who has the public key and ciphertexts cannot tell which numbers they hide (decisional composite residuosity;
semantic security). Ciphertexts can be changed by anybody, that is what they are for: nothing here says who made one.
Who computes with ciphertexts under somebody else's key and hides the result by a random share needs more: that the key
is one. A public key brings a proof of it (:mod:`veil.scenarios.key_proof`).

*Reference*: Paillier 1999, scheme 1, with g = 1 + n and decryption modulo p and q apart (section 7).
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from veil.arguments import whole
from veil.errors import InputError, KeyRefusedError
from veil.scenarios.arithmetic import gmp, is_vector, is_whole
from veil.scenarios.key_proof import ROOTS, is_proof, joined, roots_of
from veil.secret import MASK, key_pickling_allowed

LEAST_BITS, MOST_BITS = 2048, 8192
_LEAST_MODULUS = 512
_APART = 100
"""The primes differ by more than 2^(length − 100), or their product is easily factored (FIPS 186-5, A.1.3)."""
_WORD = 64


@dataclass(frozen=True)
class PaillierPublicKey:
    """What others need to encrypt for the owner of the key and to compute with the ciphertexts.

    Ciphertexts are plain integers below n². Every method that takes one checks that it can be one.

    Parameters
    ----------
    n
        The modulus, an odd number of 512 to 8192 bits.
    roots
        The proof that n is that of a Paillier key; see :meth:`is_proven`. A key can be used without it.
    """

    n: int
    roots: tuple[int, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if not is_whole(self.n) or not 2 ** (_LEAST_MODULUS - 1) < self.n < 2**MOST_BITS or self.n % 2 == 0:
            raise InputError(f"n must be an odd whole number of {_LEAST_MODULUS} to {MOST_BITS} bits; take a key's")
        if not isinstance(self.roots, tuple) or not all(is_whole(root) for root in self.roots):
            raise InputError(f"roots must be a tuple of {ROOTS} whole numbers, or empty; take a key's")
        object.__setattr__(self, "n", int(self.n))
        object.__setattr__(self, "roots", tuple(int(root) for root in self.roots))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n.bit_length()} bits)"

    @property
    def ciphertext_bytes(self) -> int:
        """Bytes of one ciphertext."""
        return 2 * ((self.n.bit_length() + 7) // 8)

    @property
    def n_bytes(self) -> int:
        """Bytes of n and its proof."""
        return (1 + len(self.roots)) * self.ciphertext_bytes // 2

    def is_proven(self) -> bool:
        """Whether the roots prove that every ciphertext hides exactly one number: gcd(n, φ(n)) = 1.

        They do not prove that n has two factors, or that they are long; see :mod:`veil.scenarios.key_proof`.
        """
        return is_proof(self.n, self.roots)

    def encrypt(self, number: int) -> int:
        """A fresh encryption of a whole number; no two are the same."""
        g, n, square = self._numbers()
        r = 0
        while g.gcd(r, n) != 1:  # at once, unless n has short factors
            r = secrets.randbelow(self.n)
        return int((1 + self._residue(number) * n) * g.powmod(r, n, square) % square)

    def add(self, first: int, second: int) -> int:
        """An encryption of the sum modulo n."""
        a, b = self._checked((first, second))
        return int(a * b % self._numbers()[2])

    def multiply(self, ciphertext: int, factor: int) -> int:
        """An encryption of a multiple modulo n; see :meth:`combine`."""
        return self.combine((ciphertext,), (factor,))

    def combine(self, ciphertexts: Sequence[int], factors: Sequence[int], *, bound: int | None = None) -> int:
        """An encryption of the sum of factors times hidden numbers, modulo n.

        The result depends on the ciphertexts and factors alone: who made the ciphertexts can try factors until they
        fit. Add an ``encrypt(0)`` before handing it on.

        The factors are private, so all exponents are made positive and of one length (c^f = c^(f + 2^L) · c^(−2^L))
        and raised in constant time. The time shows how many 64-bit words the largest factor has, or the public
        ``bound`` on their absolute values where one is given, and no more.
        """
        checked = self._checked(ciphertexts)
        if not is_vector(factors):
            raise InputError("factors must be a list or one-dimensional array of whole numbers")
        if len(checked) != len(factors) or not checked:
            raise InputError(f"{len(checked)} ciphertexts need as many factors, at least one; got {len(factors)}")
        plain = [self._signed(factor) for factor in factors]
        largest = max(map(abs, plain))
        if bound is not None and (not is_whole(bound) or bound < largest):
            raise InputError("bound must be a whole number that no factor exceeds")
        g, _, square = self._numbers()
        length = (largest if bound is None else int(bound)).bit_length()
        # Exponents of one word have one length if they are above 0, longer ones if their first bits are not all 0.
        words = 1 if length < _WORD else (length + _WORD + 1) // _WORD
        shift = 1 << (_WORD * words - 1)
        product = everything = g.mpz(1)
        for ciphertext, factor in zip(checked, plain, strict=True):
            product = product * g.powmod_sec(ciphertext, factor + shift, square) % square
            everything = everything * ciphertext % square
        return int(product * g.powmod(g.invert(everything, square), shift, square) % square)

    def centred(self, number: int) -> int:
        """The number's representative between −n/2 and n/2.

        Shares of a sum are added with it: ``centred(mine + theirs)``.
        """
        if not is_whole(number):
            raise InputError("a number to centre must be a whole number")
        rest = int(number) % self.n
        return rest - self.n if rest > self.n // 2 else rest

    def random_number(self) -> int:
        """A uniform number modulo n, signed: a share that says nothing."""
        return self.centred(secrets.randbelow(self.n))

    def check(self, ciphertexts: Sequence[int]) -> None:
        """Refuse numbers that cannot be ciphertexts under this key."""
        self._checked(ciphertexts)

    def _checked(self, ciphertexts: Sequence[int]) -> list[Any]:
        g, n, square = self._numbers()
        if not is_vector(ciphertexts):
            raise InputError("ciphertexts must be a list or tuple of whole numbers")
        wrong = sum(not is_whole(c) or not 0 < int(c) < square or g.gcd(int(c), n) != 1 for c in ciphertexts)
        if wrong:
            raise InputError(
                f"a ciphertext is a whole number above 0 and below n² without a factor of n, and {wrong} of "
                f"{len(ciphertexts)} are not; it was damaged, or made under another key"
            )
        return [g.mpz(int(c)) for c in ciphertexts]

    def _signed(self, number: int) -> int:
        if not is_whole(number) or 2 * abs(int(number)) >= self.n:
            raise InputError("a number to encrypt or multiply by must be a whole number between −n/2 and n/2")
        return int(number)

    def _residue(self, number: int) -> Any:
        return gmp().mpz(self._signed(number)) % self.n

    def _numbers(self) -> tuple[Any, Any, Any]:
        g = gmp()
        n = g.mpz(self.n)
        return g, n, n * n


class PaillierKey:
    """The secret key: two primes. Its text and repr are ``<secret>``, and pickle is refused.

    ``generate`` draws one; the constructor takes primes that were drawn before. It makes the public key's proof, too.

    Parameters
    ----------
    p, q
        Primes of one length, far apart.
    least_bits
        Least length of n = p · q. Below 2048 bits a key is for tests: it can be broken.
    """

    __slots__ = ("__p", "__q", "public")

    def __init__(self, p: int, q: int, *, least_bits: int = LEAST_BITS) -> None:
        g, least = gmp(), whole(least_bits, "least_bits", least=_LEAST_MODULUS)
        if not (is_whole(p) and is_whole(q) and _are_strong(g.mpz(int(p)), g.mpz(int(q)), least)):
            raise KeyRefusedError(
                "a Paillier key has two different primes of one length, far apart, with a product of "
                f"{least} to {MOST_BITS} bits; let PaillierKey.generate() draw them"
            )
        self.__p, self.__q = g.mpz(int(p)), g.mpz(int(q))
        self.public = PaillierPublicKey(int(p) * int(q), roots_of(self.__p, self.__q))

    @classmethod
    def generate(cls, bits: int = LEAST_BITS) -> PaillierKey:
        """A new key whose modulus has ``bits`` bits, an even number.

        Its primes come from the RSA generator of ``cryptography``.
        """
        from cryptography.hazmat.primitives.asymmetric import rsa

        gmp()
        if whole(bits, "bits", least=LEAST_BITS) > MOST_BITS or bits % 2:
            raise InputError(f"bits must be an even number between {LEAST_BITS} and {MOST_BITS}")
        numbers = rsa.generate_private_key(public_exponent=65537, key_size=int(bits)).private_numbers()
        return cls(numbers.p, numbers.q)

    def encrypt(self, number: int) -> int:
        """A fresh encryption, as :meth:`PaillierPublicKey.encrypt` makes it, in less than half of its time.

        The n-th powers modulo p² are the p-th powers of 1 … p − 1, so r^n is drawn modulo p² and q² apart.
        """
        g, p, q = gmp(), self.__p, self.__q
        noise = [g.powmod_sec(secrets.randbelow(int(prime) - 1) + 1, prime, prime * prime) for prime in (p, q)]
        n = p * q
        return int((1 + self.public._residue(number) * n) * joined(noise, p * p, q * q) % (n * n))

    def decrypt(self, ciphertext: int) -> int:
        """The hidden number, between −n/2 and n/2."""
        g, p, q = gmp(), self.__p, self.__q
        (c,) = self.public._checked((ciphertext,))
        rests = []
        for prime, other in ((p, q), (q, p)):
            # (1 + n)^(p−1) = 1 − n mod p², whose logarithm is −q.
            power = g.powmod_sec(c % (prime * prime), prime - 1, prime * prime)
            rests.append((power - 1) // prime * g.invert(-other, prime) % prime)
        return self.public.centred(int(joined(rests, p, q)))

    def __repr__(self) -> str:
        return MASK

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(MASK, spec)

    def _repr_html_(self) -> str:
        return "&lt;secret&gt;"

    def __copy__(self) -> PaillierKey:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> PaillierKey:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        if not key_pickling_allowed():
            raise KeyRefusedError("a key is never pickled; make a new one for each pair of parties")
        return _restored, (int(self.__p), int(self.__q))

    def __getstate__(self) -> Any:
        """Refused: an object's own state would be the primes."""
        raise KeyRefusedError("a key does not hand out its state; make a new one for each pair of parties")


def _are_strong(p: Any, q: Any, least_bits: int) -> bool:
    """Whether these are primes of a key; lengths come first, as the others take long for long numbers."""
    g, length = gmp(), p.bit_length()
    return bool(
        min(p, q) > 2
        and q.bit_length() == length
        and least_bits <= (p * q).bit_length() <= MOST_BITS
        and abs(p - q) > 2 ** (length - _APART)
        and g.is_prime(p)
        and g.is_prime(q)
        and g.gcd(p * q, (p - 1) * (q - 1)) == 1
    )


def _restored(p: int, q: int) -> PaillierKey:
    """A key out of a pickle, whatever length it was allowed."""
    return PaillierKey(p, q, least_bits=_LEAST_MODULUS)
