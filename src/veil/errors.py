"""Every exception Veil raises on purpose, as one tree.

::

    VeilError
    ├── InputError (ValueError)             the table, file or parameter breaks a rule
    │   ├── RoleError                       a column needs a role, or has one that does not fit
    │   ├── FileFormatError                 a file is truncated, damaged, or of an unknown or another kind
    │   └── FileAccessError                 a file is not there, may not be read, changes, or would be overwritten
    │       └── UnwritableError             the disk is full, or does not take what is to be written
    ├── MissingKnowledgeError (ValueError)  an attack was not granted what it needs
    ├── NotApplicableError (ValueError)     an attack or recovery has no theory for this release
    ├── NotInvertibleError (ValueError)     some columns cannot be restored
    ├── KeyRefusedError (ValueError)        a key is wrong, locked, absent, or already used for another release
    ├── TamperedError (ValueError)          a release's data do not match its manifest
    ├── ClusterError                        the cluster is not to be reached, or was lost during a run
    └── MissingExtraError (ImportError)     an optional dependency is not installed

Each message is one line: it names the column or parameter, the rule, the count of
offending values and the fix. No message ever contains a cell of a private table.
``error.parameter`` is the argument that the fix is about, where there is one; the
command line adds the option that sets it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Self


class VeilError(Exception):
    """Base class of every error that Veil raises on purpose.

    ``parameter`` names the argument that breaks the rule or mends it; None where there is none.
    """

    def __init__(self, message: str, *, parameter: str | None = None) -> None:
        super().__init__(message)
        self.parameter = parameter

    @classmethod
    def from_unknown_name(cls, what: str, name: object, known: Iterable[str], *, parameter: str | None = None) -> Self:
        """Nothing of this kind has that name; the nearest one is suggested, or all are listed.

        >>> InputError.from_unknown_name("attack", "pcaattack", ["pca-attack", "svd-attack"])
        InputError("no attack is called 'pcaattack'; did you mean 'pca-attack'?")
        """
        shown = repr(name) if isinstance(name, str | int) else f"a {type(name).__name__}"
        return cls(f"no {what} is called {shown}; {_suggestion(name, known)}", parameter=parameter)

    @classmethod
    def from_missing_columns(cls, parameter: str, missing: Iterable[object], available: Iterable[str]) -> Self:
        """An argument names columns that the table does not have.

        >>> InputError.from_missing_columns("roles", ["agee"], ["age", "income"])
        InputError("roles names column 'agee', which the table does not have; did you mean 'age'?")
        """
        names = list(missing)
        column = f"column{'s' if len(names) > 1 else ''} {listed(names)}"
        problem = f"{parameter} names {column}, which the table does not have"
        return cls(f"{problem}; {_suggestion(names[0], available, 'the table has')}", parameter=parameter)


class InputError(VeilError, ValueError):
    """The table, file or parameter breaks a rule; the message says which and how to fix it."""


class RoleError(InputError):
    """A column needs a role, or was given one that does not fit."""


class FileFormatError(InputError):
    """A file is truncated, damaged, or of an unknown or another kind."""


class FileAccessError(InputError):
    """A file is not there, may not be read, changes while it is read, or would be overwritten."""


class UnwritableError(FileAccessError):
    """The disk is full, or does not take what is to be written."""


class MissingKnowledgeError(VeilError, ValueError):
    """An attack was not granted the knowledge it needs."""


class NotApplicableError(VeilError, ValueError):
    """An attack or recovery has no theory for this release."""


class NotInvertibleError(VeilError, ValueError):
    """Some columns cannot be restored; ``columns`` lists them."""

    def __init__(self, message: str, columns: Sequence[str] = (), *, parameter: str | None = None) -> None:
        super().__init__(message, parameter=parameter)
        self.columns = tuple(columns)


class KeyRefusedError(VeilError, ValueError):
    """A key is wrong, locked, absent, or was already used for another release."""


class TamperedError(VeilError, ValueError):
    """A release's data do not match the hash in its manifest."""


class ClusterError(VeilError):
    """The cluster is not to be reached, or was lost during a run."""


class MissingExtraError(VeilError, ImportError):
    """An optional dependency is not installed; the message says which extra to install."""


class ExtensionWarning(UserWarning):
    """A package that extends Veil could not be loaded; Veil goes on without it."""


FEWEST_LETTERS = 3
"""Letters of a name that is looked for in others."""


def nearest(name: object, known: Iterable[str]) -> str | None:
    """The known name that is spelled most like ``name``, or has it in it; None when none is near.

    >>> nearest("incme", ["age", "income"]), nearest("bayes", ["univariate-bayes-attack", "bayes-estimate-attack"])
    ('income', 'bayes-estimate-attack')
    """
    names, wanted = [str(other) for other in known], str(name)
    near = difflib.get_close_matches(wanted, names, n=1)
    if not near and len(wanted) >= FEWEST_LETTERS:
        near = sorted((n for n in names if wanted in n), key=lambda n: (not n.startswith(wanted), len(n)))
    return near[0] if near else None


def listed(names: Iterable[object], limit: int = 8) -> str:
    """Names for a message, quoted and cut after ``limit``.

    >>> listed(["age", "income"])
    "'age', 'income'"
    """
    quoted = [repr(name) for name in names]
    return ", ".join(quoted[:limit]) + (f" and {len(quoted) - limit} more" if len(quoted) > limit else "")


def _suggestion(name: object, known: Iterable[str], there_are: str = "there are") -> str:
    names = [str(other) for other in known]
    near = nearest(name, names)
    return f"{there_are} {listed(names, limit=60)}" if near is None else f"did you mean {near!r}?"
