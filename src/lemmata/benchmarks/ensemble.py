"""`lemmata bench ensemble`: the shallow-ViT training by the laboratory, by eager PyTorch and by batched PyTorch.

m = 1000, L = 50, d = 10, N = 100, B = 20, true float32, all four matrices trained. Rounds alternate between the three
in one run of the benchmark, and the best of five counts; each baseline has a process of its own and runs with one and
with two threads, of which the faster counts. Drawing the data is not counted on either side.

On a GPU it is stacked runs of the laboratory alone: the kernels of `lemmata.networks.fused` against plain JAX, and how
near the kernels come to what the device can do.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lemmata.benchmarks.children import ask
from lemmata.lab.errors import UserError

COUNTS = (1, 8, 64)
ROUNDS = 5
STEPS = {1: 1000, 8: 1000, 64: 400}
"""Steps of a run of the laboratory; it also evaluates the whole training set before the first and after the last."""
TORCH_STEPS = {1: 200, 8: 50, 64: 20}
"""Steps of the baselines, whose time per step does not depend on their number."""
BASELINES = ("eager", "batched")
THREADS = (1, 2)
STACKED = (20, 200, 1000)
"""Runs at once on a GPU."""
ROUTES = {"fused": "auto", "plain": "plain"}


def network(steps: int) -> Any:
    """The setting that is trained."""
    from lemmata.theories.vit import Setting

    return Setting(neurons=1000, samples=100, batch=20, steps=steps, record_every=steps, records=2, stop="never")


def torch_time(kind: str, runs: int, threads: int) -> float:
    """Seconds per run and step of a PyTorch baseline, in its own process."""
    script = Path(__file__).with_name("torch_ensemble.py")
    options = {"kind": kind, "runs": runs, "threads": threads, "steps": TORCH_STEPS[runs], "repeats": 1}
    arguments = [text for name, value in options.items() for text in (f"--{name}", str(value))]
    return json.loads(ask(str(script), *arguments))["seconds_per_run_step"]


def laboratory(runs: int) -> Callable[[], float]:
    """A function that trains `runs` networks as the local engine does and returns seconds per run and step."""
    from lemmata.benchmarks.training import trainer
    from lemmata.lab.ensemble import default_layout

    return trainer(network(STEPS[runs]), runs, default_layout().kind)


def stacked(quiet: bool = False) -> list[dict[str, Any]]:
    """Measure stacked runs; prints two tables unless `quiet`, and returns the rows of the first."""
    from lemmata.benchmarks.roofline import ceilings, work
    from lemmata.benchmarks.training import trainer

    show = (lambda line: None) if quiet else (lambda line: print(line, flush=True))
    setting = network(steps=400)
    rows = []
    show(f"{'runs':>6}  {'fused':>9}  {'plain':>9}  {'ratio':>6}")
    for runs in STACKED:
        trainers = {name: trainer(setting, runs, "vmap", route) for name, route in ROUTES.items()}
        rounds = [{name: measure() for name, measure in trainers.items()} for _ in range(ROUNDS)]
        best = {name: 1e6 * min(times[name] for times in rounds) for name in ROUTES}
        rows.append({"runs": runs, "microseconds": best, "ratio": best["plain"] / best["fused"]})
        show(f"{runs:>6}  {best['fused']:6.2f} us  {best['plain']:6.2f} us  {rows[-1]['ratio']:5.2f}x")
    show("microseconds per run and step, best of five alternating rounds\n")
    reached = rows[-1]["microseconds"]["fused"]
    show(f"{'':<30}{'amount':>14}{'ceiling':>16}{'at least':>12}{'share':>8}")
    measured = ceilings()
    for name, (amount, unit) in work(setting).items():
        floor = 1e6 * amount / measured[name]
        show(f"{name:<30}{amount / 1e6:>9.2f} M{unit:<4}{measured[name] / 1e12:>9.1f} T{unit}/s{floor:>9.2f} us"
             f"{floor / reached:>8.0%}")  # fmt: skip
    show(f"per run and step, beside the fused {reached:.2f} us of {STACKED[-1]} runs")
    return rows


def ensemble(quiet: bool = False) -> list[dict[str, Any]]:
    """Measure; prints a table unless `quiet`, and returns its rows."""
    import jax

    if jax.default_backend() != "cpu":
        return stacked(quiet)
    if importlib.util.find_spec("torch") is None:
        raise UserError("The benchmark 'ensemble' needs PyTorch; install it with: pip install 'lemmata[bench]'.")
    rows = []
    if not quiet:
        print(
            f"{'runs':>4}  {'laboratory':>11}  {'eager torch':>18}  {'batched torch':>18}  {'ratio to the better':>20}",
            flush=True,
        )
    for runs in COUNTS:
        lab = laboratory(runs)
        times: dict[tuple[str, int], list[float]] = {(kind, t): [] for kind in BASELINES for t in THREADS}
        own: list[float] = []
        for _ in range(ROUNDS):
            own.append(lab())
            for (kind, threads), taken in times.items():
                taken.append(torch_time(kind, runs, threads))
        threads = {kind: min(THREADS, key=lambda t, kind=kind: min(times[kind, t])) for kind in BASELINES}
        best = {"laboratory": 1e3 * min(own)} | {k: 1e3 * min(times[k, threads[k]]) for k in BASELINES}
        ratio = min(best[kind] for kind in BASELINES) / best["laboratory"]
        rows.append({"runs": runs, "milliseconds": best, "threads": threads, "ratio": ratio})
        if not quiet:
            shown = [f"{best[kind]:7.3f} ms ({threads[kind]} thr.)" for kind in BASELINES]
            print(
                f"{runs:>4}  {best['laboratory']:8.3f} ms  {shown[0]:>18}  {shown[1]:>18}  {ratio:19.2f}x", flush=True
            )
    if not quiet:
        print("milliseconds per run and step, best of five alternating rounds")
    return rows
