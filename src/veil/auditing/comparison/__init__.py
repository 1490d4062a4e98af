"""Measures of two files in constant memory: how near a guess, a restored table or a release is to the private table.

*Model.* Both tables hold the same records in the same order; columns are compared by name. *Knowledge*: the owner's,
who has the private table. The definitions are those of the pure functions of :mod:`veil.measures` (M1, M5, M12), taken
from sums over blocks:

* moments and errors are exact, with the intervals of the pure functions;
* breaches are counted in standard units; IQR/1.349, the unit of a heavy-tailed column, has a stated error;
* distributions are compared by counts of all values between edges; the truth lies between the two numbers given;
* distances are taken between rows of a uniform sample, whose size is stated.

Missing values: errors and moments of a column are of the records where it is present in both tables, the covariance of
records that are complete in both. A private value that the other table lacks is not breached. A constant column is not
scored beside others, as in an audit: everybody who knows that it is constant knows its values.
"""

from __future__ import annotations

from veil.auditing.comparison.result import ColumnMeasures, FileMeasures, TableMeasures, TextMeasures
from veil.auditing.comparison.run import measure

__all__ = ["ColumnMeasures", "FileMeasures", "TableMeasures", "TextMeasures", "measure"]
