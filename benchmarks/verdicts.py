"""The verdicts of default audits over a folder of tables, and the page that sets two versions of Veil side by side.

    python benchmarks/verdicts.py --data FOLDER -o after.json
    PYTHONPATH=OLDER/src python benchmarks/verdicts.py --data FOLDER -o before.json
    python benchmarks/verdicts.py --page docs/verdicts.md --before before.json --after after.json

Numbers are released by each method, categories of the same table by randomized responses. What an audit grants and how
often it runs is its default; of a large table at most 4,000 records are audited; the seed is 1. Constant columns are
left out, and so is the table of baskets: it holds items of transactions, not columns.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import pandas as pd

TABLES = (
    "adult_train",
    "california_housing",
    "casc_census",
    "casc_eia",
    "casc_tarragona",
    "letter_recognition",
    "synthetic_control",
    "wine_quality",
)
METHODS = {
    "noise 1": ("AdditiveNoise", {"scale": 1.0}),
    "noise like the data 1.5": ("AdditiveNoise", {"scale": 1.5, "similarity": 1.0}),
    "orthogonal": ("OrthogonalTransform", {}),
    "projection to half": ("RandomProjection", {}),
}
EPSILON = 1.0
ALONE, TOLD = "nothing", ("matrix",)
"""The level without knowledge, and those that give a linear method away by themselves."""
HEAD = """# Verdicts over real tables, before and after the joint posterior

Default audits (seed 1, at most 4,000 records) of eight tables of statistics offices and researchers. *Before* is the
last version without A23, A29 and A30, whose A28 was a first one; *after* is this one. Both hold the individual
advantage against 5 %. Behind each verdict stand the strongest attack on the numbers with the release alone, and the
strongest with knowledge, with its individual advantage in percent. The disclosed matrix, which gives linear methods
away, is left out. Categories of a table go out by randomized response with ε = 1, so a verdict can also fail by them.
Made by `benchmarks/verdicts.py`.

| table | method | before | alone | with knowledge | after | alone | with knowledge |
|---|---|---|---|---|---|---|---|"""


def audited(frame: pd.DataFrame, method: str, records: int) -> dict[str, Any]:
    """The verdict of one audit, and the strongest attack on the numbers at every level of knowledge."""
    import veil

    name, settings = METHODS[method]
    texts = [column for column in frame if frame[column].dtype.kind not in "if"]
    numbers = [column for column in frame if column not in texts]
    if name == "RandomProjection":
        settings = {"n_components": max(1, len(numbers) // 2)}
    parts = [(numbers, getattr(veil, name)(**settings))]
    if texts:
        parts.append((texts, veil.RandomizedResponse(epsilon=EPSILON)))
    began = time.perf_counter()
    audit = veil.audit(frame, veil.Plan(parts), roles=dict.fromkeys(texts, "sensitive"), seed=1, records=records)
    rows = [row for row in audit.rows if set(row.columns or numbers) & set(numbers)]
    levels: dict[str, tuple[str, float]] = {}
    for row in sorted(rows, key=lambda row: float(row.advantage)):
        levels[row.level.kind] = row.name, float(row.advantage)
    return {"passed": audit.passed, "levels": levels, "seconds": time.perf_counter() - began}


def strongest(levels: dict[str, Any], *, alone: bool) -> str:
    """The strongest attack with the release alone, or with the knowledge that goes furthest, and what it gains."""
    chosen = {kind: each for kind, each in levels.items() if (kind == ALONE) == alone and kind not in TOLD}
    if not chosen:
        return "–"
    kind, (name, gain) = max(chosen.items(), key=lambda item: item[1][1])
    attack = name.split(" on ")[0].removesuffix("-attack")
    return f"{attack}{'' if alone else f' ({kind})'} {100 * gain:.1f}"


def page(before: dict[str, Any], after: dict[str, Any]) -> str:
    """The two versions side by side, as Markdown."""
    lines = [HEAD]
    for key, new in after.items():
        cells = [*key.split("|")]
        for each in (before[key], new):
            cells.append("holds" if each["passed"] else "fails")
            cells += [strongest(each["levels"], alone=True), strongest(each["levels"], alone=False)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder with the tables")
    parser.add_argument("-o", "--output", type=Path, help="verdicts as JSON; what is there already is kept")
    parser.add_argument("--only", default="", help="tables with this in their names")
    parser.add_argument("--records", type=int, default=4_000, help="of a table at most")
    parser.add_argument("--page", type=Path)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--after", type=Path)
    options = parser.parse_args()
    if options.page is not None:
        versions = [json.loads(path.read_text()) for path in (options.before, options.after)]
        options.page.write_text(page(*versions))
        return
    verdicts = json.loads(options.output.read_text()) if options.output.exists() else {}
    for table in TABLES:
        for method in METHODS if options.only in table else ():
            key = f"{table}|{method}"
            if key in verdicts:
                continue
            frame = pd.read_csv(options.data / f"{table}.csv.gz")
            frame = frame.loc[:, frame.nunique() > 1]
            texts = [column for column in frame if frame[column].dtype.kind not in "if"]
            frame[texts] = frame[texts].fillna("?").astype(str)
            verdicts[key] = audited(frame, method, options.records)
            print(key, verdicts[key], flush=True)
            options.output.write_text(json.dumps(verdicts, indent=1))


if __name__ == "__main__":
    main()
