"""The order of rows against noise of every kind (A18)."""
