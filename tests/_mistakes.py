"""Mistakes that users make: what somebody types, and the words that the one line of the answer must have.

``docs/make_mistakes.py`` writes the list with its answers into ``docs/mistakes.md``; ``faults/test_mistakes.py`` makes
each of them. Every mistake is made in a folder of its own, with a table ``survey.csv`` of 60 people and releases of it.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from click.testing import CliRunner

from _program import call
from veil.cli import main

NOISE = ("--method", "additive-noise")
PERTURB = ("perturb", "survey.csv")
OUT = ("-o", "out", "--key", "out.key")
PLAN = "[[part]]\nmethod = 'additive-noise'\n[roles]\njob = 'drop'\nname = 'drop'\n"
AUDIT = ("audit", "survey.csv", *NOISE, "--role", "job=drop", "--role", "name=drop", "--no-cache")
KEYED = ("age", "income", "hours", "job")
DROPS = ("--role", "job=drop", "--role", "name=drop")


@dataclass(frozen=True)
class Mistake:
    """What somebody does, the command, and words of the answer.

    ``before`` changes the folder first; ``passphrase`` is what is in the environment.
    """

    what: str
    command: tuple[str, ...]
    words: tuple[str, ...]
    before: Callable[[Path], None] | None = None
    passphrase: str | None = None


def survey() -> pd.DataFrame:
    """Sixty people, with cells that no answer may quote."""
    rng = np.random.default_rng(20240)
    age = rng.integers(18, 90, 60)
    return pd.DataFrame(
        {
            "name": [f"SECRETCELL {i}" for i in range(60)],
            "age": age,
            "income": (31415926.5 + 90.0 * age + rng.normal(0, 400, 60)).round(2),
            "hours": rng.normal(35, 8, 60).round(3),
            "job": rng.choice(["nurse", "teacher", "SECRETCELL"], 60),
        }
    )


def prepare(folder: Path) -> None:
    """The table, releases with their keys, and a plan."""
    survey().to_csv(folder / "survey.csv", index=False)
    (folder / "plan.toml").write_text(PLAN)
    call(*PERTURB, *NOISE, *DROPS, "-o", "noisy", "--key", "noisy.key", cwd=folder)
    turn = ("--method", "orthogonal-transform")
    call(*PERTURB, *turn, *DROPS, "-o", "turned", "--key", "turned.key", cwd=folder)
    locked = ("-o", "locked", "--key", "locked.key", "--passphrase")
    call(*PERTURB, *NOISE, *DROPS, *locked, cwd=folder, env={"VEIL_PASSPHRASE": "right"})


def text(name: str, content: str, encoding: str = "utf-8") -> Callable[[Path], None]:
    """A file that is there before."""
    return lambda folder: (folder / name).write_bytes(content.encode(encoding)) and None


def frame(name: str, **columns: object) -> Callable[[Path], None]:
    """A CSV file of these columns that is there before."""
    return lambda folder: pd.DataFrame(columns).to_csv(folder / name, index=False)


def plan(content: str) -> Callable[[Path], None]:
    """Another plan."""
    return text("plan.toml", content)


def workbook(folder: Path) -> None:
    """Two sheets."""
    with pd.ExcelWriter(folder / "book.xlsx") as book:
        survey().drop(columns="name").to_excel(book, sheet_name="2023", index=False)
        survey().drop(columns="name").to_excel(book, sheet_name="2024", index=False)


def edited(folder: Path) -> None:
    """A released value was rounded by hand."""
    data = folder / "noisy" / "data.csv"
    lines = data.read_text().splitlines()
    lines[1] = ",".join("1.0" for _ in lines[1].split(","))
    data.write_text("\n".join(lines) + "\n")


def another_version(folder: Path) -> None:
    """The manifest of a later version."""
    path = folder / "noisy" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["format"] = 99
    path.write_text(json.dumps(manifest))


FILES = (
    Mistake("The path is misspelt", ("inspect", "survay.csv"), ("survay.csv", "survey.csv")),
    Mistake(
        "A folder is given instead of a file",
        ("inspect", "tables"),
        ("tables", ".parquet"),
        lambda folder: (folder / "tables").mkdir(),
    ),
    Mistake(
        "The wrong delimiter is declared",
        ("inspect", "survey.csv", "--delimiter", ";"),
        ("survey.csv", "';'", "--delimiter"),
    ),
    Mistake(
        "Thousands separators in numbers",
        ("perturb", "t.csv", *NOISE, *OUT),
        ("'pay'", "thousand"),
        frame("t.csv", pay=["1,200.50", "31,415,926.00", "900.10", "12,000.00"], x=[1.5, 2.5, 3.5, 4.5]),
    ),
    Mistake(
        "Decimal commas, and the declaration says points",
        ("perturb", "t.csv", *NOISE, *OUT, "--decimal", ".", "--delimiter", ";"),
        ("'pay'", "decimal mark"),
        text("t.csv", "pay;x\n" + "".join(f"{i},25;{i}\n" for i in range(9))),
    ),
    Mistake(
        "A file in windows-1252 is read as UTF-8",
        ("inspect", "t.csv"),
        ("t.csv", "UTF-8", "--encoding"),
        text("t.csv", "city,x\n" + "Köln,1\n" * 20, "windows-1252"),
    ),
    Mistake("An encoding that does not exist", ("inspect", "survey.csv", "--encoding", "utf-9"), ("utf-9",)),
    Mistake("A workbook with several sheets", ("inspect", "book.xlsx"), ("2023", "2024", "--sheet"), workbook),
    Mistake("The sheet is misspelt", ("inspect", "book.xlsx", "--sheet", "2025"), ("2025", "2024"), workbook),
    Mistake("An empty file", ("inspect", "t.csv"), ("t.csv", "empty"), text("t.csv", "")),
    Mistake("A header and no row", ("perturb", "t.csv", *NOISE, *OUT), ("no rows",), text("t.csv", "age,x\n")),
    Mistake("Two columns have one name", ("inspect", "t.csv"), ("'age'",), text("t.csv", "age,age\n1,2\n3,4\n")),
    Mistake("The header is missing", ("inspect", "t.csv"), ("header",), text("t.csv", "31415926,4\n1,2\n2,7\n3,4\n")),
    Mistake(
        "A row has more cells than the header",
        ("inspect", "t.csv"),
        ("t.csv", "row 3"),
        text("t.csv", "age,x\n1,2\n3,4,5\n"),
    ),
    Mistake("A file of another kind", ("inspect", "t.docx"), ("t.docx", ".csv"), text("t.docx", "age,x\n1,2\n")),
)

ROLES = (
    Mistake("A column is misspelt in a role", (*PERTURB, *NOISE, *OUT, "--role", "agee=key"), ("'agee'", "'age'")),
    Mistake("A role that does not exist", (*PERTURB, *NOISE, *OUT, "--role", "age=secret"), ("'age'", "'secret'")),
    Mistake("A role without a column", (*PERTURB, *NOISE, *OUT, "--role", "drop"), ("--role", "COLUMN=ROLE")),
    Mistake("Texts have no role", (*PERTURB, *NOISE, *OUT), ("'name'", "'job'", "--role")),
    Mistake(
        "Noise on a text",
        (*PERTURB, *NOISE, *OUT, "--role", "job=sensitive", "--role", "name=drop"),
        ("'job'", "randomized-response"),
    ),
    Mistake(
        "Two columns are weights",
        (*PERTURB, *NOISE, *OUT, *DROPS, "--role", "age=weight", "--role", "hours=weight"),
        ("'age'", "'hours'", "weight"),
    ),
    Mistake(
        "A text is the weight",
        (*PERTURB, *NOISE, *OUT, "--role", "name=drop", "--role", "job=weight"),
        ("'job'", "weight"),
    ),
    Mistake(
        "A group of numbers with decimals",
        (*PERTURB, *NOISE, *OUT, *DROPS, "--role", "hours=group"),
        ("'hours'", "group"),
    ),
    Mistake(
        "Every column is a key",
        (*PERTURB, *NOISE, *OUT, *(part for c in KEYED for part in ("--role", f"{c}=key")), "--role", "name=drop"),
        ("sensitive", "nothing would be perturbed"),
    ),
    Mistake(
        "A role is given twice",
        (*PERTURB, *NOISE, *OUT, "--role", "age=key", "--role", "age=drop"),
        ("'age'", "twice"),
    ),
)

METHODS = (
    Mistake("A method is misspelt", (*PERTURB, "--method", "additive-nose", *OUT), ("'additive-noise'",)),
    Mistake("A parameter is misspelt", (*PERTURB, *NOISE, *OUT, "--set", "scael=1"), ("'scael'", "'scale'")),
    Mistake("Noise of scale 0", (*PERTURB, *NOISE, *OUT, *DROPS, "--set", "scale=0"), ("scale", "0")),
    Mistake("Noise of a negative scale", (*PERTURB, *NOISE, *OUT, *DROPS, "--set", "scale=-1"), ("scale", "0")),
    Mistake("A scale in words", (*PERTURB, *NOISE, *OUT, *DROPS, "--set", "scale=strong"), ("scale", "number")),
    Mistake(
        "A guarantee without bounds",
        (*PERTURB, "--method", "laplace-mechanism:epsilon=1", *OUT, *DROPS),
        ("bounds",),
    ),
    Mistake(
        "A projection to more columns than there are",
        (*PERTURB, "--method", "random-projection:n_components=9", *OUT, *DROPS),
        ("n_components", "3"),
    ),
    Mistake(
        "One column is rotated",
        (*PERTURB, "--method", "pairwise-rotation", *OUT, *DROPS, "--role", "age=drop", "--role", "hours=drop"),
        ("column",),
    ),
    Mistake("No method is named", (*PERTURB, *OUT), ("--method", "--plan")),
    Mistake("A seed is set", (*PERTURB, *NOISE, *OUT, *DROPS, "--set", "random_state=1"), ("--allow-seed",)),
)

KEYS = (
    Mistake("No key file is named", (*PERTURB, *NOISE, "-o", "out", *DROPS), ("--key",)),
    Mistake(
        "The key is to lie in the release", (*PERTURB, *NOISE, *DROPS, "-o", "out", "--key", "out/key"), ("out/key",)
    ),
    Mistake("The key is lost", ("restore", "noisy", "--key", "lost.key", "-o", "b.csv"), ("lost.key",)),
    Mistake(
        "The key of another release",
        ("restore", "noisy", "--key", "turned.key", "-o", "b.csv", "--partial"),
        ("turned.key", "did not make this release"),
    ),
    Mistake("A key that is none", ("restore", "noisy", "--key", "survey.csv", "-o", "b.csv"), ("survey.csv", "key")),
    Mistake(
        "The passphrase is forgotten",
        ("restore", "locked", "--key", "locked.key", "-o", "b.csv"),
        ("locked.key", "--passphrase"),
    ),
    Mistake(
        "The passphrase is wrong",
        ("restore", "locked", "--key", "locked.key", "-o", "b.csv"),
        ("locked.key", "passphrase"),
        passphrase="wrong",
    ),
    Mistake(
        "A key is used again for another strength",
        (*PERTURB, *NOISE, *DROPS, "--set", "scale=2", "-o", "out", "--reuse-key", "noisy.key"),
        ("--again",),
    ),
)

RELEASES = (
    Mistake(
        "The release exists already",
        (*PERTURB, *NOISE, *DROPS, "-o", "noisy", "--key", "out.key"),
        ("noisy", "already exists"),
    ),
    Mistake("A released value was edited", ("recover", "noisy"), ("data.csv", "hash"), edited),
    Mistake(
        "The manifest is missing",
        ("recover", "noisy"),
        ("manifest.json",),
        lambda folder: (folder / "noisy" / "manifest.json").unlink(),
    ),
    Mistake(
        "The data are missing",
        ("recover", "noisy"),
        ("data.csv",),
        lambda folder: (folder / "noisy" / "data.csv").unlink(),
    ),
    Mistake("A release of a later version", ("recover", "noisy"), ("99", "update"), another_version),
    Mistake("A table is given instead of a release", ("recover", "survey.csv"), ("survey.csv", "release")),
)

PLANS = (
    Mistake("The plan is no TOML", (*PERTURB, "--plan", "plan.toml", *OUT), ("plan.toml", "line"), plan("[[part]\n")),
    Mistake(
        "A text in the plan has no quotes",
        (*PERTURB, "--plan", "plan.toml", *OUT),
        ("plan.toml", "quotes"),
        plan(PLAN.replace("'additive-noise'", "additive-noise")),
    ),
    Mistake(
        "A section of the plan is misspelt",
        (*PERTURB, "--plan", "plan.toml", *OUT),
        ("'goal'", "'goals'"),
        plan(PLAN + "[goal]\n"),
    ),
    Mistake(
        "A goal is misspelt",
        ("audit", "survey.csv", "--plan", "plan.toml"),
        ("'max_advantge'", "'max_advantage'"),
        plan(PLAN + "[goals]\nmax_advantge = 0.1\n"),
    ),
    Mistake(
        "A goal that no sentence says",
        ("audit", "survey.csv", "--plan", "plan.toml"),
        ("goals", "'keep everybody safe'"),
        plan(PLAN + "[goals]\nsentences = ['keep everybody safe']\n"),
    ),
    Mistake(
        "A tolerance of 10 standard units",
        ("audit", "survey.csv", "--plan", "plan.toml"),
        ("tolerance",),
        plan(PLAN + "[goals]\ntolerance = 10\n"),
    ),
    Mistake(
        "A percentage instead of a share",
        ("audit", "survey.csv", "--plan", "plan.toml"),
        ("max_advantage", "0 and 1"),
        plan(PLAN + "[goals]\nmax_advantage = 5\n"),
    ),
    Mistake(
        "A plan names a column that is not there",
        (*PERTURB, "--plan", "plan.toml", *OUT),
        ("'incme'", "'income'"),
        plan(PLAN.replace("[[part]]", "[[part]]\ncolumns = ['incme']")),
    ),
    Mistake(
        "A column has a method and is dropped",
        (*PERTURB, "--plan", "plan.toml", *OUT),
        ("'job'", "drop"),
        plan(PLAN + "[[part]]\ncolumns = ['job']\nmethod = 'randomized-response'\nepsilon = 1.0\n"),
    ),
    Mistake("The plan is not there", (*PERTURB, "--plan", "plans.toml", *OUT), ("plans.toml",)),
    Mistake("A plan exists already", ("init", "survey.csv"), ("plan.toml", "already exists")),
)

AUDITS = (
    Mistake("An attack is misspelt", (*AUDIT, "--attack", "bayes-estmate"), ("'bayes-estimate",)),
    Mistake("More known records than the table has", (*AUDIT, "--pairs", "1000"), ("1000", "60")),
    Mistake("A sample of nothing", (*AUDIT, "--sample", "0"), ("sample", "0")),
    Mistake("A sample in per cent", (*AUDIT, "--sample", "10"), ("sample", "0.02")),
    Mistake("No time", (*AUDIT, "--budget", "0"), ("budget", "90s")),
    Mistake(
        "A release is matched by a column that it has not",
        ("audit", "survey.csv", "--release", "other.csv", *DROPS, "--match", "person"),
        ("match", "'person'"),
        frame("other.csv", a=[1.5, 2.5] * 30, b=[2.5, 2.0] * 30),
    ),
    Mistake("No method, plan or release", ("audit", "survey.csv"), ("--method", "--plan", "--release")),
    Mistake("A report of an unknown kind", (*AUDIT, "-o", "report.pdf"), ("report.pdf", ".html")),
)

OTHERS = (
    Mistake(
        "An attack without what it needs",
        ("attack", "turned", "--attack", "known-pairs", "-o", "g.csv"),
        ("--known-pairs",),
    ),
    Mistake(
        "The file of what is known is not there",
        ("attack", "turned", "--attack", "known-pairs", "--known-pairs", "known.csv", "-o", "g.csv"),
        ("known.csv",),
    ),
    Mistake(
        "Known records of other columns",
        ("attack", "turned", "--attack", "known-pairs", "--known-pairs", "known.csv", "-o", "g.csv"),
        ("known.csv", "'income'"),
        frame("known.csv", row=[0, 1], age=[31, 32], pay=[1.5, 2.5], hours=[1.0, 2.0]),
    ),
    Mistake(
        "Known records of rows that are not there",
        ("attack", "turned", "--attack", "known-pairs", "--known-pairs", "known.csv", "-o", "g.csv"),
        ("rows", "59"),
        frame("known.csv", row=[0, 60], age=[31, 32], income=[1.5, 2.5], hours=[1.0, 2.0]),
    ),
    Mistake(
        "A guess of other columns is measured",
        ("measure", "survey.csv", "guess.csv", *DROPS),
        ("guess.csv", "column"),
        frame("guess.csv", row=list(range(60)), pay=[1.5] * 60),
    ),
    Mistake(
        "Withheld columns are to be restored",
        ("restore", "noisy", "--key", "noisy.key", "-o", "b.csv"),
        ("'job'", "--partial"),
    ),
    Mistake("A weight that was not released", ("recover", "noisy", "--weights", "wgt"), ("'wgt'",)),
    Mistake("A verb is misspelt", ("audits", "survey.csv"), ("audit",)),
)

MISTAKES = {
    "Files": FILES,
    "Roles": ROLES,
    "Methods": METHODS,
    "Keys": KEYS,
    "Releases": RELEASES,
    "Plans": PLANS,
    "Audits": AUDITS,
    "Attacks, measures, recovery": OTHERS,
}


OF_ANSWER = 250
"""Characters of an answer at most."""


def answer(mistake: Mistake, folder: Path) -> tuple[int, str]:
    """The exit code and what is printed as an error, in a folder that is prepared."""
    env = {"VEIL_PASSPHRASE": mistake.passphrase or ""}
    with contextlib.chdir(folder):
        done = CliRunner().invoke(main, list(mistake.command), env=env, prog_name="veil")
    return done.exit_code, done.stderr
