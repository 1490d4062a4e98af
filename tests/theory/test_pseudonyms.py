"""P20: keyed pseudonyms: joins survive, nothing else does, and the manifest says what remains."""

import hashlib
import hmac
import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veil
from _tables import within_standard_errors
from veil.errors import InputError
from veil.perturbations.pseudonyms import pseudonym

NAMES = ["Ada Lovelace", "Alan Turing", "Zoë Müller", "Ada Lovelace", "李小龙"]


def frame(values, column="name"):
    return pd.DataFrame({column: values})


def pseudonyms(values, key, column="name", **settings):
    plan = veil.Plan([(column, veil.Pseudonymize(**settings))])
    data, _ = veil.publish(frame(values, column), plan, key=key, again=True)
    return data.table.read().column(0).to_pylist()


# -- equal where it should be ------------------------------------------------------------------------------------


def test_the_same_value_has_the_same_pseudonym_across_files():
    key = veil.Key()
    one = dict(zip(NAMES, pseudonyms(NAMES, key), strict=True))
    two = dict(zip(NAMES[::-1], pseudonyms([*NAMES[::-1], "new"], key), strict=False))
    assert one == two
    assert len(set(one.values())) == 4


def test_columns_of_one_domain_share_pseudonyms():
    key = veil.Key()
    plain, other = pseudonyms(NAMES, key), pseudonyms(NAMES, key, column="doctor")
    assert not set(plain) & set(other)
    a, b = pseudonyms(NAMES, key, domain="people"), pseudonyms(NAMES, key, column="doctor", domain="people")
    assert a == b
    assert not set(a) & set(plain)
    assert pseudonyms(NAMES, key, column="doctor", domain="name") == plain  # the default domain is the column's name


def test_two_columns_of_one_table_join():
    table = pd.DataFrame({"patient": ["a", "b", "c"], "mother": ["b", "c", "d"]})
    released = veil.publish(table, veil.Pseudonymize(domain="person"))[0].data
    assert (released["patient"][1:].to_numpy() == released["mother"][:2].to_numpy()).all()
    apart = veil.publish(table, veil.Pseudonymize())[0].data
    assert not set(apart["patient"]) & set(apart["mother"])


def test_another_key_is_unrelated():
    assert not set(pseudonyms(NAMES, veil.Key())) & set(pseudonyms(NAMES, veil.Key()))


def test_kinds_of_frames_agree():
    key, text = veil.Key(), ["b", "a", None, "a"]
    tables = [
        pd.DataFrame({"c": text}),
        pd.DataFrame({"c": pd.Categorical(text)}),
        pl.DataFrame({"c": text}),
        pl.DataFrame({"c": pl.Series(text, dtype=pl.Categorical)}),
        pa.table({"c": pa.array(text, type=pa.large_string())}),
        pa.table({"c": pa.chunked_array([text[:1], text[1:]])}),
    ]
    plan = veil.Plan([("c", veil.Pseudonymize())])
    released = [veil.publish(t, plan, key=key, again=True)[0] for t in tables]
    assert len({tuple(r.table.read().column(0).to_pylist()) for r in released}) == 1
    assert [type(r.data) for r in released] == [type(t) for t in tables]


# -- canonical values ----------------------------------------------------------------------------------------------


def test_unicode_is_normalized():
    key = veil.Key()
    composed, decomposed = "Zo\u00eb", "Zoe\u0308"
    one, two, other = pseudonyms([composed, decomposed, "Zoe"], key)
    assert one == two != other


def test_types_that_look_alike_stay_apart():
    key = veil.Key()
    found = [pseudonyms(values, key)[0] for values in (["1"], [1], [True], ["True"], ["1 "], ["01"])]
    assert len(set(found)) == len(found)
    assert pseudonyms([1, 2], key) == pseudonyms(np.array([1, 2], dtype="int8"), key)


def test_a_pseudonym_is_the_hmac_of_the_tagged_value():
    secret = b"s" * 32
    text = pseudonym(secret, "Zoe\u0308", 160)
    digest = hmac.new(secret, "str:Zo\u00eb".encode(), hashlib.sha256).digest()[:20]
    assert int.from_bytes(digest, "big") == int(
        "".join(f"{'abcdefghijklmnopqrstuvwxyz234567'.index(c):05b}" for c in text), 2
    )


@pytest.mark.parametrize(("bits", "length"), [(128, 26), (160, 32), (256, 52)])
def test_pseudonyms_have_their_length_and_alphabet(bits, length):
    for text in pseudonyms(NAMES, veil.Key(), bits=bits):
        assert re.fullmatch(rf"[a-z2-7]{{{length}}}", text)


def test_bits_of_pseudonyms_are_balanced():
    n = 4_000
    texts = pseudonyms([f"person {i}" for i in range(n)], veil.Key.from_seed(0))
    assert len(set(texts)) == n
    letters = np.array([["abcdefghijklmnopqrstuvwxyz234567".index(c) for c in t[:25]] for t in texts])
    shares = np.array([(letters >> b & 1).mean(axis=0) for b in range(5)])
    assert within_standard_errors(shares, 0.5, np.sqrt(0.25 / n), 5)  # 125 bits, 5 standard errors


