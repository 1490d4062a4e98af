"""The same people without their own rows: what A28 guesses of them by what is known and by others (A28).

Of people of whom something is known, an attacker says something though they are not in the release. The guesses of
those who are like them cannot stand for that: their relatives' were made with the person's row, too. So every row is
guessed once more with all its own cells hidden, by the same prior.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from veil.attacks.posterior.candidates import is_covariate
from veil.attacks.posterior.observations import Number, Observations, Variable
from veil.attacks.posterior.relatives import of_others


def people_are_known(observations: Observations) -> bool:
    """Whether anything is known of people who are not in the release."""
    numbers = any(number.known is not None and not number.own_row for number in observations.numbers)
    variables = any(is_covariate(each) and not each.own_row for each in observations.variables)
    return numbers or variables or bool(observations.labels)


def told_by_others(observations: Observations) -> bool:
    """Whether people's guesses were made with the rows of others, who are like them by more than the prior."""
    told = {of_others(name) for name in observations.names}
    numbers = any(number.name in told for number in observations.numbers)
    return numbers or any(each.names[0] in told for each in observations.variables) or bool(observations.labels)


def without_own_rows(observations: Observations) -> Observations:
    """What is known of everybody, and nothing of what their own rows show."""
    numbers = tuple(_hidden_number(number) for number in observations.numbers)
    variables = tuple(_hidden_variable(variable) for variable in observations.variables)
    return replace(observations, numbers=numbers, variables=variables)


def _hidden_number(number: Number) -> Number:
    if number.known is not None and not number.own_row:
        return number
    nothing, sign = np.full(len(number.z), np.nan), number.sign
    if sign is not None:  # most people's, as that of a row is seen only in it
        sign = np.full(len(sign), number.usual_sign)
    return replace(number, z=nothing, sign=sign, law=None, hidden=True)


def _hidden_variable(variable: Variable) -> Variable:
    if is_covariate(variable) and not variable.own_row:
        return variable
    return replace(variable.with_reports(np.full(len(variable.reports), -1, dtype=np.int64)), hidden=True)
