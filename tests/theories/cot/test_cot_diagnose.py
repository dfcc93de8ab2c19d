"""The diagnosis of a user's own chain: against direct simulation, and one sentence for every bad file."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_cot_systems import random_system

import lemmata as lm
from lemmata.theories.cot import transitions, voters
from lemmata.theories.cot.diagnose.diagnosis import advice, diagnose, needed_votes, quantities, vote_error
from lemmata.theories.cot.diagnose.reading import read_chain


@pytest.mark.parametrize("seed", range(4))
def test_the_examples_that_are_said_to_be_needed_are_enough_and_not_many_too_many(seed: int) -> None:
    maps, matrices = random_system(np.random.default_rng(seed), steps=2, patterns=4)
    matrices = 0.5 * matrices + 0.5 * np.eye(4)[maps]  # clear leads, so that few examples are needed
    found = diagnose(matrices, fraction=0.8, error=0.05, seed=seed, prompts=500)
    rng = np.random.default_rng(100 + seed)
    for i, each in enumerate(found.inputs):
        length = int(each.cot_examples)
        query = np.full(20_000, i)
        error = voters.vote(rng, matrices, maps, length, int(voters.matches(0.8, length)), query).cot
        assert error[:, 0].mean() <= 0.055
        assert each.path == (i, maps[0][i], maps[1][maps[0][i]])
        if each.condition:
            length = int(each.icl_examples)
            votes = voters.vote(rng, matrices, maps, length, int(voters.matches(0.8, length)), query)
            assert votes.icl.mean() <= 0.055
        else:
            assert each.icl_examples == np.inf


def test_the_fewest_votes_are_the_fewest() -> None:
    chances = np.array([0.6, 0.3, 0.1])
    n = int(needed_votes(chances, 0, 0.05))
    assert vote_error(chances, 0, n) <= 0.05 < vote_error(chances, 0, n - 1)
    assert needed_votes(chances, 1, 0.05) == np.inf


def test_example_one_is_diagnosed_as_the_paper_says() -> None:
    found = diagnose(transitions.EXAMPLE)
    said = quantities(found)
    assert said["limit of the ICL error"] == 0.5
    assert [row["condition 7.3.2"] for row in said["inputs"]] == [False, True]
    assert said["inputs"][0]["examples for ICL"] is None
    told = advice(found)
    assert told["does"] == "follow"
    assert told["low"] > 0.4
    direct = advice(diagnose(transitions.DIRECT))
    assert direct["does"] == "no difference"


def test_matrices_and_tables_of_counts_are_read(tmp_path: Path) -> None:
    np.savez(tmp_path / "chain.npz", step1=transitions.EXAMPLE[0], step2=transitions.EXAMPLE[1])
    for k, matrix in enumerate(transitions.EXAMPLE, start=1):
        np.savetxt(tmp_path / f"step{k}.csv", matrix, delimiter=",")
    rows = [
        f"{k + 1},{i + 1},{j + 1},{10 * transitions.EXAMPLE[k, i, j]:g}"
        for k in range(2)
        for i in range(2)
        for j in range(2)
    ]
    (tmp_path / "counts.csv").write_text("step,from,to,count\n" + "\n".join(rows))
    for files in (["chain.npz"], ["step1.csv", "step2.csv"], ["counts.csv"]):
        matrices, counts = read_chain([tmp_path / name for name in files])
        np.testing.assert_allclose(matrices, transitions.EXAMPLE)
        assert (counts is not None) == (files == ["counts.csv"])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("0.5,0.6\n0.5,0.5\n", "Row 1 of step 1 sums to 1.1"),
        ("-0.5,1.5\n0.5,0.5\n", "negative entry"),
        ("0.5,0.5\n", "square matrix"),
        ("a,b\nc,d\n", "no table of numbers"),
        ("step,from,to,count\n1,1,2,x\n", "not a number"),
        ("step,from,to,count\n1,1,2,3\n1,2,1,3\n3,1,2,3\n3,2,1,1\n", "no transition of step 2"),
        ("step,from,to,count\n1,1,2,3\n1,2,1,-3\n", "no count is negative"),
        ("step,from,to,count\n1,1,2,3\n", "from state 2"),
    ],
)
def test_a_bad_file_gets_one_sentence(tmp_path: Path, content: str, words: str) -> None:
    (tmp_path / "chain.csv").write_text(content)
    with pytest.raises(lm.UserError, match=words):
        read_chain([tmp_path / "chain.csv"])


@pytest.mark.parametrize(("matrices", "words"), [(np.eye(3), "shape"), (np.ones(3), "square")])
def test_steps_of_different_sizes_are_refused(tmp_path: Path, matrices: Any, words: str) -> None:
    np.savez(tmp_path / "chain.npz", a=np.eye(2), b=matrices)
    with pytest.raises(lm.UserError, match=words):
        read_chain([tmp_path / "chain.npz"])
    with pytest.raises(lm.UserError, match="There is no file"):
        read_chain([tmp_path / "absent.npz"])


def test_a_chain_without_a_most_probable_output_is_refused() -> None:
    with pytest.raises(lm.UserError, match="no single most probable output"):
        diagnose(np.full((1, 2, 2), 0.5))
    with pytest.raises(lm.UserError, match="alpha' = 0"):
        diagnose(transitions.EXAMPLE, fraction=0.0)