# -- missing values, faults ----------------------------------------------------------------------------------------


def test_missing_values_stay_missing():
    release, _ = veil.publish(frame(["a", None, "b", None]), veil.Pseudonymize())
    assert release.data["name"].isna().tolist() == [False, True, False, True]
    assert "pattern is public" in release.manifest.missing


def test_an_empty_text_is_missing_and_a_space_is_a_value():
    empty, missing, space = pseudonyms(["", None, " "], veil.Key())
    assert empty is None
    assert missing is None
    assert space is not None


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"bits": 64}, "bits must be a whole number of at least 128"),
        ({"bits": 130}, "bits must be a multiple of 8 from 128 to 256"),
        ({"bits": 264}, "bits must be a multiple of 8"),
        ({"bits": "128"}, "bits must be"),
        ({"domain": ""}, "domain must be a text"),
        ({"domain": 3}, "domain must be a text"),
    ],
)
def test_bad_settings_are_refused(settings, words):
    with pytest.raises(InputError, match=words):
        veil.publish(frame(NAMES), veil.Pseudonymize(**settings))


def test_numbers_with_fractions_are_refused_by_name():
    with pytest.raises(InputError, match="'name'"):
        veil.publish(frame([1.5, 2.5]), veil.Pseudonymize())


def test_transform_makes_the_pseudonyms_that_publish_makes():
    direct = veil.Pseudonymize(random_state=3).fit_transform(frame(NAMES))
    assert (
        direct["name"].tolist()
        == veil.publish(frame(NAMES), veil.Pseudonymize(random_state=3))[0].data["name"].tolist()
    )
    with pytest.raises(InputError, match="'x0'"):
        veil.Pseudonymize().fit(np.ones((3, 1)))


# -- in a plan, and what the world sees ------------------------------------------------------------------------------


def patients():
    return pd.DataFrame({"name": NAMES, "id": [7, 8, 9, 7, 10], "age": [36.0, 41.0, 29.0, 36.0, 32.0]})


def test_identifiers_in_a_plan():
    plan = veil.Plan([(["name", "id"], veil.Pseudonymize()), ("age", veil.AdditiveNoise())])
    for roles in (None, {"name": "identifier", "id": "identifier"}, {"name": "sensitive"}):
        release, key = veil.publish(patients(), plan, roles=roles)
        assert list(release.data.columns) == ["name", "id", "age"]
        assert release.data["name"][0] == release.data["name"][3]
        with pytest.raises(veil.NotInvertibleError) as caught:
            veil.restore(release, key)
        assert set(caught.value.columns) == {"name", "id"}


def test_an_identifier_may_be_pseudonymized_without_a_plan():
    release, _ = veil.publish(frame(NAMES), veil.Pseudonymize(), roles={"name": "identifier"})
    assert release.data["name"][0] == release.data["name"][3]


def test_the_manifest_warns_and_promises_nothing():
    release, _ = veil.publish(frame(NAMES), veil.Pseudonymize())
    parameters = release.only_part.parameters
    assert "equality and frequency remain" in parameters["warning"]
    assert release.manifest.guarantee == "none"
    assert parameters["bits"] == 128


def test_the_bound_on_collisions():
    n = 1_000
    release, _ = veil.publish(frame([f"p{i}" for i in range(n)]), veil.Pseudonymize())
    assert release.only_part.parameters["collision_probability_below"] == pytest.approx(n**2 / 2.0**129, rel=0.05)


def test_the_stated_bound_on_collisions_is_one():
    n = 985
    release, _ = veil.publish(frame([f"p{i}" for i in range(n)]), veil.Pseudonymize())
    assert release.only_part.parameters["collision_probability_below"] >= n * (n - 1) / 2.0**129


def test_no_private_value_in_the_release(tmp_path):
    names = [f"Persephone-{i:04d}" for i in range(300)]
    release, key = veil.publish(frame(names), veil.Pseudonymize())
    for format in ("parquet", "csv", "feather"):
        release.save(tmp_path / format, format=format)
        for path in (tmp_path / format).iterdir():
            assert b"Persephone" not in path.read_bytes(), path.name
    key.save(tmp_path / "key")
    assert b"Persephone" not in (tmp_path / "key").read_bytes()
    json.loads((tmp_path / "csv" / "manifest.json").read_text())


def test_files_and_memory_agree(tmp_path):
    from veil import publish_file

    table = pa.table({"name": pa.array([f"p{i % 50}" for i in range(70_000)])})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=1_234)
    made = publish_file(
        tmp_path / "t.parquet", veil.Pseudonymize(random_state=1), tmp_path / "r", new_key=tmp_path / "k"
    )
    expected, _ = veil.publish(table, veil.Pseudonymize(random_state=1))
    assert made.table.read().column(0).to_pylist() == expected.table.read().column(0).to_pylist()
