"""Inference of hidden columns from known ones, learned on the release itself."""
