"""Values as JSON has them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np


def json_value(value: Any) -> Any:
    """A value without numpy and tuples, its keys texts; None for what is not a finite number.

    >>> import numpy as np
    >>> json_value({1: (np.float64(0.5), float("nan")), "b": np.arange(2)})
    {'1': [0.5, None], 'b': [0, 1]}
    """
    if isinstance(value, Mapping):
        return {str(key): json_value(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return json_value(value.tolist())
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
