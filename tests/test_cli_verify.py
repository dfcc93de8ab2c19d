"""The command line: what `verify` and `report` print, write and leave with."""

from __future__ import annotations

import io
import math
from pathlib import Path

import pytest
from cli_toy import THEORY, calls, forget_calls, write_toy
from command import Lemmata

from lemmata import cli
from lemmata.lab import registry


@pytest.fixture
def toy() -> Path:
    """A theory of the user's own in one file."""
    return write_toy()


ROW = {
    "theory", "claim", "reference", "kind", "statement", "outcome", "expected", "relation", "predicted", "measured",
    "low", "high", "note", "preset", "seconds", "control", "control_expected", "statistic",
    "rule", "source", "seeds", "corrects",
}  # fmt: skip


def test_verify_prints_the_contracts_rows(lemmata: Lemmata, toy: Path) -> None:
    done = lemmata("verify", "toy.py", "--preset", "smoke", "--json")
    assert done.code == 0, done.err
    high, ranged, absent, other = done.json
    for row in (high, absent, other):
        assert set(row) == ROW
    assert set(ranged) == ROW | {"accept_low", "accept_high"}
    assert (high["theory"], high["claim"], high["kind"], high["reference"]) == ("toy", "c1-high", "bound", "Theorem 1")
    assert (high["outcome"], high["expected"], high["control"], high["control_expected"]) == (
        "holds", "holds", "fails", "fails",
    )  # fmt: skip
    assert high["relation"] == ">="
    assert high["predicted"] == 4.0
    assert high["low"] < high["measured"] < high["high"]
    assert math.isclose(high["measured"], 6, abs_tol=0.05)
    assert (ranged["outcome"], ranged["control"]) == ("fails", "holds")
    assert (ranged["relation"], ranged["accept_low"], ranged["accept_high"]) == ("in", 5.0, 7.0)
    assert (absent["outcome"], absent["measured"]) == ("inconclusive", None)
    assert "nan" in absent["note"]
    assert (absent["statistic"], absent["rule"], absent["seeds"]) == ("none", "95 % t interval over seeds", 3)
    assert (high["statistic"], high["rule"], high["seeds"]) == ("mean", "95 % t interval over seeds", 3)
    assert other["relation"] == "<="
    assert {row["preset"] for row in done.json} == {"smoke"}
    assert Path("results/smoke/index.html").exists()


def test_an_experiment_that_several_claims_read_is_run_and_drawn_once(lemmata: Lemmata, toy: Path) -> None:
    done = lemmata("verify", "toy.py/c1-high", "toy.py/c2-range", "--preset", "smoke", "--json")
    assert [row["claim"] for row in done.json] == ["c1-high", "c2-range"]
    assert Path("plots.log").read_text() == "x"
    assert done.err.count("the slope exceeds 1") == 1


def test_a_claim_that_is_named_twice_is_examined_once(lemmata: Lemmata, toy: Path) -> None:
    rows = lemmata("verify", "toy.py/c2-range", "toy.py", "toy.py/c2-range", "--preset", "smoke", "--json").json
    assert sorted(row["claim"] for row in rows) == ["c1-high", "c2-range", "c3-absent", "c4-other"]


def test_verify_of_one_claim_runs_only_what_it_reads(lemmata: Lemmata, toy: Path) -> None:
    done = lemmata("verify", "toy.py/c1-high", "--preset", "smoke", "--json")
    assert [row["claim"] for row in done.json] == ["c1-high"]
    assert not Path("results/smoke/toy/e2-other").exists()


def test_verify_reuses_what_run_left_and_a_second_one_computes_nothing(lemmata: Lemmata, toy: Path) -> None:
    lemmata("run", "toy.py/e1-line", "--preset", "smoke", "--seeds", "7")
    forget_calls()
    first = lemmata("verify", "toy.py", "--preset", "smoke", "--json")
    assert {call.split()[0] for call in calls()} == {"3"}, "only the experiment that had not been run"
    forget_calls()
    second = lemmata("verify", "toy.py", "--preset", "smoke", "--json")
    assert calls() == []
    strip = [{key: value for key, value in row.items() if key != "seconds"} for row in second.json]
    assert strip == [{key: value for key, value in row.items() if key != "seconds"} for row in first.json]


def test_verify_recomputes_stale_data_and_says_so(lemmata: Lemmata, toy: Path) -> None:
    lemmata("run", "toy.py/e1-line", "--preset", "smoke")
    toy.write_text(THEORY.replace("0.01 * np.sin", "0.02 * np.sin"))
    forget_calls()
    done = lemmata("verify", "toy.py/c1-high", "--preset", "smoke", "--json")
    assert done.code == 0
    assert "e1-line: stored data have another version of the sources" in done.err
    assert "computing again" in done.err
    assert len(set(calls())) == 6
    again = lemmata("verify", "toy.py/c1-high", "--preset", "smoke", "--json")
    assert "computing again" not in again.err


def test_verify_leaves_with_1_if_an_outcome_is_not_the_expected_one(lemmata: Lemmata, toy: Path) -> None:
    toy.write_text(THEORY.replace("lm.at_least(4.0), low", "lm.at_least(400.0), low", 1))
    done = lemmata("verify", "toy.py/c1-high", "--json")
    assert done.code == 1
    assert (done.json[0]["outcome"], done.json[0]["expected"]) == ("fails", "holds")
    assert "not as expected: toy/c1-high: fails (expected holds)" in done.err


