"""The owner's door."""
