"""Verification from Python: what is decided stays, what is wrong is told before anything is computed."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

import lemmata as lm
from lemmata.lab import registry
from lemmata.lab.claims import Reading
from lemmata.lab.errors import UserError
from lemmata.lab.files import lock, sealed
from lemmata.lab.page.cards import read_cards
from lemmata.lab.report import write_report
from lemmata.lab.rows import VERDICTS, Row, read_rows
from lemmata.lab.runner import Options
from lemmata.lab.verify import Selection, command_of, select, verify

OPTIONS = Options("smoke", out=Path("out"), recompute_stale=True)
CALLS: list[int] = []


class Setting(lm.Setting):
    slope: float = lm.number(1.0, "a", "slope", low=0)


@lm.simulation(lm.Variable("height", (), "h", "height"), host=True)
def simulate(setting: Setting, seed: int) -> dict[str, Any]:
    CALLS.append(seed)
    return {"height": np.float32(setting.slope + 0.25 * seed)}


def experiment(name: str, *presets: str) -> lm.Experiment:
    sizes = {preset: lm.Preset(Setting(), {}, 3) for preset in presets}
    return lm.Experiment(name, "How high?", "Figure 1", simulate, sizes, lambda data: Figure(figsize=(1, 1)))


@lm.evidence("e1")
def height(data: xr.Dataset, sign: float = 1.0) -> Any:
    return sign * data.height


@lm.evidence("e1")
def interrupted(data: xr.Dataset, sign: float = 1.0) -> Any:
    raise KeyboardInterrupt


@lm.evidence("e1")
def named_slope(data: xr.Dataset, sign: float = 1.0) -> Any:
    return lm.Estimate(*[sign * json.loads(data.attrs["setting"])["slope"]] * 3)


def claim(name: str, evidence: Reading = height) -> lm.Claim:
    low = lm.Control("below", sign=-1.0)
    return lm.Claim(name, "Theorem 1", "bound").states("It is high.").judged(evidence(), lm.at_least(0.0), low)


def selection(*claims: lm.Claim, headline: str = "c1") -> Selection:
    card = dict.fromkeys(("title", "authors", "question", "answer"), "") | {"name": "toy", "headlines": [headline]}
    experiments = [experiment("e1", "smoke"), experiment("e2", "quick")]
    theory = lm.Theory(card, Setting, simulate, experiments, claims)
    return [(theory, list(theory.claims.values()))]


@pytest.fixture(autouse=True)
def _no_calls_yet() -> None:
    CALLS.clear()


def test_evidence_is_told_the_setting_that_its_data_are_of() -> None:
    (row,) = verify(selection(claim("c1", named_slope)), OPTIONS).rows
    assert (row.outcome, row.measured) == ("holds", 1.0)


def test_a_row_is_on_disk_when_it_is_told() -> None:
    seen = []

    def decided(row: Row) -> None:
        seen.append((row.name, [kept.name for kept in read_rows(Path("out"))]))

    done = verify(selection(claim("c1", height), claim("c2", height)), OPTIONS, decided=decided)
    assert seen == [("toy/c1", ["toy/c1"]), ("toy/c2", ["toy/c1", "toy/c2"])]
    assert [row.claim for row in done.rows] == ["c1", "c2"]
    assert done.page == Path("out/index.html")
    assert done.page.exists()
    assert all(row.as_expected for row in done.rows)


def test_whatever_ends_a_verification_decided_rows_stay_and_the_folder_is_free() -> None:
    with pytest.raises(KeyboardInterrupt):
        verify(selection(claim("c1", height), claim("c2", interrupted), claim("c3", height)), OPTIONS)
    assert [row.name for row in read_rows(Path("out"))] == ["toy/c1"]
    with lock(Path("out")):
        pass
    CALLS.clear()
    done = verify(selection(claim("c1", height), claim("c2", height), claim("c3", height)), OPTIONS)
    assert [row.name for row in read_rows(Path("out"))] == [row.name for row in done.rows]
    assert CALLS == [], "the data of the first time are used"


def test_a_listener_that_raises_loses_nothing() -> None:
    def closed(row: Row) -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        verify(selection(claim("c1", height)), OPTIONS, decided=closed)
    assert [row.name for row in read_rows(Path("out"))] == ["toy/c1"]


def test_everything_that_claims_read_is_validated_before_anything_is_computed() -> None:
    with pytest.raises(UserError, match="no preset 'smoke' in e2"):
        verify(selection(claim("c1", height), claim("c2", height.of("e2"))), OPTIONS)
    assert CALLS == []
    assert not Path("out").exists()


@pytest.mark.parametrize(
    "text", ["[{", "{}", "null", '[{"theory": "toy"}]', '[{"controls": [], "reads": [], "seal": ""}]']
)
def test_verdicts_that_cannot_be_read_are_told_before_anything_is_computed(text: str) -> None:
    Path("out").mkdir()
    (Path("out") / VERDICTS).write_text(text)
    with pytest.raises(UserError, match=r"cannot be read|was changed after it was written"):
        verify(selection(claim("c1", height)), OPTIONS)
    assert CALLS == []


def stored() -> list[dict[str, Any]]:
    return json.loads((Path("out") / VERDICTS).read_text())


OLD: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "without a seal": lambda row: row,
    "without a field": lambda row: sealed({name: value for name, value in row.items() if name != "judged"}),
    "with a field more": lambda row: sealed({**row, "mood": "good"}),
    "with other controls": lambda row: sealed({**row, "controls": [{"case": "low", "verdict": "fails"}]}),
    "with one control": lambda row: sealed({**row, "controls": {"case": "low"}}),
}


@pytest.mark.parametrize("old", OLD)
def test_verdicts_of_another_version_are_left_out_and_told_and_the_claims_judged_anew(old: str) -> None:
    verify(selection(claim("c1", height), claim("c2", height)), OPTIONS)
    rows = [OLD[old]({name: value for name, value in row.items() if name != "seal"}) for row in stored()]
    (Path("out") / VERDICTS).write_text(json.dumps(rows))
    with pytest.raises(UserError, match="another version of Lemmata; run `lemmata verify` again"):
        write_report(Path("out"))
    told: list[str] = []
    verify(selection(claim("c1", height)), OPTIONS, say=told.append)
    assert "out/verdicts.json was written by another version of Lemmata; the verdicts in it are left out." in told
    assert [row.name for row in read_rows(Path("out"))] == ["toy/c1"]


def test_one_changed_row_is_no_old_version() -> None:
    verify(selection(claim("c1", height), claim("c2", height)), OPTIONS)
    rows = stored()
    del rows[0]["seal"]
    (Path("out") / VERDICTS).write_text(json.dumps(rows))
    with pytest.raises(UserError, match="was changed after it was written"):
        verify(selection(claim("c1", height)), OPTIONS)


def recorded() -> dict[str, Any]:
    return json.loads(Path("out/verify.json").read_text())


def test_a_verification_leaves_a_record_for_scripts() -> None:
    done = verify(selection(claim("c1", height)), OPTIONS)
    found = recorded()
    assert list(found) == ["version", "command", "started", "seconds", "page", "exit", "reason", "rows"]
    assert datetime.datetime.fromisoformat(found["started"]) <= datetime.datetime.now(datetime.UTC)
    assert found["rows"] == [row.json() for row in done.rows]
    assert found["command"] == "lm.verify(theory, preset='smoke', out='out')", "it is given in Python"
    assert (found["exit"], found["page"], found["version"]) == (0, "out/index.html", lm.__version__)
    assert found["reason"] == "Everything ran; the preset smoke decides nothing."
    assert 0 < found["seconds"] < 600
    assert datetime.datetime.fromisoformat(found["started"]).tzinfo is not None


def test_the_record_says_what_is_not_as_expected_and_is_gone_while_a_verification_runs() -> None:
    verify(selection(claim("c1", height)), OPTIONS)
    with pytest.raises(KeyboardInterrupt):
        verify(selection(claim("c1", interrupted)), OPTIONS)
    assert not Path("out/verify.json").exists()
    quick = Options("quick", out=Path("out"), recompute_stale=True)
    low = lm.Control("higher", sign=2.0)
    wrong = lm.Claim("c3", "Theorem 1", "bound").states("It is low.").judged(height.of("e2")(), lm.at_most(0.0), low)
    verify(selection(wrong, headline="c3"), quick)
    assert recorded()["exit"] == 1
    assert recorded()["reason"] == "1 of 1 claims not as expected: toy/c3."


def test_a_page_says_what_the_theory_and_the_occasion_were() -> None:
    done = verify(selection(claim("c1", height)), OPTIONS)
    (row,) = done.rows
    assert row.asked == "lm.verify(theory, preset='smoke', out='out')"
    assert row.version == lm.__version__
    assert "core" in row.machine
    assert row.judged.endswith("+00:00")
    cards, wrong = read_cards(Path("out"))
    assert not wrong
    assert cards["toy"].claims == 1
    assert cards["toy"].symbols == {"a": "slope", "h": "height"}


def test_the_command_says_what_was_selected_as_shortly_as_possible(monkeypatch: pytest.MonkeyPatch) -> None:
    ((theory, _),) = selection(claim("c1", height), claim("c2", height))
    first, every = [theory.claims["c1"]], list(theory.claims.values())
    options = Options(seed=1000)
    assert command_of([(theory, every)], options) == "lm.verify(theory, seed=1000)", "no shell knows it"
    monkeypatch.setattr(registry, "has", lambda name: True)
    assert command_of([(theory, first)], options) == "lemmata verify toy/c1 --seed 1000"
    assert command_of([(theory, every)], Options()) == "lemmata verify toy"
    monkeypatch.setattr(registry, "names", lambda: ["toy"])
    assert command_of([(theory, first)], Options()) == "lemmata verify", "the headlines of all"
    assert command_of([(theory, every)], Options("paper")) == "lemmata verify --all --preset paper"


def test_a_folder_in_use_is_refused() -> None:
    with lock(Path("out")), pytest.raises(UserError, match="in use"):
        verify(selection(claim("c1", height)), OPTIONS)
    assert CALLS == []


FIELDS = [
    "theory", "claim", "reference", "kind", "statement", "outcome", "expected", "relation", "predicted", "measured",
    "low", "high", "note", "preset", "seconds", "control", "control_expected", "statistic",
    "rule", "source", "seeds", "corrects",
]  # fmt: skip
PAGE = ["formula", "reads", "controls", "command", "sources", "lost", "judged", "asked", "version", "machine", "data"]


def test_a_row_is_printed_with_the_contracts_fields_and_kept_with_those_of_the_page() -> None:
    (row,) = verify(selection(claim("c1", height)), OPTIONS).rows
    assert list(row.json()) == FIELDS
    assert list(row.stored()) == FIELDS + PAGE
    (stored,) = json.loads((Path("out") / VERDICTS).read_text())
    assert list(stored) == [*FIELDS, *PAGE, "seal"]
    assert read_rows(Path("out")) == [row]
    assert row.measured == 1.25


def test_the_file_of_rows_is_plain_json_of_one_indentation() -> None:
    verify(selection(claim("c1", height), claim("c2", height)), OPTIONS)
    text = (Path("out") / VERDICTS).read_text()
    assert text == json.dumps(json.loads(text), indent=1) + "\n"


def test_names_select_claims_and_none_the_headlines(monkeypatch: pytest.MonkeyPatch) -> None:
    ((theory, _),) = selection(claim("c1", height), claim("c2", height))
    monkeypatch.setattr(registry, "load_all", lambda: [theory])
    monkeypatch.setattr(registry, "load", lambda name: theory)

    def names(*given: str, everything: bool = False) -> list[str]:
        return [claim.name for _, claims in select(given, everything) for claim in claims]

    assert names() == ["c1"]
    assert names(everything=True) == ["c1", "c2"]
    assert names("toy") == ["c1", "c2"]
    assert names("toy/c2", "toy/c2") == ["c2"]
    with pytest.raises(UserError, match="did you mean 'c2'"):
        select(["toy/c22"])
