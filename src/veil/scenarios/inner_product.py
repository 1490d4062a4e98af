"""The private inner product: one party learns x · y, the other nothing.

*Model*: the asker (Alice) holds x and a Paillier key, the answerer (Bob) holds y; both are vectors of d whole numbers.
She sends x encrypted, he returns one ciphertext of x · y, she decrypts it.

*Threat*: semi-honest parties, who follow the protocol and keep all they see. Bob sees only ciphertexts (semantic
security of Paillier's cryptosystem). Alice sees a fresh encryption of x · y, which says no more than x · y does.

*Not protected*: what x · y itself tells (d answers for chosen x are d equations, hence y); an Alice who encrypts other
numbers than she declared, for example powers of a large base that make one answer spell out y, or under a key that is
none (let Bob keep a random share where she may); a Bob who answers with something else; who takes part, d and the
declared bound. Messages need an authenticated channel.

*Reference*: Liu 2007, algorithm 2.1.2.2, after Goethals, Laur, Lipmaa and Mielikäinen 2004, protocol 3. Liu leaves out
Bob's fresh encryption; without it Alice, who knows her own random numbers, can test guesses of y against his answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from veil.errors import InputError
from veil.scenarios.arithmetic import is_whole, whole_vector
from veil.scenarios.paillier import LEAST_BITS, PaillierKey, PaillierPublicKey
from veil.scenarios.party import Party, expect
from veil.secret import Secret

WORD_BOUND = 2**63 - 1
"""The bound that is declared unless another is given: any number of 64 bits."""


@dataclass(frozen=True)
class InnerProductMessage:
    """What the asker sends: her public key, x encrypted, and a bound on \\|x\\| that does not depend on x."""

    key: PaillierPublicKey
    ciphertexts: tuple[int, ...] = field(repr=False)
    bound: int

    @property
    def n_bytes(self) -> int:
        """Bytes of the key and the ciphertexts."""
        return self.key.ciphertext_bytes // 2 + len(self.ciphertexts) * self.key.ciphertext_bytes


class InnerProductAsker(Party):
    """The party that learns the inner product.

    Parameters
    ----------
    x
        Whole numbers.
    bound
        A public bound on their absolute values, by which the other party makes sure that nothing overflows. Do not
        take it from x: it is sent as it is.
    bits
        Length of the new key.
    key
        A key to use instead of a new one.
    """

    def __init__(
        self, x: Sequence[int], *, bound: int = WORD_BOUND, bits: int = LEAST_BITS, key: PaillierKey | None = None
    ) -> None:
        values = whole_vector(x, "x")
        if not is_whole(bound) or bound < 1:
            raise InputError("bound must be a whole number of at least 1")
        over = sum(abs(value) > bound for value in values)
        if over:
            raise InputError(
                f"x must stay within its public bound, and {over} of {len(values)} values do not; declare a larger one"
            )
        if key is not None and not isinstance(key, PaillierKey):
            raise InputError(f"key must be a PaillierKey or None; got a {type(key).__name__}")
        self._key = key if key is not None else PaillierKey.generate(bits)
        if 2 * int(bound) >= self._key.public.n:
            raise InputError("bound must be below n/2; use a longer key (bits) or a smaller bound")
        self._x, self.bound = Secret(values), int(bound)

    def send(self) -> InnerProductMessage:
        """The question: x encrypted, with fresh random numbers."""
        ciphertexts = tuple(self._key.encrypt(value) for value in self._x.reveal())
        return InnerProductMessage(self._key.public, ciphertexts, self.bound)

    def receive(self, w: int) -> int:
        """The inner product, from the answer; less the other party's share where he keeps one."""
        return self._key.decrypt(w)


class InnerProductAnswerer(Party):
    """The party that helps to compute the inner product and learns nothing."""

    def __init__(self, y: Sequence[int]) -> None:
        self._y = Secret(whole_vector(y, "y"))

    def answer(self, message: InnerProductMessage, *, share: int = 0) -> int:
        """One fresh ciphertext of x · y − share.

        With ``share = message.key.random_number()`` the asker learns nothing either, whatever she encrypted: the two
        hold shares of x · y, which is ``message.key.centred(hers + share)``.

        Raises
        ------
        InputError
            When the message breaks a rule, or x · y could leave the range of the key's numbers.
        """
        expect(message, InnerProductMessage, "the asker")
        expect(message.key, PaillierPublicKey, "the asker")
        y: list[int] = self._y.reveal()
        if not isinstance(message.ciphertexts, tuple) or len(message.ciphertexts) != len(y):
            raise InputError(f"the message must have one ciphertext for each of the {len(y)} numbers of y")
        if not is_whole(message.bound) or message.bound < 1:
            raise InputError("the message's bound must be a whole number of at least 1")
        if not is_whole(share) or 2 * abs(int(share)) >= message.key.n:
            raise InputError("share must be a whole number between −n/2 and n/2; draw it with key.random_number()")
        if 2 * int(message.bound) * sum(map(abs, y)) >= message.key.n:
            raise InputError(
                f"bound · Σ|y| over the {len(y)} numbers must stay below n/2, or the inner product could wrap around; "
                "have the asker declare a smaller bound or use a longer key (bits), or scale y down"
            )
        product = message.key.combine(message.ciphertexts, y)
        return message.key.add(product, message.key.encrypt(-int(share)))


def private_inner_product(
    x: Sequence[int], y: Sequence[int], bits: int = LEAST_BITS, *, bound: int = WORD_BOUND
) -> int:
    """The inner product of two vectors of whole numbers by the protocol, both parties in this process.

    >>> private_inner_product([3, -1, 4], [2, 7, -1])
    -5
    """
    answerer = InnerProductAnswerer(y)
    asker = InnerProductAsker(x, bound=bound, bits=bits)
    return asker.receive(answerer.answer(asker.send()))
