"""Attacks on randomized responses (A20)."""
