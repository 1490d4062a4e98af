"""Releases and what their manifests say."""
