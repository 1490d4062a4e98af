"""Attacks that separate independent signals (A12, A13, A16)."""
