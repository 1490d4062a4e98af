"""The report's advice: what is recommended, why, all settings tried, and why other methods were rejected."""

from __future__ import annotations

import math

from veil.report.drawing import CHARACTER, Area, Box, drawing, free_place, goal_line, level_grid, reach, share_axis
from veil.report.markup import Markup, el, join, scrolling
from veil.report.model import AdviceView, PointView, ReportModel
from veil.report.words import UTILITIES, counted, listed, percent, shortened

WIDTH, HEIGHT = 760.0, 400.0
MOST_ROWS = 10


def advice_section(model: ReportModel) -> Markup | None:
    """What Veil recommends; None where no advice was asked for."""
    advice = model.advice
    if advice is None:
        return None
    return el(
        "section",
        el("h2", "Recommendation", id="advice-title"),
        recommended(advice),
        el("p", advice.words, class_="prose"),
        _figure(model, advice),
        best_settings(advice),
        rejected_methods(advice),
        id="advice",
        aria_labelledby="advice-title",
    )


def recommended(advice: AdviceView) -> Markup:
    if advice.recommendation is not None:
        sign = el("span", "✓", aria_hidden="true")
        return el("p", sign, " ", el("strong", advice.recommendation), class_="choice good")
    sign = el("span", "✕", aria_hidden="true")
    none = el("p", sign, " ", el("strong", advice.words_for_none), class_="choice bad")
    miss = el("p", el("b", "Nearest miss: "), advice.nearest, class_="prose") if advice.nearest else None
    return join(none, miss)


def _figure(model: ReportModel, advice: AdviceView) -> Markup | None:
    chart = tried(model, advice)
    if chart is None:
        return None
    axis = _axis(advice)
    caption = (
        f"{counted(len(advice.points), 'setting')} tried: risk, as the goals see it (vertical), against {axis} "
        "(horizontal). A filled circle keeps every goal, a cross does not; the ringed one is recommended. The line "
        "joins the settings that no other beats on both, and the shaded zone keeps the goal for risk. Higher risks "
        "than the axis holds are drawn at its upper edge."
    )
    title = "Every setting tried"
    return el("figure", el("h3", title), scrolling(chart, title), el("figcaption", caption), class_="tried")


def _axis(advice: AdviceView) -> str:
    names = [UTILITIES.get(name, name) for name in advice.utilities]
    if not names:
        return "utility"
    return f"utility ({names[0]})" if len(names) == 1 else f"utility, the mean over {listed(names)}"


def best_points(points: tuple[PointView, ...]) -> list[PointView]:
    """The Pareto-optimal settings, by utility: no other setting has less risk and more utility."""
    placed = [p for p in points if not math.isnan(p.risk) and not math.isnan(p.utility)]
    best: list[PointView] = []
    for point in sorted(placed, key=lambda p: (-p.utility, p.risk)):
        if not best or point.risk < best[-1].risk:
            best.append(point)
    return best[::-1]


def tried(model: ReportModel, advice: AdviceView) -> Markup | None:
    """Risk against utility, one point per setting tried; None when nothing can be placed."""
    placed = [p for p in advice.points if not math.isnan(p.risk) and not math.isnan(p.utility)]
    if not placed:
        return None
    best = best_points(advice.points)
    end, ticks = reach(max(1.4 * model.max_advantage, *(p.risk for p in best)))
    area = Area(52, 18, WIDTH - 52 - 60, HEIGHT - 18 - 62, y_max=end)
    top = area.y(model.max_advantage)
    parts = [el("rect", x=area.left, y=top, width=area.width, height=area.bottom - top, class_="zone")]
    parts += [*level_grid(area, ticks), *share_axis(area, "Utility"), *goal_line(area, model.max_advantage)]
    line = " ".join(f"{area.x(p.utility):.1f},{area.y(p.risk):.1f}" for p in best)
    parts.append(el("polyline", points=line, class_="pareto"))
    parts += [_point(p, area) for p in sorted(placed, key=lambda p: p.passed)]
    parts += _names(placed, best, area, top)
    title = "Risk against utility of every setting tried"
    return drawing(WIDTH, HEIGHT, title, _in_words(advice, best), *parts, name="tried")


