"""Trials: attacks on the releases of a candidate, their schedule, and the scores they reach."""
