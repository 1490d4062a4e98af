"""Errata of Ketel."""

from __future__ import annotations

from veil_papers.errata.erratum import Erratum

KETEL = (
    Erratum(
        "K-a",
        "Tables 1 to 3",
        "Values are normalised and rotated by θ = 13.7.",
        "θ is in radians (1.1336 after two turns), the standard deviation is the population's (ddof = 0).",
        "With both, Tables 2 and 3 come out to 1e−4; with ddof = 1 they are off by up to .17, with degrees by 1.94.",
        ("ketel-table1-3",),
    ),
    Erratum(
        "K-b",
        "Privacy at θ = π/4",
        "√(πe) = 2.921; the entropy is always positive.",
        "√(πe) = 2.9223. A differential entropy h may be negative; 2^h, the width of a uniform of the same entropy, "
        "may not: privacy is below 1 where h is below 0.",
        "A rounding slip. The entropy of N(0, σ²) is ½ log 2πeσ², below 0 for σ < .242: a change of units decides its "
        "sign.",
        ("ketel-fig2", "ketel-claim-pi4"),
    ),
    Erratum(
        "K-c",
        "Correlation of the rotated with the original column",
        "ρ(X, Z) = cos θ.",
        "ρ = (cos θ + r sin θ)/√(1 + r sin 2θ), where r is the correlation of the two columns.",
        "Z = X cos θ + Y sin θ, so Cov(X, Z) = cos θ + r sin θ and Var Z = 1 + r sin 2θ. The paper's own six people "
        "have r = .394: the loss of privacy is .270, not .094.",
        ("ketel-claim-moments",),
    ),
    Erratum(
        "K-d",
        "Conclusion: the statistical properties are preserved",
        "The transformation preserves the underlying statistical properties.",
        "Distances and inner products stay, of all columns together. The variance of each column does not: 1.302 and "
        ".698 in the paper's own table, where it was 1 and 1.",
        "An orthogonal map keeps |x − y|. The variances of two rotated columns of variance 1 are 1 ± r sin 2θ, which "
        "is 1 only where r sin 2θ = 0.",
        ("ketel-claim-moments", "ketel-table1-3"),
    ),
    Erratum(
        "K-e",
        "The EM update",
        "θ_l ← θ_l/(m_l n) Σ_i Pr(Y ∈ z_i − D_l)/Σ_t θ_t Pr(Y ∈ z_i − D_t), starting at 1/L.",
        "Right when θ_l is a density. For probabilities: p_l ← (p_l/n) Σ_i (Pr_il/m_l)/Σ_t p_t Pr_it/m_t.",
        "Pr(Y ∈ z − D_l) is the width m_l times the mean noise density over D_l. Put p_l = θ_l m_l into the printed "
        "update and the second form falls out; leave the widths away and wide intervals get too much.",
        ("ketel-em",),
    ),
)
