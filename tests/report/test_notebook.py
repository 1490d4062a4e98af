"""Answers in a notebook: self-contained fragments that say what a terminal says, escaped, and without scripts."""

import re
from html.parser import HTMLParser

import numpy as np
import pyarrow as pa
import pytest
from rich.text import Text

import veil
from _tables import mixed_table
from veil.recovery import DistributionRecovery, JointRecovery, MomentRecovery, ProportionRecovery
from veil.report.audited import audit_fragment
from veil.report.console import grid
from veil.report.pieces import as_markup, plain_pieces
from veil.report.values import AdviceState

ROLES = {"sex": "sensitive"}


class Balanced(HTMLParser):
    """Collects the text of HTML whose elements must close, and the names of elements and attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open, self.names, self.attributes, self.words = [], set(), set(), []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in ("br", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1] != "style":
            self.words.append(data)


@pytest.fixture(scope="module")
def table():
    x = mixed_table(400, 3)
    names = ["age", "<b>income</b>", 'height" onload="x']
    sexes = np.random.default_rng(1).choice(["f", "m"], 400)
    return pa.table({**{name: x[:, j] for j, name in enumerate(names)}, "sex": sexes})


@pytest.fixture(scope="module")
def release(table):
    plan = veil.Plan(
        [(table.schema.names[:3], veil.AdditiveNoise(0.5)), ("sex", veil.RandomizedResponse())], shuffle=True
    )
    return veil.publish(table, plan)[0]


@pytest.fixture(scope="module")
def shown(table, release, real_audit):
    """Everything that a notebook shows."""
    noisy, numbers = release.part(0), table.drop(["sex"])
    names = tuple(numbers.schema.names[:2])
    words, rejected = "Additive noise of scale 2 keeps every goal.", {"log-normal-noise": "takes positive numbers"}
    method, state = veil.AdditiveNoise(2.0), AdviceState.RECOMMENDED
    plain = veil.publish(numbers, veil.AdditiveNoise(0.5))[0]
    guess = veil.attack(plain, "bayes-estimate")
    return {
        "audit": real_audit,
        "advice": veil.Advice(method, (), rejected, words, None, (), real_audit, state),
        "release": release,
        "manifest": release.manifest,
        "inspection": veil.inspect(table),
        "measures": veil.measure(numbers, guess),
        "recovered": veil.recover(release),
        "moments": MomentRecovery().fit(noisy),
        "proportions": ProportionRecovery().fit(release.part(1)),
        "distribution": DistributionRecovery(n_bins=20).fit(noisy),
        "joint": JointRecovery(names, n_bins=8).fit(noisy),
        "unfitted": JointRecovery(names, n_bins=8),
    }


KINDS = ["audit", "advice", "release", "manifest", "inspection", "measures", "recovered", "moments"]
KINDS += ["proportions", "distribution", "joint", "unfitted"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_fragment_is_balanced_self_contained_and_escaped(kind, shown):
    fragment = shown[kind]._repr_html_()
    parsed = Balanced(fragment)
    assert not {"script", "link", "img", "iframe", "object"} & parsed.names
    assert not any(name.startswith("on") or name in ("src", "href") for name in parsed.attributes)
    assert "url(" not in fragment
    assert "@import" not in fragment
    assert "<b>income" not in fragment
    assert len(fragment) < 20_000


@pytest.mark.parametrize("kind", KINDS)
def test_a_fragment_styles_nothing_outside_itself(kind, shown):
    style = re.search(r"<style>(.*?)</style>", shown[kind]._repr_html_(), re.DOTALL)[1]
    selectors = [each.strip() for rule in style.split("}") if "{" in rule for each in rule.split("{")[0].split(",")]
    assert len(selectors) > 20
    assert all(selector == ".veil" or selector.startswith(".veil ") for selector in selectors)


def words(thing) -> str:
    return re.sub(r"\s+", " ", " ".join(Balanced(thing._repr_html_()).words)).replace("\u00a0", " ")


def test_fragments_say_what_is_known(shown, release):
    audit = shown["audit"]
    assert f"{audit.n_rows:,} records × {len(audit.columns)} columns" in words(audit)
    assert audit.worst.attack in words(audit)
    assert "Recommended" not in words(shown["audit"])
    assert shown["advice"].words.split(".")[0] in words(shown["advice"])
    assert "shuffled by a secret permutation" in words(release)
    assert "randomized-response (P16)" in words(release.manifest)
    assert "<b>income</b>" in words(shown["inspection"])
    assert "values breached" in words(shown["measures"])
    assert "Correlation of age and <b>income</b>" in words(shown["joint"])
    assert "± population" in words(shown["moments"])
    assert "of another kind" not in words(shown["moments"])
    assert "±" not in words(shown["joint"])
    assert "call fit(release)" in words(shown["unfitted"])
    assert "n_bins 8" in words(shown["unfitted"])


def test_moments_in_a_notebook_are_those_that_were_found(shown):
    moments = shown["moments"]
    assert f"{moments.mean_[0]:#.4g}".replace("-", "−") in words(moments)
    assert f"{2 * moments.mean_se_[0]:#.4g}" in words(moments)


def test_what_is_printed_is_the_terminals_table(shown):
    assert repr(shown["measures"]).startswith("The other table beside the private table: 400 records")
    assert repr(shown["inspection"]).startswith("Table: 400 records × 4 columns")
    assert repr(shown["recovered"]).startswith("Release 1, additive-noise + randomized-response, 400 records")


def test_few_people_are_not_shown(table):
    audit = veil.audit(mixed_table(8, 2), veil.AdditiveNoise(), grants=veil.Grants.only(), repetitions=1)
    assert "internal=True" in words(audit)
    assert "%" not in words(audit)


def test_hostile_names_stay_text(hostile_model):
    fragment = audit_fragment(hostile_model)
    Balanced(fragment)
    assert "<script" not in fragment
    assert "\x1b" not in fragment


def test_styles_and_lines_of_text_survive():
    table = grid("a", "b", caption="\nOne\ntwo")
    table.add_row(Text("x & y"), Text("1\n").append("2", "dim"))
    html = as_markup([Text("first "), table])
    assert html.startswith("<p>first </p>")
    assert "<caption>One<br>two</caption>" in html
    assert '<td class="num">1<br><span class="quiet">2</span></td>' in html
    assert "x &amp; y" in plain_pieces([table]).replace("&", "&amp;")
