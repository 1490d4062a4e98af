"""Pandya and others 2012: effectiveness of multiplicative data perturbation."""
