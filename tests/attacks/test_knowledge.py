"""Each kind of knowledge narrows, reads, names and draws itself, and is registered once."""

import numpy as np
import pytest

import veil
from veil.attacks.knowledge import Grant, Knowledge, PrivateTable, Unit, grantable, kinds_of_knowledge
from veil.attacks.knowledge.base import GRANTABLE, KNOWLEDGE
from veil.errors import InputError

RECORDS = np.arange(12.0).reshape(3, 4)


def private(n=50, d=4, **more):
    values = np.random.default_rng(0).normal(size=(n, d))
    return PrivateTable(values, tuple("abcd"[:d]), np.zeros(d, dtype=bool), **more)


def test_every_kind_of_knowledge_is_narrowed_to_a_part():
    at = [1, 3]
    for item, values in (
        (veil.KnownPairs(RECORDS, [0, 1, 2]), "records"),
        (veil.KnownRecords(RECORDS), "records"),
        (veil.KnownSample(RECORDS), "sample"),
    ):
        np.testing.assert_array_equal(getattr(item.narrowed(at, 4), values), RECORDS[:, at])
    ranges = veil.KnownRanges(np.zeros(4), np.arange(1.0, 5.0)).narrowed(at, 4)
    np.testing.assert_array_equal(ranges.for_columns(2)[1], [2.0, 4.0])
    noise = veil.KnownNoise(np.arange(1.0, 5.0), "laplace").narrowed(at, 4)
    np.testing.assert_array_equal(noise.covariance, np.diag([2.0, 4.0]))
    assert noise.distribution == "laplace"
    order = veil.TimeOrder()
    assert order.narrowed(at, 4) is order


def test_amounts_are_counts():
    assert veil.KnownPairs(RECORDS, [0, 1, 2]).amount == veil.KnownSample(RECORDS).amount == 3
    assert veil.KnownAttributes(["a", "b"], RECORDS[:, :2]).amount == 2
    assert veil.IndependentSignals().amount == 0


def test_levels_in_words():
    kinds = grantable()
    assert kinds["pairs"].label(1) == "1 known record"
    assert kinds["records"].label(3) == "3 known records, unmatched"
    assert "2 most telling columns" in kinds["attributes"].words(2)
    for cls in kinds.values():
        assert cls.words(1).startswith("The attacker also ")
        assert cls.audit_help.endswith(".")


def test_the_registry_has_every_kind_once_in_the_order_of_the_levels():
    exact = ["pairs", "records", "sample", "attributes", "ranges", "external", "matrix"]
    derived = [
        "pairs_and_sample",
        "columns_and_sample",
        "biased_sample",
        "older_sample",
        "rounded_pairs",
        "wrong_pairs",
        "results",
    ]
    assert list(grantable()) == [*exact, *derived]
    assert [cls.address() for cls in grantable().values()] == list(range(1, 15))
    assert kinds_of_knowledge()["--known-noise"] is veil.KnownNoise
    own = [cls for cls in kinds_of_knowledge().values() if cls in cls.gives(own_sample=False)]
    assert all(cls.file_help for cls in own)  # an attacker's file has what it has: spoiled, or of two kinds


def test_a_name_that_is_taken_stays_with_veils_own_and_the_other_is_refused_by_it():
    other = type("KnownPairs", (Knowledge,), {"__module__": "elsewhere"})
    with pytest.raises(InputError, match=r"KnownPairs: another kind of knowledge has this name .*records"):
        KNOWLEDGE.check(other.option(), other)
    rival = type("Acquaintances", (Knowledge,), {"__module__": "elsewhere", "kind": "pairs"})
    with pytest.raises(InputError, match=r"Acquaintances: another kind of knowledge has this name .*records"):
        GRANTABLE.check("pairs", rival)
    assert kinds_of_knowledge()["--known-pairs"] is KNOWLEDGE.find("--known-pairs") is veil.KnownPairs
    assert grantable()["pairs"] is GRANTABLE.find("pairs") is veil.KnownPairs


def test_a_kind_of_a_session_is_not_granted_by_audits():
    cls = type("Rumours", (Knowledge,), {"__module__": "__main__", "kind": "rumours", "unit": Unit.RECORDS})
    assert cls.option() not in kinds_of_knowledge()
    assert "rumours" not in grantable()


@pytest.mark.parametrize(("kind", "amount"), [("pairs", 5), ("records", 5), ("sample", 0.1)])
def test_a_grant_says_which_records_it_gives_away(kind, amount):
    table, rng = private(), np.random.default_rng(1)
    grant = grantable()[kind].grant(table, amount, rng)
    rows = grant.withheld if kind == "sample" else grant.given
    assert len(rows) == 5
    (known,) = grant.knowledge
    values = known.sample if kind == "sample" else known.records
    np.testing.assert_array_equal(np.sort(values, axis=0), np.sort(table.values[rows], axis=0))


def test_a_sample_of_the_table_is_known_records_too():
    grant = veil.KnownSample.grant(private(own_sample=True), 0.1, np.random.default_rng(0))
    assert [type(item) for item in grant.knowledge] == [veil.KnownSample, veil.KnownRecords]
    assert veil.KnownSample.gives(own_sample=True) == (veil.KnownSample, veil.KnownRecords)
    assert len(grant.given) == 5
    assert not len(grant.withheld)


def test_obstacles_count_what_is_there():
    table = private(10)
    table.values[3:, 0] = np.nan
    assert veil.KnownPairs.obstacle(table, 3) == ""
    assert veil.KnownPairs.obstacle(table, 4) == "it needs 4 complete records; the table has 3"
    assert veil.KnownAttributes.obstacle(table, 4).endswith("there are 3")


def test_grants_add_up():
    rng, table = np.random.default_rng(0), private()
    one, other = veil.KnownPairs.grant(table, 2, rng), veil.KnownSample.grant(table, 0.1, rng)
    both = Grant((veil.TimeOrder(),)).with_more(one).with_more(other)
    assert len(both.knowledge) == 3
    assert both.with_more(one).knowledge == both.knowledge
    np.testing.assert_array_equal(both.given, one.given)
    np.testing.assert_array_equal(both.withheld, other.withheld)
