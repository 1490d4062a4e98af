"""The key has one address: no rendering, pickle, log or error shows it, its seed or its matrices."""

from __future__ import annotations

import copy
import io
import logging
import pickle
import pprint
import threading
import traceback

import joblib
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils import estimator_html_repr

import veil
from veil.cli import main
from veil.errors import KeyRefusedError, VeilError
from veil.secret import Secret

SEED = 918273645
METHODS = {
    "noise": lambda: veil.AdditiveNoise(random_state=SEED),
    "turn": lambda: veil.OrthogonalTransform(random_state=SEED),
    "turn and shift": lambda: veil.OrthogonalTransform(translation=2.0, random_state=SEED),
    "fresh noise": veil.AdditiveNoise,
    "fresh turn": veil.OrthogonalTransform,
}


@pytest.fixture(params=METHODS)
def fitted(request):
    """A fitted perturbation that has made its matrices, and the table it was fitted on."""
    x = np.random.default_rng(3).normal(size=(40, 4))
    method = METHODS[request.param]().fit(x)
    method.transform(x)
    return method


@pytest.fixture
def secrets(fitted, secrets_of):
    return secrets_of(fitted.key_, SEED)


def all_texts(thing) -> str:
    """Everything that printing, formatting or displaying an object shows."""
    texts = [repr(thing), str(thing), f"{thing}", f"{thing!r}", pprint.pformat(thing), f"{[thing]} { ({'k': thing}) }"]
    texts += ["%s %r" % (thing, thing), ascii(thing)]  # noqa: UP031
    if hasattr(thing, "_repr_html_"):
        texts.append(thing._repr_html_())
    if hasattr(thing, "get_params"):
        texts += [estimator_html_repr(thing), repr(thing.get_params())]
        with config_context(print_changed_only=False):
            texts += [repr(thing), estimator_html_repr(thing)]
    return "\n".join(texts)


def test_a_key_prints_as_a_mask(secrets, fitted):
    key = fitted.key_
    assert str(key) == repr(key) == f"{key}" == "<secret>"
    assert f"{key:>10}" == "  <secret>"
    assert secrets.found_in(all_texts(key)) == []
    assert secrets.found_in(repr(key.ledger)) == []
    wrapped = Secret(SEED)
    assert str(wrapped) == repr(wrapped) == f"{wrapped}" == "<secret>"
    assert secrets.found_in(all_texts(wrapped)) == []


def test_the_attributes_of_a_key_do_not_show_it(secrets, fitted):
    """Debuggers, notebooks and error reporters print ``vars()``; an opaque key has nothing to print there."""
    holder = getattr(fitted.key_, "__dict__", {})
    assert secrets.found_in(repr(holder)) == []
    assert secrets.found_in(repr(fitted.key_.__getstate__())) == []


@pytest.mark.parametrize("name", METHODS)
def test_a_release_and_its_manifest_show_neither_key_nor_cell(name, secrets_of):
    x = np.random.default_rng(3).normal(size=(40, 3))
    table = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "place": ["SECRETCELL"] * 40})
    release, key = veil.publish(table, METHODS[name](), roles={"place": "public"})
    shown = release._repr_html_() + release.manifest._repr_html_() + repr(release)
    assert secrets_of(key, SEED).found_in(shown) == []
    assert "SECRETCELL" not in shown
    assert not any(f"{value:.6g}" in shown for value in (*x.ravel(), *release.to_numpy().ravel()))


def test_a_fitted_perturbation_shows_nothing(fitted, secrets):
    assert secrets.found_in(all_texts(fitted)) == []
    assert secrets.found_in(repr(vars(fitted))) == []
    assert secrets.found_in(repr(fitted.__getstate__())) == []
    assert secrets.found_in(repr(fitted.settings())) == []
    assert secrets.found_in(repr(fitted.disclose())) == []
    assert secrets.found_in(fitted.describe()) == []


@pytest.mark.parametrize("around", ["pipeline", "union", "columns", "function", "bound method", "keyword"])
def test_nothing_shows_inside_other_estimators(around, fitted, secrets):
    x = np.random.default_rng(3).normal(size=(40, 4))
    whole = {
        "pipeline": lambda: make_pipeline(StandardScaler(), fitted),
        "union": lambda: make_union(fitted, StandardScaler()),
        "columns": lambda: ColumnTransformer([("veil", fitted, [0, 1, 2, 3])], remainder="passthrough"),
        "function": lambda: make_pipeline(FunctionTransformer(lambda table: fitted.transform(table))),
        "bound method": lambda: FunctionTransformer(fitted.transform),
        "keyword": lambda: FunctionTransformer(lambda table, key: table, kw_args={"key": fitted.key_}),
    }[around]()
    assert secrets.found_in(all_texts(whole)) == []
    whole.fit(x)
    shown = all_texts(whole)
    if around in ("pipeline", "columns") and fitted.random_state is not None:
        assert "random_state=<secret>" in shown, "the search has nothing to find"
    inner = [step for step in getattr(whole, "named_steps", {}).values() if hasattr(step, "key_")]
    inner += [whole.named_transformers_["veil"]] if around == "columns" else []
    assert secrets.found_in(shown + repr([vars(step) for step in inner])) == []


