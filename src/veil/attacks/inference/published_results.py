"""A23: infer hidden columns from published results and what is known of people (H§3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from veil.arguments import choice, number
from veil.attacks.base import Details, Guess, GuessingAttack, needed
from veil.attacks.inference.clusters import Clusters
from veil.attacks.inference.known_values import KnownPeople, categories_of, known_people
from veil.attacks.inference.told import Code, Told, by_rules, by_tree, surest
from veil.attacks.knowledge import ExternalTable, Knowledge, KnownAttributes, PublishedResults
from veil.attacks.knowledge.base import number_classes, private_names
from veil.attacks.results.forms import Category, as_number, as_text
from veil.errors import InputError, NotApplicableError, listed
from veil.release.models import Model, PseudonymModel
from veil.release.release import Release

AIMS = ("hit", "mean")


@dataclass(frozen=True, eq=False)
class ResultsDetails(Details):
    """By hidden column: the ``forms`` of results that tell it, and the share of people whom they say anything about
    (``covered``); ``known`` are the columns of people that were used."""

    forms: dict[str, tuple[str, ...]]
    covered: dict[str, float]
    known: tuple[str, ...]


class PublishedResultsAttack(GuessingAttack):
    """A23. Infer hidden columns of people from published rules, trees or cluster centres and what is known of them.

    *Model.* The results hold for the people who are asked about: P(h | known) is what they say of a hidden column h.
    Of rules, the applicable one whose confidence has the highest lower 95 % limit counts; of a tree, the leaf, or
    several where a split asks for what is not known; of centres, the posterior over clusters given the known columns,
    normal with the published or a common spread (:mod:`veil.attacks.inference.told`,
    :mod:`veil.attacks.inference.clusters`). Where several results tell a column, a person is guessed by the surest.

    *Threat.* The results were meant to be published, and need no release: the attack uses nothing of it but its
    columns that are released unchanged. Perturbed columns are left to A28 and A29, whatever the results say of them.
    Most of what is guessed right holds for anybody alike, in the table or not; more than that remains where a leaf, a
    rule or a cluster is about few people.

    *References.* Huang et al. (2005), §3, "Data Mining Results"; Kantarcioglu, Jin and Clifton (2004), "When do data
    mining results violate privacy?".

    Parameters
    ----------
    aim : {"hit", "mean"}
        Of numbers: the most probable leaf or fullest window, or the mean.
    tolerance : float, default 0.1
        Half the width of a hit, in standard deviations of the column as the results tell it.

    Notes
    -----
    *Knowledge.* :class:`veil.PublishedResults`, and one of the following: columns that are released unchanged,
    KnownAttributes, an ExternalTable. With a table, ``guess.rows`` are the rows of the table and ``guess.of_people`` is
    true. An audit plays it where results are granted, ``veil.Grants(results=...)``.

    ``guess.details``: :class:`ResultsDetails`.

    Examples
    --------
    A clinic publishes a decision tree; the release hides the illness, and the ages are public:

    >>> import numpy as np, pandas as pd, veil
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> rng = np.random.default_rng(0)
    >>> age = rng.integers(20, 90, 2_000)
    >>> illness = np.where(rng.random(2_000) < np.where(age > 60, 0.8, 0.1), "asthma", "none")
    >>> clinic = pd.DataFrame({"age": age, "illness": illness})
    >>> tree = DecisionTreeClassifier(max_depth=2).fit(clinic[["age"]], clinic["illness"])
    >>> results = veil.PublishedResults.from_tree(tree, "illness")
    >>> plan = veil.Plan([(["illness"], veil.RandomizedResponse(keep=0.1))], roles={"age": "public"})
    >>> release, _ = veil.publish(clinic, plan)
    >>> guess = veil.PublishedResultsAttack().run(release, results)
    >>> names = np.array(release.only_part.model.categories[0])
    >>> bool((names[guess.values[:, 0].astype(int)] == illness).mean() > 0.8)
    True
    """

    catalogue = "A23"
    words = "infers hidden columns of people from what is known of them and published rules, trees or cluster centres"
    requires = (PublishedResults,)
    uses = (KnownAttributes, ExternalTable)
    whole_release = True
    guesses_people = True

    def __init__(self, *, aim: str = "hit", tolerance: float = 0.1, variant: str = "best") -> None:
        super().__init__(variant=variant)
        self.aim = aim
        self.tolerance = tolerance

    @classmethod
    def applies_to(cls, model: Model) -> bool:
        """Whatever method hides the columns, unless it replaces them by pseudonyms, which nobody can guess."""
        return not isinstance(model, PseudonymModel)

    def _run(self, release: Release, knowledge: Sequence[Knowledge]) -> Guess:
        choice(self.aim, "aim", AIMS)
        tolerance = number(self.tolerance, "tolerance", least=1e-6, most=10.0, rule="a positive number of at most 10")
        results, people = needed(knowledge, PublishedResults), known_people(release, knowledge)
        if not people.n:
            raise NotApplicableError("the release has no rows")
        names = private_names(release)
        hidden = [name for name in names if name in results.tells and name not in people.columns]
        if not hidden:
            raise NotApplicableError(
                f"the results tell no private column that is hidden: they tell {listed(sorted(results.tells))}"
            )
        used = sorted(results.asks_for & people.columns.keys())
        if not used:
            asked = listed(sorted(results.asks_for))
            raise NotApplicableError(
                f"nothing that the results ask for is known of people: they ask for {asked or 'no column'}; "
                "release such a column unchanged, or grant KnownAttributes or an ExternalTable"
            )
        listings, classes = categories_of(release), number_classes(release.manifest.parts)
        listings = {name: known for name, known in listings.items() if name not in classes}
        guesses = {name: values.numbers for name, values in people.columns.items() if values.numbers is not None}
        told: dict[str, Told] = {}
        forms: dict[str, tuple[str, ...]] = {}
        for name in hidden:
            code = _code(name, listings.get(name))
            each = _each(results, people, name, {*hidden}, code, tolerance, aim_at_mean=self.aim == "mean")
            told[name], forms[name] = surest([one for _, one in each]), tuple(form for form, _ in each)
            if name in classes:  # told as a number, and guessed as the class that it lies in
                told[name] = replace(told[name], values=classes[name].codes(told[name].values))
        unknown = np.full(people.n, np.nan)
        given = {} if people.of_people else {name: guesses[name] for name in guesses if name not in listings}
        given |= {name: classes[name].codes(values) for name, values in given.items() if name in classes}
        columns = [told[name].values if name in told else given.get(name, unknown) for name in names]
        details = ResultsDetails(forms, {name: told[name].covered for name in hidden}, tuple(used))
        values = np.column_stack(columns)
        return Guess(values, names, np.arange(people.n), details=details, of_people=people.of_people)


def _each(
    results: PublishedResults,
    people: KnownPeople,
    name: str,
    hidden: set[str],
    code: Code,
    tolerance: float,
    *,
    aim_at_mean: bool,
) -> list[tuple[str, Told]]:
    """What each form says of a column."""
    told: list[tuple[str, Told]] = []
    rules = [rule for rule in results.rules if rule.then.column == name]
    if rules and results.records is not None:
        told.append(("rules", by_rules(rules, results.records, people, code)))
    for tree in results.trees:
        if tree.column == name:
            told.append(("tree", by_tree(tree, people, code, tolerance, aim_at_mean=aim_at_mean)))
    for centres in results.centres:
        if name in centres.columns:
            clusters = Clusters(centres, people, hidden)
            told.append(("centres", clusters.tell(name, code, tolerance, aim_at_mean=aim_at_mean)))
    return told


def _code(name: str, categories: Sequence[object] | None) -> Code:
    """How values of a hidden column are guessed: in codes of its categories, or as numbers."""
    if categories is None:

        def as_it_is(value: Category) -> float:
            guess = as_number(value)
            if np.isnan(guess):
                raise InputError(f"results: column {name!r} holds numbers, and they tell a text; write numbers")
            return guess

        return as_it_is
    places = {as_text(value): float(i) for i, value in enumerate(categories) if isinstance(value, str | int | float)}
    return lambda value: places.get(as_text(value), np.nan)
