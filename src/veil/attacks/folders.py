"""The attacker's door for files: a release folder and files of knowledge in, a guess out."""

from __future__ import annotations

from pathlib import Path

from veil.attacks import Attack
from veil.attacks.guess_files import GuessFile, write_guess
from veil.attacks.knowledge import Knowledge, kinds_of_knowledge
from veil.data.files import format_of
from veil.data.passes import Engine
from veil.errors import InputError
from veil.progress import Progress, silent
from veil.release.release import Release
from veil.storage.atomic import refuse_existing


class KnowledgeFiles:
    """What a red team knows, as files; columns are found by name.

    Parameters
    ----------
    files
        By the name of each kind (``known_pairs``, ``external_table``, ...): its file, or True for an assumption. What
        is None or False is not known.
    """

    def __init__(self, **files: Path | bool | None) -> None:
        kinds = kinds_of_knowledge()
        given = {"--" + name.replace("_", "-"): file for name, file in files.items()}
        unknown = [option for option in given if option not in kinds]
        if unknown:
            raise InputError(f"no kind of knowledge is called {unknown[0].removeprefix('--').replace('-', '_')!r}")
        self._files = {kinds[option]: given[option] for option in kinds if given.get(option)}

    def given(self) -> list[type[Knowledge]]:
        """The kinds that were given."""
        return list(self._files)

    def read(self, release: Release) -> list[Knowledge]:
        """All knowledge, in the order and units of the release's private columns."""
        return [
            kind.from_file(file, release) if isinstance(file, Path) else kind() for kind, file in self._files.items()
        ]


def attack_folder(
    folder: Path,
    attack: Attack,
    target: Path,
    known: KnowledgeFiles,
    part: int | None = None,
    *,
    resume: bool = False,
    engine: Engine | None = None,
    progress: Progress = silent,
) -> GuessFile:
    """Attack a release folder and write the guess as a private file (mode 0600).

    Attacks that need moments alone run in constant memory, on all cores or on ``engine``, and can be continued with
    ``resume``. Where an attack states an interval for each value, its ends go along as columns ``NAME lower`` and
    ``NAME upper``. An attack that links people of another table to rows writes its links instead: ``record`` (the
    person's row in that table, from 0), ``row`` (of the release, from 0; empty for none) and ``probability``.
    """
    refuse_existing(target)
    format_of(target)
    release = chosen_part(Release.load(folder, engine=engine), attack, part)
    return write_guess(release, attack, known.read(release), target, resume=resume, progress=progress)


def chosen_part(release: Release, attack: Attack, part: int | None) -> Release:
    """The part of a release that is attacked: the one asked for, or the only one that the attack has a theory for.

    An attack on the whole release gets all of it.
    """
    steps = release.manifest.parts
    if attack.whole_release:
        if part is not None:
            raise InputError(f"--part: {attack.attack_name()} looks at all parts of a release at once; leave it out")
        return release
    if part is not None:
        return release.part(part - 1)
    fitting = [i for i, step in enumerate(steps) if attack.applies_to(step.model)]
    if len(steps) == 1 or not fitting:
        return release.part(0) if len(steps) == 1 else release
    if len(fitting) > 1:
        named = ", ".join(f"{i + 1} ({steps[i].method})" for i in fitting)
        raise InputError(f"the release has several parts that this attack applies to: {named}; choose one with --part")
    return release.part(fitting[0])
