"""R1 and R2: the distribution of x from a histogram of ``y = x + r``.

*Model.* x is spread evenly within each of L intervals and lies in interval l with probability
p_l; K_il is the chance of noisy bin i given interval l (:meth:`NoiseLaw.kernel`). With c_i of the n
records in bin i, one step is ``p_l ← (p_l / n) Σ_i c_i K_il / Σ_t p_t K_it``. It works on counts, so it
costs the same whatever n (:mod:`veil.numerics.deconvolution`, the iteration that attackers use as well).

With K_il = Pr_il / m_l, m_l the width of an interval, this is Ketel's EM update as probabilities; his
own is exact when θ_l is a density, and without the widths it climbs another function. It is the
binned iteration of Agrawal and Srikant (2000; Agrawal and Aggarwal 2001 for the EM) as well. Both
start at a flat density; the two methods differ in when they stop.

``"bayes"``
    stops once the chi-square distance of two successive estimates,
    ``n Σ (p′ − p)² / p``, is below ``stop`` (default 0.001) times the 95 % point of chi-square with L − 1
    degrees of freedom. Going on over-fits: the estimate grows spikes. Agrawal and Srikant's 0.01
    stops too early under normal noise.
``"em"``
    climbs the likelihood until a step gains less than ``stop`` (default 0.1) nats.

The likelihood never falls in either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import chi2

from veil.arguments import choice, number, whole
from veil.data.blas import one_blas_thread
from veil.data.blocks import Matrix, Vector
from veil.errors import InputError
from veil.numerics.deconvolution import chi_square, estimates
from veil.numerics.laws import NoiseLaw

METHODS = {"bayes": 0.001, "em": 0.1}
MAX_ITER = 5000


@dataclass(frozen=True)
class Reconstruction:
    """A reconstructed distribution over intervals.

    Attributes
    ----------
    probabilities
        Probability of each interval; two axes for a joint distribution.
    edges
        The intervals' edges, one array per attribute.
    iterations, converged
        Steps taken, and whether the stopping rule was met.
    log_likelihood
        Log-likelihood of the counts at the start and after each step.
    n_unexplained
        Records left out because no interval could have led to their noisy bin.
    """

    probabilities: Matrix
    edges: tuple[Vector, ...]
    iterations: int
    converged: bool
    log_likelihood: Vector = field(repr=False)
    n_unexplained: int = 0


def reconstruct(
    counts: npt.ArrayLike,
    edges_noisy: npt.ArrayLike,
    edges: npt.ArrayLike,
    noise: NoiseLaw | Matrix,
    *,
    method: str = "bayes",
    stop: float | None = None,
    max_iter: int = MAX_ITER,
) -> Reconstruction:
    """The distribution of one attribute from the histogram of its noisy values.

    Parameters
    ----------
    counts, edges_noisy
        The histogram of the noisy values.
    edges
        Edges of the L intervals to give probabilities to, of any widths.
    noise
        The law of the noise, or a matrix K of transition probabilities (noisy bins × intervals).
    method, stop, max_iter
        The stopping rule; see the module. ``stop=0`` takes ``max_iter`` steps.
    """
    grid = check_edges(edges, "edges")
    bins = check_edges(edges_noisy, "edges_noisy")
    table = _check_counts(counts, (len(bins) - 1,))
    kernel = _kernel(noise, bins, grid)
    held = table > 0
    kernel, table = kernel[held], table[held]
    return _iterate(table, (grid,), kernel.__matmul__, kernel.T.__matmul__, method, stop, max_iter)


def reconstruct_joint(
    counts: npt.ArrayLike,
    edges_noisy: Sequence[npt.ArrayLike],
    edges: Sequence[npt.ArrayLike],
    noise: Sequence[NoiseLaw | Matrix],
    *,
    method: str = "bayes",
    stop: float | None = None,
    max_iter: int = MAX_ITER,
) -> Reconstruction:
    """The joint distribution of two attributes with independent noises.

    Arguments are those of :func:`reconstruct`, in pairs. The kernel of a cell is the product of the two
    attributes' kernels, so it is applied along one axis at a time: a step costs L³, not L⁴.
    """
    if not len(edges_noisy) == len(edges) == len(noise) == 2:
        raise InputError("a joint reconstruction takes two of edges_noisy, edges and noise each")
    grids = tuple(check_edges(e, "edges") for e in edges)
    bins = tuple(check_edges(e, "edges_noisy") for e in edges_noisy)
    table = _check_counts(counts, (len(bins[0]) - 1, len(bins[1]) - 1))
    first, second = (_kernel(*parts) for parts in zip(noise, bins, grids, strict=True))

    def forward(p: Matrix) -> Matrix:
        return np.asarray(first @ p @ second.T)

    def backward(ratio: Matrix) -> Matrix:
        return np.asarray(first.T @ ratio @ second)

    return _iterate(table, grids, forward, backward, method, stop, max_iter)


def check_method(method: Any, stop: Any, max_iter: Any) -> float:
    """The threshold of a method's stopping rule, once its parameters are in order."""
    choice(method, "method", METHODS)
    whole(max_iter, "max_iter", least=1)
    if stop is None:
        return METHODS[method]
    return number(stop, "stop", least=0.0, infinite=True, rule="a number of at least 0, or None for the default")


