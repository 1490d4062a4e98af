"""PKDD 2006 tutorial: randomization-based privacy preserving data mining."""
