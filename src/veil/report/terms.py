"""What the report's terms mean, in plain words."""

from __future__ import annotations

from veil.report.model import ReportModel
from veil.report.words import goal


def terms(model: ReportModel) -> list[tuple[str, str]]:
    """Each term with its meaning, at this audit's goals."""
    near = f"{model.tolerance:g}"
    return [
        (
            "Release",
            "The perturbed table that is handed out, with its public description. The attacker has both.",
        ),
        (
            "Standard unit",
            "The standard deviation of a column (for a heavy-tailed column, the spread of its middle half, "
            "scaled alike). Errors are measured in it, so that the units of the columns do not matter.",
        ),
        (
            "Tolerance",
            f"How near a guess must come to count as right: {near} standard units in this audit.",
        ),
        (
            "Breach",
            f"A value is breached when the guess is within {near} standard units of it. A record is breached when "
            "its error over all columns together, as a root mean square, is within the tolerance.",
        ),
        (
            "Breach rate",
            "The share of values (or records) that the attack breaches. Records that the attacker was given "
            "beforehand are not counted.",
        ),
        (
            "Baseline",
            "The breach rate of the best constant guess: one number per column, the same for everybody. "
            "It needs no release, so what it gets right is not the release's fault.",
        ),
        (
            "Advantage",
            "What the attack gains over the baseline, as a share of what there was to gain: "
            "(breach rate − baseline) ÷ (1 − baseline). 0 % is no better than guessing, 100 % is every value right. "
            "An attack that does worse than the constant guess has no gain.",
        ),
        (
            "Interval",
            "The range that holds the true advantage with 95 % confidence. "
            f"A goal holds when the upper end is at most {goal(model.max_advantage)}.",
        ),
        (
            "Worst column",
            "The column on which the attack gains most. It fails the goal when even the lower end of its interval, "
            "widened for having looked at every column, is over the goal.",
        ),
        (
            "Far-out values",
            "Values far from the middle of their column, whose owners are the easiest to recognise. "
            "They are scored with a tolerance that grows with the distance from the middle.",
        ),
        (
            "Error",
            "The root-mean-square error of the guess in standard units. Always guessing the mean has an error "
            "of about 1; a perfect guess has 0.",
        ),
        (
            "Formal guarantee",
            "A mathematical proof that no attack whatever can gain more than a stated amount, as differential privacy "
            "gives for its budget. A method without one may be safe against every attack tried and fall to the next.",
        ),
        (
            "Utility",
            "How much of a use survives in the release, from 0 % (nothing) to 100 % (as good as the original).",
        ),
    ]


LIMITS = (
    "An audit shows what the attacks that were tried can do. An attack that was not found is not an attack that "
    "does not exist: a goal that holds here may fail against a stronger method or against knowledge that was not "
    "granted.",
    "The attacker knew what is listed under “What the attacker knows” and no more. Before a release, ask whether "
    "somebody could know more: more records, an earlier release of the same table, another register.",
    "Scores are averages over many values. A low average can hide a few people who are easy to find; the worst "
    "column and the far-out values are reported to make this visible, but they do not cover every case.",
    "Results hold for this table and these settings. Another table with the same method may fare differently.",
)

NO_GUARANTEE = (
    "Nothing proves that other attacks must fail too; protection rests on the secret and on the attacks tried here."
)

SOME_GUARANTEE = "It limits every attack, also those not tried here, as long as the method's conditions hold."
