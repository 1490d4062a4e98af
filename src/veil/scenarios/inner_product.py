"""The private inner product: one party learns x · y, the other nothing.

*Model*: the asker (Alice) holds x and a Paillier key, the answerer (Bob) holds y; both are vectors of d whole numbers.
She sends x encrypted, he returns one ciphertext of x · y, she decrypts it.

*Threat*: semi-honest parties, who follow the protocol and keep all they see. Bob sees only ciphertexts (semantic
security of Paillier's cryptosystem). Alice sees a fresh encryption of x · y, which says no more than x · y does. Where
Bob keeps a random share she learns nothing of y, whatever she sent: her key comes with a proof, without which he does
not answer (:mod:`veil.scenarios.key_proof`), every ciphertext under such a key hides one number, and the share makes it
uniform. Whether he refuses depends on what is public: d, the bounds and her message.

*Not protected*: what x · y itself tells (d answers for chosen x are d equations, hence y); an Alice who encrypts other
numbers than she declared, for example powers of a large base that make one answer without a share spell out y; a Bob
who answers with something else; who takes part, d and the declared bounds. Messages need an authenticated channel.

*Reference*: Liu 2007, algorithm 2.1.2.2, after Goethals, Laur, Lipmaa and Mielikäinen 2004, protocol 3. Liu leaves out
Bob's fresh encryption; without it Alice, who knows her own random numbers, can test guesses of y against his answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from veil.errors import InputError
from veil.scenarios.arithmetic import is_whole, public_bound, shown, whole_vector
from veil.scenarios.paillier import LEAST_BITS, PaillierKey, PaillierPublicKey
from veil.scenarios.party import Party, expect
from veil.secret import Secret

WORD_BOUND = 2**63 - 1
"""The bound that is declared unless another is given: any signed number of 64 bits but the least."""


@dataclass(frozen=True)
class InnerProductMessage:
    """What the asker sends: her public key, x encrypted, and a bound on \\|x\\| that does not depend on x."""

    key: PaillierPublicKey
    ciphertexts: tuple[int, ...] = field(repr=False)
    bound: int

    @property
    def n_bytes(self) -> int:
        """Bytes of the key, its proof and the ciphertexts."""
        return self.key.n_bytes + len(self.ciphertexts) * self.key.ciphertext_bytes

    def __repr__(self) -> str:
        return f"{type(self).__name__}(key={self.key!r}, bound={shown(self.bound)})"


@dataclass(frozen=True)
class InnerProductAnswer:
    """What the answerer returns: one ciphertext, his bound on \\|y\\|, and whether he keeps a share."""

    ciphertext: int = field(repr=False)
    bound: int
    shared: bool

    def __repr__(self) -> str:
        return f"{type(self).__name__}(bound={shown(self.bound)}, shared={bool(self.shared)})"


class InnerProductAsker(Party):
    """The party that learns the inner product.

    Parameters
    ----------
    x
        Whole numbers, as integers.
    bound
        A public bound on their absolute values, by which both parties make sure that nothing overflows. Do not take it
        from x: it is sent as it is.
    bits
        Length of the new key.
    key
        A key to use instead of a new one.
    """

    def __init__(
        self, x: Sequence[int], *, bound: int = WORD_BOUND, bits: int = LEAST_BITS, key: PaillierKey | None = None
    ) -> None:
        values, most = _within(x, "x", bound)
        if key is not None and not isinstance(key, PaillierKey):
            raise InputError(f"key must be a PaillierKey or None; got a {type(key).__name__}")
        self._key = key if key is not None else PaillierKey.generate(bits)
        if 2 * most >= self._key.public.n:
            raise InputError("bound must be below n/2; use a longer key (bits) or a smaller bound")
        self._x, self.bound, self._d = Secret(values), most, len(values)

    def send(self) -> InnerProductMessage:
        """The question: x encrypted, with fresh random numbers."""
        ciphertexts = tuple(self._key.encrypt(value) for value in self._x.reveal())
        return InnerProductMessage(self._key.public, ciphertexts, self.bound)

    def receive(self, answer: InnerProductAnswer) -> int:
        """The inner product, from the answer; less the other party's share where he keeps one.

        An answer that was made under another key, or changed on its way, decrypts to a number that is as good as
        random. Without a share it lies outside the range that the two bounds allow, and is refused. With a share any
        number is possible: nobody can tell.

        Raises
        ------
        InputError
            When the answer breaks a rule, or the number in it cannot be an inner product within the bounds.
        """
        expect(answer, InnerProductAnswer, "the answerer")
        if not isinstance(answer.shared, bool):
            raise InputError("the answer must say whether a share is kept, as True or False")
        most = self._d * self.bound * public_bound(answer.bound, "the answer's bound")
        if 2 * most >= self._key.public.n:
            raise InputError(
                f"d · bound · bound with d = {self._d} must stay below n/2, or the inner product could have wrapped "
                "around; declare a smaller bound or use a longer key (bits)"
            )
        number = self._key.decrypt(answer.ciphertext)
        if not answer.shared and abs(number) > most:
            raise InputError(
                "the answer holds a number that no inner product within the bounds is; it was made under another key, "
                "changed on its way, or the answerer does not keep to the protocol"
            )
        return number


class InnerProductAnswerer(Party):
    """The party that helps to compute the inner product and learns nothing.

    Parameters
    ----------
    y
        Whole numbers, as integers.
    bound
        A public bound on their absolute values. Do not take it from y: it is sent as it is, and the time of an answer
        shows its length.
    """

    def __init__(self, y: Sequence[int], *, bound: int = WORD_BOUND) -> None:
        values, self.bound = _within(y, "y", bound)
        self._y = Secret(values)

    def answer(self, message: InnerProductMessage, *, share: int = 0) -> InnerProductAnswer:
        """One fresh ciphertext of x · y − share.

        With ``share = message.key.random_number()`` the asker learns nothing either, whatever she encrypted: the two
        hold shares of x · y, which is ``message.key.centred(hers + share)``.

        Raises
        ------
        InputError
            When the message breaks a rule, its key has no proof, or x · y could leave the range of the key's numbers.
        """
        expect(message, InnerProductMessage, "the asker")
        expect(message.key, PaillierPublicKey, "the asker")
        y: list[int] = self._y.reveal()
        if not isinstance(message.ciphertexts, tuple):
            raise InputError("the message's ciphertexts must be a tuple of whole numbers")
        if len(message.ciphertexts) != len(y):
            raise InputError(
                f"x and y must have one length; the message has {len(message.ciphertexts)} numbers of x, and y has "
                f"{len(y)}"
            )
        most = len(y) * public_bound(message.bound, "the message's bound") * self.bound
        if not is_whole(share) or 2 * abs(int(share)) >= message.key.n:
            raise InputError("share must be a whole number between −n/2 and n/2; draw it with key.random_number()")
        if 2 * most >= message.key.n:
            raise InputError(
                f"d · bound · bound with d = {len(y)} must stay below n/2, or the inner product could wrap around; "
                "declare smaller bounds, or have the asker use a longer key (bits)"
            )
        if not message.key.is_proven():
            raise InputError(
                "the asker's key has no valid proof that it is a Paillier key; without one an answer may show y, "
                "share or not: refuse her, or have her send the public key of a PaillierKey with its roots"
            )
        product = message.key.combine(message.ciphertexts, y, bound=self.bound)
        fresh = message.key.add(product, message.key.encrypt(-int(share)))
        return InnerProductAnswer(fresh, self.bound, shared=share != 0)


def private_inner_product(
    x: Sequence[int], y: Sequence[int], bits: int = LEAST_BITS, *, bound: int = WORD_BOUND
) -> int:
    """The inner product of two vectors of whole numbers by the protocol, both parties in this process.

    ``bound`` is on the absolute values of both.

    >>> private_inner_product([3, -1, 4], [2, 7, -1])
    -5
    """
    answerer = InnerProductAnswerer(y, bound=bound)
    asker = InnerProductAsker(x, bound=bound, bits=bits)
    return asker.receive(answerer.answer(asker.send()))


def _within(values: Sequence[int], name: str, bound: int) -> tuple[list[int], int]:
    """A party's own numbers and the bound that it declares for them."""
    most, listed = public_bound(bound, "bound"), whole_vector(values, name)
    over = sum(abs(value) > most for value in listed)
    if over:
        raise InputError(
            f"{name} must stay within its public bound, and {over} of {len(listed)} values do not; declare a larger one"
        )
    return listed, most
