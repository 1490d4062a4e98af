"""Numerics that both sides share."""
