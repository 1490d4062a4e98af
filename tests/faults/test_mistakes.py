"""Every mistake of ``tests/_mistakes.py`` gets one line that names the thing and the fix, and leaves nothing behind."""

import shutil
from pathlib import Path

import pytest

import veil
from _mistakes import MISTAKES, OF_ANSWER, answer, prepare, survey

DOCS = Path(__file__).parents[2] / "docs"
ALL = [mistake for mistakes in MISTAKES.values() for mistake in mistakes]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prepared")
    prepare(folder)
    return folder


@pytest.mark.parametrize("mistake", ALL, ids=lambda mistake: mistake.what)
def test_the_answer_is_one_line_that_names_the_fix(mistake, prepared, tmp_path, judge, contents):
    folder = tmp_path / "here"
    shutil.copytree(prepared, folder)
    if mistake.before is not None:
        mistake.before(folder)
    before = contents(folder)
    code, line = answer(mistake, folder)
    judge(code, line, words=mistake.words)
    assert len(line.strip()) <= OF_ANSWER, f"{len(line)} characters: {line}"
    assert contents(folder) == before, "a refused command left something behind or changed a file"


def test_there_are_sixty_and_each_is_said_once():
    assert len(ALL) >= 60
    assert len({mistake.what for mistake in ALL}) == len(ALL)


IN_PYTHON = {
    "the name of a method": (lambda t: veil.publish(t, "additive-noise"), "not a class or a name"),
    "a class of methods": (lambda t: veil.publish(t, veil.AdditiveNoise), "not a class or a name"),
    "roles as a list": (lambda t: veil.publish(t, veil.AdditiveNoise(), roles=["name"]), "roles must map"),
    "roles of nobody": (lambda t: veil.inspect(t, roles={"nam": "drop"}), "did you mean 'name'"),
    "a release of nothing": (lambda t: veil.Release.load("nowhere"), "nowhere: not a release folder"),
    "goals as a number": (lambda t: veil.audit(t, veil.AdditiveNoise(), goals=0.05), "goals must be"),
    "an attack that is none": (
        lambda t: veil.audit(t[["age", "hours"]], veil.AdditiveNoise(), attacks=["bayes"], cache=False),
        "no attack is called 'bayes'",
    ),
}


@pytest.mark.parametrize("what", IN_PYTHON)
def test_mistakes_in_python(what, says):
    call, words = IN_PYTHON[what]
    with pytest.raises(veil.errors.VeilError) as caught:
        call(survey())
    says(str(caught.value), [words])
    assert len(str(caught.value)) <= OF_ANSWER


@pytest.mark.skipif(not DOCS.exists(), reason="the pages are not part of this installation")
def test_the_page_is_up_to_date():
    import runpy

    written = runpy.run_path(str(DOCS / "make_mistakes.py"))["page"]()
    assert (DOCS / "mistakes.md").read_text(encoding="utf-8") == written, "run python docs/make_mistakes.py"
