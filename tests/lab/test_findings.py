"""What `lemmata run` says at its end."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import xarray as xr
from rich.console import Console

from lemmata.lab.findings import variable_text
from lemmata.lab.simulation import Variable


def test_a_run_that_stopped_early_is_told_by_its_last_record() -> None:
    loss = [[[4.0, 1.0, np.nan], [4.0, 2.0, 3.0]], [[np.nan] * 3, [np.nan] * 3]]
    data = xr.Dataset({"loss": (("size", "seed", "record"), loss)}, {"size": [5, 6], "seed": [0, 1]})
    simulation = types.SimpleNamespace(variable=lambda name: Variable(name, ("record",), "L", "loss"))
    plan: Any = types.SimpleNamespace(experiment=types.SimpleNamespace(simulation=simulation))
    console = Console(width=80)
    with console.capture() as said:
        console.print(variable_text(plan, data))
    assert "size = 5  mean 2, from 1 to 3" in said.get()
    assert "size = 6  no value" in said.get()
