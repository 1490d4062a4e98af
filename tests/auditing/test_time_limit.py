"""Budgets: work is cut short at its time, attacks all try first, and what could not be tried is said."""

import signal
import threading
import time
from contextlib import suppress

import pytest

import veil
from _tables import mixed_table
from veil.auditing.processes import Pool
from veil.auditing.time_limit import TimeOver, limited
from veil.auditing.trials.pace import LEAST_TRY, Pace
from veil.auditing.trials.tasks import UtilityTask


def busy(seconds: float) -> float:
    """Work in Python for so long."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass
    return seconds


def test_work_is_cut_short_and_the_alarm_given_back():
    before = signal.getsignal(signal.SIGALRM)
    began = time.monotonic()
    with pytest.raises(TimeOver), limited(0.05):
        busy(30.0)
    assert time.monotonic() - began < 10.0
    assert signal.getsignal(signal.SIGALRM) is before
    with limited(30.0):
        assert busy(0.0) == 0.0
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


@pytest.mark.parametrize("answer", [1.0, TypeError("made of an interrupt")])
def test_an_interrupt_that_was_taken_for_something_else_is_still_one(answer):
    """Compiled code may clear an interrupt, or make an error of its own of it."""

    def work():
        with suppress(TimeOver):
            busy(30.0)
        if isinstance(answer, Exception):
            raise answer

    with pytest.raises(TimeOver), limited(0.02):
        work()


def test_another_thread_or_an_alarm_of_the_program_is_left_alone():
    done = []

    def work():
        with limited(0.01):
            done.append(busy(0.05))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [0.05]
    before = signal.signal(signal.SIGALRM, lambda *_: None)
    try:
        with limited(0.01):
            busy(0.05)
    finally:
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_pool_cuts_slow_tasks_and_does_the_others(workers):
    with Pool(busy, workers=workers) as pool:
        done = sorted(result for _, result in pool.map([0.0, 30.0, 0.001], most=0.1))
        assert done == [0.0, 0.001]
        assert pool.cut == [30.0]


def test_a_pool_ends_at_its_deadline():
    began = time.monotonic()
    with Pool(busy, workers=1, deadline=began + 0.2) as pool:
        assert [result for _, result in pool.map([0.0, 30.0, 0.0])] == [0.0]
    assert time.monotonic() - began < 10.0


def test_what_is_put_off_is_not_begun():
    with Pool(busy, workers=1) as pool:
        assert list(pool.map([0.0, 30.0], put_off=lambda task: task > 1.0)) == [(0.0, 0.0)]
        assert pool.cut == [30.0]


def test_the_pace_without_an_end_puts_nothing_off():
    pace, task = Pace(None), UtilityTask(0)
    assert not pace.is_late(task)
    assert not pace.is_slow(task, [task])
    assert Pace(time.monotonic() - 1.0).try_of(10) == LEAST_TRY


def test_an_audit_with_a_budget_says_what_it_did_not_try():
    audit = veil.audit(mixed_table(5_000, 8), veil.OrthogonalTransform(), budget=1.0, seed=0, workers=1)
    late = [each.attack for each in audit.candidates[0].skipped if each.late]
    assert late
    assert "out of time" in str(audit).lower()


def test_advice_whose_time_was_over_recommends_nothing():
    advice = veil.advise(mixed_table(2_000, 6), budget=0.5, seed=0, workers=1)
    assert not advice.possible
    assert advice.state == "out of time"
    assert "not tried: out of time" in advice.rejected.values()
