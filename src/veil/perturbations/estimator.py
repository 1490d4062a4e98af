"""scikit-learn's estimator protocol by its methods, not by its classes.

Pipelines, ``clone`` and searches ask an estimator for methods, not for its ancestors. Importing scikit-learn takes
longer than perturbing a small table; here it is loaded by the methods that only scikit-learn calls.
"""

from __future__ import annotations

import copy
import html
import inspect
from typing import Any, ClassVar, Self

from veil.perturbations.layout import Layout, Takes


class Estimator:
    """Parameters from the constructor's signature, their rendering, and the container of the output."""

    # scikit-learn sets containers only for transformers that carry this.
    _sklearn_auto_wrap_output_keys: ClassVar[frozenset[str]] = frozenset({"transform"})

    @property
    def layout(self) -> Layout:
        """The method's shape."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from a table."""
        raise NotImplementedError

    def transform(self, X: Any) -> Any:
        """Perturb a table."""
        raise NotImplementedError

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit to a table, then perturb it."""
        return self.fit(X, y, **fit_params).transform(X)

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        """The constructor's parameters in alphabetical order, as scikit-learn lists them, with their defaults."""
        if cls.__init__ is object.__init__:
            return {}
        return {name: p.default for name, p in sorted(inspect.signature(cls).parameters.items())}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's parameters; ``deep`` has no meaning here, for none of them is an estimator."""
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self, **params: Any) -> Self:
        """Change parameters by name; what was fitted stays until the next fit."""
        names = list(self._defaults())
        for name, value in params.items():
            if name not in names:
                raise ValueError(f"Invalid parameter {name!r} for estimator {self}. Valid parameters are: {names}.")
            setattr(self, name, value)
        return self

    def unfitted(self) -> Self:
        """A twin with the same settings that has learned nothing."""
        return type(self)(**{name: copy.deepcopy(value) for name, value in self.get_params().items()})

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose the container of the output: "default", "pandas", "polars"; None leaves it as it is."""
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}
        return self

    def _in_container(self, values: Any, X: Any) -> Any:
        """The output in the container that :meth:`set_output` or scikit-learn's configuration names."""
        from sklearn.utils._set_output import _wrap_data_with_container

        return _wrap_data_with_container("transform", values, X, self)

    def __repr__(self) -> str:
        defaults = self._defaults()
        changed = {k: v for k, v in self.get_params().items() if repr(v) != repr(defaults[k])}
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in changed.items())})"

    def _repr_html_(self) -> str:
        from sklearn import get_config
        from sklearn.utils import estimator_html_repr

        if get_config()["display"] != "diagram":
            return f"<pre>{html.escape(repr(self))}</pre>"
        return str(estimator_html_repr(self))

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(),
            input_tags=InputTags(
                allow_nan=self.layout.passes_missing, positive_only=self.layout.takes is Takes.POSITIVE
            ),
        )
