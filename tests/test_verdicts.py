"""The verdicts that the documentation shows are those of the claims as they are declared, and say what was judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from smoke import each_theory

from lemmata.lab.registry import load

FOLDER = Path(__file__).parent.parent / "docs" / "verdicts"
THEORIES = sorted(path.stem for path in FOLDER.glob("*.json"))
SLACK = 100
"""A bound that exceeds what was measured by more than this says so."""
FAR = "far from tight"
SHOWS_SLACK = sorted(set(THEORIES) - {"group_imbalance"})


def rows(theory: str) -> list[dict[str, Any]]:
    return json.loads((FOLDER / f"{theory}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("theory", THEORIES)
def test_the_number_shown_lies_in_its_own_interval_and_says_what_it_is(theory: str) -> None:
    for row in rows(theory):
        ends = row["low"], row["high"]
        assert ends == (None, None) or ends[0] <= row["measured"] <= ends[1], row["claim"]
        assert row["rule"], row["claim"]
        assert (row["statistic"] == "none") == (row["measured"] is None), row["claim"]
        if row["seeds"] == 1 and row["statistic"] == "worst seed":
            assert ends == (None, None), f"{row['claim']}: the range of a single run"


@pytest.mark.parametrize("theory", each_theory(*THEORIES))
def test_a_verdict_is_that_of_the_claim_as_it_is_declared(theory: str) -> None:
    claims, experiments = load(theory).claims, load(theory).experiments
    assert {row["claim"] for row in rows(theory)} <= set(claims)  # what was not computed again has none
    for row in rows(theory):
        claim = claims[row["claim"]]
        declared = claim.statement, claim.expected, claim.kind, claim.source, claim.corrects or None
        assert tuple(row[name] for name in ("statement", "expected", "kind", "source", "corrects")) == declared
        seeds = {experiments[name].preset("quick").seeds for name in claim.reads}
        assert not claim.reads or row["seeds"] in seeds | {0}, row["claim"]  # 0: nothing could be judged


@pytest.mark.parametrize("theory", SHOWS_SLACK)
def test_a_bound_that_is_far_from_tight_says_so(theory: str) -> None:
    for row in rows(theory):
        measured, limit = row["measured"], row["predicted"]
        if row["kind"] != "bound" or row["relation"] != "<=" or not measured or not limit or measured < 1e-12:
            continue  # 0 has no ratio, and what is 0 to rounding has none either
        assert limit <= SLACK * measured or FAR in row["statement"], f"{row['claim']}: {limit / measured:.0f} times"
