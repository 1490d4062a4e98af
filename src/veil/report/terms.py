"""What the report's terms mean, in plain words."""

from __future__ import annotations

from veil.report.model import ReportModel
from veil.report.values import Over
from veil.report.words import UTILITIES, goal, listed


def utility_meaning(model: ReportModel) -> str:
    """Over which uses the utility of a candidate is a mean; the same wherever a report says utility."""
    uses = [UTILITIES.get(name, name) for name in model.uses]
    if not uses:
        return ""
    return f"Utility kept is the mean over {listed(uses)}." if len(uses) > 1 else f"Utility kept is that of {uses[0]}."


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
            "The share of values (or records) that the attack breaches, of people who are in the release (present). "
            "Records that the attacker was given beforehand are not counted.",
        ),
        (
            "Constant guess",
            "One number (or category) per column, the same for everybody: the one that is right most often. It needs "
            "no release, so what it gets right is not the release's fault.",
        ),
        (
            "Absent person (control)",
            "What the same attacker would get right of a person whose own row had not been there: from the guesses of "
            "all others, and from what is public or known about the person. It is what the release tells about people "
            "like this one.",
        ),
        (
            "Individual advantage",
            "What the attack gains over the absent person, as a share of what there was to gain: (present − absent) ÷ "
            "(1 − absent). 0 % means that being in the table costs a person nothing, 100 % that every value is right. "
            f"{'The goals are held against it.' if model.over == Over.ABSENT else ''}",
        ),
        (
            "What the release teaches",
            "What the attack gains over the constant guess, counted in the same way. A release exists to teach about "
            "people, so this is no harm in itself: it holds for people who are not in the table, too. "
            f"{'The goals are held against it.' if model.over == Over.CONSTANT else ''}",
        ),
        (
            "Interval",
            "The range that holds the true advantage with 95 % confidence. "
            f"A goal holds when the upper end is at most {goal(model.max_advantage)}, overall and on every column; it "
            "breaks when the lower end is over it. In between, it is not shown to be safe.",
        ),
        (
            "Worst column",
            "The column that is shown to be most exposed. Its interval is wider, because every column was looked at.",
        ),
        (
            "Not tested",
            "No attack used this knowledge against this method. That is no pass: nothing is known about an attacker "
            "who has it.",
        ),
        (
            "Out of time",
            "The audit's time was over before the attacks that would use this knowledge were run.",
        ),
        (
            "Too few records",
            "A column of which the table has too few records to show that the goal holds, even if the release said "
            "nothing about it. That is no fault of the method; a larger table could show it. Such a column fails only "
            "when it is shown to break.",
        ),
        (
            "Far-out values",
            "Values far from the middle of their column, whose owners are the easiest to recognise. "
            "They are scored with a tolerance that grows with the distance from the middle.",
        ),
        (
            "Largest values",
            f"The {model.n_largest} largest values of a column, of those far over its middle. One is told by a guess "
            f"within {goal(model.largest_share)} of it, as in the p % rule of statistics offices. Who the largest are "
            "is often known, so the best constant for them is what an attack must beat.",
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
            "How much of a use survives in the release, from 0 % (nothing) to 100 % (as good as the original). "
            f"{utility_meaning(model)}",
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
