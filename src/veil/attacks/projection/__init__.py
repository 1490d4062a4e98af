"""Attacks on random projections and on linear maps whose matrix is disclosed (A14, A15, A17, A21)."""
