"""Results that are kept between audits, so that the same question is not played twice.

What an attack found out about a private table is itself private: the folder is of mode 0700, its files of mode 0600,
and a file's name is a keyed hash of the question (table, roles, candidate, settings), so that nobody can confirm a
guess of the table by looking for its name. Results are JSON, never pickle.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from veil.auditing.judge import Trial
from veil.auditing.trials.trial import Outcome
from veil.errors import FileFormatError
from veil.measures import Measure
from veil.publishing.plan import Plan
from veil.report.model import Picture
from veil.secret import revealed
from veil.storage.atomic import write_private

KEY_NAME = "cache.key"
LARGEST_SHELF = 50_000_000
NO_ANSWER = (AttributeError, IndexError, KeyError, TypeError, ValueError)
"""What a file that is damaged or from elsewhere raises: it is no answer."""


def default_folder() -> Path:
    """``$VEIL_CACHE``, or ``veil`` in the user's folder for caches."""
    home = os.environ.get("VEIL_CACHE")
    if home:
        return Path(home)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "veil"


class Cache:
    """A folder of shelves, one for each table and candidate."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            new, ours = not folder.exists(), os.path.lexists(folder / KEY_NAME)
            if not new and not ours and any(folder.iterdir()):
                raise FileFormatError(f"{folder}: is in use for something else; choose a new folder for the cache")
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if folder.stat().st_uid != os.getuid():
                raise FileFormatError(f"{folder}: belongs to somebody else; choose another folder for the cache")
            if new:
                folder.chmod(0o700)
        except OSError as error:
            raise FileFormatError(f"{folder}: cannot hold the cache ({error.strerror}); choose another") from None
        self._key = self._own_key()

    def _own_key(self) -> bytes:
        path = self._folder / KEY_NAME
        with suppress(FileFormatError):  # another process may be first
            if not path.exists():
                write_private(path, secrets.token_bytes(32))
        try:
            key = path.read_bytes()
        except OSError as error:
            raise FileFormatError(f"{path}: cannot be read ({error.strerror}); choose another folder") from None
        if len(key) != 32:
            raise FileFormatError(f"{path}: is not a key of this cache; remove it")
        return key

    def table_digest(self, table: pa.Table) -> str:
        """A keyed hash of a table's names, types and values."""
        sink = _Hasher(self._key)
        with pa.ipc.new_stream(pa.PythonFile(sink, mode="w"), table.schema.remove_metadata()) as writer:
            for batch in table.replace_schema_metadata().combine_chunks().to_batches():
                writer.write_batch(batch)
        return sink.hash.hexdigest()

    def shelf(self, question: Any) -> Shelf:
        """What is remembered of a question; a shelf that cannot be read is empty."""
        text = json.dumps(question, sort_keys=True, default=_plain).encode()
        name = hashlib.blake2b(text, key=self._key, digest_size=24).hexdigest()
        return Shelf(self._folder / f"{name}.json")


class Shelf:
    """Answers by address, kept in one file."""

    def __init__(self, path: Path) -> None:
        self._path, self._changed = path, False
        self._answers: dict[str, Any] = {}
        with suppress(OSError, RecursionError, ValueError):
            if path.stat().st_size <= LARGEST_SHELF:
                found = json.loads(path.read_text(encoding="utf-8"))
                self._answers = found if isinstance(found, dict) else {}

    def outcome(self, address: str) -> Outcome | None:
        """A remembered outcome."""
        with suppress(
            AttributeError, IndexError, KeyError, TypeError, ValueError
        ):  # a file from elsewhere is no answer
            return _outcome(self._answers[address])
        return None

    def worth(self, address: str) -> dict[str, Measure] | None:
        """Remembered utilities."""
        with suppress(*NO_ANSWER):
            return {name: _measure(said) for name, said in self._answers[address].items()}
        return None

    def keep(self, address: str, answer: Outcome | Mapping[str, Measure]) -> None:
        """Remember an answer."""
        self._answers[address] = _told(answer)
        self._changed = True

    def save(self) -> None:
        """Write the shelf, if anything is new; a full disk is no reason to lose an audit."""
        if self._changed:
            with suppress(FileFormatError, OSError):
                write_private(self._path, json.dumps(self._answers).encode(), replace=True)


class _Hasher:
    """A file that is hashed instead of written."""

    closed = False

    def __init__(self, key: bytes) -> None:
        self.hash = hashlib.blake2b(key=key, digest_size=32)

    def write(self, data: Any) -> int:
        self.hash.update(data)
        return len(data)

    def flush(self) -> None:
        """Nothing waits."""

    def close(self) -> None:
        """Nothing is open."""


def candidate_words(plan: Plan) -> list[Any]:
    """All that a candidate's releases depend on beside table, roles and key."""
    return [
        [columns, p.method_name(), {name: revealed(value) for name, value in p.get_params(deep=False).items()}]
        for columns, p in plan.parts
    ]


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else repr(value)


def _told(answer: Outcome | Mapping[str, Measure]) -> dict[str, Any]:
    if not isinstance(answer, Outcome):
        return {name: _numbers(measure) for name, measure in answer.items()}
    trial, picture = answer.trial, answer.picture
    return {
        "refusal": answer.refusal,
        "applies": answer.applies,
        "ambiguity": answer.ambiguity,
        "up_to": list(answer.up_to),
        "seconds": answer.seconds,
        "records": [list(record) for record in answer.records],
        "picture": picture
        and [picture.edges, picture.counts, picture.n_values, picture.n_suppressed, picture.n_outside],
        "trial": trial
        and [
            _numbers(trial.value),
            _numbers(trial.record),
            trial.columns.tolist(),
            trial.n_columns.tolist(),
            _numbers(trial.far_out),
            trial.n_far_out,
            trial.nrmse,
            trial.n_scored,
            trial.value_null,
            trial.record_null,
            None if trial.column_nulls is None else trial.column_nulls.tolist(),
            trial.value_luck,
            trial.record_luck,
            None if trial.column_lucks is None else trial.column_lucks.tolist(),
        ],
    }


def _outcome(said: Mapping[str, Any]) -> Outcome:
    trial, picture = said["trial"], said["picture"]
    return Outcome(
        trial
        and Trial(
            _measure(trial[0]),
            _measure(trial[1]),
            np.array(trial[2], dtype=np.float64),
            np.array(trial[3], dtype=np.int64),
            _measure(trial[4]),
            int(trial[5]),
            float(trial[6]),
            int(trial[7]),
            float(trial[8]),
            float(trial[9]),
            None if trial[10] is None else np.array(trial[10], dtype=np.float64),
            float(trial[11]),
            float(trial[12]),
            None if trial[13] is None else np.array(trial[13], dtype=np.float64),
        ),
        refusal=str(said["refusal"]),
        applies=bool(said["applies"]),
        ambiguity=str(said["ambiguity"]),
        up_to=tuple(said["up_to"]),
        seconds=float(said["seconds"]),
        picture=picture
        and Picture(tuple(picture[0]), tuple(map(tuple, picture[1])), *(int(count) for count in picture[2:])),
        records=tuple((int(row), float(error)) for row, error in said["records"]),
    )


def _numbers(measure: Measure) -> list[Any]:
    return [float(measure), measure.low, measure.high, measure.higher_is]


def _measure(said: Any) -> Measure:
    value, low, high, higher_is = said
    return Measure(float(value), low=float(low), high=float(high), higher_is=higher_is)
