"""Huang, Du and Chen 2005: deriving private information from randomized data."""
