"""Names that try to steer a terminal, forge a line or turn text around, through every verb and every kind of output."""

from __future__ import annotations

import io
import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from veil.cli import main
from veil.report.console import Terminal, shown
from veil.report.escaping import visible, visible_json

ESCAPE, C1, BIDI, FORGED, MARKUP = "a\x1b[2J", "b\x9b31m", "c\u202egnp", "d\nveil: all goals hold", "[red]e[/red]"
NUMBERS = (ESCAPE, C1, BIDI, FORGED, MARKUP)
TEXT = "kind\x1b]0;title\x07"
CATEGORIES = ("x\x1b[31m", "y\u2066", "z\r\n[bold]")


def harmless(text: str) -> bool:
    """Every line shows as it is: no control or format character, and no line that a name began."""
    lines = text.split("\n")
    return all(line.replace("\u00a0", " ").isprintable() for line in lines) and not any(
        line.startswith("veil: all goals hold") for line in lines
    )


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nasty\x1b[2J\u202e")
    rng = np.random.default_rng(0)
    mixed = rng.normal(size=(120, 5)) @ rng.normal(size=(5, 5)) + 10
    columns = {name: pa.array(mixed[:, j]) for j, name in enumerate(NUMBERS)}
    table = pa.table({**columns, TEXT: pa.array(rng.choice(CATEGORIES, 120))})
    pq.write_table(table, folder / "t\x1b[31m.parquet")
    return folder


@pytest.fixture(scope="module")
def table(home):
    return home / "t\x1b[31m.parquet"


def run(*arguments, code=0):
    result = CliRunner().invoke(main, list(map(str, arguments)), env={"COLUMNS": "200"})
    assert result.exit_code == code, result.output
    assert harmless(result.stdout), result.stdout
    assert harmless(result.stderr), result.stderr
    return result


@pytest.fixture(scope="module")
def release(home, table):
    done = run("perturb", table, "--method", "additive-noise", "--role", f"{TEXT}=drop", "-o", home / "r\x1b[1m",
               "--key", home / "k\x1b[1m")  # fmt: skip
    assert "\\x1b[1m" in done.stdout
    return home / "r\x1b[1m"


@pytest.fixture(scope="module")
def answers(home, table):
    """A release of the categories, beside noise: the plan that is drafted."""
    plan = home / "plan\x1b[1m.toml"
    run("init", table, "-o", plan)
    plan.write_text(plan.read_text().replace('plausible = "auto"', "#"))  # so that the numbers come back
    run("perturb", table, "--plan", plan, "-o", home / "answers", "--key", home / "answers.key")
    return home / "answers"


def test_inspect(table):
    printed = run("inspect", table).stdout
    for name in (*NUMBERS, TEXT):
        assert visible(name) in printed
    facts = json.loads(run("inspect", table, "--json").stdout)
    assert [column["name"] for column in facts["columns"]] == [*NUMBERS, TEXT]


def test_recover(release, answers, home):
    assert visible(ESCAPE) in run("recover", release, "-o", home / "page\x1b[1m.html").stdout
    assert visible(CATEGORIES[0]) in run("recover", answers).stdout
    view = json.loads(run("recover", answers, "--json").stdout)
    assert {share[0] for share in view["proportions"][0]["shares"]} == set(CATEGORIES)


def test_attack_measure_restore(release, table, home):
    guess = home / "guess\x1b[1m.parquet"
    run("attack", release, "--attack", "bayes-estimate", "-o", guess)
    assert visible(MARKUP) in run("measure", table, guess, "--role", f"{TEXT}=drop").stdout
    told = run("measure", table, guess).stdout
    assert repr(TEXT) in told  # the guess does not have it
    measures = json.loads(run("measure", table, guess, "--json").stdout)
    assert [column["name"] for column in measures["columns"]] == list(NUMBERS)
    run("restore", release, "--key", home / "k\x1b[1m", "-o", home / "back\x1b[1m.parquet", "--partial")
    assert pq.read_schema(home / "back\x1b[1m.parquet").names == list(NUMBERS)


def test_restore_lists_what_cannot_come_back(answers, home):
    refused = run("restore", answers, "--key", home / "answers.key", "-o", home / "back.parquet", code=2)
    assert repr(TEXT) in refused.stderr
    assert "--partial" in refused.stderr
    done = run("restore", answers, "--key", home / "answers.key", "-o", home / "back.parquet", "--partial")
    assert repr(TEXT) in done.stdout


QUICK = ("--method", "additive-noise", "--role", f"{TEXT}=drop", "--seed", "0", "--workers", "1", "--pairs", "1")
LITTLE = ("--sample", "", "--attributes", "", "--records", "", "--no-ranges", "--no-matrix", "--no-external")


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])
def test_audit(table, home, form):
    options = (*QUICK, *LITTLE, "--attack", "bayes-estimate", "--repetitions", "1", "--no-cache")
    done = run("audit", table, *options, "-o", home / "report\x1b[1m.html", *form, code=3)
    if form:
        assert ESCAPE in json.dumps(json.loads(done.stdout), ensure_ascii=False).encode().decode("unicode_escape")
    else:
        assert "\\x1b[1m.html" in done.stdout


