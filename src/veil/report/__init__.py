"""The report: a frozen model, and its renderers. Computation and rendering are strangers."""
