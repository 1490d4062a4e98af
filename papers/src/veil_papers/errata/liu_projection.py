"""Errata of Liu's dissertation of 2007, chapter 5: random projection."""

from __future__ import annotations

from veil_papers.errata.erratum import Erratum

PROJECTION = (
    Erratum(
        "L-p",
        "Section 5.3.1, the maximum a posteriori under a box prior",
        "‖x‖² lies between Σa² and Σb², and any point of the sphere ‖x̂‖ = ‖y‖ is as good.",
        "Between Σ(0 if the range straddles 0, else min(a², b²)) and Σmax(a², b²); and the set is the sphere within "
        "the box.",
        "The least square of a range with 0 inside is 0. The prior is 0 outside the box, so most of the sphere is "
        "impossible. For n = 6, [0, 1]⁶, ε = .5 and x = (.7, …, .7) guesses on the sphere come within ε in .005 of "
        "the cases, guesses in the box in .88; over records drawn from the box it is .22.",
        ("liu-sphere-box",),
    ),
    Erratum(
        "L-q",
        "Section 5.3.2, the worst case",
        "‖y‖ = ‖x‖ is the worst case for a guess on the sphere of radius ‖y‖.",
        "‖y‖ = ‖x‖√(1−ε²), with a cap of angle asin ε.",
        "A ball of radius ε‖x‖ around x is seen from the origin under asin ε at most, along its tangents, which touch "
        "it at the distance ‖x‖√(1−ε²). ε = .6, n = 6: .01537 against .01195.",
        ("liu-fig5.6",),
    ),
    Erratum(
        "L-r",
        "Figure 5.10",
        "k between 320 and 750.",
        "328 to 742.",
        "Read off a plot. Both curves are χ² probabilities (Equations 5.7 and 5.8) and can be inverted.",
        ("liu-fig5.10",),
    ),
    Erratum(
        "L-s",
        "Section 5.1.2",
        "The error falls exponentially with k.",
        "As k^−½.",
        "The estimate is a mean of k independent terms.",
        ("liu-fig5.2b",),
    ),
    Erratum(
        "L-t",
        "Section 5.4.2, known pairs of a projection",
        "The maximum has no analytic form; a simplex search with 100 starts looks for it.",
        "It has: ĉ = Y_p⁺y, and any w ⟂ Col(X_p) with ‖w‖ = ‖y − Y_pĉ‖. The mean, w = 0, errs less; with the known "
        "records' covariance as a prior less again.",
        "Write x = X_pc + w. Then y given Y_p is N(Y_pc, ‖w‖²/k·I): least squares for c, the residual for ‖w‖. It "
        "agrees with the search to rounding and takes a thousandth of its time.",
        ("liu-tables5.5",),
    ),
    Erratum(
        "L-u",
        "Table 5.3, the error rate of k-means",
        "0, .17, 2.50 and 4.33 % of the records are clustered differently.",
        "That rate is ½Σ|difference of cluster sizes|/N. The share of records in another cluster, clusters matched, "
        "is larger.",
        "Records that change places leave the sizes as they are. From the printed sizes the formula gives exactly "
        ".17, 2.50 and 4.33 %.",
        ("liu-table5.3",),
    ),
    Erratum(
        "L-v",
        "Theorem 5.4.1",
        "Cov(RV) = γI, so an attack by principal components fails.",
        "With a fresh R per record. A release has one R, and Cov = RΣR′.",
        "The theorem averages over R; the attacker sees one. What the eigenvectors of RΣR′ miss is only R itself.",
        ("liu-thm5.4.1",),
    ),
    Erratum(
        "L-w",
        "Theorem 5.4.3",
        "With n ≥ 2k no linear filter splits the sources into two groups.",
        "n ≥ 2k − 1 suffices, and no less: below it every matrix is decomposable. It speaks of linear filters only.",
        "A row-space vector vanishes on any k − 1 columns. If n ≤ 2k − 2, one vector vanishes on one part of the "
        "columns and a second on the rest, which is Definition 5.4.2.",
        ("liu-thm5.4.3",),
    ),
    Erratum(
        "L-ag",
        "Theorem 5.4.2",
        "A matrix is l-row decomposable if and only if its columns fall into l groups, each linearly independent of "
        "the others.",
        "Such groups are sufficient, not necessary.",
        "Take a normal 3 × 4 matrix. Some combination of its rows vanishes on the first two columns, another on the "
        "last two: together a generalized partition matrix. Yet two spans of dimension 2 meet in a line of "
        "three-dimensional space.",
        ("liu-thm5.4.3",),
    ),
    Erratum(
        "L-x",
        "Section 5.4.5, a disclosed R",
        "No element can be recovered.",
        "Whole numbers can: 0 to 15 in six attributes come back exactly from k = 3 equations and fewer.",
        "k real equations leave a flat of dimension n − k. It meets the 16⁶ lattice points of the box in one point "
        "almost surely, which a search finds.",
        ("liu-sec5.4.5",),
    ),
    Erratum(
        "L-y",
        "Section 5.1.3, sparse projections",
        "Entries are 0 with probability 1 − 1/2 in the text that survives.",
        "0 with probability 1 − 1/s, ±√s with 1/(2s) each; the scale is 1/(√k σ_r) with σ_r = 1.",
        "Probabilities must add to 1 and the variance to 1 (Achlioptas 2003).",
        ("liu-sec5.1.3",),
    ),
    Erratum(
        "L-z",
        "Tables 5.5 to 5.8",
        "Medians of .06 to .45; how many matrices were drawn is not said, one per k is the natural reading.",
        "Thirteen of fourteen lie in our 5–95 % band over matrices; k = 6, p = 5 (.062) is a draw of 1 %.",
        "All hundred cases share one R: it decides how well they go, and hundred cases do not average it out.",
        ("liu-tables5.5",),
    ),
    Erratum(
        "L-aa",
        "Equation 5.4",
        "k^{1/2} before the density.",
        "k^{k/2}. The maximum is where it was.",
        "y has k coordinates of variance ‖x‖²/k each; every one brings √k.",
        ("liu-thm5.3.12",),
    ),
    Erratum(
        "L-ab",
        "Figure 5.2(a)",
        "Errors of inner products are normal with mean 0.",
        "With mean 0 over R. One R shifts all of them together, by more (± .015) than they scatter (.009).",
        "All attributes of positive data share one direction, and its length after projection is one random number. "
        "One histogram shows the scatter around it and looks too narrow.",
        ("liu-fig5.2a",),
    ),
    Erratum(
        "L-ac",
        "Section 5.2.3, linear classifiers",
        "The weights trained on the projection are Rw/(√kσ_r).",
        "They are not. Map the trained model back: w = Rᵀŵ/(√kσ_r).",
        "Training in k dimensions finds a separator of the projected points, not the image of the one in n "
        "dimensions. But ŵ′Rx/(√kσ_r) is linear in x, with coefficients Rᵀŵ/(√kσ_r).",
        ("liu-weights",),
    ),
    Erratum(
        "L-ad",
        "Theorem 5.4.4 at l = k",
        "l + 1 independent equations of an l-secure R involve at least 2l + 1 unknowns.",
        "j independent equations involve at least l + j unknowns, for every j ≤ k.",
        "In the case that follows (n = 2k, l = k) there are no k + 1 independent equations: the statement is empty. "
        "Eliminated to (I : Υ̃), each of j rows has l + 1 non-zeros or more, one of them its own: j unknowns from I "
        "and at least l more.",
        ("liu-sec5.4.5",),
    ),
    Erratum(
        "L-ae",
        "Section 5.4.5, any R",
        "No element can be recovered; the sparse matrices of Section 5.1.3 are offered as R.",
        "Continuous entries are needed. A sparse R determines some attribute exactly in 66 % of the draws (n = 6, k = "
        "3, s = 3), 31 % (20, 10, √n). The owner's draw here rejects such matrices.",
        "With zeros among the entries a combination of rows may be a unit vector: that attribute is solved for.",
        ("liu-sec5.4.5",),
    ),
)
