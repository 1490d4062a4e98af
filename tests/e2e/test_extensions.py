"""A perturbation, an attack and a kind of knowledge of other packages, in plan files, lists, audits and reports."""

import json
import tomllib

import numpy as np
import pandas as pd
import pytest

from _packages import EXAMPLES, install, veil, veil_each

pytestmark = pytest.mark.skipif(not EXAMPLES.exists(), reason="the examples are not part of this installation")

THREAT = "It is bounded, so that every value is known to an interval."
PLAN = """
[[part]]
method = "triangular-noise"
scale = 0.05

[grants]
means = true
pairs = []
sample = []
attributes = []
ranges = false
matrix = false
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with both examples installed, a table, and a plan that names them."""
    folder = tmp_path_factory.mktemp("site")
    for group, name, module in (
        ("veil.attacks", "published-means", "own_attack"),
        ("veil.perturbations", "triangular-noise", "own_perturbation"),
    ):
        install(folder, group, name, module, (EXAMPLES / f"{module}.py").read_text(encoding="utf-8"))
    table = pd.DataFrame(np.random.default_rng(0).normal(50, 10, size=(60, 3)), columns=list("abc"))
    table.to_csv(folder / "table.csv", index=False)
    (folder / "plan.toml").write_text(PLAN)
    return folder


@pytest.fixture(scope="module")
def reports(site):
    """The HTML, the JSON and what the terminal shows of one audit of the plan."""
    command = ("audit", "table.csv", "--plan", "plan.toml", "--attack", "published-means", "--workers", 1)
    options = ("--seed", 0, "--no-cache", "-o")
    (shown, _), _ = veil_each(site, (*command, *options, "report.html"), (*command, *options, "report.json"), code=3)
    report = json.loads((site / "report.json").read_text(encoding="utf-8"))
    return (site / "report.html").read_text(encoding="utf-8"), report, shown


def test_both_lists_name_them_after_veils_own(site):
    names = ("triangular-noise (X1)", "published-means-attack (X1)")
    *lists, (audits, _) = veil_each(site, *((verb, "--list") for verb in ("perturb", "attack", "audit")))
    for (listed, _), name in zip(lists, names, strict=True):
        assert [line for line in listed.splitlines() if not line.startswith(" ")][-1].startswith(name)
    assert "triangular-noise (X1)" in audits


def test_a_drafted_plan_lists_the_kind_of_knowledge_and_can_be_changed_to_the_method(site):
    veil(site, "init", "table.csv", "-o", "drafted.toml")
    text = (site / "drafted.toml").read_text(encoding="utf-8")
    assert "\n# means = true " in text
    assert "# Grant the mean of each column." in text
    text = text.replace("additive-noise", "triangular-noise").replace("# means", "means")
    (site / "drafted.toml").write_text(text.replace('plausible = "auto"', '# plausible = "auto"'))  # to be restored
    assert tomllib.loads((site / "drafted.toml").read_text())["grants"] == {"means": True}
    veil_each(
        site,
        ("perturb", "table.csv", "--plan", "drafted.toml", "-o", "drafted", "--key", "drafted.key"),
        ("restore", "drafted", "--key", "drafted.key", "-o", "back.csv"),
    )
    np.testing.assert_allclose(pd.read_csv(site / "back.csv"), pd.read_csv(site / "table.csv"), atol=1e-4)


def test_a_plan_with_a_mistake_in_a_parameter_of_theirs_gets_a_suggestion(site):
    (site / "parameter.toml").write_text(PLAN.replace("scale", "scael"))
    (site / "grant.toml").write_text(PLAN.replace("means", "menas"))
    (_, parameter), (_, grant) = veil_each(
        site,
        ("perturb", "table.csv", "--plan", "parameter.toml", "-o", "r", "--key", "k"),
        ("audit", "table.csv", "--plan", "grant.toml"),
        code=2,
    )
    assert "part 1 (triangular-noise) is called 'scael'; did you mean 'scale'?" in parameter
    assert "[grants] is called 'menas'; did you mean 'means'?" in grant


def test_the_pages_say_their_own_words(reports):
    page, _, shown = reports
    for words in (
        "triangular noise (scale 0.05)",
        THREAT,
        "published-means-attack",
        "Draws every value towards the published mean of its column.",
        "published means",
        "The attacker also knows the mean of each private column from a public report.",
    ):
        assert words in page, words
    assert "With the published means, <b>published-means-attack</b> (X1) draws every value" in page
    assert "with the published means" in " ".join(shown.split())


def test_the_json_holds_them_as_values(reports):
    _, report, _ = reports
    candidate = report["candidates"][0]
    assert (candidate["method"], candidate["catalogue"]) == ("triangular-noise", "X1")
    assert candidate["threat"].endswith(THREAT)
    known = {"kind": "means", "amount": 0, "unit": "none", "label": "published means", "article": "the", "noun": ""}
    assert [level["knowledge"]["kind"] for level in candidate["levels"]] == ["nothing", "means"]
    assert candidate["levels"][1]["knowledge"] == known
    assert candidate["levels"][1]["words"].endswith("from a public report.")
    row = candidate["strongest"]
    assert (row["attack"]["label"], row["catalogue"], row["knowledge"]) == ("published-means-attack", "X1", known)
    assert row["attack_words"] == "draws every value towards the published mean of its column"
