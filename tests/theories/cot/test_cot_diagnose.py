"""The diagnosis of a user's own chain: against direct simulation, the command, and one sentence for every bad file."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import Lemmata
from test_cot_systems import random_system, vote_by_examples

import lemmata as lm
from lemmata.theories.cot import transitions, voters
from lemmata.theories.cot.diagnose import diagnose
from lemmata.theories.cot.diagnose.reading import read_chain
from lemmata.theories.cot.diagnose.voting import Simulated, needed_examples, needed_votes, simulate_errors, vote_error


def clear_system(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A random system of two steps with clear leads, so that few examples are needed."""
    maps, matrices = random_system(np.random.default_rng(seed), steps=2, patterns=4)
    return maps, 0.5 * matrices + 0.5 * np.eye(4)[maps]


@pytest.mark.parametrize("seed", range(4))
def test_the_examples_that_are_said_to_be_needed_are_enough_and_half_of_them_are_not(seed: int) -> None:
    maps, matrices = clear_system(seed)
    needs = needed_examples((matrices, maps), 0.8, 0.05)
    condition = transitions.describe(matrices, maps).condition
    rng = np.random.default_rng(100 + seed)

    def errors(i: int, length: int) -> tuple[float, float]:
        matching = int(voters.matches(0.8, length))
        cot, icl = voters.vote(rng, (matrices, maps), length, matching, np.full(20_000, i))
        return float(cot[:, -1].mean()), float(icl.mean())

    for i in range(4):
        # every vote of CoT errs in at most 0.05, so that the last of two answers does in at most about 0.1
        assert errors(i, int(needs.cot[i]))[0] <= 0.105
        assert errors(i, max(int(needs.cot[i]) // 2, 1))[0] > 0.04
        assert np.isfinite(needs.icl[i]) == condition[i]
        if condition[i]:
            assert errors(i, int(needs.icl[i]))[1] <= 0.055
            assert errors(i, max(int(needs.icl[i]) // 2, 1))[1] > 0.05


@pytest.mark.parametrize("seed", range(3))
def test_simulated_and_exact_errors_are_those_of_prompts_made_example_by_example(seed: int) -> None:
    maps, matrices = random_system(np.random.default_rng(seed), steps=2, patterns=3)
    length, matching, many = 8, 7, 1500
    rng = np.random.default_rng(seed)
    slow = [vote_by_examples(rng, matrices, maps, length, matching, i % 3) for i in range(many)]
    cot, icl = (np.mean(each) for each in ([w[-1] for w, _ in slow], [w for _, w in slow]))
    seen = simulate_errors((matrices, maps), 0.8, np.array([length]), 30_000, rng)
    spread = 4 * np.sqrt(0.25 / many)
    assert seen.cot.mean() == pytest.approx(cot, abs=spread)
    assert seen.icl.mean() == pytest.approx(icl, abs=spread)
    whole, right = transitions.compose(matrices), transitions.answers(maps)
    exact = np.mean([voters.plurality_error(row, matching, int(j)) for row, j in zip(whole, right, strict=True)])
    assert seen.icl.mean() == pytest.approx(exact, abs=4 * np.sqrt(0.25 / 30_000))


def test_the_fewest_votes_are_the_fewest_and_rivals_one_by_one_are_on_the_safe_side() -> None:
    chances = np.array([0.6, 0.3, 0.1])
    n = int(needed_votes(chances, 0, 0.05))
    assert vote_error(chances, 0, n) <= 0.05 < vote_error(chances, 0, n - 1)
    assert needed_votes(chances, 1, 0.05) == np.inf
    even = np.array([0.28, 0.24, 0.24, 0.24])
    exact, bound = voters.plurality_error(even, 401), vote_error(even, 0, 401)
    assert exact < bound < 2 * exact


def test_a_simulated_length_lies_between_the_ends_of_its_interval() -> None:
    lengths = np.array([10, 20, 40])
    errors = np.repeat([[0.2], [0.1], [0.02]], 10, axis=1)
    found = Simulated(lengths, errors, np.ones((3, 10)), 4000)
    needed = found.needed("cot", 0.05)
    assert 20 < needed.low < needed.value < needed.high < 40
    assert needed.value == pytest.approx(20 * 2 ** (np.log(2) / np.log(5)))
    assert found.needed("cot", 0.5).value == 10  # enough with the fewest that were tried
    assert found.needed("icl", 0.05).value == np.inf


def test_example_one_is_diagnosed_as_the_paper_says() -> None:
    found = diagnose(transitions.EXAMPLE, prompts=1000)
    said = found.quantities
    assert said["limit_of_the_icl_error"] == 0.5
    assert [row["condition"] for row in said["inputs"]] == [False, True]
    assert [row["most_probable"] for row in said["inputs"]] == [1, 1]
    assert said["inputs"][0]["icl_examples"] is None
    assert {one.name: one.holds for one in found.assumptions} == {
        "condition": False, "bijections": True, "right": None, "markov": None
    }  # fmt: skip
    steps, more = found.findings
    assert steps.does == "follow"
    assert more.does == "avoid"  # with more examples the wrong favourite wins more surely
    long = diagnose(transitions.EXAMPLE, prompts=1000, examples=2000).findings
    assert len(long) == 1
    assert long[0].gain is not None
    assert long[0].gain.value == pytest.approx(0.5, abs=0.03)
    direct = diagnose(transitions.DIRECT, prompts=1000, examples=1000).findings[0]
    assert direct.does == "no difference"
    assert len(found.figure().axes) == 5


def write_files(folder: Path) -> dict[str, list[str]]:
    """Example 1 as the three kinds of files."""
    np.savez(folder / "chain.npz", step1=transitions.EXAMPLE[0], step2=transitions.EXAMPLE[1])
    for k, matrix in enumerate(transitions.EXAMPLE, start=1):
        np.savetxt(folder / f"step{k}.csv", matrix, delimiter=",")
    rows = [f"{k + 1},{i + 1},{j + 1},{1000 * p:g}" for (k, i, j), p in np.ndenumerate(transitions.EXAMPLE)]
    (folder / "counts.csv").write_text("step,from,to,count\n" + "\n".join(rows))
    return {"npz": ["chain.npz"], "csv": ["step1.csv", "step2.csv"], "table": ["counts.csv"]}


def test_files_and_arrays_of_one_chain_are_the_same_chain(tmp_path: Path) -> None:
    for kind, files in write_files(tmp_path).items():
        chain = read_chain([str(tmp_path / name) for name in files])
        np.testing.assert_allclose(chain.matrices, transitions.EXAMPLE)
        assert (chain.counts is not None) == (kind == "table")
        assert [path.name for path in chain.files] == files
    np.testing.assert_allclose(read_chain(list(transitions.EXAMPLE)).matrices, transitions.EXAMPLE)


def test_matrices_are_taken_by_the_number_in_their_name(tmp_path: Path) -> None:
    steps = {f"A{k}": np.roll(np.eye(12), k, axis=1) for k in range(1, 12)}
    np.savez(tmp_path / "long.npz", **steps)
    chain = read_chain(tmp_path / "long.npz")
    assert all((matrix == steps[f"A{k}"]).all() for k, matrix in enumerate(chain.matrices, start=1))


def test_files_of_steps_are_taken_by_the_number_in_their_name_and_none_may_be_missing(tmp_path: Path) -> None:
    steps = [np.roll(np.eye(3), k, axis=1) for k in range(3)]
    for k, matrix in enumerate(steps, start=9):
        np.savetxt(tmp_path / f"step{k}.csv", matrix, delimiter=",")
    names = [str(tmp_path / f"step{k}.csv") for k in (10, 11, 9)]  # as the shell sorts them
    with pytest.raises(lm.UserError, match="has no step 1; it goes up to step 11"):
        read_chain(names)
    for k, name in enumerate(names):
        Path(name).rename(tmp_path / f"part{(2, 3, 1)[k]}.csv")
    np.testing.assert_array_equal(read_chain([tmp_path / f"part{k}.csv" for k in (2, 3, 1)]).matrices, steps)
    with pytest.raises(lm.UserError, match="has no step 2; it goes up to step 3"):
        read_chain([tmp_path / f"part{k}.csv" for k in (1, 3)])


def test_a_broken_archive_and_too_many_states_are_refused(tmp_path: Path) -> None:
    for name, content in (("text.npz", b"no archive"), ("half.npz", b"PK\x03\x04")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(lm.UserError, match=f"{name} is no .npz of numbers"):
            read_chain(tmp_path / name)
    (tmp_path / "many.csv").write_text("step,from,to,count\n1,1,1000000,3\n")
    with pytest.raises(lm.UserError, match="has 1000000 states"):
        read_chain(tmp_path / "many.csv")
    np.savetxt(tmp_path / "one.csv", np.eye(2), delimiter=",")
    (tmp_path / "nothing.csv").write_text("")
    with pytest.raises(lm.UserError, match="is no table of numbers"):
        read_chain([tmp_path / "one.csv", tmp_path / "nothing.csv"])
    with pytest.raises(lm.UserError, match="2 to 300 rows"):
        read_chain([np.eye(301)])


def test_few_observations_make_the_condition_uncertain(tmp_path: Path) -> None:
    write_files(tmp_path)
    sure = diagnose(tmp_path / "counts.csv", prompts=200)
    assert sure.quantities["inputs"][1]["condition_in_resamples"] == 1
    assert sure.assumptions[-1].holds
    text = (tmp_path / "counts.csv").read_text().replace("00\n", "\n").removesuffix("00")
    (tmp_path / "few.csv").write_text(text)
    few = diagnose(tmp_path / "few.csv", prompts=200)
    assert 0.5 < few.quantities["inputs"][1]["condition_in_resamples"] < 1
    assert few.assumptions[-1].holds is False


def test_the_command_writes_findings_quantities_and_a_figure(
    tmp_path: Path, lemmata: Lemmata, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for files in write_files(tmp_path).values():
        done = lemmata("diagnose", "chain", *files, "--alpha", "0.9", "--prompts", "500", "--out", "found", "--json")
        assert done.code == 0
        answer = done.json
        assert answer["kind"] == "chain"
        assert answer["input"]["files"] == files
        assert answer["input"]["sizes"] == {"steps": 2, "states": 2}
        assert answer["findings"][0]["does"] == "follow"
        assert answer["findings"][0]["low"] <= answer["findings"][0]["gain"] <= answer["findings"][0]["high"]
        assert answer["quantities"]["tau"] == pytest.approx(0.36)
        assert json.loads((tmp_path / "found" / "diagnosis.json").read_text()) == answer
        assert (tmp_path / "found" / "figure.png").is_file()
    said = lemmata("diagnose", "chain", "step1.csv", "step2.csv", "--prompts", "200").out
    assert said.index("Show the steps") < said.index("tau 0.36") < said.index("does not hold: Condition 7.3.2")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("0.5,0.6\n0.5,0.5\n", "Row 1 of step 1 sums to 1.1"),
        ("-0.5,1.5\n0.5,0.5\n", "negative entry"),
        ("0.5,0.5\n", "square matrix"),
        ("a,b\nc,d\n", "no table of numbers"),
        ("step,from,to,count\n", "no transitions"),
        ("step,from,to\n1,1,2\n", "no column count"),
        ("step,from,to,count\n1,1,2,x\n", "not a number"),
        ("step,from,to,count\n1,1,2,3,9\n1,2,1,3,9\n", "more entries than columns"),
        ("step,from,to,count\n1,1,2,3\n1,2,1,3\n3,1,2,3\n3,2,1,1\n", "has no step 2; it goes up to step 3"),
        ("step,from,to,count\n1,1,2,3\n1,2,1,-3\n", "no count is negative"),
        ("step,from,to,count\n1,1,2,3\n", "from state 2"),
        ("step,from,to,count\n1,1e300,2,3\n", "has 1e+300 states"),
        ("step,from,to,count\n1,1,2,nan\n", "not a number"),
        ("nan,1\n0.5,0.5\n", "not a finite number"),
        ("0.5,0.5\n1\n", "the number of columns changed from 2 to 1 at row 2."),
        ("", "cannot be read as a table"),
    ],
)
def test_a_bad_file_gets_one_sentence(tmp_path: Path, lemmata: Lemmata, content: str, words: str) -> None:
    (tmp_path / "chain.csv").write_text(content)
    done = lemmata("diagnose", "chain", str(tmp_path / "chain.csv"))
    assert done.code == 2
    assert len(done.sentences) == 1
    assert words in done.sentences[0]


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ({"a": np.eye(2), "b": np.eye(3)}, "Step 2 has shape"),
        ({"a": np.eye(2), "b": np.ones(3)}, "square"),
        ({"step1": np.eye(2), "step3": np.eye(2)}, "^chain.npz has no step 2; it goes up to step 3.$"),
        ({"step1": 1j * np.eye(2)}, "chain.npz is no .npz of numbers"),
        ({"step1": np.array(["a", "b"])}, "chain.npz is no .npz of numbers"),
        ({"step1": np.full((2, 2), 0.5)}, "no single most probable output"),
    ],
)
def test_steps_that_make_no_chain_are_refused(tmp_path: Path, steps: dict[str, Any], words: str) -> None:
    np.savez(tmp_path / "chain.npz", **steps)
    with pytest.raises(lm.UserError, match=words):
        lm.diagnose("chain", tmp_path / "chain.npz")


@pytest.mark.parametrize(
    ("data", "options", "words"),
    [
        ("absent.npz", {}, "There is no file absent.npz"),
        (None, {}, "A chain is a file"),
        ([], {}, "has no step"),
        ([[["a"]]], {}, "A chain is a file"),
        (1j * transitions.EXAMPLE, {}, "A chain is a file"),
        (transitions.EXAMPLE, {"alpha": 0.0}, "alpha = 0 is not allowed"),
        (transitions.EXAMPLE, {"error": 0.7}, "error = 0.7 is not allowed"),
        (transitions.EXAMPLE, {"examples": 0}, "examples = 0 is not allowed"),
        (transitions.EXAMPLE, {"prompts": 1.5}, "prompts = 1.5 is not allowed"),
    ],
)
def test_options_and_data_that_make_no_sense_are_refused(data: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(lm.UserError, match=words):
        lm.diagnose("chain", data, **options)
