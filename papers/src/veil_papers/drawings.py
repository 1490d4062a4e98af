"""Four grey drawings, made here, for pictures that anyone may show: hills, rings, bricks and a maze of strokes."""

from __future__ import annotations

import numpy as np

from veil_papers.arrays import Matrix


def four_drawings(side: int = 256) -> Matrix:
    """Four images as rows of pixels, between 0 and 1; their values are far from normal and hardly correlated."""
    y, x = np.mgrid[0:side, 0:side] / side
    drawn = (_hills(x, y), _rings(x, y), _bricks(x, y), _strokes(x, y))
    return np.array([image.ravel() for image in drawn])


def _hills(x: Matrix, y: Matrix) -> Matrix:
    """A sun over three ridges, each darker than the one behind."""
    image = 0.95 - 0.35 * y
    image[np.hypot(x - 0.74, y - 0.22) < 0.12] = 1.0
    ridges = (
        (0.45 + 0.08 * np.sin(5 * x + 1) + 0.03 * np.sin(17 * x), 0.55),
        (0.62 + 0.10 * np.sin(4 * x + 4) + 0.02 * np.sin(23 * x), 0.3),
        (0.82 + 0.07 * np.sin(6 * x + 2), 0.05),
    )
    for top, grey in ridges:
        image = np.where(y > top, grey, image)
    return np.asarray(image)


def _rings(x: Matrix, y: Matrix) -> Matrix:
    """Rings around a point, fading outwards."""
    distance = np.hypot(x - 0.35, y - 0.6)
    return np.asarray((np.sin(distance * 70) > 0) * np.exp(-1.2 * distance))


def _bricks(x: Matrix, y: Matrix) -> Matrix:
    """A wall: rows of bricks, every other one shifted, no two of one grey."""
    row = np.floor(y * 10)
    place = x * 6 + 0.5 * (row % 2)
    joint = (y * 10 % 1 < 0.12) | (place % 1 < 0.08)
    grey = 0.35 + 0.6 * ((np.floor(place) * 7 + row * 11) % 13 / 13)
    return np.asarray(np.where(joint, 0.1, grey))


def _strokes(x: Matrix, y: Matrix) -> Matrix:
    """Diagonals, each cell its own way."""
    column, row = np.floor(x * 16), np.floor(y * 16)
    u, v = x * 16 % 1, y * 16 % 1
    mirrored = (column * 5 + row * 3 + column * row) % 7 < 3
    off = np.abs(np.where(mirrored, u - v, u + v - 1))
    return np.asarray((off < 0.22) * 0.9 + 0.05)
