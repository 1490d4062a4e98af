"""The joint posterior of each record given all that is released and known about it (A28)."""
