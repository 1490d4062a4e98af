"""Where a paper errs: what it says, what is right, and why."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Erratum:
    """One slip of a paper.

    Attributes
    ----------
    id
        The paper's letter and a running one: ``L-a``.
    where
        Section, equation, table or figure.
    stated
        What the paper says.
    right
        What is right; the product computes this.
    argument
        Why, in a few lines.
    shown
        Experiments that show it; the first figure of the first one is its picture.
    """

    id: str
    where: str
    stated: str
    right: str
    argument: str
    shown: tuple[str, ...]

    @property
    def heading(self) -> str:
        """Its id and place."""
        return f"{self.id}: {self.where}"

    @property
    def figure(self) -> str:
        """The name of its picture's file, without ending."""
        return self.shown[0]
