"""Errata of Huang, Du and Chen 2005."""

from __future__ import annotations

from veil_papers.errata.erratum import Erratum

HUANG = (
    Erratum(
        "H-a",
        "Theorem 5.1 and Equation 11, the covariance of the data from that of the release",
        "Σx = Σy − σ²I is put into the filters as it comes.",
        "The filter is Q·diag((1 − σ²/λ_y)₊)·Q′ on the release's own eigenvectors.",
        "Sample eigenvalues scatter by a factor (1 ± √(d/N))². Small ones fall below σ², the difference is then no "
        "covariance, and the filter amplifies what it should remove: with independent attributes it is worse than no "
        "filter for N < 2(d + 2). Clipping at 0 says what is known: nothing there but noise.",
        ("huang-indefinite",),
    ),
    Erratum(
        "H-b",
        "Theorem 5.2",
        "The noise that PCA-DR leaves is σ²p/m, with the covariance of the original data.",
        "So it is there. An attacker has the covariance of the release; its directions leave more, and reach σ²p/m "
        "from above as N grows.",
        "The p sample eigenvectors lean towards the noise of this very release. To first order in 1/N the noise's "
        "part grows by (2σ⁴/Nm) Σ 1/(λᵢ−λⱼ) per value, the whole error by (1/Nm) Σ [(λᵢ+σ²)(λⱼ+σ²) − 2λᵢλⱼ + "
        "2σ⁴]/(λᵢ−λⱼ), over kept i and dropped j, and by (1/Nm) Σ (σ²−λⱼ) for the estimated mean.",
        ("huang-thm5.2",),
    ),
    Erratum(
        "H-c",
        "Section 7: BE-DR has the least error in all experiments",
        "BE-DR beats PCA-DR always.",
        "The plug-in loses to PCA-DR below some 50,000 records (d = 100, p = 5). Pooling the eigenvalues below the "
        "gap to their mean before the filter repairs it at every N.",
        "Bayes with the true covariance cannot lose. With many small eigenvalues estimated one by one it trusts their "
        "scatter; PCA-DR sets them to 0 and is spared. They are estimates of nearly one number, so their mean is a "
        "far better estimate of each.",
        ("huang-be-vs-pca",),
    ),
    Erratum(
        "H-d",
        "Figure 1 at m = p: the number of components by the largest gap",
        "The largest gap between eigenvalues tells p.",
        "Where all m eigenvalues are alike there is no gap: keep all of them.",
        "The largest of m − 1 chance gaps is somewhere; what lies behind it is dropped although it is data. The error "
        "then is a multiple of the noise that was to be removed.",
        ("huang-fig1",),
    ),
    Erratum(
        "H-e",
        "Section 7: UDR stays put because the average variance does",
        "A constant average variance keeps UDR almost the same.",
        "It takes equal variances: mean v_jσ²/(v_j+σ²) is concave in the v_j, so their spread lowers it (Jensen). A "
        "real Fourier basis for Q makes the diagonal constant and UDR flat.",
        "With a random Q and few large eigenvalues the diagonal of QΛQ′ scatters around the average, most of all at p "
        "= 2, where UDR drifts by 16 %.",
        ("huang-fig2",),
    ),
    Erratum(
        "H-f",
        "Section 8, the correlation dissimilarity",
        "The root stands over the sum, 1/(m²−m) outside.",
        "1/(m²−m) belongs under the root: then it is a root mean square difference of correlations. Both are reported.",
        "As printed the value shrinks by √(m²−m), a factor of 99.5 at m = 100, and says more about m than about the "
        "noise. Nor is it 0 for noise of the data's own correlations: at finite N sample correlations scatter by "
        "1/√N.",
        ("huang-fig4",),
    ),
)
