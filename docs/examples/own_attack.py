"""An attack of one's own, with a kind of knowledge of its own; a package offers it by an entry point::

[project.entry-points."veil.attacks"]
published-means = "own_attack"
"""

import numpy as np

import veil
from veil.attacks import Grant, as_records, full_guess, needed, select_columns
from veil.release import AdditiveModel


class PublishedMeans(veil.Knowledge):
    """The mean of each private column, as somebody published it."""

    kind = "means"  # the name in veil.Grants(...), in a plan and in veil audit --means
    article = "the"  # a report says "with the published means"
    usual = (0,)  # granted unless told otherwise; 0, because means are known or not, without an amount
    audit_help = "Grant the mean of each column."
    file_help = "One row: the mean of each column."

    def __init__(self, means):
        self.means = as_records(means, "means")[0]

    def narrowed(self, at, d):
        return PublishedMeans(self.means[at])

    @classmethod
    def from_file(cls, path, release):
        return cls(select_columns(path, release.only_part.names, path.name))

    @classmethod
    def label(cls, amount):
        return "published means"

    @classmethod
    def words(cls, amount):
        return "The attacker also knows the mean of each private column from a public report."

    @classmethod
    def grant(cls, private, amount, rng):
        return Grant((cls(np.nanmean(private.values, axis=0)),))


class PublishedMeansAttack(veil.GuessingAttack):
    """X1. Draw noisy values towards the published means, as far as the noise in the manifest says."""

    catalogue = "X1"
    words = "draws every value towards the published mean of its column"
    requires = (PublishedMeans,)

    @classmethod
    def applies_to(cls, model):
        return isinstance(model, AdditiveModel)

    def _run(self, release, knowledge):
        y, means = release.to_numpy(), needed(knowledge, PublishedMeans).means
        shrink = np.clip(1 - np.diag(release.only_part.model.covariance) / np.nanvar(y, axis=0), 0, 1)
        return full_guess(release, means + shrink * (y - np.nanmean(y, axis=0)))
