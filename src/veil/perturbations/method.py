"""What the author of a perturbation writes, and what it says about itself.

An author sets ``catalogue``, ``threat`` and ``layout``, and writes ``learn``, ``perturb`` and, where the method can be
undone, ``restore``; ``headline`` and ``guarantee`` where they differ. What drives it is elsewhere:
:mod:`veil.perturbations.driving` from tables and files, :mod:`veil.perturbations.base` as scikit-learn wants it.
"""

from __future__ import annotations

import copy
import inspect
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from veil.data.blocks import Matrix
from veil.errors import InputError, KeyRefusedError
from veil.keys.key import Key
from veil.perturbations.draws import Draws, Secrets
from veil.perturbations.estimator import Estimator
from veil.perturbations.facts import Facts
from veil.perturbations.layout import Layout
from veil.release.models import Model
from veil.release.registry import kebab
from veil.secret import SecretParameter, key_pickling_allowed


class Method(Estimator, ABC):
    """A method of perturbation without what runs it; see :class:`veil.Perturbation` for its attributes."""

    catalogue: ClassVar[str]
    summary: ClassVar[str] = ""
    threat: ClassVar[str] = ""
    headline: ClassVar[tuple[str, ...]] = ()

    random_state = SecretParameter()
    model_: Model
    key_: Key
    n_features_in_: int
    _fitted_on: str

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "threat" in cls.__dict__ and cls.__doc__:
            cls.__doc__ = _with_threat(cls.__doc__, cls.threat)

    # -- what an author writes ----------------------------------------------------------------

    @property
    def layout(self) -> Layout:
        """The method's shape; a class attribute where it does not depend on settings."""
        return Layout()

    @abstractmethod
    def learn(self, facts: Facts) -> Model:
        """Check the settings and return what is learned. Data-derived values are rounded to two digits before use."""

    @abstractmethod
    def perturb(self, block: Matrix, draws: Draws) -> Matrix:
        """Perturb one canonical block (d × n to k × n), which is not to be changed."""

    def restore(self, block: Matrix, draws: Draws) -> Matrix:
        """Undo :meth:`perturb` with the key."""
        raise NotImplementedError

    def guarantee(self) -> str:
        """The formal guarantee of these settings, or "none"."""
        return "none"

    # -- what some methods change ---------------------------------------------------------------

    def invertible(self, *, consistent: bool) -> bool:
        """Whether the key brings the private values back; ``consistent``: the cells themselves address the noise."""
        return type(self).restore is not Method.restore and not (consistent and self.layout.addressed)

    def secret_matrix(self) -> Matrix | None:
        """The secret matrix that acts on scaled records, for audits that assume it has leaked; None without one."""
        return None

    def catalogue_id(self) -> str:
        """The catalogue's id for these settings."""
        return self.catalogue

    def released_names(self, columns: Sequence[str]) -> list[str]:
        """Names of the columns that are made of these."""
        if self.layout.passes_missing or self.layout.reduces:
            return list(columns)
        return [f"{type(self).__name__.lower()}{i}" for i in range(self.model_.n_released(len(columns)))]

    # -- what it says about itself ----------------------------------------------------------------

    @classmethod
    def method_name(cls) -> str:
        """The name on the command line and in manifests.

        >>> from veil import AdditiveNoise
        >>> AdditiveNoise.method_name()
        'additive-noise'
        """
        return kebab(cls.__name__)

    def settings(self) -> dict[str, Any]:
        """The owner's public settings as JSON values: constructor parameters that are not secret."""
        public = {
            name: value
            for name, value in self.get_params(deep=False).items()
            if not isinstance(getattr(type(self), name, None), SecretParameter)
        }
        return {name: _json_value(value) for name, value in public.items()}

    def describe(self) -> str:
        """The method and its settings that differ from the defaults, in one line."""
        defaults = inspect.signature(type(self)).parameters
        changed = {k: v for k, v in self.settings().items() if k in self.headline or defaults[k].default != v}
        named = [f"{k} {_shown(v)}" for k, v in changed.items()]
        name = self.method_name().replace("-", " ")
        return f"{name} ({', '.join(named)})" if named else name

    def column_names(self) -> list[str]:
        """Names of the private columns."""
        if hasattr(self, "feature_names_in_"):
            return [str(name) for name in self.feature_names_in_]
        return [f"x{j}" for j in range(self.n_features_in_)]

    def disclose(self) -> dict[str, Any]:
        """The public parameters: the model as JSON values, enough to undo the method with the key."""
        return self.model_.to_json()

    # -- the secret -------------------------------------------------------------------------------

    def secrets(self) -> Secrets:
        """What the fitted method may ask of its key."""
        return Secrets(self._key(), self.method_name(), self.column_names(), self._fitted_on)

    def _key(self) -> Key:
        try:
            return self.key_
        except AttributeError:
            raise KeyRefusedError(
                f"this {type(self).__name__} was pickled without its key; fit it anew, or pickle it "
                "inside veil.allow_key_pickling()"
            ) from None

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(self.__dict__)
        if not key_pickling_allowed():
            state.pop("key_", None)
            state.pop("_fitted_on", None)  # with a seed, anybody could check a guess of the table by it
        return state

    def __copy__(self) -> Self:
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        twin = type(self).__new__(type(self))
        twin.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return twin


class Learned:
    """A fitted attribute that is a value of the model: ``scale_ = Learned("scale")``."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else getattr(instance.model_, self._name)


def one_of(values: Any, name: str) -> Any:
    """A setting for one column: of a mapping its entry, else what holds for all."""
    return values.get(name) if isinstance(values, Mapping) else values


def _with_threat(text: str, threat: str) -> str:
    """A docstring with the threat among its notes, before the examples."""
    note = textwrap.indent(f"Notes\n-----\n*Threat.* {textwrap.fill(threat, 112)}\n\n", "    ")
    head, mark, examples = text.partition("    Examples\n")
    return f"{head}{note}{mark}{examples}" if mark else f"{text.rstrip()}\n\n{note}    "


def _json_value(value: Any) -> Any:
    """A setting as a JSON value."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, str | int | float | bool | None):
        return value
    if isinstance(value, Mapping):
        return {str(key): _json_value(item) for key, item in value.items()}
    return np.asarray(value).tolist()


def _shown(value: Any) -> str:
    """A setting in one line: of many numbers their range, of a matrix its size."""
    if isinstance(value, list) and len(value) > 2 and all(isinstance(each, int | float) for each in value):
        return f"{min(value):g} to {max(value):g}"
    if isinstance(value, list) and value and all(isinstance(row, list) for row in value) and len(value[0]) > 2:
        return f"{len(value)} × {len(value[0])}"
    return str(value)


def refuse_constant(facts: Facts, why: str, fix: str = "give the role public or drop") -> None:
    """Refuse columns whose values are all equal, but for those that an earlier release has fixed."""
    constant = [n for n, s in zip(facts.columns, facts.moments.std, strict=True) if not s > 0 and n not in facts.fixed]
    if constant:
        shown = ", ".join(repr(name) for name in constant[:8])
        raise InputError(f"column {shown}: all {facts.moments.n_rows} values are equal, {why}; {fix}")
