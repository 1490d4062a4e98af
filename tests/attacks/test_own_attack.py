"""An attack of another package, with a kind of knowledge of its own, found by a real entry point."""

import numpy as np
import pandas as pd
import pytest

from _packages import EXAMPLES, install, python, veil, veil_each

EXAMPLE = EXAMPLES / "own_attack.py"

pytestmark = pytest.mark.skipif(not EXAMPLE.exists(), reason="the examples are not part of this installation")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    install(folder, "veil.attacks", "published-means", "own_attack", EXAMPLE.read_text(encoding="utf-8"))
    install(folder, "veil.attacks", "broken-attack", "broken_attack", "import a_module_that_is_not_there\n")
    clash = "import veil\nclass PCAAttack(veil.Attack):\n    catalogue = 'X2'\n    words = 'guesses'\n"
    install(folder, "veil.attacks", "clashing-attack", "clashing_attack", clash)
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(50, 10, size=(60, 3)), columns=list("abc"))
    table.to_csv(folder / "table.csv", index=False)
    table.mean().to_frame().T.to_csv(folder / "means.csv", index=False)
    return folder


def test_it_is_listed_and_others_go_on(site):
    listed = veil(site, "attack", "--list")
    assert "published-means-attack (X1)" in listed.stdout
    assert "pca-attack (A4)" in listed.stdout
    assert "broken-attack of the package broken-attack was not loaded" in listed.stderr
    assert "PCAAttack: another attack has this name (veil.attacks.noise.spectral); rename it" in listed.stderr
    assert "--means / --no-means" in veil(site, "audit", "--help").stdout


def test_it_runs_in_an_audit_and_stands_in_the_report(site):
    veil(
        site,
        *("audit", "table.csv", "--method", "additive-noise:scale=0.05", "--attack", "published-means"),
        *("--seed", 0, "--no-cache", "--workers", 1, "-o", "report.html"),
        code=3,
    )
    report = (site / "report.html").read_text(encoding="utf-8")
    assert "published-means-attack" in report
    assert "published means" in report
    assert "draws every value towards the published mean of its column" in report


def test_it_attacks_a_folder_with_a_file_of_its_knowledge(site):
    veil_each(
        site,
        ("perturb", "table.csv", "--method", "additive-noise", "-o", "release", "--key", "k.veilkey"),
        ("attack", "release", "--attack", "published-means", "--published-means", "means.csv", "-o", "g.csv"),
    )
    means = pd.read_csv(site / "g.csv")[list("abc")].mean()
    np.testing.assert_allclose(means, pd.read_csv(site / "means.csv").iloc[0], rtol=1e-9)


def test_it_keeps_the_contract_of_attacks_and_plans_may_name_its_knowledge(site):
    script = """
import veil
from pathlib import Path
from veil.auditing.plan_file import load_plan
from veil.attacks import find_attack
veil.checks.check_attack(find_attack("published-means")())
Path("plan.toml").write_text("[[part]]\\nmethod = 'additive-noise'\\n[grants]\\nmeans = false\\npairs = [2]\\n")
grants = load_plan("plan.toml").grants
assert "means" not in [level.kind for level in grants.levels(100, 3)]
assert "means" in [level.kind for level in veil.Grants().levels(100, 3)]
assert "means" not in [level.kind for level in veil.Grants(means=False).levels(100, 3)]
"""
    python(site, "-W", "ignore", "-c", script)
