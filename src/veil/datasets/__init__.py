"""Tables to try things on: drawn from a seed, in the size that is asked for, of nobody in particular."""

from veil.datasets.survey import survey

__all__ = ["survey"]
