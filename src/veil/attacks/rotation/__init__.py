"""Attacks on rotations and other maps that keep lengths (A9–A11)."""
