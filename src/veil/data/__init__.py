"""Tables in blocks, and passes over them."""