def test_at_smoke_an_outcome_does_not_decide_the_exit_code_but_a_lost_value_does(lemmata: Lemmata, toy: Path) -> None:
    toy.write_text(THEORY.replace("lm.at_least(4.0), low", "lm.at_least(400.0), low", 1))
    assert lemmata("verify", "toy.py/c1-high", "--preset", "smoke").code == 0
    toy.write_text(THEORY.replace("high, low = height(2.0)", "high, low = height(2.0, np.nan)", 1))
    lost = lemmata("verify", "toy.py/c1-high", "--preset", "smoke")
    assert lost.code == 1
    assert "not measured in every seed" in lost.sentences[-1]


def test_verify_leaves_with_1_if_a_control_is_wrong(lemmata: Lemmata, toy: Path) -> None:
    toy.write_text(
        THEORY.replace('lm.Control("the low slope", slope=0.5)', 'lm.Control("nothing broken", slope=2.0)', 1)
    )
    done = lemmata("verify", "toy.py/c1-high", "--json")
    assert done.code == 1
    assert done.json[0]["outcome"] == done.json[0]["expected"] == "holds"
    assert (done.json[0]["control"], done.json[0]["control_expected"]) == ("holds", "fails")


def test_verify_leaves_with_1_if_cells_failed(lemmata: Lemmata, toy: Path) -> None:
    broken = THEORY.replace('return {"height"', 'assert setting.slope != 2.0, "no"\n    return {"height"')
    toy.write_text(broken)
    done = lemmata("verify", "toy.py/c1-high", "--preset", "smoke", "--json")
    assert done.code == 1
    assert done.json[0]["outcome"] == "inconclusive"
    assert "e1-line has failed cells" in done.json[0]["note"]


def test_verify_hands_its_seed_to_evidence_that_draws(lemmata: Lemmata, toy: Path) -> None:
    drawn = "@lm.fact\ndef drawn(sign=1, *, seed):\n    return sign * np.random.default_rng(seed).uniform()\n\n\n"
    chance = "claim('c0-chance', drawn(), lm.at_least(0.0), lm.Control('below', sign=-1))"
    toy.write_text(THEORY.replace("CLAIMS = [", f"{drawn}CLAIMS = [{chance},"))
    measured = []
    for seed in ("0", "1", "0"):
        done = lemmata("verify", "toy.py/c0-chance", "--preset", "smoke", "--seed", seed, "--json")
        assert done.code == 0
        measured.append(done.json[0]["measured"])
    assert measured[0] == measured[2] != measured[1]
    assert not calls(), "a claim that reads no experiment runs none"


def test_verify_without_a_name_checks_the_headlines_and_with_all_everything(
    lemmata: Lemmata, toy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "load_all", lambda: [registry.load(str(toy))])
    headlines = lemmata("verify", "--preset", "smoke", "--json")
    assert [row["claim"] for row in headlines.json] == ["c1-high"]
    everything = lemmata("verify", "--all", "--preset", "smoke", "--json")
    assert [row["claim"] for row in everything.json] == ["c1-high", "c2-range", "c3-absent", "c4-other"]


def test_rows_appear_as_they_are_decided(lemmata: Lemmata, toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stdout = io.StringIO()
    with monkeypatch.context() as patch:
        patch.setattr("sys.argv", ["lemmata", "verify", "toy.py", "--preset", "smoke"])
        patch.setattr("sys.stdout", stdout)
        with pytest.raises(SystemExit) as left:
            cli.main()
    assert left.value.code == 0
    before_last = Path("printed").read_text()
    assert "toy/c1-high" in before_last
    assert "toy/c3-absent" in before_last
    assert "toy/c4-other" not in before_last
    assert "toy/c4-other" in stdout.getvalue()
    assert "4 claims, 4 as expected: 2 hold, 1 fails, 1 is inconclusive. The preset smoke" in stdout.getvalue()


def test_report_rebuilds_the_same_page_without_computing(lemmata: Lemmata, toy: Path) -> None:
    lemmata("verify", "toy.py", "--preset", "smoke")
    page = Path("results/smoke/index.html")
    before = page.read_bytes()
    page.unlink()
    forget_calls()
    toy.unlink()
    done = lemmata("report", "results/smoke")
    assert done.code == 0
    assert done.out.strip() == "results/smoke/index.html"
    assert page.read_bytes() == before
    assert calls() == []


def test_verdicts_of_several_commands_meet_on_one_page(lemmata: Lemmata, toy: Path) -> None:
    lemmata("verify", "toy.py/c1-high", "--preset", "smoke")
    lemmata("verify", "toy.py/c2-range", "--preset", "smoke")
    page = Path("results/smoke/index.html").read_text()
    assert "The statement of c1-high." in page
    assert "The statement of c2-range." in page
    toy.write_text(THEORY + "\nCHANGED = True\n")
    lemmata("verify", "toy.py/c2-range", "--preset", "smoke")
    page = Path("results/smoke/index.html").read_text()
    assert "The statement of c1-high." not in page, "a verdict of other sources does not stay"
