"""The suite's workers keep to the groups that conftest.py names: else each computes every theory's smoke data."""

from __future__ import annotations

import os

import pytest


@pytest.mark.skipif("PYTEST_XDIST_WORKER" not in os.environ, reason="one process runs every group")
def test_workers_are_handed_groups(request: pytest.FixtureRequest) -> None:
    assert request.node.nodeid.endswith("@test_groups")
