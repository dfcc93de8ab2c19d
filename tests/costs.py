"""What a test run costs: at its end, one table of tests, seconds and programs by theory and group."""

from __future__ import annotations

import collections
from collections.abc import Generator
from pathlib import Path
from typing import Any

import jax
import pytest

from lemmata.lab.programs import COMPILED

TESTS = Path(__file__).parent
ALONE = {"test_cli": "command line", "test_docs": "docs", "test_types": "types"}
"""The groups of files that stand directly in the folder of tests, by how their names begin."""


def cost_group(item: pytest.Item) -> str:
    """Whose bill a test is on: its theory's, also from elsewhere, or its folder's."""
    marker = item.get_closest_marker("xdist_group")
    if marker and (TESTS / "theories" / marker.args[0]).is_dir():
        return marker.args[0]
    folder, *rest = item.path.relative_to(TESTS).parts
    if rest:
        return folder
    return next((group for start, group in ALONE.items() if folder.startswith(start)), "tools")


class Costs:
    """Workers count, and send what they counted with each report; the controller adds up."""

    def __init__(self) -> None:
        self._programs = 0
        self._sums: dict[str, list[float]] = collections.defaultdict(lambda: [0, 0.0, 0])
        jax.monitoring.register_event_duration_secs_listener(self._listen)

    def _listen(self, event: str, duration_secs: float, **_: Any) -> None:
        self._programs += event == COMPILED

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        report.user_properties.append(("cost", (cost_group(item), self._programs)))
        self._programs = 0
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for group, programs in (value for name, value in report.user_properties if name == "cost"):
            sums = self._sums[group]
            sums[0] += report.when == "setup"
            sums[1] += report.duration
            sums[2] += programs

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if len(self._sums) < 2:
            return
        terminalreporter.section("cost by group")
        terminalreporter.write_line(f"{'':<24}{'tests':>8}{'seconds':>10}{'programs':>10}")
        for group, (tests, seconds, programs) in sorted(self._sums.items(), key=lambda each: -each[1][1]):
            terminalreporter.write_line(f"{group:<24}{tests:>8}{seconds:>10.1f}{programs:>10}")
