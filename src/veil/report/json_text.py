"""Values as JSON text, returned or written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from veil.storage.atomic import write_private, write_public
from veil.storage.json_values import json_value


def written_json(values: Any, path: str | Path | None, *, private: bool = False) -> str | None:
    """Values as strict JSON: as text without a path, else into a file, which is replaced.

    >>> print(written_json({"rows": 2, "error": float("nan")}, None))
    {
      "rows": 2,
      "error": null
    }
    """
    text = json.dumps(json_value(values), indent=2, ensure_ascii=False, allow_nan=False)
    if path is None:
        return text
    write = write_private if private else write_public
    write(Path(path), f"{text}\n".encode("utf-8", errors="backslashreplace"), replace=True)
    return None
