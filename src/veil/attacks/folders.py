"""The attacker's door for files: a release folder and files of knowledge in, a guess out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from veil.attacks.base import Attack, Finding
from veil.attacks.guess_files import GuessFile, write_guess
from veil.attacks.knowledge import Knowledge, kinds_of_knowledge
from veil.attacks.registry import find_attack
from veil.data.files import target_format
from veil.data.passes import Engine
from veil.errors import InputError
from veil.progress import Watch
from veil.release.release import Release
from veil.report.progress import watched
from veil.storage.drafts import refuse_taken


class KnowledgeFiles:
    """What a red team knows, as files; columns are found by name.

    Parameters
    ----------
    files
        By the name of each kind (``known_pairs``, ``external_table``, ...): its file, or True for an assumption. What
        is None or False is not known.
    """

    def __init__(self, **files: str | Path | bool | None) -> None:
        kinds = {kind.parameter(): kind for kind in kinds_of_knowledge().values()}
        for name in files:
            if name not in kinds:
                raise InputError.from_unknown_name("kind of knowledge", name, kinds)
        self._files = {kind: files[name] for name, kind in kinds.items() if files.get(name)}

    def given(self) -> list[type[Knowledge]]:
        """The kinds that were given."""
        return list(self._files)

    def read(self, release: Release) -> list[Knowledge]:
        """All knowledge, in the order and units of the release's private columns."""
        return [
            kind.from_file(Path(file), release) if isinstance(file, str | Path) else kind()
            for kind, file in self._files.items()
        ]


def attack(
    release: Release | str | Path,
    attack: Attack | str,
    *knowledge: Knowledge,
    part: int | None = None,
    engine: Engine | None = None,
) -> Finding:
    """Attack a release in memory, or one in a folder.

    Parameters
    ----------
    release
        A release or its folder.
    attack
        An attack, or its name as in ``veil attack --list`` for its usual settings.
    knowledge
        What the attacker knows beside the release.
    part
        Which part of a release made by a plan, from 1; needed where the attack applies to several.

    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).normal(size=(100, 3))
    >>> release, _ = veil.publish(x, veil.OrthogonalTransform(random_state=0))
    >>> guess = veil.attack(release, "known-pairs", veil.KnownPairs(x[:4], range(4)))
    >>> bool(np.abs(guess.values - x).max() < 1e-4)
    True
    """
    whole = release if isinstance(release, Release) else Release.load(release, engine=engine)
    tool = _tool(attack)
    return tool.run(chosen_part(whole, tool, part), *knowledge)


def attack_file(
    release: str | Path,
    attack: Attack | str,
    target: str | Path,
    known: KnowledgeFiles | Sequence[Knowledge] = (),
    *,
    part: int | None = None,
    resume: bool = False,
    engine: Engine | None = None,
    progress: Watch = None,
) -> GuessFile:
    """Attack a release folder and write the guess as a private file (mode 0600).

    Attacks that need moments alone run in constant memory, on all cores or on ``engine``, and can be continued with
    ``resume``. Where an attack states an interval for each value, its ends go along as columns ``NAME lower`` and
    ``NAME upper``. An attack that links people of another table to rows writes its links instead: ``record`` (the
    person's row in that table, from 0), ``row`` (of the release, from 0; empty for none) and ``probability``; one that
    tells who is in the table ``record``, ``score`` (log-odds) and ``probability``. ``progress`` is True for a bar, or a
    callback.
    """
    target, tool = Path(target), _tool(attack)
    refuse_taken(target)
    target_format(target)
    attacked = chosen_part(Release.load(release, engine=engine), tool, part)
    knowledge = known.read(attacked) if isinstance(known, KnowledgeFiles) else known
    with watched(progress) as report:
        return write_guess(attacked, tool, knowledge, target, resume=resume, progress=report)


def _tool(attack: Attack | str) -> Attack:
    return find_attack(attack)() if isinstance(attack, str) else attack


def chosen_part(release: Release, attack: Attack, part: int | None) -> Release:
    """The part of a release that is attacked: the one asked for, or the only one that the attack has a theory for.

    An attack on the whole release gets all of it.
    """
    parts = release.manifest.parts
    if attack.whole_release:
        if part is not None:
            raise InputError(
                f"part: {attack.attack_name()} looks at all parts of a release at once; leave it out", parameter="part"
            )
        return release
    if part is not None:
        return release.part(part - 1)
    fitting = [i for i, each in enumerate(parts) if attack.applies_to(each.model)]
    if len(parts) == 1 or not fitting:
        return release.part(0) if len(parts) == 1 else release
    if len(fitting) > 1:
        named = ", ".join(f"{i + 1} ({parts[i].method})" for i in fitting)
        raise InputError(
            f"the release has several parts that this attack applies to: {named}; choose one with part=",
            parameter="part",
        )
    return release.part(fitting[0])
