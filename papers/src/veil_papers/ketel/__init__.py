"""Ketel and Homaifar 2005: quantifying the privacy of rotation-based transformation."""
