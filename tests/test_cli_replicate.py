"""The command line: `replicate` judges claims on further blocks of seeds, `show THEORY/ITEM` tells one in full."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_toy import calls, forget_calls, write_toy
from command import Lemmata

from lemmata.lab.replications import Replication, known_replications, read_table
from lemmata.lab.rows import Row, read_rows

FIELDS = {
    "theory", "claim", "expected", "control_expected", "preset", "blocks", "seeds", "as_expected", "share", "share_low",
    "share_high", "measured", "median", "low", "high", "odd", "seconds",
}  # fmt: skip


@pytest.fixture
def toy() -> Path:
    return write_toy()


def test_each_block_is_a_verification_of_its_own_seeds(lemmata: Lemmata, toy: Path) -> None:
    done = lemmata("replicate", "toy.py", "--blocks", "2", "--preset", "smoke", "--json")
    assert done.code == 0, done.err
    assert [row["claim"] for row in done.json] == ["c1-high", "c2-range", "c3-absent", "c4-other"]
    row = done.json[0]
    assert set(row) == FIELDS
    assert (row["blocks"], row["as_expected"], row["seeds"], row["odd"]) == (2, 2, [1010000, 1020000], [])
    assert (row["share"], row["share_high"]) == (1, 1)
    assert row["share_low"] == pytest.approx(0.3424, abs=1e-4)  # Wilson: 1 / (1 + 1.96^2 / 2)
    assert done.json[2]["measured"] == [None, None]
    out = Path("results/smoke")
    assert json.loads((out / "replicate.json").read_text()) == done.json
    for seed in (1010000, 1020000):
        alone = lemmata("verify", "toy.py", "--preset", "smoke", "--seed", str(seed), "--json")
        assert [r["measured"] for r in alone.json] == [r["measured"][[1010000, 1020000].index(seed)] for r in done.json]
        assert [r.measured for r in read_rows(out / "replicate" / str(seed))] == [r["measured"] for r in alone.json]


def test_what_is_there_is_not_computed_again_and_more_blocks_are_added(lemmata: Lemmata, toy: Path) -> None:
    lemmata("replicate", "toy.py", "--blocks", "1", "--preset", "smoke")
    forget_calls()
    done = lemmata("replicate", "toy.py/c4-other", "--blocks", "2", "--preset", "smoke", "--json")
    assert done.json[0]["blocks"] == 2
    assert {call.split()[1] for call in calls()} == {f"{1020000 + i}" for i in range(3)}
    table = {each.claim: each.blocks for each in read_table(Path("results/smoke/replicate.json"))}
    assert table == {"c1-high": 1, "c2-range": 1, "c3-absent": 1, "c4-other": 2}
    assert not Path("plots.log").exists()


def test_a_claim_that_does_not_repeat_is_named_with_its_seed_and_the_exit_code_is_1(
    lemmata: Lemmata, toy: Path
) -> None:
    text = toy.read_text().replace("lm.at_least(4.0), low", 'lm.at_least(5.995, by="every"), low')
    toy.write_text(text)  # 6 + 0.01 sin(seed): of three seeds in a row one may lie below
    done = lemmata("replicate", "toy.py/c1-high", "--blocks", "4", "--preset", "smoke")
    odd = [line for line in done.sentences if line.startswith("toy/c1-high, seeds from")]
    assert done.code == 1
    assert f"{4 - len(odd)} of 4 as expected" in done.out
    assert len(odd) > 0
    assert "fails" in odd[0]
    assert "worst seed 5.99" in odd[0]


def test_the_page_says_how_often_a_verdict_repeated(lemmata: Lemmata, toy: Path) -> None:
    lemmata("replicate", "toy.py/c1-high", "--blocks", "2", "--preset", "smoke")
    lemmata("verify", "toy.py", "--preset", "smoke")
    page = Path("results/smoke/index.html").read_text()
    assert page.count("<dd>as expected in 2 of 2 blocks of fresh seeds</dd>") == 1


def test_a_damaged_table_is_one_sentence(lemmata: Lemmata, toy: Path) -> None:
    Path("results/smoke").mkdir(parents=True)
    Path("results/smoke/replicate.json").write_text('[{"theory": 1}]')
    done = lemmata("replicate", "toy.py/c1-high", "--blocks", "1", "--preset", "smoke")
    assert done.code == 2
    assert "cannot be read as a table of replications" in done.sentences[-1]


def test_a_share_counts_claim_and_control_together() -> None:
    def row(measured: float | None, control: str = "fails") -> Row:
        return Row(
            theory="t", claim="c", reference="", kind="bound", statement="", outcome="holds", expected="holds",
            relation=">=", predicted=0, measured=measured, low=None, high=None, accept_low=None, accept_high=None,
            note="n", preset="quick", seconds=1, control=control, control_expected="fails", statistic="mean", rule="r",
            source="paper", seeds=3, corrects=None, formula="", reads=(), controls=(), command="", sources="",
            lost=False, judged="", asked="", version="", machine="",
        )  # fmt: skip

    found = Replication.of({1: row(3.0), 2: row(1.0, "holds"), 3: row(None), 4: row(2.0)})
    assert (found.as_expected, found.share, found.repeats) == (3, 0.75, False)
    assert (found.median, found.low, found.high) == (2, 1, 3)
    assert found.odd == [{"seed": 2, "outcome": "holds", "control": "holds", "measured": 1.0, "note": "n"}]


def test_a_theory_of_the_user_has_no_shipped_table() -> None:
    assert known_replications("toy") == {}


# show THEORY/ITEM


def test_a_claim_is_shown_in_full(lemmata: Lemmata, toy: Path) -> None:
    shown = lemmata("show", "toy.py/c2-range", "--json").json
    assert shown == {
        "type": "claim", "name": "c2-range", "reference": "Theorem 1", "kind": "bound", "source": "paper",
        "statement": "The statement of c2-range.", "formula": "", "evidence": "The height at the end.",
        "reads": ["e1-line"], "judge": "in [5, 7]", "rule": "95 % t interval over seeds", "expected": "fails",
        "controls": [{"case": "right", "changed": {"slope": [0.5, 2.0]}, "expected": "holds"}], "gate": None,
        "corrects": None, "headline": False, "replication": None,
    }  # fmt: skip
    text = lemmata("show", "toy.py/c2-range").out
    for words in ("The statement of c2-range.", "in [5, 7]", "right (slope = 2, not 0.5): must come out as holds"):
        assert words in text


def test_an_experiment_a_bound_and_a_field_are_shown(lemmata: Lemmata, toy: Path) -> None:
    assert lemmata("show", "toy.py/e1-line", "--json").json == {
        "type": "experiment", "name": "e1-line", "question": "How high?", "reference": "Figure 1",
        "axes": {"slope": [0.5, 2.0]}, "claims": ["c1-high", "c2-range", "c3-absent"],
        "presets": {"smoke": {"cells": 2, "seeds": 3, "runs": 6}, "quick": {"cells": 2, "seeds": 6, "runs": 12}},
    }  # fmt: skip
    assert lemmata("show", "toy.py/samples", "--json").json["parameters"] == ["n", "c"]
    assert lemmata("show", "toy.py/slope", "--json").json["meaning"] == "slope of the line"
    for item in ("e1-line", "samples", "slope", "mode"):
        assert lemmata("show", f"toy.py/{item}").code == 0


def test_a_wrong_item_and_one_that_is_several_things_are_one_sentence(lemmata: Lemmata, toy: Path) -> None:
    wrong = lemmata("show", "toy.py/c1-hihg")
    assert (wrong.code, wrong.sentences) == (2, ["There is no item 'c1-hihg' in toy.py; did you mean 'c1-high'?"])
    toy.write_text(
        toy.read_text().replace('experiment("e2-other"', 'experiment("samples"').replace('"e2-other"', '"samples"')
    )
    several = lemmata("show", "toy.py/samples")
    assert several.code == 2
    assert several.sentences == [
        "'samples' is several things in toy.py: say toy.py/experiment:samples or toy.py/bound:samples."
    ]
    assert lemmata("show", "toy.py/bound:samples", "--json").json["type"] == "bound"
