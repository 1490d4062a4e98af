"""A perturbation of another package, found by a real entry point: published, restored, checked, planned, listed."""

import numpy as np
import pandas as pd
import pytest

from _packages import EXAMPLES, install, python, veil, veil_each

EXAMPLE = EXAMPLES / "own_perturbation.py"

pytestmark = pytest.mark.skipif(not EXAMPLE.exists(), reason="the examples are not part of this installation")


OWN_MODEL = """
from dataclasses import dataclass
import veil
from veil.release import Model

@dataclass(frozen=True, eq=False)
class MirrorModel(Model):
    name = "mirror"
    centre: float
    def to_json(self):
        return {"centre": self.centre}
    @classmethod
    def from_json(cls, raw):
        return cls(raw["centre"])

class Mirror(veil.Perturbation):
    catalogue = "X3"
    layout = veil.perturbations.Layout(noise=veil.perturbations.Noise.NONE)
    def __init__(self, centre=0.0, *, random_state=None):
        self.centre = centre
        self.random_state = random_state
    def learn(self, facts):
        return MirrorModel(self.centre)
    def perturb(self, block, draws):
        return self.model_.centre - block
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    install(folder, "veil.perturbations", "triangular-noise", "own_perturbation", EXAMPLE.read_text(encoding="utf-8"))
    install(folder, "veil.perturbations", "broken-noise", "broken_noise", "import a_module_that_is_not_there\n")
    clash = "import veil\nclass AdditiveNoise(veil.LogNormalNoise):\n    catalogue = 'X2'\n"
    install(folder, "veil.perturbations", "clashing-noise", "clashing_noise", clash)
    install(folder, "veil.perturbations", "reversed-values", "own_model", OWN_MODEL)
    table = pd.DataFrame(np.random.default_rng(0).normal(50, 10, size=(60, 3)), columns=list("abc"))
    table.to_csv(folder / "table.csv", index=False)
    return folder


def test_it_is_listed_and_others_go_on(site):
    done = veil(site, "perturb", "--list")
    assert "triangular-noise (X1)" in done.stdout
    assert "additive-noise (P1)" in done.stdout
    assert "a_module_that_is_not_there" in done.stderr
    assert "own" not in done.stderr
    assert "AdditiveNoise" in done.stderr


def test_it_is_published_and_restored_by_its_name(site):
    veil_each(
        site,
        ("perturb", "table.csv", "--method", "triangular-noise", "--set", "scale=0.5", "-o", "out", "--key", "k"),
        ("restore", "out", "--key", "k", "-o", "back.csv"),
    )
    back, table = pd.read_csv(site / "back.csv"), pd.read_csv(site / "table.csv")
    np.testing.assert_allclose(back, table, atol=1e-4)


def test_it_keeps_the_contracts_and_its_model_is_known_to_attacks(site):
    code = (
        "import numpy as np, veil; from own_perturbation import TriangularNoise; "
        "from veil.checks import check_perturbation; check_perturbation(TriangularNoise()); "
        "x = np.random.default_rng(0).normal(size=(400, 3)); "
        "release, _ = veil.publish(x, TriangularNoise(0.5, random_state=0)); "
        "release.save('saved'); "
        "assert abs((release.to_numpy() - x).std() - 0.5) < 0.05"
    )
    python(site, "-W", "ignore", "-c", code)
    # Whoever reads the release needs the model, not the package.
    part = __import__("veil").Release.load(site / "saved").only_part
    assert (part.method, type(part.model).__name__) == ("triangular-noise", "AdditiveModel")


def test_a_model_of_its_own_is_known_in_a_fresh_process(site):
    made = "import numpy as np, veil, own_model; veil.publish(np.eye(3), own_model.Mirror(2.0))[0].save('mirrored')"
    python(site, "-W", "ignore", "-c", made)
    read = "import veil; print(type(veil.Release.load('mirrored').only_part.model).__name__)"
    assert python(site, "-W", "ignore", "-c", read).stdout.strip() == "MirrorModel"


def test_every_attack_and_recovery_copes_with_its_law(site):
    code = (
        "import pandas as pd, veil; from own_perturbation import TriangularNoise; "
        "table = pd.read_csv('table.csv'); method = TriangularNoise(0.5, random_state=0); "
        "audit = veil.audit(table, method, seed=0, workers=1, repetitions=2, grants=veil.Grants.only(pairs=5)); "
        "assert {'bayes-estimate-attack', 'spectral-filter-attack'} <= {row.attack for row in audit.rows}; "
        "release, _ = veil.publish(table, method); "
        "assert [column.name for column in veil.recover(release).columns] == ['a', 'b', 'c']"
    )
    python(site, "-W", "ignore", "-c", code)