def check_edges(edges: Any, name: str) -> Vector:
    """Edges of intervals: two or more finite numbers that rise."""
    try:
        values = np.asarray(edges, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.ndim != 1 or len(values) < 2 or not np.isfinite(values).all() or not (np.diff(values) > 0).all():
        raise InputError(f"{name} must be two or more finite numbers, each larger than the one before")
    return values


def _check_counts(counts: Any, shape: tuple[int, ...]) -> Matrix:
    try:
        table = np.asarray(counts, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("counts must be numbers, one per noisy bin") from None
    if table.shape != shape:
        raise InputError(f"counts must have one number per noisy bin, shape {shape}; got shape {table.shape}")
    if not (np.isfinite(table).all() and (table >= 0).all() and table.sum() > 0):
        raise InputError("counts must be finite, none of them negative and not all of them zero")
    return table


def _kernel(noise: NoiseLaw | Matrix, bins: Vector, grid: Vector) -> Matrix:
    if isinstance(noise, NoiseLaw):
        return noise.kernel(bins, grid)
    kernel = np.asarray(noise, dtype=np.float64)
    shape = (len(bins) - 1, len(grid) - 1)
    if kernel.shape != shape or not (kernel >= 0).all() or not (kernel.sum(axis=0) <= 1 + 1e-9).all():
        raise InputError(
            f"noise must be a law or a {shape[0]} × {shape[1]} matrix of probabilities, columns summing to 1"
        )
    return kernel


def _iterate(
    counts: Matrix,
    edges: tuple[Vector, ...],
    forward: Callable[[Matrix], Matrix],
    backward: Callable[[Matrix], Matrix],
    method: str,
    stop: float | None,
    max_iter: int,
) -> Reconstruction:
    threshold = check_method(method, stop, max_iter)
    p = _flat(edges)
    if method == "bayes":
        threshold *= float(chi2.ppf(0.95, max(p.size - 1, 1)))
    with one_blas_thread():
        steps = estimates(counts, p, forward, backward)
        now = next(steps)
        n_unexplained = counts[now.mixture <= 0].sum()
        n = float(counts.sum() - n_unexplained)
        if not n > 0:
            raise InputError("no record can come from these intervals under this noise; widen the intervals")
        history, converged = [now.log_likelihood], False
        while not converged and len(history) <= max_iter:
            before, now = now, next(steps)
            history.append(now.log_likelihood)
            change = n * chi_square(now.weights, before.weights) if method == "bayes" else history[-1] - history[-2]
            converged = threshold > 0 and change < threshold
    return Reconstruction(now.weights, edges, len(history) - 1, converged, np.array(history), int(n_unexplained))


def _flat(edges: tuple[Vector, ...]) -> Matrix:
    p = np.ones(())
    for grid in edges:
        p = np.multiply.outer(p, np.diff(grid) / (grid[-1] - grid[0]))
    return p
