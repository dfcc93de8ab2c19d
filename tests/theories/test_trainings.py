"""Every theory's training, unchanged, can be divided, shared and foreseen."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from smoke import each_theory

from lemmata.lab import live, names
from lemmata.lab.ensemble import CPU, simulate_runs
from lemmata.lab.grid import make_grid
from lemmata.lab.registry import load
from lemmata.lab.setting import Setting
from lemmata.lab.shelf import Shelf
from lemmata.lab.theory import Experiment

TRAINED = {
    "vit": "v1-zero-risk",
    "icl": "p1-default",
    "cot": "c1-reference",
    "graph_transformer": "p7-training",
    "exp_regression": "x2-convergence",
    "teacher_student": "p1-pattern",
}
LATER = {"p21-four"}
"""Trainings whose inputs are put together outside of pieces: they are shared, but have a name only once computed."""
FORESEE = f"""
import json
from lemmata.lab.grid import make_grid
from lemmata.lab.programs import compiling
from lemmata.lab.registry import load

found = {{}}
for theory, name in {TRAINED}.items():
    experiment = load(theory).experiments[name]
    preset = experiment.preset("smoke")
    setting = next(iter(make_grid(preset.setting, preset.axes).cells.values()))
    with compiling("fast"):
        pieces = experiment.simulation.foresee(setting, 5, experiment.precision).pieces
    found[theory] = [each.name.hex() for each in pieces]
print(json.dumps(found))
"""


def first_cell(experiment: Experiment) -> Setting:
    """The first cell at the preset smoke: its programs are those of the theory's smoke data."""
    preset = experiment.preset("smoke")
    return next(iter(make_grid(preset.setting, preset.axes).cells.values()))


@pytest.mark.parametrize("theory", each_theory(*TRAINED))
def test_a_run_in_windows_has_the_bits_of_a_run_in_one_go_and_the_name_that_was_foreseen(
    theory: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = load(theory).experiments[TRAINED[theory]]
    simulation, runs = experiment.simulation, [(first_cell(experiment), 5)]
    (whole,) = simulate_runs(simulation, runs, CPU, experiment.precision)
    monkeypatch.setattr(live, "FIRST", 3)
    shelf, seen = Shelf(tmp_path, b""), list[int]()
    with live.around(live.Live(shelf, seconds=1e-9, look=lambda moment: seen.append(moment.step))) as around:
        (divided,) = simulate_runs(simulation, runs, CPU, experiment.precision)
    assert len(seen) >= 2, "it ran in one go"
    assert whole.keys() == divided.keys()
    for name, value in whole.items():
        np.testing.assert_array_equal(divided[name], value, err_msg=name)
    trainings = simulation.foresee(*runs[0], experiment.precision).trainings
    assert len(trainings) == around.trained
    assert {file.name for file in tmp_path.iterdir()} == {names.digest(b"", name or b"").hex() for name in trainings}
    with live.around(live.Live(shelf)) as again:
        (found,) = simulate_runs(simulation, runs, CPU, experiment.precision)
    assert (again.trained, again.reused) == (0, len(trainings))
    for name, value in whole.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


def test_names_are_the_same_in_two_processes() -> None:
    there = subprocess.run([sys.executable, "-c", FORESEE], check=True, capture_output=True, text=True).stdout
    for theory, found in json.loads(there).items():
        experiment = load(theory).experiments[TRAINED[theory]]
        pieces = experiment.simulation.foresee(first_cell(experiment), 5, experiment.precision).pieces
        assert found == [(each.name or b"").hex() for each in pieces], theory
        assert len(found) >= 1


@pytest.mark.parametrize("theory", each_theory())
def test_every_training_of_a_theory_can_be_foreseen(theory: str) -> None:
    """Its inputs come from pieces, streams, prepared data and numbers of the problem, which have names beforehand."""
    experiments = [each for each in load(theory).experiments.values() if not each.simulation.host]
    first = {id(each.simulation): each for each in reversed(experiments)}
    for experiment in first.values():
        foresight = experiment.simulation.foresee(first_cell(experiment), 0, experiment.precision)
        assert (None in foresight.trainings) == (experiment.name in LATER), experiment.name
    assert first
