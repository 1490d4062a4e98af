"""Secrets that do not show: an opaque wrapper, and parameters that wear it.

scikit-learn prints parameters and fitted attributes in reprs and HTML, alone and inside a
pipeline. A parameter declared as :class:`SecretParameter` is stored as a :class:`Secret`,
whose every rendering is ``<secret>``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

MASK = "<secret>"
_pickling_allowed: ContextVar[bool] = ContextVar("veil_allow_key_pickling", default=False)


@contextmanager
def allow_key_pickling() -> Iterator[None]:
    """Let fitted perturbations carry their key through pickle inside this block.

    Outside it, pickling a fitted perturbation drops the key and every secret parameter.
    """
    token = _pickling_allowed.set(True)
    try:
        yield
    finally:
        _pickling_allowed.reset(token)


def key_pickling_allowed() -> bool:
    """Whether the caller is inside :func:`allow_key_pickling`."""
    return _pickling_allowed.get()


class Secret:
    """A value that can be used but not seen.

    >>> Secret(42)
    <secret>
    >>> Secret(42).reveal()
    42
    """

    __slots__ = ("__value",)

    def __init__(self, value: Any) -> None:
        self.__value = value

    def reveal(self) -> Any:
        """The wrapped value."""
        return self.__value

    def __repr__(self) -> str:
        return MASK

    __str__ = __repr__

    def __getstate__(self) -> str:
        # Python hands out slots here to whoever asks; pickle goes through __reduce__ and does not.
        return MASK

    def __format__(self, spec: str) -> str:
        return format(MASK, spec)

    def _repr_html_(self) -> str:
        return "&lt;secret&gt;"

    def __copy__(self) -> Secret:
        return Secret(self.__value)

    def __deepcopy__(self, memo: dict[int, Any]) -> Secret:
        return Secret(self.__value)

    def __reduce__(self) -> tuple[type[Secret], tuple[Any]]:
        return Secret, (self.__value if key_pickling_allowed() else None,)


class SecretParameter:
    """Descriptor of a constructor parameter that is stored wrapped.

    ``None`` and infinities are stored as they are: they hold no secret, and scikit-learn's
    contract wants them back unchanged. Whether the value is of a right type is judged by ``fit``.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        try:
            return instance.__dict__[self._name]
        except KeyError:
            raise AttributeError(self._name) from None

    def __set__(self, instance: Any, value: Any) -> None:
        open_value = value is None or (isinstance(value, float) and math.isinf(value))
        if not open_value and not isinstance(value, Secret):
            value = Secret(value)
        instance.__dict__[self._name] = value


def revealed(value: Any) -> Any:
    """The value of a parameter, whether or not it is wrapped."""
    return value.reveal() if isinstance(value, Secret) else value
