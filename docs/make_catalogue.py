"""Write docs/catalogue.md from the docstrings of methods, attacks and recoveries: ``python docs/make_catalogue.py``."""

import importlib
import inspect
import pkgutil
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import veil
import veil.attacks
import veil.perturbations
import veil.recovery
from veil.attacks.base import Attack
from veil.perturbations.base import Perturbation

PAGE = Path(__file__).with_name("catalogue.md")
WIDTH = 118

HEAD = """\
# Catalogue: methods, attacks, recoveries

Every entry has an id (P for perturbations, A for attacks, R for recoveries), a public name in Python and, for methods
and attacks, a name on the command line. `veil perturb --list` and `veil attack --list` show the parameters, and
`help(veil.NAME)` the model, its formulas and its source. `docs/make_catalogue.py` writes this page from the docstrings.

[Methods](#methods) · [Attacks](#attacks) · [Recoveries](#recoveries)
"""

METHODS = """\
## Methods

Different columns can get different methods in one release (`veil.Plan`, or the parts of a
[plan file](guide.md#the-plan-file)). [The guide](guide.md#choosing-a-method) helps to choose. *Threat* says what is
released, what is secret, and which knowledge breaks the method.
"""

ATTACKS = """\
## Attacks

An attack sees the release, its manifest and the knowledge that it is granted. It cannot run without what it *needs*,
and is better with what it *can use*. [The guide](guide.md#what-the-attacker-knows) describes the kinds of knowledge.

| id | attack | what it does | needs | can use |
|---|---|---|---|---|
"""

RECOVERIES = """\
## Recoveries

What an analyst who has only the release and its manifest can learn.

| id | name | what it does |
|---|---|---|
"""


def concrete(package: ModuleType, base: type) -> list[Any]:
    """The classes of a package that have a catalogue id of their own, in the order of their ids."""
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)

    def below(cls: type) -> Iterator[type]:
        for child in cls.__subclasses__():
            yield child
            yield from below(child)

    named = {cls for cls in below(base) if cls.__module__.startswith("veil.") and "catalogue" in vars(cls)}
    return sorted(named, key=lambda cls: (number(cls.catalogue), cls.__name__))  # type: ignore[attr-defined]


def number(identifier: str) -> int:
    return int(identifier[1:])


def command(cls: type) -> str:
    """The name on the command line."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", cls.__name__).lower()


def markdown(text: str) -> str:
    """A docstring's paragraph on one line, with Markdown's marks."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", " ".join(text.split()))
    return text.replace("``", "`").replace("|", "\\|")


def summary(thing: Any) -> tuple[str, str]:
    """The ids and the first sentence of a docstring that begins with ids: ``P1, P2. Add noise ...``."""
    first = " ".join(inspect.getdoc(thing).split("\n\n")[0].split())  # type: ignore[union-attr]
    ids, sentence = first.split(". ", 1)
    return ", ".join(re.findall(r"\b[PAR]\d+", ids)), markdown(sentence)


def threat(cls: type) -> str:
    """What is released, what is secret, which knowledge breaks the method."""
    stated = getattr(cls, "threat", None)
    if isinstance(stated, str):
        return markdown(stated.removeprefix("*Threat.*"))
    paragraph = re.search(r"\*Threat\.\*(.*?)(?:\n\n|\Z)", inspect.getdoc(cls) or "", flags=re.DOTALL)
    if paragraph is None:
        raise ValueError(f"{cls.__name__} has no paragraph *Threat.* in its docstring")
    return markdown(paragraph[1])


def wrapped(text: str) -> str:
    """Lines of at most WIDTH characters that break between words."""
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > WIDTH:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)


def names(kinds: Any) -> str:
    return ", ".join(f"`{kind.__name__}`" for kind in kinds) or "–"


def methods() -> Iterator[str]:
    for cls in concrete(veil.perturbations, Perturbation):
        ids, sentence = summary(cls)
        yield f"### {cls.__name__}\n\n{wrapped(f'{ids} · `{command(cls)}`. {sentence}')}\n"
        yield wrapped(f"*Threat.* {threat(cls)}") + "\n"


def attacks() -> Iterator[str]:
    for cls in concrete(veil.attacks, Attack):
        ids, _ = summary(cls)
        words = markdown(cls.words)
        does = f"{words[0].upper()}{words[1:]}"
        yield f"| {ids} | `{cls.__name__}` | {does} | {names(cls.requires)} | {names(cls.uses)} |"


def recoveries() -> Iterator[str]:
    """What docstrings, or else those of their modules, put under an id R1 to R7."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        public = [getattr(veil, name) for name in dir(veil) if not name.startswith("_")]
    public += [getattr(veil.recovery, name) for name in getattr(veil.recovery, "__all__", ())]
    rows = {}
    for thing in public:
        module = inspect.getmodule(thing)
        if module is None or not module.__name__.startswith("veil.recovery.") or not callable(thing):
            continue
        if re.match(r"R\d", inspect.getdoc(thing) or ""):
            rows[thing.__name__] = summary(thing)
        elif identifier := re.match(r"R\d+", module.__doc__ or ""):
            first = (inspect.getdoc(thing) or "").split("\n\n")[0]
            rows[thing.__name__] = identifier[0], markdown(first)
    for name, (ids, sentence) in sorted(rows.items(), key=lambda row: (row[1][0], row[0])):
        yield f"| {ids} | `{name}` | {sentence} |"


def catalogue() -> str:
    """The page."""
    tables = [ATTACKS + "\n".join(attacks()) + "\n", RECOVERIES + "\n".join(recoveries())]
    return "\n".join([HEAD, METHODS, *methods(), *tables]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(catalogue(), encoding="utf-8")
    print(f"{PAGE} written")
