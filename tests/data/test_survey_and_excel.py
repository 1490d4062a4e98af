"""Files of SPSS, Stata and SAS and workbooks are tables like any other; labels, missing codes and dates as they say."""

import builtins
import datetime
import zipfile

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest

import veil
from veil.data.files import format_of, open_table, open_writer
from veil.data.sources import as_table
from veil.errors import FileFormatError, InputError, MissingExtraError

DAY = datetime.date(2020, 1, 2)
FRAME = pd.DataFrame(
    {
        "sex": [1.0, 2.0, 1.0, 9.0],
        "age": [31.0, 40.0, 99.0, np.nan],
        "day": [DAY, None, DAY, DAY],
        "job": ["nurse", "", "cook", None],
        "mood": [1, 3, 2, 1],
    }
)
LABELS = {"sex": {1: "male", 2: "female", 9: "refused"}, "mood": {1: "bad", 2: "fair", 3: "good"}, "age": {97: "more"}}


@pytest.fixture
def sav(tmp_path):
    path = tmp_path / "t.sav"
    pyreadstat.write_sav(
        FRAME,
        path,
        column_labels={"sex": "Sex of the person"},
        variable_value_labels=LABELS,
        missing_ranges={"sex": [9], "age": [{"lo": 98, "hi": 99}]},
        variable_measure={"mood": "ordinal"},
    )
    return path


def test_spss_files_have_categories_of_labels_and_their_missing_codes_are_missing(sav):
    table = as_table(sav)
    assert table.read().to_pydict() == {
        "sex": ["male", "female", "male", None],
        "age": [31, 40, None, None],
        "day": [DAY, None, DAY, DAY],
        "job": ["nurse", None, "cook", None],
        "mood": ["bad", "good", "fair", "bad"],
    }
    assert table.schema.field("age").type == pa.int64()
    mood = table.read().column("mood").chunk(0)
    assert mood.dictionary.to_pylist() == ["bad", "fair", "good"]
    assert mood.type.ordered
    assert not table.schema.field("sex").type.ordered
    assert "Sex of the person" in table.remarks["sex"][0]
    assert "1 code only" in table.remarks["age"][0]


def test_labelled_columns_keep_their_codes_if_asked(sav):
    assert veil.read_table(sav, labels=False).read(["sex"]).to_pydict() == {"sex": [1, 2, 1, None]}


def test_inspections_show_variable_labels(sav):
    assert "Sex of the person" in veil.inspect(sav).columns[0].note


@pytest.mark.parametrize("ending", ["dta", "xpt", "zsav"])
def test_other_packages_give_the_same_cells(ending, tmp_path):
    path = tmp_path / f"t.{ending}"
    if ending == "zsav":
        pyreadstat.write_sav(FRAME, path, compress=True)
    else:
        {"dta": pyreadstat.write_dta, "xpt": pyreadstat.write_xport}[ending](FRAME, path)
    assert as_table(path).read().to_pydict() == {
        "sex": [1, 2, 1, 9],
        "age": [31, 40, 99, None],
        "day": [DAY, None, DAY, DAY],
        "job": ["nurse", None, "cook", None],
        "mood": [1, 3, 2, 1],
    }


def test_stata_missing_codes_are_missing(tmp_path):
    path = tmp_path / "t.dta"
    frame = pd.DataFrame({"age": [31.0, "a", 40.0], "n": [1.0, 2.0, 3.0]})
    pyreadstat.write_dta(frame, path, missing_user_values={"age": ["a"]})
    assert as_table(path).read().to_pydict() == {"age": [31, None, 40], "n": [1, 2, 3]}


def test_survey_files_are_read_in_stretches(sav, monkeypatch):
    whole = as_table(sav).read()
    monkeypatch.setattr("veil.data.files.survey.CHUNK_ROWS", 2)
    assert as_table(sav).read().to_pydict() == whole.to_pydict()


def test_workbooks_have_the_types_that_all_cells_of_a_column_have(tmp_path):
    path = tmp_path / "t.xlsx"
    FRAME.assign(mixed=[1, "x", 2.5, "?"], yes=[True, False, None, True]).to_excel(path, index=False)
    table = as_table(path)
    assert [str(t) for t in table.schema.types] == [
        "int64",
        "int64",
        "date32[day]",
        "string",
        "int64",
        "string",
        "bool",
    ]
    assert table.read(["mixed", "job", "day"]).to_pydict() == {
        "mixed": ["1", "x", "2.5", "?"],
        "job": ["nurse", None, "cook", None],
        "day": [DAY, None, DAY, DAY],
    }
    numbers = veil.read_table(path, missing={"mixed": ["?", "x"]})
    assert numbers.read(["mixed"]).to_pydict() == {"mixed": [1.0, None, 2.5, None]}


