"""What every measure refuses, how it says so, and what the package costs to import."""

import re
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

import veil.measures
from veil.errors import InputError

TABLE = np.arange(12.0).reshape(4, 3)
SECRET = 8675309.25

TWO_TABLES: dict[str, Callable[[object, object], object]] = {
    "breached": lambda x, g: veil.measures.breached(x, g, 0.1),
    "breach_rate": lambda x, g: veil.measures.breach_rate(x, g, 0.1),
    "record_breach_rate": lambda x, g: veil.measures.breach_rate(x, g, 0.1, "record"),
    "column_breach_rates": lambda x, g: veil.measures.column_breach_rates(x, g, 0.1),
    "far_out_rate": lambda x, g: veil.measures.far_out_rate(x, g, 0.1),
    "largest_rate": veil.measures.largest_rate,
    "variance_privacy": veil.measures.variance_privacy,
    "mean_squared_error": veil.measures.mean_squared_error,
    "nrmse": veil.measures.nrmse,
    "frobenius_error": veil.measures.frobenius_error,
    "relative_error": veil.measures.relative_error,
}
RELEASES: dict[str, Callable[[object, object], object]] = {
    "distance_distortion": veil.measures.distance_distortion,
    "inner_product_distortion": veil.measures.inner_product_distortion,
    "clustering_agreement": lambda x, y: veil.measures.clustering_agreement(x, y, 2),
    "clustering_error": lambda x, y: veil.measures.clustering_error(x, y, 2),
    "classification_retention": lambda x, y: veil.measures.classification_retention(x, y, [0, 1, 0, 1]),
    "neighbour_retention": lambda x, y: veil.measures.neighbour_retention(x, y, 2),
}
ONE_TABLE: dict[str, Callable[[object], object]] = {
    "standard_units": veil.measures.standard_units,
    "best_constant_guess": lambda x: veil.measures.best_constant_guess(x, 0.1),
    "constant_guess_baseline": lambda x: veil.measures.constant_guess_baseline(x, 0.1, "record"),
    "far_out_baseline": lambda x: veil.measures.far_out_baseline(x, 0.1),
    "largest_baseline": veil.measures.largest_baseline,
}
BAD_TABLES = [
    np.zeros((0, 3)),
    np.zeros((4, 0)),
    [],
    np.zeros((4, 3, 2)),
    np.float64(SECRET),
    np.array([["secret", "text"]] * 4),
    np.array([[SECRET, "text"]] * 4, dtype=object),
    [[SECRET, 1.0], [2.0]],
    np.array([[SECRET, np.inf, 1.0]] * 4),
    np.array([[1 + 2j, 3, 4]] * 4),
    np.array(["2020-01-01"] * 4, dtype="datetime64[D]"),
]


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(InputError) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    assert re.match(r"\w+(: | must be )", message)
    assert ";" in message  # rule; fix
    for cell in ("8675309", "secret", "text", "2020"):
        assert cell not in message
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return message


@pytest.mark.parametrize(
    "bad",
    BAD_TABLES,
    ids=lambda bad: f"{type(bad).__name__}-{np.shape(bad) if not isinstance(bad, list) else 'list'}",
)
def test_bad_tables_are_refused_in_one_line_without_a_cell(bad: object) -> None:
    for call in (*TWO_TABLES.values(), *RELEASES.values()):
        assert refusal(lambda call=call: call(bad, TABLE)).startswith(("truth: ", "original: "))
    for call in ONE_TABLE.values():
        assert refusal(lambda call=call: call(bad)).startswith("truth: ")


@pytest.mark.parametrize("name", TWO_TABLES)
def test_shapes_must_agree(name: str) -> None:
    for other in (TABLE[:3], TABLE[:, :2], TABLE.T, TABLE[:, 0]):
        message = refusal(lambda other=other: TWO_TABLES[name](TABLE, other))
        assert message.startswith("guess: has shape")
        assert str(TABLE.shape) in message


@pytest.mark.parametrize("tolerance", [-0.1, np.nan, np.inf, "wide", None, True, np.array([SECRET, 2.0])])
def test_tolerances_must_be_numbers(tolerance: object) -> None:
    for call in (
        lambda: veil.measures.breach_rate(TABLE, TABLE, tolerance),
        lambda: veil.measures.constant_guess_baseline(TABLE, tolerance),
        lambda: veil.measures.far_out_rate(TABLE, TABLE, tolerance),
        lambda: veil.measures.far_out_baseline(TABLE, tolerance),
    ):
        assert refusal(call).startswith("tolerance must be a finite number of at least 0; ")


@pytest.mark.parametrize("units", [[1.0, 2.0], [1.0, -1.0, 2.0], [1.0, np.nan, 2.0], [[SECRET] * 3], ["text"] * 3])
def test_units_must_be_one_size_per_column(units: object) -> None:
    assert refusal(lambda: veil.measures.breach_rate(TABLE, TABLE, 0.1, units=units)).startswith("units must be ")
    assert refusal(lambda: veil.measures.far_out_rate(TABLE, TABLE, 0.1, units=units)).startswith("units must be ")


def test_choices_are_listed_and_not_echoed() -> None:
    message = refusal(lambda: veil.measures.breach_rate(TABLE, TABLE, 0.1, level="secret"))
    assert message == "level must be one of 'value', 'record'; got a str"
    assert refusal(lambda: veil.measures.breach_rate(TABLE, TABLE, 0.1, variant=TABLE)).startswith(
        "variant must be one of "
    )


def test_frames_vectors_and_whole_numbers_are_tables() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(TABLE, columns=list("abc"))
    assert veil.measures.breach_rate(frame, TABLE, 0.1) == 1.0
    assert veil.measures.breach_rate([1, 2, 3], [1, 2, 9], 0.1) == pytest.approx(2 / 3)
    assert veil.measures.mean_squared_error(np.array([1, 2], dtype=np.int8), [True, False]) == 2.0
    assert veil.measures.breach_rate(np.array([1.0, None, 3.0], dtype=object), [1.0, 2.0, 9.0], 0.1) == 0.5


def test_the_public_names_are_sorted_and_there() -> None:
    assert veil.measures.__all__ == sorted(veil.measures.__all__)
    assert all(hasattr(veil.measures, name) for name in veil.measures.__all__)


def test_importing_the_measures_loads_neither_scikit_learn_nor_scipy() -> None:
    script = "import sys, veil.measures; print([m for m in ('sklearn', 'scipy') if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
