"""Write docs/mistakes.md from the list in tests/_mistakes.py: ``python docs/make_mistakes.py``."""

import shlex
import shutil
import sys
import tempfile
from pathlib import Path

PAGE = Path(__file__).with_name("mistakes.md")
sys.path.insert(0, str(PAGE.parents[1] / "tests"))

HEAD = """\
# Mistakes, and what Veil answers

Every answer is one line, with exit code 2: it names the thing and the fix, quotes no cell of a table, and nothing is
written. Each of these is a test (`tests/faults/test_mistakes.py`), and `docs/make_mistakes.py` writes this page from
what is answered. `survey.csv` has the columns name, age, income, hours and job; `noisy`, `turned` and `locked` are
releases of it.
"""


def page() -> str:
    """The page, with the answers of this version."""
    from _mistakes import MISTAKES, answer, prepare

    lines = [HEAD]
    with tempfile.TemporaryDirectory() as folder:
        base, here = Path(folder) / "base", Path(folder) / "here"
        base.mkdir()
        prepare(base)
        for heading, mistakes in MISTAKES.items():
            lines += [f"## {heading}\n", "| mistake | answer |", "|---|---|"]
            for mistake in mistakes:
                shutil.copytree(base, here)
                if mistake.before is not None:
                    mistake.before(here)
                said = answer(mistake, here)[1].strip().removeprefix("veil: ")
                command = shlex.join(["veil", *mistake.command])
                lines.append(f"| {mistake.what}<br>{_code(command)} | {_code(said)} |")
                shutil.rmtree(here)
            lines.append("")
    return "\n".join(lines)


def _code(text: str) -> str:
    return f"`{text.replace('|', chr(92) + '|')}`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE} written")
