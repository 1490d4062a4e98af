"""Releases from elsewhere, and earlier ones: matched rows, unmatched rows, averaging."""

import numpy as np
import pandas as pd
import pytest

import veil
from _program import call
from veil.errors import InputError

NONE = veil.Grants.only()


def people(n=300, d=4, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(rng.normal(size=(n, d)) @ rng.normal(size=(d, d)), columns=list("abcdefgh")[:d])


def test_an_identity_copy_with_shuffled_rows_fails_any_goal():
    frame = people()
    copy = frame.sample(frac=1, random_state=1)
    found = veil.audit(frame, release=copy, match=None, goals=veil.Goals(max_advantage=0.99), seed=0)
    assert not found.passed
    assert found.matching == "inferred"
    assert found.worst.record.advantage == pytest.approx(1.0)
    assert "inferred" in found.model().matching
    assert any("stranger" in remark for remark in found.remarks)


def test_strangers_are_no_breach_however_near_their_nearest_is():
    both = people(800)
    frame, strangers = both.iloc[:400], both.iloc[400:]
    found = veil.audit(frame, release=strangers, match=None, seed=0)
    row = found.worst
    assert row.value.rate > 0.1  # an assignment to strangers alone looks like a breach
    assert row.value.advantage.low <= 0 <= row.value.advantage.high
    assert set(found.candidates[0].utility) <= {"means", "covariance", "distribution"}  # no row is anybody's


def test_a_rotation_by_any_tool_is_undone_by_a_few_known_records():
    frame = people()
    matrix, _ = np.linalg.qr(np.random.default_rng(3).normal(size=(4, 4)))
    released = pd.DataFrame(frame.to_numpy() @ matrix, columns=[f"c{j}" for j in range(4)])
    blind = veil.audit(frame, release=released, grants=veil.Grants.only(pairs=6), seed=0)
    assert blind.worst.attack == "regression-attack"
    assert blind.worst.value.rate == pytest.approx(1.0)
    described = veil.audit(
        frame,
        veil.OrthogonalTransform(scaling=None),
        release=released,
        grants=veil.Grants.only(pairs=4),
        seed=0,
        repetitions=5,
    )
    assert described.worst.attack == "known-pairs-attack"
    assert described.worst.value.rate == pytest.approx(1.0)
    assert not described.passed


def test_a_described_noise_is_filtered_with_its_law():
    frame = people(600)
    noisy = frame + np.random.default_rng(1).normal(size=frame.shape) * frame.std().to_numpy()
    found = veil.audit(frame, veil.AdditiveNoise(1.0), release=noisy, grants=NONE, seed=0)
    errors = {row.attack: row.nrmse for row in found.rows}
    assert errors["bayes-estimate-attack"] < 0.8 * errors["noise-distribution-attack"]
    assert {row.repetitions for row in found.rows} == {1}  # one release says the same however often it is asked


def test_rows_are_matched_by_a_key_column_whatever_their_order():
    frame = people(200).assign(id=[f"p{i}" for i in range(200)])
    released = frame.drop(columns="id").assign(id=frame["id"]).sample(frac=0.8, random_state=2)
    found = veil.audit(frame, release=released, match="id", grants=NONE, seed=0)
    assert found.n_rows == 160
    assert found.worst.value.rate == 1.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"release": people(299)}, "needs as many rows in both"),
        ({"release": people(), "match": "id"}, "the table has no column 'id'"),
        ({"release": people(3)}, "at least 4"),
        ({"release": people(), "match": 5}, "match must be"),
        ({"release": people().astype(str)}, "no numeric column|number"),
        ({"release": people(), "perturbations": [veil.AdditiveNoise(), veil.AdditiveNoise()]}, "one method"),
        ({"release": people()[["a", "b"]], "perturbations": veil.AdditiveNoise()}, "makes 4 columns"),
    ],
)
def test_mistakes_with_a_release_from_elsewhere(change, message):
    with pytest.raises(InputError, match=message):
        veil.audit(people(), **change)


def test_repeated_keys_are_refused():
    frame = people(50).assign(id=["x"] * 50)
    with pytest.raises(InputError, match="49 repeated"):
        veil.audit(frame, release=frame, match="id")


# -- earlier releases ------------------------------------------------------------------------------------------------


def test_earlier_releases_are_averaged():
    """Three releases with noise of one deviation are as one with noise of 1/√3 deviations."""
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(4_000, 2)), columns=["a", "b"])
    earlier = [veil.publish(frame, veil.AdditiveNoise(1.0, random_state=i))[0] for i in (1, 2)]
    found = veil.audit(frame, veil.AdditiveNoise(1.0), previous=earlier, grants=NONE, seed=0)
    (row,) = [r for r in found.rows if r.attack == "repeated-release-attack"]
    expected = np.sqrt((1 / 3) / (1 + 1 / 3))
    assert row.nrmse == pytest.approx(expected, rel=4 / np.sqrt(2 * 8_000) + 0.01)
    alone = min(r.nrmse for r in found.rows if r is not row)
    assert row.nrmse < alone
    assert "2 earlier releases" in found.remarks[0]


def test_earlier_releases_of_overlapping_tables_are_matched_by_a_public_key():
    frame = people(120).assign(id=[f"p{i}" for i in range(120)])
    earlier, _ = veil.publish(frame.iloc[20:], veil.AdditiveNoise(0.5), roles={"id": "public"})
    found = veil.audit(
        frame.iloc[:100], veil.AdditiveNoise(0.5), previous=earlier, roles={"id": "public"}, grants=NONE, seed=0
    )
    assert any(row.attack == "repeated-release-attack" for row in found.rows)
    with pytest.raises(InputError, match="has 100 rows and the table 90"):
        veil.audit(
            people(120).iloc[:90],
            veil.AdditiveNoise(0.5),
            previous=[veil.publish(people(120).iloc[20:], veil.AdditiveNoise(0.5))[0]],
        )