def test_set_params_wraps_the_seed(fitted, secrets):
    fitted.set_params(random_state=SEED)
    assert secrets.found_in(all_texts(fitted)) == []


# -- pickles and copies -------------------------------------------------------------------------

DUMPS = {
    **{f"pickle {p}": lambda thing, p=p: pickle.dumps(thing, protocol=p) for p in range(pickle.HIGHEST_PROTOCOL + 1)},
    "joblib": lambda thing: (lambda sink: (joblib.dump(thing, sink), sink.getvalue())[1])(io.BytesIO()),
}


@pytest.mark.parametrize("dump", DUMPS)
@pytest.mark.parametrize("inside", ["alone", "pipeline"])
def test_pickles_hold_neither_key_nor_seed(dump, inside, fitted, secrets):
    x = np.random.default_rng(4).normal(size=(20, 4))
    whole = fitted if inside == "alone" else make_pipeline(fitted)
    data = DUMPS[dump](whole)
    assert secrets.found_in(data) == []
    back = joblib.load(io.BytesIO(data)) if dump == "joblib" else pickle.loads(data)
    with pytest.raises(KeyRefusedError, match="without its key"):
        back.transform(x)
    with veil.allow_key_pickling():
        data = DUMPS[dump](whole)
        back = joblib.load(io.BytesIO(data)) if dump == "joblib" else pickle.loads(data)
    assert secrets.found_in(data), "the search finds nothing even where the key is"
    np.testing.assert_array_equal(back.transform(x), whole.transform(x))


@pytest.mark.parametrize("dump", DUMPS)
def test_a_key_or_an_unfitted_seed_is_not_pickled(dump, fitted, secrets):
    with pytest.raises(KeyRefusedError, match="never pickled"):
        DUMPS[dump](fitted.key_)
    assert secrets.found_in(DUMPS[dump](clone(fitted))) == []
    assert secrets.found_in(DUMPS[dump](Secret(SEED))) == []


def test_permission_to_pickle_ends_with_its_block(fitted):
    with pytest.raises(RuntimeError), veil.allow_key_pickling():
        raise RuntimeError
    with pytest.raises(KeyRefusedError):
        pickle.dumps(fitted.key_)
    failures = []

    def other_thread():
        try:
            pickle.dumps(fitted.key_)
        except KeyRefusedError as error:
            failures.append(error)

    with veil.allow_key_pickling():
        thread = threading.Thread(target=other_thread)
        thread.start()
        thread.join()
    assert len(failures) == 1, "the permission of one thread was another's too"


@pytest.mark.parametrize("copier", [copy.copy, copy.deepcopy], ids=["copy", "deepcopy"])
def test_copies_keep_the_key(copier, fitted):
    x = np.random.default_rng(4).normal(size=(20, 4))
    np.testing.assert_array_equal(copier(fitted).transform(x), fitted.transform(x))
    twin = copier(fitted.key_)
    assert twin.derive("test") == fitted.key_.derive("test")


def test_the_ledger_of_a_deep_copy_is_its_own(private, roles):
    _, key = veil.publish(private, veil.AdditiveNoise(), roles=roles)
    twin = copy.deepcopy(key)
    veil.publish(private, veil.AdditiveNoise(2.0), roles=roles, key=twin, again=True)
    assert (len(key.ledger), len(twin.ledger)) == (1, 2)


# -- logs and errors ----------------------------------------------------------------------------


def test_logs_and_output_show_nothing(private, roles, secrets_of, caplog, capfd, tmp_path, marks):
    caplog.set_level(logging.DEBUG)
    logging.getLogger("numba").setLevel(logging.INFO)
    for name in ("noise", "turn and shift"):
        release, key = veil.publish(private, METHODS[name](), roles=roles)
        release.save(tmp_path / name)
        key.save(tmp_path / f"{name}.key", passphrase="open sesame")
        veil.restore(veil.Release.load(tmp_path / name), key, partial=True)
        print(release, key, release.manifest)
        captured = capfd.readouterr()
        said = captured.out + captured.err + caplog.text
        assert "open sesame" not in said
        assert secrets_of(key, SEED).found_in(said) == []
        assert [what for what, mark in marks.items() if mark in said.encode()] == []


