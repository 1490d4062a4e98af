"""Releases and what their manifests say. Authors of methods and attacks find the models here."""

from veil.release import models
from veil.release.models import *  # noqa: F403 - one list of models, which is theirs

__all__ = models.__all__
