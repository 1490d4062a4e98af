"""Reproducing with damaged data, unwritable folders and odd surroundings: one line that names the culprit."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from veil.cli import main
from veil.errors import VeilError
from veil_papers import Claim, Experiment, Result, Table
from veil_papers.data import CHARTS, Source
from veil_papers.figures import Curve, Curves, save_figures
from veil_papers.running import run_all

NAMES = ["age", "fnlwgt", "education", "education-num", "race", "sex", "hours-per-week", "income"]
ADULT, LETTER, CONTROL = "adult_train.csv.gz", "letter_recognition.csv.gz", "synthetic_control.csv.gz"
FIGURE = Curves("A line", "x", "y", (Curve("ours", [1, 2], [1.0, 2.0]),))


def packed(path, header, rows):
    lines = [",".join(header), *(",".join(str(value) for value in row) for row in rows)]
    path.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode()))


def people(n, *, constant=False):
    rng = np.random.default_rng(0)
    for _ in range(n):
        age, weight, years, hours = (40, 9, 9, 40) if constant else rng.integers(17, 90, 4)
        yield age, weight, "HS-grad", years, "White", "Male", hours, "<=50K"


@pytest.fixture
def adult(tmp_path):
    """Writes an Adult of some records."""

    def write(rows, header=NAMES):
        (tmp_path / "data").mkdir(exist_ok=True)
        packed(tmp_path / "data" / ADULT, header, rows)
        return tmp_path / "data"

    return write


def found(_):
    """What the experiments of these tests find."""
    claims = (Claim("it rises", "rises", "1 to 2", agrees=True),)
    return Result(claims, (Table.of("loss", {"x": [1, 2], "y": [1.0, float("nan")]}),), (FIGURE,))


@pytest.fixture(autouse=True)
def two(monkeypatch):
    """Two experiments that take no time, and one that reads Adult."""

    def read(context):
        context.source.adult()
        return found(context)

    made = [
        Experiment("huang-one", "One", "nothing", "nothing", found),
        Experiment("huang-two", "Two", "nothing", "nothing", found),
        Experiment("liu-bad", "Bad", "nothing", "nothing", lambda _: np.linalg.inv(np.zeros((2, 2)))),
        Experiment("liu-adult", "Adult", "nothing", "nothing", read, data=("adult",)),
    ]
    monkeypatch.setattr("veil_papers.experiments", lambda: {each.id: each for each in made})
    return made[:2]


def reproduce(*arguments, **options):
    return CliRunner(**options).invoke(main, ["reproduce", *map(str, arguments), "--quick"], prog_name="veil")


# -- data that are not the papers' --------------------------------------------------------------

N = 32_561
PERSON = (30, 1, "x", 9, "y", "z", 40, "w")


def refusal(call, judge_says, *words):
    with pytest.raises(VeilError) as refused:
        call()
    judge_says(str(refused.value), words=words)


@pytest.mark.parametrize("n", [1, 10, 32_560])
def test_a_table_of_another_size_is_not_the_papers(adult, says, n):
    refusal(Source(adult([PERSON] * n)).adult, says, ADULT)


@pytest.mark.parametrize(
    "header", [["Age", *NAMES[1:]], [name.replace("-", "_") for name in NAMES]], ids=["other case", "other dashes"]
)
def test_other_columns(adult, judge, header):
    result = reproduce("liu-adult", "--data", adult([PERSON] * N, header))
    judge(result.exit_code, result.stderr, words=[ADULT])


def test_text_in_a_column_of_numbers(adult, says):
    refusal(Source(adult([("SECRETCELL", *PERSON[1:])] * N)).adult, says, ADULT)


def test_missing_cells(adult, says):
    refusal(Source(adult([("" if i % 7 == 0 else 30, *PERSON[1:]) for i in range(N)])).adult, says, ADULT)


@pytest.mark.parametrize(
    "content",
    [b"", b"SECRETCELL", gzip.compress(b"a,b\n1,2\n" * 500)[:-20], None],
    ids=["empty", "text", "cut", "folder"],
)
def test_damaged_tables(tmp_path, judge, content):
    (tmp_path / ADULT).write_bytes(content) if content is not None else (tmp_path / ADULT).mkdir()
    result = reproduce("liu-adult", "--data", tmp_path)
    judge(result.exit_code, result.stderr, words=[ADULT])


def test_a_letter_of_two_columns(tmp_path, says):
    packed(tmp_path / LETTER, ["lettr", "x-box", "y-box"], [("A", i % 16, i % 7) for i in range(20_000)])
    refusal(Source(tmp_path).letter, says, LETTER)


@pytest.mark.parametrize("points", [2, 61])
def test_charts_of_another_length(tmp_path, says, points):
    header = [*(f"t{i:02}" for i in range(points)), "class"]
    packed(tmp_path / CONTROL, header, [(*[1.5] * points, CHARTS[i // 100]) for i in range(600)])
    refusal(Source(tmp_path).control_charts, says, CONTROL)


@pytest.mark.parametrize(("column", "name"), [("class", "SECRETCELL"), ("kind", CHARTS[0])])
def test_charts_of_other_classes(tmp_path, says, column, name):
    packed(tmp_path / CONTROL, ["t01", "t02", column], [(1.5, 2.5, name)] * 600)
    refusal(Source(tmp_path).control_charts, says, CONTROL)


def grey(*shape, seed=0, kind=np.uint8):
    return np.random.default_rng(seed).integers(0, np.iinfo(kind).max, shape).astype(kind)


def pictures(folder, *contents):
    image = pytest.importorskip("PIL.Image")
    for i, content in enumerate(contents):
        path = folder / f"ica_image_{i}.png"
        if content is None:
            path.mkdir()
        elif isinstance(content, bytes):
            path.write_bytes(content)
        else:
            image.fromarray(content).save(path)
    return folder


@pytest.mark.parametrize(
    "bad",
    [b"SECRETCELL", b"", b"\x89PNG\r\n\x1a\n", grey(100, 80), None],
    ids=["text", "empty", "cut", "small", "folder"],
)
def test_pictures_that_are_none(tmp_path, says, bad):
    pictures(tmp_path, *(grey(256, 256, seed=i) for i in range(3)), bad)
    with pytest.raises(VeilError) as refused:
        Source(tmp_path).images()
    says(str(refused.value), words=["ica_image_3.png"])


@pytest.mark.parametrize(("n", "shape"), [(1, (256, 256)), (3, (256, 256)), (4, (100, 80))])
def test_too_few_or_small_pictures(tmp_path, n, shape):
    with pytest.raises(VeilError, match="ica_image"):
        Source(pictures(tmp_path, *(grey(*shape, seed=i) for i in range(n)))).images()


def test_grey_with_transparency(tmp_path):
    levels, opaque = grey(256, 256), np.full((256, 256), 255, np.uint8)
    pictures(tmp_path, *[np.dstack([levels, opaque])] * 4)
    found = Source(tmp_path).images()[0]
    assert np.corrcoef(found, levels.ravel())[0, 1] > 0.999
    assert found.min() < 0.1 < 0.9 < found.max()


def test_the_size_of_a_picture_is_read_first(tmp_path, monkeypatch):
    pictures(tmp_path, *(grey(300, 300, seed=i) for i in range(4)))
    monkeypatch.setattr("matplotlib.image.imread", lambda *_, **__: pytest.fail("it was unpacked"))
    with pytest.raises(VeilError, match="ica_image_0"):
        Source(tmp_path).images()


def test_colours_with_transparency_and_sixteen_bits(tmp_path):
    pictures(tmp_path, grey(256, 256, 4), grey(256, 256, 3), grey(256, 256), grey(256, 256, kind=np.uint16))
    assert Source(tmp_path).images().shape == (4, 65_536)


def sounds(folder):
    """Three sounds, and the path of a fourth."""
    from scipy.io import wavfile

    for i in range(3):
        wavfile.write(folder / f"ica_audio_{i}.wav", 8000, grey(40_000, seed=i, kind=np.int16))
    return folder / "ica_audio_3.wav"


@pytest.mark.parametrize("n", [0, 5])
@pytest.mark.filterwarnings("ignore")
def test_short_sounds(tmp_path, says, n):
    from scipy.io import wavfile

    wavfile.write(sounds(tmp_path), 8000, grey(n, kind=np.int16))
    refusal(Source(tmp_path).sounds, says, "ica_audio_3.wav")


@pytest.mark.parametrize("what", ["silence", "NaN", "one grey"])
def test_data_without_content(tmp_path, says, what):
    from scipy.io import wavfile

    if what == "one grey":
        pictures(tmp_path, *(grey(256, 256, seed=i) for i in range(3)), np.full((256, 256), 7, np.uint8))
        refusal(Source(tmp_path).images, says, "ica_image_3.png")
    else:
        value = np.zeros(40_000, np.int16) if what == "silence" else np.full(40_000, np.nan, np.float32)
        wavfile.write(sounds(tmp_path), 8000, value)
        refusal(Source(tmp_path).sounds, says, "ica_audio_3.wav")


def test_a_sound_that_was_cut_off(tmp_path, says):
    from scipy.io import wavfile

    path = sounds(tmp_path)
    wavfile.write(path, 8000, grey(40_000, kind=np.int16))
    path.write_bytes(path.read_bytes()[:1000])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        refusal(Source(tmp_path).sounds, says, "ica_audio_3.wav")
    assert not told


@pytest.mark.parametrize("bad", [b"SECRETCELL", b"", grey(500, 2, kind=np.int16)], ids=["text", "none", "stereo"])
def test_sounds_that_are_none(tmp_path, says, bad):
    from scipy.io import wavfile

    path = sounds(tmp_path)
    path.write_bytes(bad) if isinstance(bad, bytes) else wavfile.write(path, 8000, bad)
    with pytest.raises(VeilError) as refused:
        Source(tmp_path).sounds()
    says(str(refused.value), words=["ica_audio_3.wav"])


# -- where the results go -----------------------------------------------------------------------


@pytest.fixture
def no_run(monkeypatch):
    """Refusals come before the run."""
    monkeypatch.setattr("veil_papers.running.run_experiment", lambda *_, **__: pytest.fail("it ran"))


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a folder that takes nothing, even from root")
@pytest.mark.usefixtures("no_run")
@pytest.mark.parametrize("options", [["-o", "/proc/self"], ["-o", "{}/figures", "--page", "/proc/self/p.md"]])
def test_unwritable_folders_are_found_out_first(tmp_path, judge, options):
    result = reproduce("huang-one", *(option.format(tmp_path) for option in options))
    judge(result.exit_code, result.stderr)


@pytest.mark.usefixtures("no_run")
@pytest.mark.parametrize("taken", ["page", "folder"])
def test_unwritable_pages_are_found_out_first(tmp_path, judge, taken):
    (tmp_path / "p.md").mkdir() if taken == "page" else (tmp_path / "p").write_text("taken")
    result = reproduce("huang-one", "-o", tmp_path / "out", "--page", tmp_path / "p.md")
    judge(result.exit_code, result.stderr)


@pytest.mark.usefixtures("no_run")
def test_an_empty_output_is_refused(tmp_path, judge, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = reproduce("huang-one", "-o", "")
    judge(result.exit_code, result.stderr)


@pytest.mark.parametrize("place", ["huang-one.svg", "huang-one.json", "huang-one-loss.csv"])
def test_a_folder_in_a_files_place(tmp_path, judge, place):
    (tmp_path / place).mkdir()
    result = reproduce("huang-one", "-o", tmp_path)
    judge(result.exit_code, result.stderr)


def test_a_full_disk(tmp_path, judge):
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))
    try:
        result = reproduce("huang-one", "-o", tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    judge(result.exit_code, result.stderr)


def test_a_full_disk_leaves_no_half_file(tmp_path):
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))
    try:
        reproduce("huang-one", "-o", tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [path.name for path in tmp_path.iterdir() if path.stat().st_size in (0, 2000)] == []


@pytest.mark.usefixtures("no_run")
@pytest.mark.parametrize("kind", ["dangling", "loop", "long"])
def test_outputs_that_are_no_folders(tmp_path, judge, kind):
    out = tmp_path / ("a" * 300 if kind == "long" else kind)
    if kind in ("dangling", "loop"):
        out.symlink_to(tmp_path / "nowhere" if kind == "dangling" else out)
    result = reproduce("huang-one", "-o", out)
    judge(result.exit_code, result.stderr)


def test_a_folder_in_a_pictures_place(tmp_path, judge):
    (tmp_path / "p" / "figures" / "huang-one.svg").mkdir(parents=True)
    result = reproduce("huang-one", "-o", tmp_path / "out", "--page", tmp_path / "p.md")
    judge(result.exit_code, result.stderr)


@pytest.mark.skipif(sys.platform != "linux", reason="needs names that are not UTF-8")
def test_a_page_whose_name_is_not_text(tmp_path):
    page = tmp_path / os.fsdecode(b"p\xff.md")
    result = reproduce("huang-one", "-o", tmp_path / "out", "--page", page)
    assert "internal error" not in result.stderr


def test_links_in_the_output_are_replaced(tmp_path):
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "huang-one.json").symlink_to(tmp_path / "precious")
    reproduce("huang-one", "-o", tmp_path / "out")
    assert (tmp_path / "precious").read_text() == "precious"


def test_an_output_that_is_a_link_to_a_folder(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert reproduce("huang-one", "-o", tmp_path / "link").exit_code == 0
    assert (tmp_path / "real" / "huang-one.json").exists()


def test_json_is_json():
    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    json.loads(reproduce("huang-one", "--json").stdout, parse_constant=refuse)


# -- surroundings -------------------------------------------------------------------------------


@pytest.mark.parametrize("charset", ["cp1252", "latin-1"])
def test_other_encodings(charset):
    result = reproduce("huang-one", charset=charset)
    assert result.exit_code == 0, result.stderr


@pytest.mark.parametrize("setting", [{"text.usetex": True}, {"axes.facecolor": "red"}, {"figure.dpi": 20.0}])
def test_figures_do_not_depend_on_the_users_style(tmp_path, setting):
    matplotlib = pytest.importorskip("matplotlib")
    for name in ("plain", "styled"):
        (tmp_path / name).mkdir()
    save_figures([FIGURE], tmp_path / "plain", "f")
    with matplotlib.rc_context({**setting, "axes.titleweight": "bold"}):
        save_figures([FIGURE], tmp_path / "styled", "f")
    assert (tmp_path / "plain" / "f.svg").read_bytes() == (tmp_path / "styled" / "f.svg").read_bytes()


def test_a_wrong_backend():
    code = "from veil_papers.figures import check_figures; check_figures()"
    run = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "MPLBACKEND": "nonsense"}, capture_output=True, check=False
    )
    assert run.returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_standard_output():
    tool = Path(sys.executable).with_name("veil")
    with Path("/dev/full").open("w") as full:
        run = subprocess.run([tool, "reproduce", "--help"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert run.returncode != 0
    assert "internal error" not in run.stderr


# -- workers ------------------------------------------------------------------------------------


def test_no_more_workers_than_experiments(monkeypatch, two):
    asked = []

    class Parallel:
        def __init__(self, n_jobs, **_):
            asked.append(n_jobs)

        def __call__(self, jobs):
            return (function(*arguments, **options) for function, arguments, options in jobs)

    monkeypatch.setattr("joblib.Parallel", Parallel)
    assert len(list(run_all(two, None, None, quick=True, workers=150))) == 2
    assert asked in ([], [2])


def test_a_killed_worker(monkeypatch, judge):
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    class Parallel:
        def __init__(self, **_):
            pass

        def __call__(self, jobs):
            raise TerminatedWorkerError("A worker process managed by the executor was unexpectedly terminated.")

    monkeypatch.setattr("joblib.Parallel", Parallel)
    result = reproduce("huang-one", "huang-two", "--workers", 2)
    assert "internal error" not in result.stderr
    judge(result.exit_code, result.stderr, words=["worker"], code=1)


def test_one_failure_does_not_lose_the_rest():
    result = reproduce("huang-one", "liu-bad", "huang-two", "--json", "--workers", 1)
    assert result.exit_code != 0
    assert {"huang-one", "huang-two"} <= {each["id"] for each in json.loads(result.stdout)}
