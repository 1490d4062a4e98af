"""Every option of the command line given wrongly: one line, exit code 2, nothing written, what exists untouched."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veil

NOISE, TURN = "additive-noise", "orthogonal-transform:dither=false"


@pytest.fixture
def table(command, numbers):
    path = command.folder / "table.csv"
    numbers.to_csv(path, index=False)
    return path


@pytest.fixture
def releases(command, table):
    """One release of each method, with keys."""
    for method, name in ((NOISE, "noisy"), (TURN, "turned")):
        command.succeeds(*command.perturb(table, method=method, output=name, key=f"{name}.key"))
    return command.folder


# -- perturb ------------------------------------------------------------------------------------

SETTINGS = [
    (NOISE, "scale", ("NAME=VALUE",)),
    (NOISE, "=1", ("NAME=VALUE",)),
    (NOISE, "scal=1", ("'scal'", "did you mean 'scale'")),
    (NOISE, "key=1", ("'key'", "AdditiveNoise")),
    *(
        (NOISE, f"scale={v}", ("scale",))
        for v in ("abc", "", "0", "-1", "NaN", "Infinity", "[1,2]", "{}", "null", '"x"')
    ),
    *((NOISE, f"distribution={v}", ("distribution",)) for v in ("gauss", "", "1", "[1]", "null")),
    *((NOISE, f"relative={v}", ("relative",)) for v in ("flase", "maybe", "null")),
    (NOISE, "random_state=1", ("random_state", "--allow-seed")),
    *((TURN, f"translation={v}", ("translation",)) for v in ("x", "-1", "null", "[1]")),
    *((TURN, f"scaling={v}", ("scaling",)) for v in ("no", "1", "[]")),
    *((TURN, f"proper={v}", ("proper",)) for v in ("maybe", "null")),
]


@pytest.mark.parametrize(("method", "setting", "words"), SETTINGS, ids=lambda v: str(v) if isinstance(v, str) else "")
def test_bad_setting(method, setting, words, command, table):
    command.refuses(*command.perturb(table, method=method, options=("--set", setting)), words=words)


OPTIONS = [
    (("--set", "scale=1", "--set", "scale=2"), ("'scale'", "twice")),
    (("--role", "a"), ("--role", "COLUMN=ROLE")),
    (("--role", "a=dro"), ("'a'", "did you mean 'drop'")),
    (("--role", "aa=drop"), ("'aa'", "did you mean 'a'")),
    (("--role", "a=drop", "--role", "a=public"), ("'a'", "twice")),
    (("--role", "a=drop", "--role", "b=drop", "--role", "n=drop"), ("nothing would be perturbed",)),
    (("--consistent-on", "aa"), ("consistent_on", "did you mean 'a'")),
    (("--format", "docx"), ("--format", "xlsx")),
    (("--nope",), ("--nope",)),
    (("--reuse-key", "old"), ("--key", "--reuse-key")),
]


@pytest.mark.parametrize(("options", "words"), OPTIONS, ids=lambda v: " ".join(v))
def test_bad_option(options, words, command, table):
    command.refuses(*command.perturb(table, options=options), words=words)


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("additive-nois", ("did you mean 'additive-noise'",)),
        ("AdditiveNoise", ("'AdditiveNoise'",)),
        ("zzz", ("additive-noise", "orthogonal-transform")),
        ("", ("additive-noise",)),
        ("additive-noise:scale", ("NAME=VALUE",)),
        ("additive-noise:scal=1", ("did you mean 'scale'",)),
    ],
)
def test_bad_method(method, words, command, table):
    command.refuses(*command.perturb(table, method=method), words=words)


def test_usage_errors_are_one_line(command, table):
    command.refuses("perturb", words=("TABLE",))
    command.refuses("perturb", table, "-o", command.folder / "r", words=("--method",))
    command.refuses("perturb", table, "--method", NOISE, "-o", command.folder / "r", words=("--key",))
    command.refuses("perturbe", words=("perturb",))
    command.refuses("attack", words=("RELEASE",))
    command.refuses("audit", table, words=("--method",))


# -- targets ------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["file", "folder", "empty folder", "link", "dangling link", "the table"])
@pytest.mark.parametrize("what", ["output", "key"])
def test_existing_targets_are_refused_and_untouched(what, target, command, table):
    path = command.folder / "target"
    if target == "the table":
        path = table
    elif target == "file":
        path.write_text("precious")
    elif target.endswith("folder"):
        path.mkdir()
        if target == "folder":
            (path / "precious").write_text("precious")
    else:
        (command.folder / "real").write_text("precious")
        path.symlink_to("real" if target == "link" else "nowhere")
    arguments = command.perturb(table, **{what: path.name})
    command.refuses(*arguments, words=(path.name, "already exists"))


TARGETS = {
    "release in no folder": ({"output": "no/such"}, ("no/such",)),
    "key in no folder": ({"key": "no/such"}, ("no/such",)),
    "release in a file": ({"output": "table.csv/x"}, ("table.csv/x",)),
    "key and release are one": ({"output": "same", "key": "same"}, ("same",)),
    "key in the release": ({"output": "same", "key": "same/key"}, ("same/key",)),
    "release is the folder": ({"output": "."}, ("already exists",)),
    "system folder": ({"output": "/proc/release"}, ("/proc/release",)),
    "key in a system folder": ({"key": "/proc/key"}, ("/proc/key",)),
    "name too long": ({"output": "r" * 300}, ("rrr",)),
}


@pytest.mark.parametrize("case", TARGETS)
def test_impossible_targets_are_refused(case, command, table):
    targets, words = TARGETS[case]
    command.refuses(*command.perturb(table, **targets), words=words)


def test_a_key_in_a_release_folder_is_refused(releases, command, table):
    """A key is one file outside the release; a release folder is handed out as it is."""
    command.refuses(*command.perturb(table, key="noisy/key"))


# -- restore ------------------------------------------------------------------------------------


def test_bad_restores(releases, command):
    noisy, key, back = releases / "noisy", releases / "noisy.key", releases / "back.csv"
    restore = ("restore", noisy, "--key", key, "-o")
    command.refuses(*restore, releases / "back.xyz", words=("back.xyz", ".csv"))
    command.refuses(*restore, releases / "table.csv", words=("table.csv", "already exists"))
    command.refuses(*restore, releases / "no" / "back.csv", words=("no/back.csv",))
    command.refuses(*restore, "/proc/back.csv", words=("/proc/back.csv",))
    command.refuses("restore", noisy, "--key", releases / "turned.key", "-o", back, words=("did not make",))
    command.refuses("restore", noisy, "--key", releases / "nokey", "-o", back, words=("nokey",))
    command.refuses("restore", releases / "nowhere", "--key", key, "-o", back, words=("nowhere", "manifest.json"))
    command.refuses("restore", releases / "table.csv", "--key", key, "-o", back, words=("not a release folder",))
    command.refuses("restore", noisy, "--key", noisy / "data.csv", "-o", back, words=("not a Veil key",))


def test_withheld_columns_need_partial(command, table):
    command.succeeds(*command.perturb(table, options=("--role", "n=drop")))
    restore = ("restore", command.folder / "release", "--key", command.folder / "key", "-o", command.folder / "b.csv")
    command.refuses(*restore, words=("'n'", "1 column", "--partial"))
    command.succeeds(*restore, "--partial")


def test_a_reused_key_needs_again(releases, command, table):
    arguments = ("perturb", table, "--method", NOISE, "--set", "scale=2", "-o", releases / "second")
    reuse = ("--reuse-key", releases / "noisy.key")
    command.refuses(*arguments, *reuse, words=("--again",))
    command.succeeds(*arguments, *reuse, "--again")
    assert veil.Release.load(releases / "second").manifest.release == 2


# -- attack -------------------------------------------------------------------------------------

KNOWN = {
    "no row column": ("a,b,n\n1,2,3\n", ("'row'",)),
    "a column absent": ("a,n,row\n1,3,0\n", ("'b'",)),
    "rows of text": ("a,b,n,row\n1,2,3,SECRETCELL\n", ("'row'", "whole numbers")),
    "rows of fractions": ("a,b,n,row\n1,2,3,0.5\n", ("'row'", "whole numbers")),
    "rows missing": ("a,b,n,row\n1,2,3,\n", ("'row'",)),
    "rows negative": ("a,b,n,row\n1,2,3,-1\n", ("rows",)),
    "rows twice": ("a,b,n,row\n1,2,3,0\n4,5,6,0\n", ("rows",)),
    "rows beyond": ("a,b,n,row\n1,2,3,60\n", ("rows", "0 to 59", "1 are beyond")),
    "rows huge": ("a,b,n,row\n1,2,3,99999999999999999999\n", ("'row'",)),
    "text": ("a,b,n,row\nSECRETCELL,2,3,0\n", ("numbers",)),
    "missing": ("a,b,n,row\n,2,3,0\n31415926.5,2,3,1\n", ("1 missing",)),
    "infinite": ("a,b,n,row\ninf,2,3,0\n", ("1 missing or infinite",)),
    "nothing": ("a,b,n,row\n", ()),
    "empty": ("", ("empty",)),
}


@pytest.mark.parametrize("case", KNOWN)
def test_bad_known_records(case, releases, command):
    text, words = KNOWN[case]
    (releases / "known.csv").write_text(text)
    arguments = ("attack", releases / "turned", "--attack", "known-pairs", "--known-pairs", releases / "known.csv")
    command.refuses(*arguments, "-o", releases / "guess.csv", words=words)


def test_known_records_in_another_order_of_columns(releases, command, numbers):
    known = pa.table({"n": numbers["n"][:3], "row": [0, 1, 2], "b": numbers["b"][:3], "a": numbers["a"][:3]})
    pq.write_table(known, releases / "known.parquet")
    arguments = ("attack", releases / "turned", "--attack", "known-pairs", "--known-pairs", releases / "known.parquet")
    command.succeeds(*arguments, "-o", releases / "guess.parquet")
    guess = pq.read_table(releases / "guess.parquet").to_pandas()
    assert abs(guess["a"] - numbers["a"]).max() < 1e-6


ATTACKS = [
    (("turned", "--attack", "known-pairs"), ("KnownPairs", "--known-pairs")),
    (("turned", "--attack", "known-pair"), ("did you mean 'known-pairs",)),
    (("turned", "--attack", "zzz"), ("known-pairs",)),
    (("noisy", "--attack", "known-pairs"), ("additive-noise",)),
    (("noisy", "--attack", "noise-distribution", "--set", "x=1"), ("'x'",)),
    (("noisy", "--attack", "noise-distribution", "-o", "guess.xyz"), ("guess.xyz",)),
    (("noisy", "--attack", "noise-distribution", "-o", "/proc/guess.csv"), ("/proc/guess.csv",)),
    (("table.csv", "--attack", "noise-distribution"), ("not a release folder",)),
]


@pytest.mark.parametrize(("arguments", "words"), ATTACKS, ids=lambda v: " ".join(v))
def test_bad_attack(arguments, words, releases, command, monkeypatch):
    monkeypatch.chdir(releases)
    extra = () if "-o" in arguments else ("-o", "guess.csv")
    command.refuses("attack", *arguments, *extra, words=words)


# -- audit --------------------------------------------------------------------------------------

AUDITS = [
    *((("--pairs", v), ("pairs",)) for v in ("x", "0", "-1", "1.5")),
    *((("--sample", v), ("sample",)) for v in ("x", "0", "2", "nan")),
    (("--sample-from", "x"), ("--sample-from",)),
    *((("--max-advantage", v), ("max",)) for v in ("x", "-1", "2", "nan")),
    *((("--tolerance", v), ("tolerance",)) for v in ("x", "0", "nan")),
    *((("--min-utility", f"distances{v}"), ("utility",)) for v in ("", "=", "=x", "=2", "=nan")),
    (("--min-utility", "distance=.5"), ("'distance'", "did you mean 'distances'")),
    (("--against", "x"), ("'x'",)),
    (("--target", "aa"), ("target", "did you mean 'a'")),
    (("--attack", "zzz"), ("'zzz'",)),
    *((("--repetitions", v), ("repetitions",)) for v in ("x", "0", "-3")),
    *((("--seed", v), ("seed",)) for v in ("x", "-1")),
    (("-o", "report.txt"), ("report.txt", ".html")),
    (("-o", "no/report.html"), ("no/report.html",)),
    (("-o", "/proc/report.html"), ("/proc/report.html",)),
    (("--set", "random_state=1"), ("--allow-seed",)),
    (("--method", TURN, "--set", "scale=1"), ("--method",)),
]


@pytest.mark.parametrize(("options", "words"), AUDITS, ids=lambda v: " ".join(v))
def test_bad_audit_option(options, words, command, table, monkeypatch):
    monkeypatch.chdir(command.folder)
    command.refuses("audit", table, "--method", NOISE, *options, words=words)


def test_json_output_is_json(command, table):
    said = json.loads(command.succeeds(*command.perturb(table), "--json").stdout)
    assert said["number"] == 1
    assert json.loads(command.succeeds("inspect", table, "--json").stdout)["n_rows"] == 60
