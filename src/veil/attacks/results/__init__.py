"""Results of data mining as they are published: rules, decision trees and cluster centres.

:mod:`~veil.attacks.results.forms` holds the three forms, :mod:`~veil.attacks.results.reading` makes them of the
values of a JSON file, and :mod:`~veil.attacks.results.fitted` of fitted models. What they say about somebody is
worked out in :mod:`veil.attacks.inference`.
"""

from veil.attacks.results.forms import Centres, Condition, Feature, Leaf, Node, Rule, Split, Tree

__all__ = ["Centres", "Condition", "Feature", "Leaf", "Node", "Rule", "Split", "Tree"]