def _point(point: PointView, area: Area) -> Markup:
    x, y = area.x(point.utility), area.y(point.risk)
    if not point.passed:
        shape = el("path", d=f"M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8", class_="missed")
    else:
        shape = el("circle", cx=x, cy=y, r=5, class_="kept-point")
    ring = el("circle", cx=x, cy=y, r=10, class_="ring") if point.recommended else None
    return el("g", shape, ring)


def _names(placed: list[PointView], best: list[PointView], area: Area, top: float) -> list[Markup]:
    """The recommended setting (or the one with the least risk) and the most useful one, by name."""
    taken = [_box(area, p) for p in placed] + [Box(area.left, top - 1, area.right, top + 1)]
    chosen = [p for p in placed if p.recommended]
    others = [p for p in best if not p.recommended]
    parts = []
    for point in [*chosen, *others[-1:]] if chosen else [*others[:1], *others[1:][-1:]]:
        label = shortened(point.label, 34)
        x, y = area.x(point.utility), area.y(point.risk)
        text_x, baseline, anchor = free_place(area, x, y, CHARACTER * len(label) + 6, taken)
        style = "point-name chosen" if point.recommended else "point-name"
        if anchor != "middle" and abs(baseline - 4 - y) > 16:
            reached = text_x - 3 if anchor == "start" else text_x + 3
            parts.append(el("line", x1=x, y1=y, x2=reached, y2=baseline - 4, class_="leader"))
        parts.append(el("text", label, x=text_x, y=baseline, text_anchor=anchor, class_=style))
    return parts


def _box(area: Area, point: PointView) -> Box:
    x, y = area.x(point.utility), area.y(point.risk)
    return Box(x - 9, y - 9, x + 9, y + 9)


def _in_words(advice: AdviceView, best: list[PointView]) -> str:
    passing = sum(p.passed for p in advice.points)
    sentences = [f"Of {counted(len(advice.points), 'setting')} tried, {passing} keep every goal."]
    shown = [p for p in best if p.recommended] or best[:1]
    for point in shown:
        lead = "Recommended" if point.recommended else "Least risk"
        sentences.append(f"{lead}: {point.label}, risk {percent(point.risk)}, utility {percent(point.utility)}.")
    return " ".join(sentences)


def best_settings(advice: AdviceView) -> Markup | None:
    """The settings that no other beats on both."""
    best = best_points(advice.points)
    if not best:
        return None
    keep = [p for p in best if p.recommended]
    shown = sorted([*keep, *[p for p in best if not p.recommended][: MOST_ROWS - len(keep)]], key=lambda p: p.utility)
    heads = [("Setting", None), ("Risk", "num"), ("Utility", "num"), ("Goals", None), ("Why", None)]
    rows = [
        el(
            "tr",
            el("th", point.label, scope="row"),
            el("td", percent(point.risk), class_="num"),
            el("td", percent(point.utility), class_="num"),
            el("td", _goals(point)),
            el("td", el("small", point.why)),
            class_="chosen" if point.recommended else None,
        )
        for point in shown
    ]
    caption = "The settings that no other beats on both risk and utility, the least useful first."
    more = len(best) - len(shown)
    return el(
        "div",
        el("h3", "The best settings found"),
        scrolling(
            el(
                "table",
                el("caption", caption, f" And {more} more." if more else None),
                el("thead", el("tr", [el("th", name, scope="col", class_=style) for name, style in heads])),
                el("tbody", rows),
                class_="settings",
            ),
            "The best settings found",
        ),
    )


def _goals(point: PointView) -> Markup:
    sign, words, style = ("✓", "hold", "good") if point.passed else ("✕", "fail", "bad")
    if point.recommended:
        words += ", recommended"
    return el("span", el("span", sign, aria_hidden="true"), f" {words}", class_=f"word {style}")


def rejected_methods(advice: AdviceView) -> Markup | None:
    if not advice.rejected:
        return None
    rows = [el("tr", el("th", method, scope="row"), el("td", reason)) for method, reason in advice.rejected]
    return el(
        "div",
        el("h3", "Methods rejected"),
        el(
            "table",
            el("caption", "Why each of the other methods is not recommended."),
            el("thead", el("tr", el("th", "Method", scope="col"), el("th", "Reason", scope="col"))),
            el("tbody", rows),
            class_="rejected",
        ),
    )
