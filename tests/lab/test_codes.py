"""Code without a file, as in a notebook: known when it is the same, another when anything that it names differs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from lemmata.lab.sources import digest_of

CELL = """
import functools
import jax.numpy as jnp
import numpy as np
import lemmata as lm

SCALE = 2.0
TABLE = np.arange(3)
WORDS = {"a", "b", "c"}

class Setting(lm.Setting):
    steps: int = lm.number(3, "T", "steps", low=1, integer=True)

    @lm.derived
    def double(self) -> int:
        return 2 * self.steps

def helper(x, power=2):
    return x**power

@lm.piece()
def train(problem: Setting, key):
    "Trains."
    return helper(SCALE * problem.steps) + jnp.sum(TABLE) + len(WORDS)

partly = functools.partial(helper, power=3)

@lm.simulation(lm.Variable("height", (), "h", "height"))
def simulate(problem, key, prepared=None):
    # a comment
    return {"height": train(problem, key) + partly(0.0) + (lambda x: x + 1)(2)}
"""
CHANGES = {
    "a constant": ("SCALE = 2.0", "SCALE = 3.0"),
    "an array": ("np.arange(3)", "np.arange(1, 4)"),
    "a set": ('"c"}', '"d"}'),
    "a helper": ("x**power", "x**power + 1"),
    "a default": ("power=2", "power=4"),
    "an argument of a partial": ("power=3", "power=5"),
    "a lambda": ("x + 1", "x + 2"),
    "a derived number": ("2 * self.steps", "3 * self.steps"),
    "the default of a field": ("lm.number(3", "lm.number(4"),
    "the simulation": ('{"height": train', '{"height": 2 * train'),
}


def digest(cell: str) -> str:
    notebook: Any = ModuleType("a_notebook")
    sys.modules[notebook.__name__] = notebook
    try:
        exec(compile(cell, "<cell>", "exec"), vars(notebook))
        return digest_of(notebook.simulate.function, None, notebook.Setting)
    finally:
        del sys.modules[notebook.__name__]


def test_the_same_code_is_known_again_also_with_other_comments_and_at_another_place() -> None:
    assert digest(CELL) == digest(CELL)
    assert digest(CELL) == digest("\n\n" + CELL.replace("# a comment", "# another comment\n"))


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_anything_that_is_named_counts(change: str) -> None:
    old, new = CHANGES[change]
    assert old in CELL
    assert digest(CELL.replace(old, new)) != digest(CELL)


SCRIPT = """
import lemmata as lm
from lemmata.lab.sources import digest_of

class Setting(lm.Setting):
    rate: float = lm.number(0.5, "", "rate", low=0)

@lm.simulation(lm.Variable("height", (), "h", "height"), host=True)
def simulate(setting, seed):
    with open("calls", "a") as calls:
        calls.write("x")
    return {"height": FACTOR * setting.rate + 0.01 * seed}

@lm.evidence("e1")
def height(data, rate=0.5):
    "The height."
    return lm.cells(data, rate=rate).height

experiment = lm.experiment("e1", reference="(1)", question="How high?", kind=Setting, simulation=simulate,
                           axes={"rate": [0.5, 2.0]}, seeds=3)
claim = lm.Claim("c1", "(1)", "bound").states("It is at most 4.").judged(
    height(), lm.at_most(4.0), lm.Control("a larger rate", rate=2.0))
card = {"name": "mine", "title": "", "authors": "", "question": "", "answer": "", "headlines": ["c1"]}
found = lm.verify(lm.Theory(card, Setting, simulate, [experiment], [claim]))
print(found["mine/c1"].outcome, found["mine/c1"].control)
"""


def run(factor: float) -> tuple[str, int]:
    """What the script prints, and how many runs it computes."""
    Path("calls").write_text("")
    command = [sys.executable, "-W", "ignore", "-c", f"FACTOR = {factor}\n{SCRIPT}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), len(Path("calls").read_text())


def test_a_theory_without_a_file_is_verified_and_its_data_are_those_of_its_code() -> None:
    said, runs = run(3.0)
    assert (said, runs >= 6) == ("holds fails", True)
    assert Path("results/quick/mine/e1/data.zarr").is_dir()
    told = [json.loads(Path(f"results/quick/{name}.json").read_text()) for name in ("verify", "mine/e1/run")]
    (row,) = json.loads(Path("results/quick/verdicts.json").read_text())
    asked = {*(each["command"] for each in told), row["command"], row["asked"]}
    assert asked == {"lm.verify(theory)"}, "no shell knows this theory"
    assert run(3.0) == ("holds fails", 0)
    said, runs = run(9.0)
    assert (said, runs >= 6) == ("fails fails", True)
