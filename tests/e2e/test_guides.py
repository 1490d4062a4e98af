"""The README and the guides in docs/ say what happens."""

import doctest
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from veil.cli import main

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
LEAST_EXAMPLES = {"categories.md": 15, "guide.md": 15, "mining.md": 30, "protocols.md": 15, "scale.md": 15}
NUMBER = re.compile(r"[-−]?\d[\d.,]*(?:e[+-]?\d+)?")

pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="the guides are not part of this installation")


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """The fenced blocks of a page: language and body."""
    yield from re.findall(r"^```(\w+)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def assert_same(printed: str, expected: str) -> None:
    """White space does not matter, and three points stand for anything."""
    pieces = [" ".join(piece.split()) for piece in expected.split("...")]
    pattern = r".*".join(map(re.escape, pieces))
    assert re.fullmatch(pattern, " ".join(printed.split())), f"expected\n{expected}\nprinted\n{printed}"


def commands(console: str) -> Iterator[tuple[list[str], str]]:
    """The commands of a console block, each with what it is said to print."""
    for command in re.split(r"^\$ ", console.replace("\\\n", " "), flags=re.MULTILINE)[1:]:
        line, _, expected = command.partition("\n")
        yield shlex.split(line), expected


def run(arguments: list[str]) -> str:
    """What a command prints, on a terminal of 80 columns."""
    assert arguments[0] == "veil"
    return CliRunner().invoke(main, arguments[1:], env={"COLUMNS": "80"}, prog_name="veil").stdout


def test_every_guide_with_examples_is_run():
    assert {page.name for page in DOCS.glob("*.md") if ">>>" in page.read_text(encoding="utf-8")} == set(LEAST_EXAMPLES)


@pytest.mark.parametrize(("name", "least"), LEAST_EXAMPLES.items())
def test_a_guide_says_what_happens(name, least):
    guide = DOCS / name
    text = re.sub(r"^```.*$", "", guide.read_text(encoding="utf-8"), flags=re.MULTILINE)
    examples = doctest.DocTestParser().get_doctest(text, {}, guide.name, str(guide), 0)
    runner = doctest.DocTestRunner()
    runner.run(examples)
    assert runner.summarize().failed == 0
    assert len(examples.examples) > least


def test_the_readme_says_what_happens(tmp_path, monkeypatch, capsys):
    """Its Python prints the text that follows; its commands, run on the table that the Python wrote, print theirs.

    Numbers are compared where the command has a seed.
    """
    monkeypatch.chdir(tmp_path)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    ran = 0
    for language, body in blocks(readme):
        if language == "python":
            exec(compile(body, "README.md", "exec"), names)
        elif language == "text":
            assert_same(capsys.readouterr().out, body)
        else:
            assert language == "console"
            for arguments, expected in commands(body):
                printed = run(arguments)
                if "--seed" not in arguments:
                    printed, expected = NUMBER.sub("#", printed), NUMBER.sub("#", expected)
                assert_same(printed, expected)
                ran += 1
    assert ran == 3
    assert len(readme.encode()) < 7_000


PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]


def anchors(page: Path) -> set[str]:
    """The names under which GitHub links to the headings of a page."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", text)):
        if target.startswith(("http:", "https:", "mailto:")):
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), target
        if anchor and linked.suffix == ".md":
            assert anchor in anchors(linked), target


def test_every_page_is_in_the_index():
    index = (DOCS / "README.md").read_text(encoding="utf-8")
    missing = [page.name for page in DOCS.glob("*.md") if page.name != "README.md" and f"({page.name})" not in index]
    assert not missing