REFUSALS = [
    ("inspect", "none\x1b[2J.csv"),
    ("inspect", "TABLE", "--role", "n\x1b[2J=drop"),
    ("perturb", "TABLE", "--method", "m\x1b[2J\n", "-o", "o", "--key", "k"),
    ("perturb", "TABLE", "--method", "additive-noise", "-o", "o", "--key", "k"),
    ("perturb", "TABLE", "--method", "additive-noise", "--set", "s\u202e=1", "-o", "o", "--key", "k"),
    ("attack", "TABLE", "--attack", "a\x1b[2J", "-o", "o.csv"),
    ("audit", "TABLE", "--plan", "p\x1b[2J.toml"),
    ("measure", "TABLE", "TABLE", "--role", "n\u2066=drop"),
    ("recover", "r\x1b[2J"),
    ("verb\x1b[2J",),
    ("inspect", "TABLE", "--option\x1b[2J"),
]


@pytest.mark.parametrize("arguments", REFUSALS, ids=lambda a: a[0])
def test_refusals_are_one_harmless_line(arguments, table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused = run(*(table if word == "TABLE" else word for word in arguments), code=2)
    assert refused.stdout == ""
    assert len(refused.stderr.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_a_terminal_with_colours_shows_names_and_obeys_none():
    file = io.StringIO()
    console = Terminal(file=file, force_terminal=True, width=200, color_system="standard")
    for name in (*NUMBERS, TEXT, *CATEGORIES):
        console.print(name, style="bold", markup=False)
        console.print(shown(name, "red"))
    plain = re.sub(r"\x1b\[[0-9;]*m", "", file.getvalue())
    assert harmless(plain.replace("veil: all", "", 1))  # printed bare, its line break is the caller's
    assert visible(FORGED) in plain
    assert len(re.findall(r"\x1b\[[0-9;]*m", file.getvalue())) >= 2 * len(NUMBERS)


@pytest.mark.parametrize("text", ["Größe", "年齢", "العمر", "naïve café", "x²", "plain text", ""])
def test_letters_of_every_script_stay(text):
    assert visible(text) == text


@pytest.mark.parametrize("code", [*range(32), 127, *range(128, 160), 0x200E, 0x202E, 0x2066, 0x2028, 0xFEFF, 0xD800])
def test_signs_that_do_not_show_are_escaped_and_json_keeps_them(code):
    sign = chr(code)
    assert visible(sign).isascii()
    assert visible(sign).isprintable()
    written = visible_json([sign])
    assert written.isprintable()
    assert json.loads(written) == [sign]