def test_workbooks_of_libreoffice_are_read(tmp_path):
    def row(*cells):
        kinds = {str: 'office:value-type="string"', float: 'office:value-type="float" office:value="{}"'}
        tags = (f"<table:table-cell {kinds[type(c)].format(c)}><text:p>{c}</text:p></table:table-cell>" for c in cells)
        return f"<table:table-row>{''.join(tags)}</table:table-row>"

    space = "urn:oasis:names:tc:opendocument:xmlns:"
    content = (
        f'<office:document-content xmlns:office="{space}office:1.0" xmlns:table="{space}table:1.0" '
        f'xmlns:text="{space}text:1.0"><office:body><office:spreadsheet><table:table table:name="one">'
        f"{row('age', 'job')}{row(31.0, 'nurse')}{row(40.5, 'cook')}"
        "</table:table></office:spreadsheet></office:body></office:document-content>"
    )
    with zipfile.ZipFile(tmp_path / "t.ods", "w") as book:
        book.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        book.writestr("META-INF/manifest.xml", '<manifest:manifest xmlns:manifest="urn:x"/>')
        book.writestr("content.xml", content)
    assert as_table(tmp_path / "t.ods").read().to_pydict() == {"age": [31.0, 40.5], "job": ["nurse", "cook"]}


def test_the_sheet_is_named_if_there_are_several(tmp_path):
    with pd.ExcelWriter(tmp_path / "t.xlsx") as book:
        FRAME.to_excel(book, sheet_name="people", index=False)
        FRAME[["age"]].to_excel(book, sheet_name="notes", index=False)
    with pytest.raises(FileFormatError, match="2 sheets"):
        as_table(tmp_path / "t.xlsx")
    assert veil.read_table(tmp_path / "t.xlsx", sheet="notes").schema.names == ["age"]
    with pytest.raises(InputError, match="did you mean 'people'"):
        veil.read_table(tmp_path / "t.xlsx", sheet="peple")


def test_a_written_workbook_is_read_back_and_holds_no_formula(tmp_path):
    table = pa.table(
        {
            "a": [0.1, None, 1e300],
            "n": [1, 2, 2**53],
            "s": ["=1+1", "007", None],
            "d": [DAY, datetime.date(1850, 5, 6), None],
            "t": [datetime.datetime(2020, 1, 2, 3, 4, 5, 678901), None, datetime.datetime(2021, 1, 1)],
            "b": [True, None, False],
        }
    )
    path = tmp_path / "t.xlsx"
    writer = open_writer(path, table.schema, format_of(path))
    for batch in table.to_batches():
        writer.write(batch)
    writer.close()
    from veil.data.files import ExcelTable

    types = {f.name: f.type for f in table.schema}
    assert ExcelTable(path, types=types).read().equals(table)
    assert openpyxl.load_workbook(path).active["C2"].data_type == "s"


@pytest.mark.parametrize("values", [[float("inf")], [2**53 + 1], ["\x01"]])
def test_what_a_workbook_cannot_hold_is_refused(values, tmp_path):
    table = pa.table({"a": values})
    writer = open_writer(tmp_path / "t.xlsx", table.schema, "xlsx")
    with pytest.raises(InputError, match=r"column .a. holds .* choose csv or parquet"):
        writer.write(table.to_batches()[0])
    writer.close()


def test_a_release_of_a_workbook_is_a_workbook_and_comes_back(tmp_path):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a": rng.normal(size=50), "n": rng.integers(9, size=50), "job": ["x", "007"] * 25})
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    roles, key = {"job": "public"}, tmp_path / "k"
    release = veil.publish_file(tmp_path / "t.xlsx", veil.AdditiveNoise(), tmp_path / "r", new_key=key, roles=roles)
    assert release.manifest.data["file"].endswith(".xlsx")
    assert veil.restore_file(tmp_path / "r", key, tmp_path / "back.xlsx").n_rows == 50
    back = pd.read_excel(tmp_path / "back.xlsx", dtype={"job": str}, engine="calamine")
    pd.testing.assert_frame_equal(back, frame, check_dtype=False)


def test_a_release_of_a_survey_file_is_csv(sav, tmp_path):
    roles = {"day": "drop", "job": "drop", "sex": "public", "mood": "drop"}
    source = veil.read_table(sav)
    release = veil.publish_file(source, veil.AdditiveNoise(), tmp_path / "r", new_key=tmp_path / "k", roles=roles)
    assert release.manifest.data["file"].endswith(".csv")
    assert release.table.read(["sex"]).to_pydict() == {"sex": ["male", "female", "male", None]}
    with pytest.raises(FileFormatError, match="read and not written"):
        veil.restore_file(tmp_path / "r", tmp_path / "k", tmp_path / "back.sav")


@pytest.mark.parametrize("ending", ["sav", "zsav", "dta", "sas7bdat", "xpt", "xlsx", "xls", "ods"])
@pytest.mark.parametrize("data", [b"", b"31415926 is no file"])
def test_damaged_files_are_refused_in_one_line(ending, data, tmp_path):
    path = tmp_path / f"t.{ending}"
    path.write_bytes(data)
    with pytest.raises(FileFormatError, match=rf"t\.{ending}: not a readable") as caught:
        open_table(path)
    assert "3141" not in str(caught.value)


@pytest.mark.parametrize(("ending", "extra"), [("sav", "survey"), ("xlsx", "excel")])
def test_the_extra_is_named_if_it_is_not_installed(ending, extra, tmp_path, monkeypatch):
    real = builtins.__import__

    def absent(name, *args, **options):
        if name in ("pyreadstat", "python_calamine"):
            raise ImportError
        return real(name, *args, **options)

    (tmp_path / f"t.{ending}").write_bytes(b"x")
    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(MissingExtraError, match=rf"veil\[{extra}\]"):
        open_table(tmp_path / f"t.{ending}")
