"""Attacks with columns that are known of everybody, against secret matrices."""
