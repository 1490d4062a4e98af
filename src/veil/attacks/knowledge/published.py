"""Knowledge of what was published about the table beside the release: rules, decision trees and cluster centres."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from veil.arguments import whole
from veil.attacks.knowledge.base import Grant, Knowledge, PrivateTable, counted
from veil.attacks.knowledge.external import ExternalTable
from veil.attacks.results import Centres, Rule, Tree
from veil.attacks.results.fitted import Coordinates, centres_of, rules_of, tree_of
from veil.attacks.results.reading import Fields, read_centres, read_rule, read_tree
from veil.errors import FileAccessError, FileFormatError, InputError
from veil.release.release import Release
from veil.storage.atomic import refuse_existing, write_public

FORMAT, VERSION = "veil published results", 1
"""What the file says that it is."""


class PublishedResults(Knowledge):
    """Results of data mining about the private table, as they were published: rules, trees, cluster centres.

    They are given as values of the file's JSON (:mod:`veil.attacks.results.reading` shows all of it), or made of fitted
    models by :meth:`from_tree`, :meth:`from_kmeans` and :meth:`from_itemsets`. Columns are found by their names, values
    are in the private table's units.

    Parameters
    ----------
    rules
        Each with ``if`` (conditions on columns, all of which hold), ``then`` (what follows), ``confidence``, and
        ``support``: the share of all records that meet the conditions and have what follows.
    trees
        Each with the ``column`` that it tells and its ``root``.
    centres
        Each with ``columns``, ``rows`` and, if published, ``sizes`` and ``spreads``.
    records
        How many records the rules were counted among.

    Examples
    --------
    >>> results = PublishedResults(
    ...     rules=[
    ...         {
    ...             "if": [{"column": "age", "within": [60, None]}, {"column": "smoker", "is": "yes"}],
    ...             "then": {"column": "illness", "is": "asthma"},
    ...             "confidence": 0.8,
    ...             "support": 0.05,
    ...         }
    ...     ],
    ...     records=2_000,
    ... )
    >>> results
    <PublishedResults: published results (1 rule)>
    >>> sorted(results.asks_for), sorted(results.tells)
    (['age', 'smoker'], ['illness'])
    """

    kind = "results"
    rank = 14
    handed = True
    audit_help = "A file of published rules, trees or cluster centres, of the table or of others like it."
    file_help = "Published rules, trees or cluster centres (JSON)."

    def __init__(
        self,
        rules: Sequence[Any] = (),
        trees: Sequence[Any] = (),
        centres: Sequence[Any] = (),
        *,
        records: int | None = None,
    ) -> None:
        given = {"rules": rules, "trees": trees, "centres": centres}
        fields = Fields({name: list(each) for name, each in given.items()}, "results", tuple(given))
        self.rules: tuple[Rule, ...] = fields.each("rules", read_rule, "rule")
        self.trees: tuple[Tree, ...] = fields.each("trees", read_tree, "tree")
        self.centres: tuple[Centres, ...] = fields.each("centres", read_centres, "centres")
        if not (self.rules or self.trees or self.centres):
            raise InputError("results: there are neither rules nor trees nor centres; give one of them")
        if self.rules and records is None:
            raise InputError("records must say how many records the rules were counted among", parameter="records")
        self.records = None if records is None else whole(records, "records", least=1)

    @classmethod
    def from_tree(cls, model: Any, column: str, columns: Coordinates | None = None) -> PublishedResults:
        """A fitted decision tree that tells ``column``; ``columns`` names its inputs where it was fitted without names.

        An input that is one category of a column (one-hot) is named by the pair of both, ``("town", "Ulm")``.
        """
        return cls(trees=[tree_of(model, column, columns)])

    @classmethod
    def from_kmeans(cls, model: Any, columns: Coordinates | None = None, *, spreads: Any = None) -> PublishedResults:
        """The centres and sizes of a fitted k-means, or a table of centres; inputs are named as for a tree.

        ``spreads`` are the standard deviations within clusters, for all of them or for each.
        """
        return cls(centres=[centres_of(model, columns, spreads)])

    @classmethod
    def from_itemsets(
        cls, itemsets: Sequence[Any], names: Sequence[str], column: str, *, records: int
    ) -> PublishedResults:
        """Rules for one item of :func:`veil.recovery.frequent_itemsets`; ``names`` are all items in their places."""
        return cls(rules_of(itemsets, names, column), records=records)

    @classmethod
    def load(cls, path: str | Path) -> PublishedResults:
        """Read a file that :meth:`save`, or anybody, wrote."""
        path = Path(path)
        try:
            raw = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise FileAccessError(f"{path.name}: cannot read the results ({error.strerror}); check its name") from None
        except (ValueError, RecursionError) as error:
            line = f"line {error.lineno}" if isinstance(error, json.JSONDecodeError) else type(error).__name__
            raise FileFormatError(f"{path.name}: is no JSON ({line}); write it as the documentation shows") from None
        try:
            fields = Fields(raw, "results", ("format", "version", "records", "rules", "trees", "centres"))
            if raw.get("format") != FORMAT or raw.get("version") != VERSION:
                raise FileFormatError(f"must say format {FORMAT!r} and version {VERSION}; this version reads no other")
            lists = {name: fields.each(name, lambda each, _: each, "") for name in ("rules", "trees", "centres")}
            return cls(**lists, records=fields.raw.get("records"))
        except InputError as error:
            raise FileFormatError(f"{path.name}: {error}") from None

    def to_json(self) -> dict[str, Any]:
        """The values of the file."""
        lists: dict[str, Sequence[Any]] = {"rules": self.rules, "trees": self.trees, "centres": self.centres}
        said = {name: [each.to_json() for each in forms] for name, forms in lists.items() if forms}
        return {"format": FORMAT, "version": VERSION, **({"records": self.records} if self.records else {}), **said}

    def save(self, path: str | Path) -> None:
        """Write them as a file; an existing one is refused."""
        refuse_existing(Path(path))
        write_public(Path(path), (json.dumps(self.to_json(), indent=1, ensure_ascii=False) + "\n").encode())

    @property
    def tells(self) -> set[str]:
        """The columns that somebody may learn from them."""
        of_centres = {name for each in self.centres for name in each.columns}
        return {rule.then.column for rule in self.rules} | {tree.column for tree in self.trees} | of_centres

    @property
    def asks_for(self) -> set[str]:
        """The columns that must be known of a person for it."""
        of_rules = {condition.column for rule in self.rules for condition in rule.conditions}
        of_centres = {name for each in self.centres for name in each.columns}
        return of_rules | {name for tree in self.trees for name in tree.asked} | of_centres

    def describe(self) -> str:
        """How many results of each form."""
        numbers = (
            (len(self.rules), "rule"),
            (len(self.trees), "tree"),
            (sum(len(each.rows) for each in self.centres), "cluster centre"),
        )
        return f"published results ({', '.join(counted(n, noun) for n, noun in numbers if n)})"

    @classmethod
    def from_file(cls, path: Path, release: Release) -> PublishedResults:
        """Results from a JSON file."""
        return cls.load(path)

    # -- in audits -------------------------------------------------------------------------------------------

    @classmethod
    def as_handed(cls, value: Any, name: str) -> PublishedResults | None:
        """What a grant says: results, the name of their file, or False for none."""
        if value is None or value is False:
            return None
        if isinstance(value, str | Path):
            return cls.load(value)
        if not isinstance(value, cls):
            rule = "veil.PublishedResults, the name of their file, or False"
            raise InputError(f"{name} must be {rule}; got a {type(value).__name__}", parameter=cls.kind)
        return value

    def handed_over(self, private: PrivateTable, rng: np.random.Generator) -> Grant:
        """The results, together with the exact columns with the role quasi or public of everybody."""
        return Grant((self,)).with_more(ExternalTable.grant(private, 0, rng))

    def digest(self) -> str:
        """A hash of all that they say."""
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()

    @classmethod
    def obstacle(cls, private: PrivateTable, amount: float) -> str:
        """Nothing is known of people."""
        return "" if private.outside is not None else "they need columns that are known, with the role quasi or public"

    @classmethod
    def known_columns(cls, private: PrivateTable, amount: float) -> tuple[int, ...]:
        """The perturbed columns with the role quasi."""
        return ExternalTable.known_columns(private, amount)

    @classmethod
    def label(cls, amount: float) -> str:
        """That there are results."""
        return "published results"

    @classmethod
    def words(cls, amount: float) -> str:
        """What was published, and what is known of people."""
        return (
            "The attacker also has published rules, trees or cluster centres about the table, and knows the exact "
            "columns with the role quasi or public of everybody."
        )
