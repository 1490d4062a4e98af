"""Progress: one line that never goes back, only where somebody sees it; a callback gets the same."""

import io
import sys
import time

import pytest

import veil
from _tables import mixed_table
from veil.errors import InputError
from veil.progress import Course, silent
from veil.report.progress import Bar, clock, is_seen, watched


class Screen(io.StringIO):
    """A terminal that remembers what was drawn."""

    def isatty(self) -> bool:
        return True

    @property
    def lines(self) -> list[str]:
        return [line.rstrip() for line in self.getvalue().split("\r") if line.strip()]


def quiet_bar(**options):
    """A bar that draws nothing of itself."""
    bar = Bar(Screen(), delay=1e6, **options)
    bar.stop()
    return bar


def test_the_share_never_falls_and_passes_make_one_bar():
    bar = quiet_bar(passes=(("reading", 1.0), ("writing", 3.0)))
    shares = []
    for what, tenths in (("reading", (5, 10, 1)), ("writing", (0, 5, 10))):
        for done in tenths:
            bar(what, done, 10)
            shares.append(int(bar.line(0.0, 100).split()[1]))
    assert shares == [12, 25, 25, 25, 62, 100]


def test_a_line_tells_the_time_and_what_is_left_of_the_budget():
    bar = quiet_bar(seconds=90.0)
    bar("additive noise: nothing", 100, 1_000)
    assert bar.line(30.0, 120).endswith("33 %  0:30, 1:00 of 1:30 left  additive noise: nothing")
    assert bar.line(200.0, 120).endswith("99 %  3:20, 0:00 of 1:30 left  additive noise: nothing")
    assert len(bar.line(30.0, 40)) < 40
    assert clock(3_599.7) == "1:00:00"


def test_names_cannot_steer_the_terminal():
    bar = quiet_bar()
    bar("\x1b[2Jage\n", 1, 2)
    assert "\x1b" not in bar.line(0.0, 100)
    assert "\n" not in bar.line(0.0, 100)


def test_what_lasts_is_drawn_and_taken_away():
    screen = Screen()
    bar = Bar(screen, delay=0.0)
    bar("reading", 1, 2)
    while not screen.lines:
        time.sleep(0.01)
    bar.stop()
    assert "50 %" in screen.lines[-1]
    assert screen.getvalue().endswith("\r")


def test_what_is_short_is_not_drawn(monkeypatch):
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    with watched(True) as report:
        report("reading", 1, 2)
    assert screen.getvalue() == ""


def test_nobody_who_sees_it_nothing_drawn(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with watched(True) as report:
        assert report is silent
    with watched(None) as report:
        assert report is silent
    assert not is_seen(io.StringIO())
    notebook = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})
    assert is_seen(notebook())


def test_a_callback_is_called_and_another_thing_refused():
    told = []
    veil.inspect(mixed_table(50, 2), progress=lambda *facts: told.append(facts))
    assert told[-1][1:] == (50, 50)
    with pytest.raises(InputError, match="progress must be True, a callback or None; got a str"):
        veil.inspect(mixed_table(50, 2), progress="yes")


def test_a_course_of_stages_and_steps_rises_to_its_end():
    told = []
    course = Course(lambda what, done, total: told.append(done / total), stages=3, share=0.5)
    for _ in range(3):
        for _ in range(4):
            course("x", 1, 3)
            course("x", 3, 3)
            course.next_step()
        course.next_stage(0.5)
    assert told == sorted(told)
    assert 0.9 < told[-1] <= 1.0


@pytest.mark.parametrize("verb", ["audit", "advise"])
def test_audits_and_advice_tell_one_share_of_a_thousand(verb):
    told, x, grants = [], mixed_table(200, 2), veil.Grants.only()
    options = {"grants": grants, "seed": 0, "progress": lambda what, done, total: told.append((what, done, total))}
    if verb == "audit":
        veil.audit(x, veil.AdditiveNoise(), repetitions=2, **options)
    else:
        veil.advise(x, ["additive-noise"], goals=veil.Goals(max_advantage=0.5), **options)
    shares = [done for _, done, _ in told]
    assert shares == sorted(shares)
    assert {total for *_, total in told} == {1_000}
    assert shares[0] < 450 < shares[-1]
    assert any("nothing" in what for what, *_ in told)
