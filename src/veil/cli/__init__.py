"""The command line: parse, call, print. One file per verb, imported when the verb is called.

Exit codes: 0 fine, 2 usage or input, 3 a goal failed, 1 anything else.
"""

from __future__ import annotations

from veil.cli.group import main

__all__ = ["main"]
