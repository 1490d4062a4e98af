"""What an attacker may be granted beside the release and its manifest.

Knowledge is all that an attack sees apart from the release. The audit grants it from the private table under a seed; a
red team grants what it really has.

The noise law in the manifest counts as known without a grant; columns are in the order of the manifest's private
columns, values in the private table's units.
"""

from veil.attacks.knowledge.assumptions import ASSUMPTIONS, IndependentSignals, TimeOrder
from veil.attacks.knowledge.base import Grant, Knowledge, PrivateTable, Rows, Source, Unit
from veil.attacks.knowledge.columns import KnownAttributes, KnownRanges
from veil.attacks.knowledge.combinations import ColumnsAndSample, PairsAndSample
from veil.attacks.knowledge.external import ExternalTable
from veil.attacks.knowledge.imperfect import BiasedSample, OlderSample, RoundedPairs, WrongPairs
from veil.attacks.knowledge.parameters import KnownMatrix, KnownNoise
from veil.attacks.knowledge.previous_releases import PreviousReleases
from veil.attacks.knowledge.published import PublishedResults
from veil.attacks.knowledge.reading import LARGEST, as_records, select_columns
from veil.attacks.knowledge.records import KnownPairs, KnownRecords, KnownSample
from veil.attacks.knowledge.registry import grantable, kinds_of_knowledge

__all__ = [
    "ASSUMPTIONS",
    "LARGEST",
    "BiasedSample",
    "ColumnsAndSample",
    "ExternalTable",
    "Grant",
    "IndependentSignals",
    "Knowledge",
    "KnownAttributes",
    "KnownMatrix",
    "KnownNoise",
    "KnownPairs",
    "KnownRanges",
    "KnownRecords",
    "KnownSample",
    "OlderSample",
    "PairsAndSample",
    "PreviousReleases",
    "PrivateTable",
    "PublishedResults",
    "RoundedPairs",
    "Rows",
    "Source",
    "TimeOrder",
    "Unit",
    "WrongPairs",
    "as_records",
    "grantable",
    "kinds_of_knowledge",
    "select_columns",
]
