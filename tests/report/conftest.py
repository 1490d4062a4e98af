"""Report models built by hand, and one real audit."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import veil
from veil.report.failures import AdvantageOverGoal, UntestedKnowledge, Verdict
from veil.report.model import (
    MODEL_VERSION,
    AdviceView,
    BreakView,
    CandidateView,
    ColumnView,
    LevelView,
    NotRunView,
    Picture,
    PointView,
    ReportModel,
    RiskView,
    RowView,
)
from veil.report.values import (
    AttackView,
    Edition,
    Estimate,
    KnowledgeView,
    Matching,
    Risk,
    Scored,
    ScoreView,
    State,
    Unit,
    Unmeasured,
)

HOSTILE = "<script>alert('x')</script>&\"é\x1b[31m\u202e"


def score(advantage: float, control: float = 0.1, baseline: float = 0.08) -> ScoreView:
    """A score as audits have them: nothing is under the control, nor the control under the baseline."""
    advantage = max(0.0, advantage)
    rate = advantage * (1 - control) + control
    gain, taught = (
        Estimate(value, max(0.0, value - 0.02), min(1.0, value + 0.02))
        for value in (advantage, (rate - baseline) / (1 - baseline))
    )
    return ScoreView(Estimate(rate, rate - 0.02, min(1.0, rate + 0.02)), control, baseline, gain, taught)


NOTHING = KnowledgeView("nothing", 0, Unit.NONE, "nothing")
PAIRS = AttackView("known-pairs-attack")
BAYES = AttackView("bayes-estimate-attack")


def known(label: str) -> KnowledgeView:
    """The level that has a label."""
    amount = label.partition(" ")[0]
    if label.endswith("sample"):
        return KnowledgeView("sample", float(amount) / 100, Unit.SHARE, label, "a", "sample")
    if "known column" in label:
        return KnowledgeView("attributes", int(amount), Unit.COLUMNS, label, noun="known columns")
    if "known" in label:
        return KnowledgeView("pairs", int(amount), Unit.RECORDS, label, noun="known records")
    kinds = {"column ranges": "ranges", "external table": "external", "disclosed matrix": "matrix"}
    articles = {"external table": "an", "disclosed matrix": "the"}
    return KnowledgeView(kinds.get(label, label), 0, Unit.NONE, label, articles.get(label, ""))


def over(attack: str, knowledge: str, advantage: float, column: str = "") -> AdvantageOverGoal:
    """A goal that an attack breaks, on all values or on one column."""
    gain = Estimate(advantage, advantage - 0.02, min(1.0, advantage + 0.02))
    scored = Scored.COLUMN if column else Scored.VALUES
    return AdvantageOverGoal(AttackView(attack), known(knowledge), scored, column, gain, 0.05, True, 5, 1200)


def row(attack: str, knowledge: str, advantage: float, **changes: Any) -> RowView:
    failures = () if advantage + 0.02 <= 0.05 else (over(attack, knowledge, advantage),)
    view = RowView(
        attack=AttackView(attack),
        catalogue="A9",
        attack_words="solves for the secret",
        knowledge=known(knowledge),
        value=score(advantage),
        record=score(-0.01),
        worst_column="height",
        column=score(advantage + 0.1),
        far_out=score(-0.3),
        nrmse=0.5,
        advantage=Estimate(advantage, advantage - 0.02, min(1.0, advantage + 0.02)),
        ambiguity="none",
        up_to=(),
        repetitions=5,
        state=State.BREAKS if failures else State.HOLDS,
        failures=failures,
    )
    return replace(view, **changes)


def level(label: str, advantage: float | None, state: State) -> LevelView:
    if advantage is None:
        return LevelView(known(label), f"Words on {label}.", None, None, None, State.NO_ATTACK)
    estimate = Estimate(advantage, advantage - 0.02, min(1.0, advantage + 0.02))
    return LevelView(known(label), f"Words on {label}.", PAIRS, estimate, estimate.high, state, score(advantage))


def picture(bins: int = 36) -> Picture:
    centres = np.linspace(-3.5, 3.5, bins)
    spread = np.exp(-0.5 * centres[:, None] ** 2 - 2 * (centres[:, None] - centres[None, :]) ** 2)
    counts = (900 * spread).astype(int)
    counts[counts < 10] = 0
    edges = tuple(float(e) for e in np.linspace(-3.6, 3.6, bins + 1))
    return Picture(edges, tuple(tuple(int(c) for c in r) for r in counts), int(counts.sum()) + 30, 20, 10)


def candidate(label: str = "orthogonal transform", advantage: float = 0.4, **changes: Any) -> CandidateView:
    rows = (
        row("known-pairs-attack", "1 known record", -0.01),
        row("known-pairs-attack", "5 known records", advantage),
    )
    failures = tuple(f for r in rows for f in r.failures)
    levels = (
        level("nothing", None, State.NO_ATTACK),
        level("1 known record", -0.01, State.HOLDS),
        level("5 known records", advantage, State.BREAKS if failures else State.HOLDS),
        level("2 % sample", None, State.NO_ATTACK),
    )
    made = CandidateView(
        label=label,
        method="orthogonal-transform",
        catalogue="P6",
        guarantee="none",
        threat="Released: y. Secret: M.",
        passed=not failures,
        verdict=Verdict(State.BREAKS, True, known("5 known records"), failures[0])
        if failures
        else Verdict(State.HOLDS),
        failures=failures,
        strongest=rows[-1],
        levels=levels,
        utility={"distances": Estimate(0.9, 0.88, 0.92), "clusters": Estimate(0.4, 0.4, 0.4)},
        rows=rows,
        picture=picture(),
        records=(),
    )
    return replace(made, **changes)


def model(*candidates: CandidateView, **changes: Any) -> ReportModel:
    made: dict[str, Any] = {
        "model_version": MODEL_VERSION,
        "edition": Edition.EXTERNAL,
        "date": "2025-01-31",
        "passed": all(c.passed for c in candidates),
        "n_rows": 1234,
        "columns": ("height", "weight"),
        "max_advantage": 0.05,
        "tolerance": 0.1,
        "min_utility": {},
        "smallest_cell": 10,
        "candidates": candidates,
        "context": {"veil": "0.1.0", "seed": "fixed", "attacks": ["known-pairs-attack"]},
    }
    return ReportModel(**{**made, **changes})


def crowded() -> ReportModel:
    """As much as a report has to bear: 6 candidates, 8 levels, 60 rows, long labels, goals for utility."""
    names = ["nothing"]
    names += [f"{n} known record{'s' if n > 1 else ''}" for n in (1, 5, 30, 100)]
    names += [f"{n} % sample" for n in (1, 2, 10)]
    made = []
    for i in range(6):
        gains = [min(1.0, 0.004 * (i + 1) * 2.5**j) for j in range(len(names))]
        levels = tuple(
            level(label, gain, State.BREAKS if gain > 0.03 else State.HOLDS)
            for label, gain in zip(names, gains, strict=True)
        )
        rows = tuple(row(f"attack-number-{k}-attack", names[k % 8], gains[k % 8] - 0.001 * k) for k in range(10))
        label = f"method number {i} with a rather long description (scale 0.5, distribution uniform)"
        made.append(
            candidate(
                label, levels=levels, rows=rows, failures=tuple(f for r in rows for f in r.failures), passed=False
            )
        )
    made[4] = replace(
        made[4], strongest=None, rows=(), picture=None, failures=(), passed=True, verdict=Verdict(State.NO_ATTACK)
    )
    made[5] = replace(made[5], utility={"distances": Estimate(float("nan"), float("nan"), float("nan"))})
    return model(*made, min_utility={"distances": 0.8}, columns=tuple(f"column {j}" for j in range(60)))


def hostile() -> ReportModel:
    """A table whose columns are named against the report."""
    evil = KnowledgeView(HOSTILE, 5, Unit.RECORDS, HOSTILE)
    bad = row(
        HOSTILE,
        "5 known records",
        0.4,
        worst_column=HOSTILE,
        failures=(over(HOSTILE, "5 known records", 0.4, HOSTILE),),
    )
    view = candidate(HOSTILE, strongest=bad, rows=(bad,), failures=bad.failures, threat=HOSTILE)
    view = replace(
        view,
        breaks=(BreakView(evil, AttackView(HOSTILE)),),
        risks=(RiskView(Risk.INFERENCE, AttackView(HOSTILE), evil, score(0.4)),),
        columns=(ColumnView(HOSTILE, score(0.4), AttackView(HOSTILE), evil),),
        not_run=(NotRunView(AttackView(HOSTILE, (HOSTILE,)), (evil,), HOSTILE),),
    )
    points = (PointView(HOSTILE, HOSTILE, 0.4, 0.5, False, False, HOSTILE),)
    said = AdviceView(None, HOSTILE, HOSTILE, (HOSTILE,), points, ((HOSTILE, HOSTILE),))
    other = replace(candidate(), risks=view.risks)
    return model(view, other, columns=(HOSTILE,), context={HOSTILE: [HOSTILE]}, remarks=(HOSTILE,), advice=said)


@pytest.fixture(name="make_candidate")
def fixture_make_candidate() -> Callable[..., CandidateView]:
    return candidate


@pytest.fixture(name="make_model")
def fixture_make_model() -> Callable[..., ReportModel]:
    return model


@pytest.fixture(name="make_swept")
def fixture_make_swept() -> Callable[..., CandidateView]:
    return swept


@pytest.fixture(name="make_advice")
def fixture_make_advice() -> Callable[..., AdviceView]:
    return advice


@pytest.fixture
def sweep_model() -> ReportModel:
    return whole_sweep()


@pytest.fixture
def hostile_model() -> ReportModel:
    return hostile()


def nothing_found() -> ReportModel:
    """One candidate that no attack applies to, without utility."""
    bare = candidate(
        passed=True, failures=(), verdict=Verdict(State.NO_ATTACK), strongest=None, rows=(), picture=None, utility={},
        levels=(level("nothing", None, State.NO_ATTACK),),
    )  # fmt: skip
    return model(bare)


SWEEP = (
    "nothing",
    *(f"{n} known record{'s' if n > 1 else ''}" for n in (1, 2, 5, 7)),
    *(f"{n} % sample" for n in (0.5, 2, 10)),
    "1 known column",
    "column ranges",
    "external table",
    "disclosed matrix",
)


def swept(label: str, gains: dict[str, float], state: State = State.HOLDS, **changes: Any) -> CandidateView:
    """A candidate with the whole sweep of knowledge; levels without a gain of their own are as with nothing."""
    base = gains["nothing"]
    levels = tuple(
        level(name, gains.get(name, base), state if name not in gains or name == "nothing" else State.BREAKS)
        for name in SWEEP
    )
    levels = tuple(replace(k, strongest=BAYES) if k.knowledge.label not in gains else k for k in levels)
    levels = (replace(levels[0], strongest=BAYES), *levels[1:])
    rows = tuple(row("known-pairs-attack", name, gain) for name, gain in gains.items())
    risks = (
        RiskView(Risk.SINGLING_OUT, PAIRS, known("7 known records"), score(0.4)),
        RiskView(Risk.LINKABILITY, None, None, None, Unmeasured.NO_TABLE),
        RiskView(Risk.INFERENCE, BAYES, NOTHING, score(-0.01)),
    )
    columns = tuple(ColumnView(f"column {j}", score(0.5 - 0.05 * j), PAIRS, NOTHING) for j in range(12))
    breaks = tuple(BreakView(known(n), PAIRS) for n in gains if n != "nothing")
    made = {"levels": levels, "rows": rows, "strongest": rows[-1], "risks": risks, "columns": columns}
    failures = tuple(f for r in rows for f in r.failures)
    passed = not failures and state == State.HOLDS
    least = breaks[0].knowledge if breaks else None
    reason = next(iter(failures), UntestedKnowledge((NOTHING,)) if state != State.HOLDS else None)
    verdict = Verdict(State.BREAKS if breaks else state, True, least, reason)
    outcome = {"breaks": breaks, "failures": failures, "passed": passed, "verdict": verdict}
    return candidate(label, **{**made, **outcome, **changes})


def advice(*, recommended: bool = True) -> AdviceView:
    """Twelve settings on a curve, one of them recommended, and four worse ones of another method."""
    points = [
        PointView(
            f"additive noise (scale {k})", "additive-noise", 0.4 / (k + 1), 0.9 - 0.06 * k,
            recommended and k > 7, recommended and k == 8, f"why {k}",
        )
        for k in range(12)
    ]  # fmt: skip
    points += [PointView(f"transform {k}", "transform", 1.0, 0.5, False, False, "breaks") for k in range(4)]
    chosen = "additive noise (scale 8)" if recommended else None
    near = None if recommended else "additive noise (scale 8) misses the goal by 0.4 %."
    why = (("orthogonal transform", "breaks with 7 known records"),)
    return AdviceView(chosen, "It loses the least.", near, ("distances", "clusters"), tuple(points), why)


def whole_sweep() -> ReportModel:
    """Three candidates with long names and eleven levels, and advice."""
    missed = tuple(NotRunView(AttackView(f"attack {k}"), (NOTHING,), "too few records") for k in range(9))
    gains = {"nothing": 0.01, "5 known records": 0.5, "7 known records": 0.9, "disclosed matrix": 0.9}
    return model(
        swept("additive noise (scale 1.0, distribution gauss, correlated like the table)", {"nothing": 0.01}),
        swept(
            "orthogonal transform",
            gains,
            not_run=missed,
        ),
        swept("random projection to 4 dimensions, then additive noise (scale 0.5)", {"nothing": 0.04}, State.UNPROVEN),
        advice=advice(),
        matching=Matching.INFERRED,
        remarks=("Two columns are constant and were not scored.",),
    )


MODELS = {
    "whole sweep": whole_sweep,
    "no advice found": lambda: model(swept("a", {"nothing": 0.01}), advice=advice(recommended=False)),
    "plain": lambda: model(candidate("a", 0.01), candidate("b")),
    "one candidate": lambda: model(candidate()),
    "internal": lambda: model(candidate(records=((7, 0.01), (4012, 0.5))), edition=Edition.INTERNAL),
    "crowded": crowded,
    "hostile": hostile,
    "nothing found": nothing_found,
    "every cell suppressed": lambda: model(candidate(picture=Picture((-1.0, 0.0, 1.0), ((0, 0), (0, 0)), 12, 12, 0))),
    "not a number": lambda: model(
        candidate(advantage=float("nan"), utility={"clusters": Estimate(float("nan"), float("nan"), float("nan"))})
    ),
}


@pytest.fixture(params=MODELS)
def any_model(request: pytest.FixtureRequest) -> ReportModel:
    return MODELS[request.param]()


@pytest.fixture(scope="session")
def real_audit() -> veil.Audit:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 4)) @ rng.normal(size=(4, 4))
    grants = veil.Grants.only(pairs=(1, 4))
    return veil.audit(x, [veil.OrthogonalTransform(), veil.AdditiveNoise(3.0)], grants=grants, repetitions=2, seed=0)
