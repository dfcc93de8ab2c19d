"""Shared by the tests of faults: a theory in one file with a host experiment, a training and a claim, run in this
process; and what became of it."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import xarray as xr

from lemmata.lab import sources
from lemmata.lab.engines import open_engine
from lemmata.lab.errors import UserError
from lemmata.lab.registry import load
from lemmata.lab.runner import Options, run
from lemmata.lab.theory import Theory
from lemmata.lab.verify import Selection, verify

THEORY = '''
import jax, jax.numpy as jnp, optax
import numpy as np
import lemmata as lm
from matplotlib.figure import Figure


class Setting(lm.Setting):
    rate: float = lm.number(0.5, "r", "step size", low=0)
    steps: int = lm.number(8, "T", "steps", low=1, integer=True)


PLACE = lm.Variable("place", ("part",), "x", "where it ends")


@lm.simulation(PLACE, lm.Variable("loss", (), "L", "loss"), labels={"part": ("a", "b", "c")}, host=True)
def simulate(setting, seed):
    return {"place": np.sin(setting.rate + seed + np.arange(3)), "loss": np.float64(setting.rate)}


@lm.piece()
def train(problem: Setting, key):
    everything = lm.full(2, 2)
    start, step = lm.descent(lambda w, batch: w, optax.sgd(problem.rate), everything)
    probe = lambda state, previous: {"length": jnp.linalg.norm(state.parameters)}
    return lm.loop(step, start(jax.random.normal(key, (3,))), probe, lm.record_steps(problem.steps, 4))


@lm.simulation(*lm.RUN, lm.Variable("length", ("record",), "w", "length"))
def learn(problem: Setting, key, prepared=None):
    return train(problem, lm.stream(key, "data")).results()


def plot(data):
    return Figure(figsize=(1, 1))


def experiment(name, simulation):
    return lm.Experiment(
        name, "Where does it end?", "(1)", simulation,
        {"smoke": lm.Preset(Setting(), {"rate": [0.1, 0.2, 0.3], "case": {"p": {"steps": 8}, "q": {"steps": 9}}}, 3)},
        plot,
    )


@lm.evidence("e1-host")
def ends(data, case="p"):
    """The loss at the end."""
    return data.loss.isel(rate=0) * (1 if case == "p" else -10)


CLAIMS = [
    lm.Claim("c1-ends", "(1)", "bound").states("It ends above 0.").judged(
        ends(), lm.at_least(0.0), lm.Control("turned round and scaled", case="q")
    )
]
CARD = {"name": "toy", "title": "Toy", "authors": "A. Author", "question": "Why?", "answer": "So.", "headlines": []}
theory = lm.Theory(CARD, Setting, simulate, [experiment("e1-host", simulate), experiment("e2-trained", learn)], CLAIMS)
'''
OUT = Path("out")
HOST, TRAINED = OUT / "toy" / "e1-host", OUT / "toy" / "e2-trained"


@dataclass
class Said:
    """What a command gave: its data, or the sentence with which it was refused; and what it said."""

    data: xr.Dataset | None = None
    refused: str = ""
    sentences: list[str] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)


def write_theory() -> Theory:
    Path("toy.py").write_text(THEORY)
    return load("toy.py")


def look_at_sources_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests in which no source changes: which files count is found out once."""
    known = functools.cache(sources.reached)
    monkeypatch.setattr(sources, "reached", lambda files: known(tuple(files)))


def run_toy(theory: Theory, name: str = "e1-host", engine: Any = "local", **options: Any) -> Said:
    """`lemmata run`; only what it refuses in a sentence is caught."""
    said = Said()
    given = replace(Options("smoke", out=OUT), **options)
    try:
        with open_engine(engine) as opened:
            said.data = run(theory, name, given, say=said.sentences.append, engine=opened).data
    except UserError as error:
        said.refused = str(error)
    return said


def verify_toy(theory: Theory) -> Said:
    """`lemmata verify`, of the claim on the host experiment; the data are read as anybody would."""
    said = Said()
    selection: Selection = [(theory, list(theory.claims.values()))]
    try:
        done = verify(selection, Options("smoke", out=OUT, recompute_stale=True), say=said.sentences.append)
    except UserError as error:
        said.refused = str(error)
        return said
    said.rows = [{**row.stored(), "seconds": 0, "judged": "", "data": {}} for row in done.rows]
    assert (OUT / "index.html").exists()
    kept = json.loads((OUT / "verdicts.json").read_text())
    assert [row["outcome"] for row in kept] == [row["outcome"] for row in said.rows]
    said.data = xr.open_zarr(HOST / "data.zarr", chunks=None).load()
    return said
