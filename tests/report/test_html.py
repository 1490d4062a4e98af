"""The HTML report: well-formed, self-contained, escaped, readable by everybody, cut to its edition."""

import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from veil.report.html import page, stylesheet
from veil.report.model import CandidateView, ReportModel

Models = Callable[..., ReportModel]
Candidates = Callable[..., CandidateView]

VOID = {"meta", "br", "hr", "wbr"}


class Outline(HTMLParser):
    """Balanced tags, and what a screen reader would find."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs)
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self.open[-1] if self.open else "", data))

    def named(self, *names: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.tags if tag in names]

    @property
    def text(self) -> str:
        return " ".join(data for tag, data in self.texts if tag != "style").replace("\u00a0", " ")


def outline(model: ReportModel) -> Outline:
    found = Outline()
    found.feed(page(model))
    found.close()
    return found


def test_tags_balance_and_ids_are_unique(any_model: ReportModel):
    found = outline(any_model)
    assert found.open == []
    ids = [a["id"] for _, a in found.tags if "id" in a]
    assert len(ids) == len(set(ids))
    pointed = {a["href"].removeprefix("#") for a in found.named("a") if a["href"]}
    pointed |= {i for _, a in found.tags for i in (a.get("aria-labelledby") or "").split()}
    assert pointed <= set(ids)


def test_asks_for_nothing_from_outside(any_model: ReportModel):
    written = page(any_model)
    found = outline(any_model)
    assert "http://" not in written
    assert "https://" not in written
    assert "url(" not in written
    assert "@import" not in written
    assert not found.named("script", "link", "img", "iframe", "object", "base", "form")
    assert all(href.startswith("#") for a in found.named("a") if (href := a["href"]))
    assert not any(name.startswith("on") or name in ("src", "xlink:href") for _, a in found.tags for name in a)
    policies = [a["content"] for a in found.named("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    assert policies[0].startswith("default-src 'none'")


def test_stays_small(any_model: ReportModel):
    assert len(page(any_model).encode()) < 300_000


def test_headings_are_in_order_and_there_is_one_first(any_model: ReportModel):
    levels = [int(tag[1]) for tag, _ in outline(any_model).tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels))


def test_tables_charts_and_landmarks_are_named(any_model: ReportModel):
    found = outline(any_model)
    assert len(found.named("table")) == len(found.named("caption"))
    assert all(a.get("scope") for a in found.named("th"))
    for attributes in found.named("svg"):
        assert attributes.get("aria-hidden") == "true" or (
            attributes["role"] == "img" and attributes["aria-labelledby"]
        )
    pictures = [a for a in found.named("svg") if a.get("role") == "img"]
    assert len(found.named("desc")) == len(pictures)
    assert len(found.named("main")) == 1
    assert found.named("html") == [{"lang": "en"}]
    assert all(a["tabindex"] == "0" and a["aria-label"] for _, a in found.tags if a.get("class") == "scroll")


def test_the_verdict_comes_first(any_model: ReportModel):
    ids = [a.get("id") for a in outline(any_model).named("section")]
    expected = ["verdict", "advice", "risks", "candidates", "risk", "attacks", "reading", "context"]
    assert ids == [i for i in expected if i in ids]
    assert ("advice" in ids) == (any_model.advice is not None)
    assert ("risks" in ids) == bool(any_model.candidates[0].risks)


def test_many_long_columns_are_cut(make_model: Models, make_candidate: Candidates):
    written = page(make_model(make_candidate(), columns=tuple(f"column {j} {'x' * 500}" for j in range(5000))))
    assert len(written) < 100_000
    assert "and 4,900 more" in written


def test_hostile_names_stay_text(hostile_model: ReportModel):
    written = page(hostile_model)
    found = outline(hostile_model)
    assert "<script" not in written
    assert "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;&amp;&quot;é" in written
    assert "<script>alert('x')</script>&\"é�[31m�" in found.text
    assert "\x1b" not in written
    assert "\u202e" not in written


def test_every_state_has_a_sign_and_a_word(make_model: Models, make_candidate: Candidates):
    text = outline(make_model(make_candidate("a", 0.01), make_candidate("b", 0.4))).text
    text = re.sub(r"\s+", " ", text)
    for words in ("✓ holds", "✕ breaks", "– no attack applies", "✓ goals hold", "✕ a goal fails", "✓ hold", "✕ fail"):
        assert words in text


def test_a_level_broken_by_a_column_alone_says_so(make_model: Models, make_candidate: Candidates):
    view = make_candidate("a", 0.01)
    broken = replace(view.levels[2], state="breaks")
    view = replace(view, levels=(*view.levels[:2], broken, view.levels[3]))
    assert "on column height" in page(make_model(view))
    quiet = replace(view, rows=(), strongest=None)
    assert "on a column, far-out or the largest values" in page(make_model(quiet))


def test_external_edition_has_no_records_and_says_so(make_model: Models, make_candidate: Candidates):
    text = outline(make_model(make_candidate())).text
    assert "External edition:" in text
    assert "CONFIDENTIAL" not in page(make_model(make_candidate()))
    assert "Single records" not in text


def test_internal_edition_has_banner_and_records(make_model: Models, make_candidate: Candidates):
    text = outline(make_model(make_candidate(records=((4012, 0.033),)), edition="internal")).text
    assert "CONFIDENTIAL – internal edition" in text
    assert "Single records" in text
    assert "4012" in text
    assert "0.03" in text
    assert "External edition" not in text


def test_explains_its_terms_and_limits(make_model: Models, make_candidate: Candidates):
    text = outline(make_model(make_candidate())).text
    for term in (
        "Individual advantage",
        "What the release teaches",
        "Absent person (control)",
        "Constant guess",
        "Breach rate",
        "Not tested",
        "Out of time",
        "Too few records",
        "Tolerance",
        "Formal guarantee",
        "Interval",
    ):
        assert term in text
    assert "not an attack that does not exist" in text
    assert "Formal guarantee: none." in text
    levels = make_candidate().levels
    assert all(level.words in text for level in levels if level.knowledge.label != "1 known record")
    assert "1 or 5 known records" in text


def test_a_formal_guarantee_is_named(make_model: Models, make_candidate: Candidates):
    assert (
        "Formal guarantee: epsilon 1 per record."
        in outline(make_model(make_candidate(guarantee="epsilon 1 per record"))).text
    )


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_text_has_enough_contrast(scheme: int):
    blocks = re.findall(r":root\{(.*?)\}", stylesheet())
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", blocks[scheme]))
    pairs = [(ink, ground) for ink in ("text", "muted", "ink") for ground in ("paper", "wash")]
    pairs += [(name, f"{name}-wash") for name in ("good", "bad", "open")]
    pairs += [
        ("muted", "good-wash"),
        ("muted", "bad-wash"),
        ("muted", "open-wash"),
        ("text", "open-wash"),
        ("good", "paper"),
        ("bad", "paper"),
    ]
    pairs += [(f"c{i}", "paper") for i in range(6)]
    for ink, ground in pairs:
        assert contrast(colours[ink], colours[ground]) >= 4.5, (ink, ground)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_shades_rise_evenly(scheme: int):
    blocks = re.findall(r":root\{(.*?)\}", stylesheet())
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", blocks[scheme]))
    steps = [contrast(colours["field"], colours[f"h{i}"]) for i in range(1, 9)]
    assert all(later > 1.12 * earlier for earlier, later in pairwise(steps))


def test_prints_and_keeps_still():
    css = stylesheet()
    assert "@media print" in css
    assert "prefers-reduced-motion" in css
    assert "break-inside: avoid" in css