@pytest.mark.parametrize("method", ["additive-noise", "orthogonal-transform"])
def test_the_command_line_shows_no_secret(method, private, secrets_of, tmp_path, marks):
    private[["income", "age", "weight"]].to_csv(tmp_path / "table.csv", index=False)
    shown = ""
    release, key = tmp_path / "release", tmp_path / "key"
    for arguments in (
        ("perturb", tmp_path / "table.csv", "--method", method, "-o", release, "--key", key),
        ("restore", release, "--key", key, "-o", tmp_path / "back.csv"),
        ("restore", release, "--key", key, "-o", tmp_path / "back.csv"),
        ("inspect", tmp_path / "table.csv"),
        ("inspect", tmp_path / "table.csv", "--json"),
    ):
        seeded = ("--set", f"random_state={SEED}", "--allow-seed") if arguments[0] == "perturb" else ()
        result = CliRunner().invoke(
            main, [*map(str, arguments), *seeded], env={"VEIL_PASSPHRASE": "open sesame", "COLUMNS": "200"}
        )
        assert result.exit_code == (2 if tmp_path / "back.csv" in arguments and "restored" in shown else 0)
        shown += result.stdout + result.stderr
    assert "open sesame" not in shown
    loaded = veil.Key.load(key, passphrase="open sesame")
    assert secrets_of(loaded, SEED).found_in(shown) == []
    assert [what for what, mark in marks.items() if mark in shown.encode()] == []


def provoked(private, key, seed=SEED):
    """Calls that must fail, each with a secret or a marked cell at hand."""
    noise, turn = veil.AdditiveNoise(random_state=seed), veil.OrthogonalTransform(random_state=seed)
    numbers = private[["income", "age", "weight"]]
    marked = pd.Series([31415926.5, "SECRETCELL"] * 100, dtype=object)
    wide = pd.Series([31415926 * 10**10 + i // 2 for i in range(200)], dtype="uint64")
    return {
        "no role": lambda: veil.publish(private, noise),
        "missing": lambda: veil.publish(numbers.mask(numbers > 3e7), turn),
        "infinite": lambda: veil.publish(numbers.replace(31415926.5, np.inf), noise),
        "mixed": lambda: veil.publish(numbers.assign(x=marked), noise),
        "wide": lambda: veil.publish(numbers.assign(x=wide), noise),
        "wider": lambda: veil.publish(numbers.assign(x=wide + 2**63), noise),
        "constant": lambda: veil.publish(numbers.assign(x=31415926.5), noise),
        "one row": lambda: veil.publish(numbers.iloc[3:4], noise),
        "fit text": lambda: noise.fit(numbers.assign(x=marked)),
        "fit text array": lambda: noise.fit(np.array([["SECRETCELL", "1"], ["2", "31415926.5"]])),
        "fit infinite": lambda: noise.fit(numbers.replace(31415926.5, np.inf)),
        "fit missing": lambda: turn.fit(numbers.mask(numbers > 3e7)),
        "transform text": lambda: clone(noise).fit(numbers).transform(numbers.assign(income=marked)),
        "transform narrow": lambda: clone(noise).fit(numbers).transform(numbers[["age"]]),
        "used key": lambda: veil.publish(numbers, noise, key=key),
        "bad seed": lambda: veil.AdditiveNoise(random_state=f"{SEED}x").fit(numbers),
        "pickled key": lambda: pickle.dumps(key),
        "known text": lambda: veil.KnownSample(pd.DataFrame({"x": ["SECRETCELL"]})),
        "known list": lambda: veil.KnownSample([["SECRETCELL"]]),
        "known rows": lambda: veil.KnownPairs([[31415926.5]], ["SECRETCELL"]),
    }


@pytest.mark.parametrize("case", provoked(pd.DataFrame(columns=["income", "age", "weight"]), None))
def test_errors_quote_neither_secrets_nor_cells(case, private, roles, secrets_of, marks):
    _, key = veil.publish(private, veil.AdditiveNoise(2.0, random_state=SEED), roles=roles)
    with pytest.raises((VeilError, ValueError, TypeError, OverflowError, ArithmeticError)) as caught:
        provoked(private, key)[case]()
    # What the interpreter prints: the error and every cause it still shows, without the lines of this file.
    shown = []
    error = caught.value
    while error is not None:
        shown += traceback.format_exception_only(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    text = "".join(shown)
    assert secrets_of(key, SEED).found_in(text) == []
    assert [what for what, mark in marks.items() if mark in text.encode()] == []
