"""Releases that were made elsewhere, or are there already."""
