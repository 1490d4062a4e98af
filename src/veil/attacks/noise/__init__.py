"""Attacks on noise: additive, multiplicative, serial, with and without knowledge (A1–A8, A18, A19)."""
