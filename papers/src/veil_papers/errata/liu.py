"""Errata of Liu's dissertation of 2007, chapters 2 to 4."""

from __future__ import annotations

from veil_papers.errata.erratum import Erratum
from veil_papers.errata.liu_projection import PROJECTION

LIU = (
    Erratum(
        "L-af",
        "Algorithm 2.1.2.2, step 3",
        "Bob sends w = Πcᵢ^{yᵢ} back.",
        "He multiplies it by a fresh encryption of 0 (or of a share that he keeps).",
        "w carries the randomness Πrᵢ^{yᵢ}, and Alice drew the rᵢ: she can test any guess of y against w. After a "
        "fresh encryption nothing but the sum is left in it.",
        ("liu-alg2.1.2.2",),
    ),
    Erratum(
        "L-a",
        "Section 4.4.2, Equations 4.2 and 4.3",
        "A known-pairs guess comes within ε‖x‖ with probability (2/π) asin g, g = ‖x‖ε/(2d).",
        "With p = n − k dimensions left open: ½ for p = 1 (g < 1); for p ≥ 2 the share of a spherical cap, "
        "½·I_{sin²a}((p−1)/2, ½) with cos a = 1 − 2g², or 1 minus that where cos a < 0.",
        "Known records fix the matrix on their span; on the p-dimensional rest it is Haar, so the part of x outside "
        "the span lands uniformly on a sphere of radius d. Points at angle a are 2d·sin(a/2) apart: the breach is the "
        "share of a cap. Arc length over circumference is that share on a circle only, p = 2.",
        ("liu-fig4.21", "liu-table4.1"),
    ),
    Erratum(
        "L-b",
        "Table 4.1",
        "ρ(x₃, .01) = 3.84 %.",
        "50 %. The distance 9.4868 is right.",
        "There are two attributes and one known record, so n − k = 1: two matrices are left, a rotation and a "
        "reflection. The table was made by the reflection (determinant −1), which returns x₃ exactly; the rotation "
        "gives (27, 111), 17 % off.",
        ("liu-table4.1",),
    ),
    Erratum(
        "L-c",
        "Algorithm 4.4.3.1, step 7",
        "Choose M̂ uniformly from the matrices that fit, which is built from M_T.",
        "M̂ = (Y_k X_k⁺ U_k)U_k′ + V_⊥ P U_⊥′, with V_⊥ any basis of Col(Y_k)^⊥ and P Haar: no secret is needed. And "
        "no draw either: the projection U_kU_k′x is computable and errs by exactly d/‖x‖.",
        "The construction in the text uses the unknown matrix; that set can be written from the known pairs alone. A "
        "random direction for the open part doubles its squared error; leaving it out does not.",
        ("liu-alg4.4.3.1",),
    ),
    Erratum(
        "L-d",
        "Section 4.1.2, random orthogonal matrices",
        "Q of the QR decomposition of a Gaussian matrix is uniform.",
        "Q·sign(diag R) is.",
        "Householder's QR fixes signs by convention: its Q always has determinant (−1)^(n−1), half of the group is "
        "never drawn.",
        ("liu-haar",),
    ),
    Erratum(
        "L-e",
        "Section 4.4.1, the angle of a rotation",
        "θ = arccos(…).",
        "A signed angle: atan2.",
        "arccos is between 0 and π and cannot tell left from right: wrong in half of the draws.",
        ("liu-fig4.1",),
    ),
    Erratum(
        "L-f",
        "Section 4.5.4, the minimum eigen-ratio",
        "min λᵢ/λⱼ over i ≠ j.",
        "Over consecutive sorted eigenvalues, larger over smaller.",
        "Over all i ≠ j the least ratio is the smallest eigenvalue over the largest, always below 1. With consecutive "
        "ones the paper's own 19.6003, 1.3109 and 1.2734 come out.",
        ("liu-eigen-ratios", "liu-fig4.14"),
    ),
    Erratum(
        "L-g",
        "Equation 4.4, invariance under mirroring",
        "The sum of the two divergences has the same term twice.",
        "KL(f, f_D) + KL(f_D, f) is meant. A mirror is its own inverse, so both terms are equal and nothing changes; "
        "for a normal law Inv = 4·minᵢ (zᵢ′μ)²/λᵢ.",
        "Mirroring axis i moves a normal mean by 2zᵢ′μ and leaves the covariance: each divergence is ½·(2zᵢ′μ)²/λᵢ, "
        "and the least change mirrors one axis only. Enumerating all mirrors gives the same.",
        ("liu-fig4.15",),
    ),
    Erratum(
        "L-h",
        "Figure 4.15 at α = 0",
        "The breach goes to 0 with the mean.",
        "It ends near 2^−n, and above where mirroring a small axis stays within ε.",
        "A law that looks the same in the mirror leaves the signs to chance, and chance is right once in 2^n.",
        ("liu-fig4.15",),
    ),
    Erratum(
        "L-i",
        "Section 4.5.2, the choice of the signs",
        "The sign matrix of the highest p-value.",
        "The one of the lowest energy statistic. And signs are not what costs: turn the whole matrix until the energy "
        "distance is least (the best variant).",
        "Permutation p-values are multiples of 1/(permutations + 1) and tie. Eigenvectors of small samples err, no "
        "sign mends that: on Adult the median of the relative error falls from .14 to rounding when the matrix is "
        "refined, because records of the sample fall on released ones.",
        ("liu-fig4.7", "liu-fig4.8", "liu-fig4.4", "liu-runtime"),
    ),
    Erratum(
        "L-j",
        "Lemma 3.1.1, variance of an inner product under scheme I",
        "σ²Σx²x².",
        "(2σ²+σ⁴)Σx²x² for two different records.",
        "With r, s independent of mean 1 and variance σ², Var(rs) = (1+σ²)² − 1 = 2σ² + σ⁴: both factors carry noise.",
        ("liu-lemma3",),
    ),
    Erratum(
        "L-k",
        "Equation 3.1, mean of a truncated normal",
        "μ + K[Z(α) − Z(β)].",
        "μ + σK[φ(α) − φ(β)], α = (A−μ)/σ, β = (B−μ)/σ.",
        "The integral of x·φ((x−μ)/σ)/σ brings out one σ (two, with Z as the paper defines it, 1/(√(2π)σ) included). "
        "A symmetric truncation hides the slip.",
        ("liu-eq3.1-3.5",),
    ),
    Erratum(
        "L-l",
        "Chapter 3, the Energy Information Administration's noise",
        "Variance .0225.",
        ".02374; 94.7 % of the draws are accepted.",
        "Draws with |r−1| < .01 are thrown away, the smallest ones: what is left has a larger variance. The outer cut "
        "at four deviations takes almost nothing.",
        ("liu-eia",),
    ),
    Erratum(
        "L-m",
        "Equation 3.4",
        "Var(u)e^{−2σ²} − ….",
        "Var x = (Var y + (Ey)²)e^{−2σ²} − (Ey)²e^{−σ²}.",
        "E y² = E x²·e^{2σ²} and E y = E x·e^{σ²/2}: the second moment is divided, not the variance. As printed the "
        "result can be negative.",
        ("liu-eq3.1-3.5",),
    ),
    Erratum(
        "L-n",
        "Equation 3.5",
        "The second term is divided by exp(σᵢ²+σⱼ²).",
        "By exp((σᵢ²+σⱼ²)/2); ρ is the correlation of the log noise, and the analyst gets σ² as c/(1+c)·Var(ln y).",
        "Each mean carries e^{σ²/2}, so their product carries half of the sum.",
        ("liu-eq3.1-3.5",),
    ),
    Erratum(
        "L-o",
        "Section 3.3, canonical correlations",
        "Eigenvalues of C_XX⁻¹C_YY C_YY⁻¹C_YX.",
        "Of C_XX⁻¹C_XY C_YY⁻¹C_YX.",
        "As printed C_YY cancels itself and C_XX⁻¹C_YX is left: regression coefficients, which depend on units. "
        "Squared correlations need both cross covariances.",
        ("liu-canonical",),
    ),
    *PROJECTION,
)
