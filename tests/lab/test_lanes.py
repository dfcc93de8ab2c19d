"""Lanes: tasks side by side, in order, and what is printed meanwhile."""

from __future__ import annotations

import sys
import threading

import pytest

from lemmata.lab.engines.local import Local
from lemmata.lab.errors import UserError
from lemmata.lab.lanes import Lanes, prints_aside


class Engine(Local):
    lanes = 2

    def __init__(self) -> None:
        super().__init__()
        self.stopped = False

    def stop(self) -> None:
        self.stopped = True


def test_two_tasks_run_at_once_and_the_third_waits():
    both, third = threading.Barrier(2, timeout=20), threading.Event()
    with Lanes(Engine()) as lanes:
        first, second = (lanes.start(both.wait) for _ in range(2))  # each waits for the other
        last = lanes.start(third.set)
        assert sorted([first(), second()]) == [0, 1]
        last()
    assert third.is_set()


def test_an_engine_of_one_lane_computes_when_asked_and_once():
    done: list[int] = []
    engine = Engine()
    engine.lanes = 1  # pyright: ignore[reportAttributeAccessIssue]
    with Lanes(engine) as lanes:
        task = lanes.start(lambda: done.append(1))
        assert done == []
        task()
        task()
    assert done == [1]


def test_an_error_is_raised_where_the_result_is_asked_for_and_stops_the_others():
    engine = Engine()

    def fail() -> None:
        raise UserError("no")

    def ask() -> None:
        with Lanes(engine) as lanes:
            lanes.start(fail)()

    with pytest.raises(UserError, match="no"):
        ask()
    assert engine.stopped


def test_what_is_printed_in_any_thread_goes_aside_until_the_last_has_left(capsys):
    entered, leave = threading.Event(), threading.Event()

    def other() -> None:
        with prints_aside():
            entered.set()
            leave.wait(20)

    thread = threading.Thread(target=other)
    with prints_aside():
        thread.start()
        entered.wait(20)
    print("still aside")
    leave.set()
    thread.join()
    print("a result")
    seen = capsys.readouterr()
    assert (seen.out, seen.err) == ("a result\n", "still aside\n")
    assert sys.stdout is not sys.stderr
