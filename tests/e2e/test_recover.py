"""`veil recover`: what an analyst reads off a release folder."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import veil
from veil.cli import main
from veil.recovery.folders import recover
from veil.report.recovered_page import recovered_page


def people(n=4_000):
    rng = np.random.default_rng(0)
    shared = rng.gamma(2.0, size=n)
    return pd.DataFrame({"income": 1000 * shared, "<b>age</b>": 40 + 5 * shared + rng.normal(0, 5, n)})


def invoke(*args):
    result = CliRunner().invoke(main, [str(a) for a in args])
    return result.exit_code, result.stdout, result.stderr


SEEDED = {"random_state": 0}  # a fresh key would miss three standard errors once in a hundred runs


@pytest.mark.parametrize(
    "method",
    [veil.AdditiveNoise(0.5, **SEEDED), veil.MultiplicativeNoise(**SEEDED), veil.LogNormalNoise(0.2, **SEEDED)],
)
def test_estimates_come_with_intervals_that_hold(method, tmp_path):
    table = people()
    release, _ = veil.publish(table, method)
    release.save(tmp_path / "release")
    code, said, _ = invoke("recover", tmp_path / "release", "--json")
    assert code == 0
    found = json.loads(said)
    for j, column in enumerate(found["columns"]):
        values = table[column["name"]]
        # Three standard errors where the page prints two.
        assert abs(column["mean"] - values.mean()) < 1.5 * column["mean_half"]
        assert abs(column["std"] - values.std(ddof=0)) < 1.5 * column["std_half"]
        assert column["mean_half_total"] > column["mean_half"]
        assert found["covariance"][j][j] == pytest.approx(column["std"] ** 2)
        if isinstance(method, veil.AdditiveNoise):
            for q, x, low, high in column["quantiles"]:
                assert abs((values < x).mean() - q) < 0.04
                assert low is None or low <= values.quantile(q)
                assert high is None or values.quantile(q) <= high
        else:
            assert column["density"] == []


def test_the_page_shows_densities_and_escapes_names():
    release, _ = veil.publish(people(), veil.AdditiveNoise(0.5))
    page = recovered_page(recover(release))
    assert page.count("<svg") == 2
    assert "<b>age" not in page
    assert "http://" not in page
    assert "https://" not in page
    assert not re.search(r"<script", page)


def test_the_terminal_output_and_the_files(tmp_path):
    release, _ = veil.publish(people(), veil.AdditiveNoise(0.5))
    release.save(tmp_path / "release")
    code, said, _ = invoke("recover", tmp_path / "release", "-o", tmp_path / "page.html")
    assert code == 0
    assert "Covariances" in said
    assert (tmp_path / "page.html").stat().st_size > 5_000
    code, _, error = invoke("recover", tmp_path / "release", "-o", tmp_path / "page.pdf")
    assert code == 2
    assert ".html or .json" in error
    rotated, _ = veil.publish(people(), veil.OrthogonalTransform())
    rotated.save(tmp_path / "rotated")
    code, _, error = invoke("recover", tmp_path / "rotated")
    assert code == 2
    assert "do not come back" in error


def test_gaps_and_weights_are_told_of_in_a_sentence(tmp_path):
    table = people(1_000).rename(columns={"<b>age</b>": "age"}).assign(weight=1.0)
    table.loc[:99, "age"] = np.nan
    table.loc[500:, "weight"] = 3.0
    plan = veil.Plan([(["income", "age"], veil.AdditiveNoise(0.5, **SEEDED))], roles={"weight": "public"})
    release, _ = veil.publish(table, plan)
    release.save(tmp_path / "release")
    code, said, _ = invoke("recover", tmp_path / "release", "-o", tmp_path / "page.html")
    assert code == 0
    sentence = "100 of 1,000 records have gaps; all records were used"
    assert sentence in " ".join(said.split())
    assert sentence in (tmp_path / "page.html").read_text()
    code, said, _ = invoke("recover", tmp_path / "release", "--weights", "weight", "--json")
    assert code == 0
    found = json.loads(said)
    assert "Records were weighted" in found["records"]
    own = np.average(table["income"], weights=table["weight"])
    assert abs(found["columns"][0]["mean"] - own) < 1.5 * found["columns"][0]["mean_half"]
    code, _, error = invoke("recover", tmp_path / "release", "--weights", "income")
    assert code == 2
    assert "weights" in error
    whole, _ = veil.publish(people(), veil.AdditiveNoise(0.5, **SEEDED))
    assert recover(whole).records == ""


def test_regressions_and_weights_of_a_folder(tmp_path):
    rng = np.random.default_rng(3)
    table = people().assign(sex=rng.choice(["F", "M"], 4_000), w=rng.choice([1.0, 4.0], 4_000))
    table = table.rename(columns={"<b>age</b>": "age"})
    plan = veil.Plan([(["income", "age"], veil.AdditiveNoise(0.3, **SEEDED))], roles={"sex": "public", "w": "weight"})
    veil.publish(table, plan)[0].save(tmp_path / "release")
    code, said, _ = invoke("recover", tmp_path / "release", "--json", "--regress", "age ~ income + sex=F")
    assert code == 0
    found = json.loads(said)
    (regression,) = found["regressions"]
    assert [term[0] for term in regression["terms"]] == ["(intercept)", "income", "sex=F"]
    assert abs(regression["terms"][1][1] - 0.005) < 1.5 * regression["terms"][1][3]
    assert "weighted by 'w'" in found["records"]
    page = recovered_page(recover(tmp_path / "release", regressions=[("age", ["income"])]))
    assert "Regression of age" in page
    code, said, _ = invoke("recover", tmp_path / "release", "--unweighted", "--regress", "age ~ income")
    assert code == 0
    assert "coefficient" in said
    assert "weighted" not in said
    code, _, error = invoke("recover", tmp_path / "release", "--regress", "age, income")
    assert code == 2
    assert "target ~ predictor" in error
    code, _, error = invoke("recover", tmp_path / "release", "--unweighted", "--weights", "w")
    assert code == 2
    assert "exclude each other" in error
