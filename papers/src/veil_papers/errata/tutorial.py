"""Errata of the tutorial on randomization at PKDD 2006."""

from __future__ import annotations

from veil_papers.errata.erratum import Erratum

TUTORIAL = (
    Erratum(
        "T-a",
        "Randomized response, the matrix P",
        "λ = Pπ; an example says that who belongs to category 2 reports category 3 with probability .15.",
        "P is column-stochastic: column = true class, row = answer. Then λ, PRAM, Warner's variance and the "
        "dispersion are right as printed.",
        "λ_i = Σ_j Pr(answer i | class j) π_j: the sum runs along a row, and each column is a law of answers.",
        ("tutorial-rr-4", "tutorial-pram-4"),
    ),
    Erratum(
        "T-b",
        "The rotation and the linear example",
        "Y is the image of the five records shown.",
        "Columns 3 and 5 belong to (20, 120, 35) and (80, 40, 15). In the rotation's printed Y one entry, −51.67, is "
        "−56.67.",
        "R is invertible, so the printed columns tell their records. The other three agree to the last digit in the "
        "rotation, and to the digits of R and E in the linear example.",
        ("tutorial-example-rotation", "tutorial-example-linear"),
    ),
    Erratum(
        "T-c",
        "Eigenvalues of the noise",
        "By Wigner's law.",
        "By Marchenko and Pastur's: V′V/N has its eigenvalues in σ²(1 ± √(d/N))². The printed edges are these; only "
        "the name is wrong. At finite N the outermost eigenvalues pass them a little.",
        "Wigner's semicircle is about symmetric matrices of independent entries; a covariance is a product V′V.",
        ("tutorial-noise-eigenvalues",),
    ),
    Erratum(
        "T-d",
        "How many components to keep",
        "Strategy 1 keeps λ̃ ≥ λ_V, strategy 2 keeps λ̃ ≥ 2λ_V; the second is nearly optimal.",
        "So it is, within 1 % of the best k; strategy 1 is clearly worse; and a Bayes filter is better than any k.",
        "A component of data variance λ adds error λ when dropped and σ² when kept: keep it where λ ≥ σ², that is λ̃ "
        "= λ + σ² ≥ 2σ². Shrinking by λ/(λ+σ²) costs λσ²/(λ+σ²), below both.",
        ("tutorial-strategy", "tutorial-noise-sweep"),
    ),
    Erratum(
        "T-e",
        "The upper bound (Guo and Wu)",
        "The error is at most the perturbation term plus the projected noise.",
        "‖U‖·min(1, 2‖E°‖₂/(λ_k−λ_{k+1})) + (Σ_{i>k}λ_i)^½ + ‖V P̃‖, with E° = E − Nσ²I.",
        "The components that were dropped are missing from the estimate whatever the noise: the truncation term "
        "cannot be left out, and without it the printed bound is violated. The noise's mean turns no eigenvector, so "
        "it comes off E.",
        ("tutorial-bounds",),
    ),
    Erratum(
        "T-f",
        "The lower bound ‖U_k − U‖",
        "The best that an attacker can achieve by spectral filtering.",
        "So it is, for reconstructions of rank k. A Bayes estimate has full rank and may go below; where noise is "
        "calibrated with this bound for a large τ, it protects less than it says.",
        "U_k is the best approximation of U by rank k (Eckart, Young, Mirsky): a statement about a class of "
        "estimators, not about what can be known.",
        ("tutorial-bounds", "tutorial-noise-for-tau"),
    ),
    Erratum(
        "T-g",
        "The ellipsoid of a normal law",
        "(x−μ)′Σ⁻¹(x−μ) ≥ χ² holds with probability 1 − α.",
        "≤. Its projection on an axis, μ_j ± √(χ²_d(α)σ_jj), covers more than 1 − α.",
        "The quadratic form is χ² with d degrees of freedom; its upper quantile bounds it from above. An axis "
        "interval holds the whole ellipsoid and more.",
        ("tutorial-iqr",),
    ),
    Erratum(
        "T-h",
        "Noise for a threshold τ",
        "Choose k by Σ_{j>i} s_j² against τ‖U‖.",
        "Against τ²‖U‖²: k = max{i : Σ_{j>i}s_j² ≥ τ²‖U‖²}, and Nσ² just above s²_{k+1}.",
        "The relative error is a ratio of norms; the sum of squares is a squared norm.",
        ("tutorial-noise-for-tau",),
    ),
    Erratum(
        "T-i",
        "AK-ICA: matching sources by their densities",
        "Densities tell which recovered source is which, and its sign.",
        "A symmetric density has no sign: its mirror image is itself. Means that are not taken off tell it.",
        "ICA leaves order, sign and scale open. With density matching alone the signs of symmetric sources are a coin "
        "toss in every run, and the error is near 1 in half of them and more.",
        ("tutorial-akica-size", "tutorial-akica-noise"),
    ),
)