def test_earlier_releases_are_matched_by_an_identifier_that_was_never_released(tmp_path):
    """Other people, in another order, one release of shuffled rows: matched as if the rows had been given."""
    frame = people(500).assign(patient=np.arange(500) + 7_000)
    then = frame.sample(400, random_state=3)
    roles, method = {"patient": "identifier"}, veil.AdditiveNoise(1.0)
    released = [
        veil.publish(then, veil.AdditiveNoise(1.0, random_state=i), roles=roles, shuffle=i == 2) for i in (1, 2)
    ]
    assert all("patient" not in release.data for release, _ in released)
    pairs = [(released[0][0], then), (*released[1][:1], then, released[1][1])]
    by_id = {"previous": pairs, "previous_id": "patient"}
    own = np.full(500, -1)
    own[then.index] = np.arange(400)
    order = released[1][1].row_order(released[1][1].ledger[0])
    rows = [own, np.where(own >= 0, np.argsort(order)[own], -1)]
    whole = [veil.PreviousReleases(release, each) for (release, _), each in zip(released, rows, strict=True)]
    errors = []
    for earlier in (by_id, {"previous": whole}):
        found = veil.audit(frame, method, roles=roles, grants=NONE, seed=0, attacks=["repeated-release"], **earlier)
        errors.append([row.nrmse for row in found.rows])
    assert errors[0] == errors[1]
    alone = veil.audit(frame, method, roles=roles, grants=NONE, seed=0, attacks=["bayes-estimate"])
    assert errors[0][0] < 0.9 * alone.rows[0].nrmse


@pytest.mark.parametrize(
    ("previous", "identifier", "message"),
    [
        (lambda release, frame: [(release, frame)], None, "say with previous_id which column"),
        (lambda release, frame: [release], "patient", "no earlier release has its private table"),
        (lambda release, frame: [(release, frame)], "nobody", "previous_id: the table has no column 'nobody'"),
        (lambda release, frame: [(release, frame[:50])], "patient", "has 60 rows and its private table 50"),
        (lambda release, frame: [(release, frame.assign(patient=1))], "patient", "59 repeated"),
        (lambda release, frame: [(release,)], "patient", "has 1 items"),
    ],
)
def test_mistakes_with_identifiers_of_earlier_releases(previous, identifier, message):
    frame = people(60).assign(patient=np.arange(60))
    roles = {"patient": "identifier"}
    release, _ = veil.publish(frame, veil.AdditiveNoise(), roles=roles)
    with pytest.raises(InputError, match=message):
        veil.audit(frame, veil.AdditiveNoise(), roles=roles, previous=previous(release, frame), previous_id=identifier)


def test_the_command_line_names_the_identifier_of_earlier_releases(tmp_path):
    frame = people(200, 2).assign(patient=range(200))
    frame.to_csv(tmp_path / "now.csv", index=False)
    frame.sample(150, random_state=1).to_csv(tmp_path / "then.csv", index=False)
    method = ("--method", "additive-noise:scale=1", "--role", "patient=identifier")
    call("perturb", "then.csv", *method, "-o", "earlier", "--key", "key", cwd=tmp_path)
    audit = ("audit", "now.csv", *method, "--attack", "repeated-release", "--repetitions", 1, "--json", "--no-cache")
    earlier = ("--previous", "earlier=then.csv")
    done = call(*audit, *earlier, "--previous-id", "patient", cwd=tmp_path, code=3)
    assert "1 earlier release about" in done.output
    refused = call(*audit, *earlier, cwd=tmp_path, code=2)
    assert "say with previous_id which column names a person" in refused.stderr


def test_earlier_releases_must_be_releases():
    with pytest.raises(InputError, match="entry 0 is no release"):
        veil.audit(people(), veil.AdditiveNoise(), previous=[people()])
    with pytest.raises(InputError, match="list of earlier releases"):
        veil.audit(people(), veil.AdditiveNoise(), previous=5)


def test_a_release_folder_of_ours_describes_itself(tmp_path):
    frame = people(200)
    release, _ = veil.publish(frame, veil.OrthogonalTransform())
    release.save(tmp_path / "release")
    found = veil.audit(frame, release=tmp_path / "release", grants=veil.Grants.only(pairs=4), seed=0)
    assert found.worst.attack == "known-pairs-attack"
    assert found.worst.value.rate == pytest.approx(1.0)
    shuffled, _ = veil.publish(frame, veil.AdditiveNoise(0.01), shuffle=True)
    with pytest.raises(InputError, match="were shuffled"):
        veil.audit(frame, release=shuffled)
    assert not veil.audit(frame, release=shuffled, match=None, grants=NONE, seed=0).passed


def test_earlier_releases_count_against_a_release_that_is_there_already():
    frame = people(1_000)
    first, second = (veil.publish(frame, veil.AdditiveNoise(1.0, random_state=i))[0] for i in (1, 2))
    found = veil.audit(frame, release=second, previous=first, grants=NONE, seed=0)
    (row,) = [r for r in found.rows if r.attack == "repeated-release-attack"]
    assert row.nrmse < min(r.nrmse for r in found.rows if r is not row)
    with pytest.raises(InputError, match="whose row is whose"):
        veil.audit(frame, release=second, previous=first, match=None)
