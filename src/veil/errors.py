"""Every exception Veil raises on purpose, as one tree.

::

    VeilError
    ├── InputError (ValueError)             the table, file or parameter breaks a rule
    │   ├── RoleError                       a column needs a role, or has one that does not fit
    │   └── FileFormatError                 a file is unreadable, truncated, of an unknown kind, or already there
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
"""

from __future__ import annotations

from collections.abc import Sequence


class VeilError(Exception):
    """Base class of every error that Veil raises on purpose."""


class InputError(VeilError, ValueError):
    """The table, file or parameter breaks a rule; the message says which and how to fix it."""


class RoleError(InputError):
    """A column needs a role, or was given one that does not fit."""


class FileFormatError(InputError):
    """A file is unreadable, truncated, of an unknown kind, or would be overwritten."""


class UnwritableError(FileFormatError):
    """The disk is full, or does not take what is to be written."""


class MissingKnowledgeError(VeilError, ValueError):
    """An attack was not granted the knowledge it needs."""


class NotApplicableError(VeilError, ValueError):
    """An attack or recovery has no theory for this release."""


class NotInvertibleError(VeilError, ValueError):
    """Some columns cannot be restored; ``columns`` lists them."""

    def __init__(self, message: str, columns: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.columns = tuple(columns)


class KeyRefusedError(VeilError, ValueError):
    """A key is wrong, locked, absent, or was already used for another release."""


class TamperedError(VeilError, ValueError):
    """A release's data do not match the hash in its manifest."""


class ClusterError(VeilError):
    """The cluster is not to be reached, or was lost during a run."""


class MissingExtraError(VeilError, ImportError):
    """An optional dependency is not installed; the message says which extra to install."""
