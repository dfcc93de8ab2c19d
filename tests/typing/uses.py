# ruff: noqa: B018
"""Right and wrong uses of the laboratory from Python: the type checker must call every line with `# wrong` an error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import xarray as xr

import lemmata as lm
from lemmata.theories import vit


class Setting(lm.Setting):
    steps: int = lm.number(100, "T", "training steps", low=1, integer=True)
    rate: float = lm.number("fast", "η", "step size")  # wrong
    neurons: int = lm.size(2.5, "m", "neurons")  # wrong
    loss: str = lm.choice("hinge", "loss", "hinge", "logistic", symbl="L")  # wrong


@lm.simulation(lm.Variable("gap", ("record",), "g", "gap"))
def simulate(problem: Setting, key: Any, prepared: Any = None) -> dict[str, Any]:
    return {"gap": problem.step}  # wrong


@lm.simulation(lm.Variable("gap", "record"))  # wrong
def unfinished(problem: Setting, key: Any, prepared: Any = None) -> dict[str, Any]:
    return {}


def settings() -> None:
    Setting(steps=3).replace(steps=4)
    Setting(step=3)  # wrong
    Setting(3)  # wrong
    Setting(steps="many")  # wrong
    Setting().steps = 3  # wrong
    Setting().stesp  # wrong
    vit.Setting(samples=32, train_attention=0)
    vit.Setting(sampels=32)  # wrong


def doors() -> None:
    data: xr.Dataset = lm.run("vit/f4-attention", preset="smoke", set={"steps": 5}, axes={"samples": [8]}, out=Path())
    lm.run("vit/f4-attention", preset="quik")  # wrong
    lm.run("vit/f4-attention", seeds="3")  # wrong
    lm.run("vit/f4-attention", sets={"steps": 5})  # wrong
    lm.run(3)  # wrong
    found = lm.verify("vit/v8-concentration", vit.theory, preset="paper", progress=True)
    found["vit/v8-concentration"].measured
    found["vit/v8-concentration"].mesured  # wrong
    found.pages  # wrong
    lm.verify(vit.simulate)  # wrong
    lm.verify("vit", blocks=3)  # wrong
    lm.replicate("vit", blocks=3)[0].share
    lm.replicate("vit", block=3)  # wrong
    lm.load(Path("mine.py")).claims["c"].statement
    lm.load(vit.theory)  # wrong
    lm.vrify("vit")  # wrong
    data.to_netcdf("data.nc")


def sweeps() -> None:
    lm.sweep(vit.simulate, vit.Setting(), {"step_size": [0.1, 0.2]}, seeds=5, progress=True, out="kept")
    lm.sweep(vit.simulate, vit.Setting(), {"mode": {"a": {"steps": 3}}}, precision="float64")
    lm.sweep(vit.theory, vit.Setting())  # wrong
    lm.sweep("vit", vit.Setting())  # wrong
    lm.sweep(vit.simulate, vit.Setting)  # wrong
    lm.sweep(vit.simulate, vit.Setting(), {"mode": {"a": 8}})  # wrong
    lm.sweep(vit.simulate, vit.Setting(), ["step_size"])  # wrong
    lm.sweep(vit.simulate, vit.Setting(), engine=None)  # wrong
    lm.sweep(vit.simulate, vit.Setting(), seeds=1.5)  # wrong
    lm.sweep(vit.simulate, vit.Setting(), precision="float16")  # wrong
    lm.sweep(vit.simulate, vit.Setting(), progress="yes")  # wrong


def networks() -> None:
    t = lm.trained(vit.simulate, vit.Setting(), seed=3)
    t.network.output
    t.save("run.npz")
    lm.trained("run.npz").records.train_loss
    lm.trained(vit.simulate, t.setting, network=t.network)
    lm.trained(vit.simulate)  # wrong
    lm.trained(vit.theory, vit.Setting())  # wrong
    lm.trained("run.npz", vit.Setting())  # wrong
    t.save()  # wrong


@lm.evidence("f4-attention")
def rise(data: xr.Dataset, attention: str = "trained") -> xr.DataArray:
    """The rise."""
    return lm.at_end(lm.cells(data, attention=attention).concentration)


def claims() -> None:
    claim = lm.Claim("c", "Theorem 1", "bound", source="derived").states("It rises.")
    claim.judged(rise(), lm.at_least(0.5, by="every"), lm.Control("frozen", attention="frozen"), expected=lm.HOLDS)
    lm.Claim("c", "Theorem 1", "bond")  # wrong
    lm.Claim("c", "Theorem 1")  # wrong
    claim.judged(rise, lm.at_least(0.5))  # wrong
    claim.judged(rise(), 0.5)  # wrong
    claim.judged(rise(), lm.at_least(0.5), "frozen")  # wrong
    lm.at_least("half")  # wrong
    lm.at_least(0.5, by="evry")  # wrong
    lm.increasing(3)  # wrong
    lm.Theory({}, Setting, simulate, [], [claim])
    lm.Theory({}, Setting(), simulate, [], [claim])  # wrong
