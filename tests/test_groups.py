"""The suite's workers keep to the groups that conftest.py names, in the order of order.py: else each computes every
theory's smoke data, or the long groups come last."""

from __future__ import annotations

import os

import pytest
from order import WEIGHT, in_order


@pytest.mark.skipif("PYTEST_XDIST_WORKER" not in os.environ, reason="one process runs every group")
def test_workers_are_handed_groups(request: pytest.FixtureRequest) -> None:
    assert request.node.nodeid.endswith("@test_groups")


def test_long_groups_come_first_and_those_that_wait_between_those_that_compute():
    files = {"vit": "theories/vit/a.py", "icl": "theories/icl/a.py", "cot": "theories/cot/a.py", "fits": "lab/a.py"}
    files |= {"signals": "faults/a.py", "command": "test_cli.py"}
    counts = {"fits": 1, "cot": 30, "icl": 40, "vit": 50, "command": 2, "signals": 1}
    assert counts["cot"] > 2 * WEIGHT
    tests = [(group, files[group]) for group, count in counts.items() for _ in range(count)]
    assert in_order(tests) == ["vit", "icl", "command", "cot", "signals", "fits"]
