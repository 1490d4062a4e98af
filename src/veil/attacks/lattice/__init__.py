"""Attacks on tables of whole or decimal numbers, whose released rows generate a lattice."""
