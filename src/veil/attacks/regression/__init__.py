"""Attacks that learn a map from known records and need no description of the method (A25)."""
