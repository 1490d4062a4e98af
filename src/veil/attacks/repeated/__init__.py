"""Attacks on several releases of the same people (A24)."""
