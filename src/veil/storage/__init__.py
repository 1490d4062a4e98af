"""Files that land whole or not at all."""
