"""Record linkage with an external table (A22)."""
