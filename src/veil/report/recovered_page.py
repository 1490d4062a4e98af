"""What an analyst recovered from a release, as one HTML page: moments with intervals and densities."""

from __future__ import annotations

import json
from pathlib import Path

from veil.report.drawing import Area, drawing
from veil.report.html import POLICY, stylesheet
from veil.report.markup import Markup, el, scrolling
from veil.report.recovered import RecoveredColumn, RecoveredRegression, RecoveredShares
from veil.report.recovered_text import RecoveredView
from veil.report.words import counted, digits, goal, percent
from veil.storage.atomic import write_public
from veil.storage.json_values import json_value


def write_recovered(view: RecoveredView, path: Path) -> None:
    """Write the recovery as a page, or as JSON where the name says so; an existing file is replaced."""
    plain = path.suffix == ".json"
    content = json.dumps(json_value(view.to_dict()), indent=2, ensure_ascii=False) if plain else recovered_page(view)
    write_public(path, content.encode("utf-8", errors="backslashreplace"), replace=True)


def recovered_page(view: RecoveredView) -> str:
    """The whole page."""
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=POLICY),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("title", "Veil recovery"),
        el("style", stylesheet()),
    )
    densities = [_density(i, column) for i, column in enumerate(view.columns) if column.density]
    body = el(
        "body",
        el(
            "header",
            el("p", "Veil", class_="brand"),
            el("h1", "Recovery"),
            el("p", "What the private table was like, as far as its release tells.", class_="lead"),
            el("p", f"Release {view.release}, {view.method}, {counted(view.n_rows, 'record')}."),
            el("p", view.records) if view.records else None,
            class_="masthead",
        ),
        el(
            "main",
            el("section", el("h2", "Means and spreads"), scrolling(_moments(view), "Means and spreads"))
            if view.columns
            else None,
            el("section", el("h2", "Proportions"), *(scrolling(_shares(c), c.name) for c in view.proportions))
            if view.proportions
            else None,
            el(
                "section",
                el("h2", "Distributions"),
                scrolling(_quantiles(view), "Quantiles"),
                *densities,
            )
            if densities
            else None,
            el("section", el("h2", "Regressions"), *(scrolling(_regression(r), r.target) for r in view.regressions))
            if view.regressions
            else None,
            el("section", el("h2", "Covariances"), scrolling(_covariances(view), "Covariances"))
            if view.covariance
            else None,
            el("section", el("h2", "How to read this"), el("p", view.note)),
        ),
    )
    return f"<!DOCTYPE html>\n{el('html', head, body, lang='en')}\n"


def _shares(column: RecoveredShares) -> Markup:
    titles = ("Category", "Share", "± for the table", "± for the population")
    head = el("tr", *(el("th", text, scope="col", class_="num" if text != "Category" else None) for text in titles))
    rows = [
        el("tr", el("th", name, scope="row"), *(el("td", percent(v), class_="num") for v in numbers))
        for name, *numbers in column.shares
    ]
    caption = el("caption", f"{column.name}: recovered shares with two standard errors")
    return el("table", caption, el("thead", head), el("tbody", *rows))


def _regression(regression: RecoveredRegression) -> Markup:
    titles = ("Term", "Coefficient", "± for the table", "± for the population")
    head = el("tr", *(el("th", text, scope="col", class_="num" if text != "Term" else None) for text in titles))
    rows = [
        el("tr", el("th", term, scope="row"), *(el("td", digits(v), class_="num") for v in numbers))
        for term, *numbers in regression.terms
    ]
    left = f"{percent(regression.r_squared)} of the variance explained, {digits(regression.residual_std)} left"
    caption = el("caption", f"Regression of {regression.target}, with two standard errors; {left}")
    return el("table", caption, el("thead", head), el("tbody", *rows))


def _moments(view: RecoveredView) -> Markup:
    titles = ("Column", "Mean", "± for the table", "± for the population", "Standard deviation", "±")
    head = el("tr", *(el("th", text, scope="col", class_="num" if text != "Column" else None) for text in titles))
    rows = []
    for c in view.columns:
        distances = (c.mean_half, c.mean_half_total, c.std, c.std_half)
        cells = (c.value(c.mean), *(c.distance(v) for v in distances))
        rows.append(el("tr", el("th", c.name, scope="row"), *(el("td", text, class_="num") for text in cells)))
    return el("table", el("caption", "Estimates with two standard errors"), el("thead", head), el("tbody", *rows))


def _quantiles(view: RecoveredView) -> Markup:
    columns = [column for column in view.columns if column.quantiles]
    shares = [goal(quantile[0]) for quantile in columns[0].quantiles]
    head = el("tr", el("th", "Column", scope="col"), *(el("th", s, scope="col", class_="num") for s in shares))
    rows = []
    for c in columns:
        cells = [
            el("td", el("strong", c.value(x)), el("br"), c.span(low, high), class_="num")
            for _, x, low, high in c.quantiles
        ]
        rows.append(el("tr", el("th", c.name, scope="row"), *cells))
    caption = el("caption", "Quantiles, each with an interval that holds for all of them at once in 95 % of releases")
    return el("table", caption, el("thead", head), el("tbody", *rows))


def _covariances(view: RecoveredView) -> Markup:
    head = el("tr", el("td"), *(el("th", column.name, scope="col", class_="num") for column in view.columns))
    rows = []
    for column, values, halves in zip(view.columns, view.covariance, view.covariance_half, strict=True):
        cells = [
            el("td", f"{digits(v)}\u00a0±\u00a0{digits(h, 2)}", class_="num")
            for v, h in zip(values, halves, strict=True)
        ]
        rows.append(el("tr", el("th", column.name, scope="row"), *cells))
    caption = el("caption", "Covariances of the private table, with two standard errors")
    return el("table", caption, el("thead", head), el("tbody", *rows))


def _density(index: int, column: RecoveredColumn) -> Markup:
    """The recovered density as a filled step curve, from the first to the last bin with any weight."""
    low, high = column.density[0][0], column.density[-1][0]
    top = max(height for _, height in column.density) or 1.0
    area = Area(left=56, top=14, width=560, height=150, x_max=max(high - low, 1e-300), y_max=top * 1.08)
    points = [f"{area.x(x - low):.1f},{area.y(height):.1f}" for x, height in column.density]
    outline = " ".join([f"{area.left:.1f},{area.bottom:.1f}", *points, f"{area.right:.1f},{area.bottom:.1f}"])
    ticks = [low + (high - low) * share for share in (0, 0.25, 0.5, 0.75, 1)]
    axis = [el("text", column.value(t), x=area.x(t - low), y=area.bottom + 18, text_anchor="middle") for t in ticks]
    described = (
        f"Recovered density of {column.name}, highest near {column.value(max(column.density, key=lambda p: p[1])[0])}."
    )
    chart = drawing(
        640,
        200,
        f"Density of {column.name}",
        described,
        el("polygon", points=outline, class_="bar c0"),
        el("line", x1=area.left, x2=area.right, y1=area.bottom, y2=area.bottom, class_="axis"),
        *axis,
        name=f"density-{index}",
    )
    return el("figure", chart, el("figcaption", described))
