"""Attacks on noise: additive, multiplicative, with and without knowledge (A1–A8, A19)."""
