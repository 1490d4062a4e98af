"""Keyed randomness: a pure function of key and address, unrelated for any other address."""

import numpy as np
import pytest

from veil.data.blocks import BLOCK_ROWS
from veil.keys.noise import standard_normal
from veil.keys.randomness import Generator, cell_words, column_digests, derive, fingerprint, id_digests, row_words

KEY = b"r" * 32


@pytest.mark.parametrize("start", [0, 1, 2, 7, BLOCK_ROWS, BLOCK_ROWS + 1])
def test_any_piece_of_the_stream_is_the_same_piece(start):
    whole = row_words(KEY, 0, BLOCK_ROWS + 100)
    np.testing.assert_array_equal(row_words(KEY, start, 50), whole[start : start + 50])


def test_stream_is_aes_256_in_counter_mode():
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    block = Cipher(algorithms.AES(KEY), modes.ECB()).encryptor().update((3).to_bytes(16, "big"))
    np.testing.assert_array_equal(row_words(KEY, 6, 2), np.frombuffer(block, dtype="<u8"))


def test_addresses_are_unambiguous():
    assert derive(KEY, "a", "bc") != derive(KEY, "ab", "c")
    assert derive(KEY, "a", ["b", "c"]) != derive(KEY, "a", ["b,c"])
    assert derive(KEY, "a", 1) != derive(KEY, "a", "1")


def test_streams_of_two_columns_are_uncorrelated():
    n = 100_000
    a = standard_normal(row_words(derive(KEY, "rows", "a"), 0, n))
    b = standard_normal(row_words(derive(KEY, "rows", "b"), 0, n))
    assert abs(np.corrcoef(a, b)[0, 1]) < 4 / np.sqrt(n)


def test_a_cell_keeps_its_word_whatever_stands_around_it():
    ids = id_digests(KEY, ["ann", "bob", "cid"])
    words = cell_words(KEY, ids, np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(cell_words(KEY, ids[::-1].copy(), np.array([3.0, 2.0, 1.0])), words[::-1])
    changed = cell_words(KEY, ids, np.array([1.0, 2.5, 3.0]))
    assert (changed == words).tolist() == [True, False, True]


def test_ids_that_look_alike_stay_apart():
    one, text = id_digests(KEY, [1]), id_digests(KEY, ["1"])
    assert (one != text).any()


def test_generator_goes_on_where_it_stopped():
    a, b = Generator(KEY, "p"), Generator(KEY, "p")
    np.testing.assert_array_equal(np.concatenate([a.words(3), a.words(4)]), b.words(7))


def test_permutation_is_one_and_uniform_in_its_first_place():
    assert sorted(Generator(KEY, "p").permutation(1000)) == list(range(1000))
    n, runs = 4, 4000
    first = np.bincount([Generator(KEY, "p", i).permutation(n)[0] for i in range(runs)], minlength=n)
    expected = runs / n
    assert ((first - expected) ** 2 / expected).sum() < 21.1  # chi-square, 3 degrees of freedom, level 1e-4


def print_of(matrix, names=("a", "b"), key=KEY):
    return fingerprint(key, list(names), column_digests(key, matrix), matrix.shape[1])


def test_fingerprint_sees_every_cell_name_and_key():
    x = np.random.default_rng(0).normal(size=(2, 100))
    base = print_of(x)
    assert print_of(x.copy()) == base
    changed = x.copy()
    changed[1, 99] = np.nextafter(changed[1, 99], 9)
    swapped = x[::-1].copy()
    for other in (
        print_of(changed),
        print_of(swapped),
        print_of(x, ("a", "c")),
        print_of(x, key=b"s" * 32),
        print_of(x[:, :99]),
    ):
        assert other != base
