"""Keys and keyed randomness."""
