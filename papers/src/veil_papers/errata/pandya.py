"""Errata of Pandya, Singh, Dixit and Bunkar."""

from __future__ import annotations

from veil_papers.errata.erratum import Erratum

PANDYA = (
    Erratum(
        "P-a",
        "Table 8 and Figure 3.3",
        "Means 53.20 … 38.36 and 56.15 … 40.07 of the perturbed marks.",
        "Every one of them is 1.00 too low: 54.20 … and 57.15 ….",
        "The means of Tables 5 and 7 as printed, after the lost exponents are put back, differ from Table 8 by 1.00 "
        "in all fourteen places.",
        ("pandya-table8",),
    ),
    Erratum(
        "P-b",
        "Tables 2, 3, 5, 6 and 7",
        "2.54 in Table 3; 4.38, 3.24, 7.20, 5.06, 2.59 in Tables 5 to 7.",
        "2.54e−5; 43.8, 32.4, .720, 50.6, 25.9. Table 2 is truncated, not rounded; Table 3 has ddof = 1.",
        "Exponents were lost in print: each entry is the product of a mark and its factor, or a covariance of the "
        "logarithms, and is fixed by the rest.",
        ("pandya-table4-7", "pandya-table1-3"),
    ),
    Erratum(
        "P-c",
        "Tables 4 and 6, Figure 3.4: distances are not preserved",
        "The noise is e^r, r ~ N(0, cΣ); distances are not preserved (in the printed tables they change by 48 % and "
        "216 %).",
        "The printed factors are nearly one per record, covariance about c(Σ + 1.9·11′). Under the stated law "
        "distances change by 7.5 % and 24 %, with correlation .98 and .84.",
        "Σ's entries are .22 at most and most are far smaller, so at c = .01 factors should be within a few percent "
        "of 1, each its own way; in print those of one record move together. A shared factor stretches a whole record "
        "and dominates all its distances.",
        ("pandya-distances", "pandya-table4-7"),
    ),
    Erratum(
        "P-d",
        "Drawing noise of covariance cΣ",
        "Noise is drawn from N(0, cΣ) by a library function.",
        "Σ of 7 records by 7 marks has rank 6: a Cholesky factor does not exist, and draws must go through the "
        "eigenvectors.",
        "Centring seven records takes one rank. The seventh pivot is rounding error, of either sign.",
        ("pandya-table1-3",),
    ),
)
