"""`lemmata bench divided`: a training in windows, with checkpoints, against the same training in one go."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

SIZES: dict[str, Any] = {"neurons": 1000, "tokens": 50, "samples": 100, "batch": 20, "records": 2, "stop": "never"}
STEPS = {"cpu": 10_000, "gpu": 40_000}
"""Steps of a run, so many that it takes several windows."""
RUNS, ROUNDS = 64, 3
"""Runs of a stack on a GPU; how often each is measured."""


def divided(quiet: bool = False) -> list[dict[str, Any]]:
    """Measure; prints a line unless `quiet`, and returns a row."""
    import jax
    import numpy as np

    from lemmata.lab import live
    from lemmata.lab.ensemble import default_layout, simulate_runs
    from lemmata.lab.shelf import Shelf
    from lemmata.theories.vit import Setting, simulate

    layout = default_layout()
    steps = STEPS["gpu" if layout.kind == "vmap" else "cpu"]
    runs = [(Setting(**SIZES, steps=steps, record_every=steps), seed) for seed in range(RUNS)]
    runs = runs if layout.kind == "vmap" else runs[:1]

    def measure(around: live.Live | None) -> tuple[float, list[dict[str, np.ndarray]]]:
        began = time.perf_counter()
        if around is None:
            found = simulate_runs(simulate, runs, layout, "float32")
        else:
            with live.around(around):
                found = simulate_runs(simulate, runs, layout, "float32")
        return time.perf_counter() - began, found

    measure(None)
    measure(live.Live())  # from here on the pace is known
    seconds: dict[str, list[float]] = {"whole": [], "windows": []}
    seen: list[int] = []
    for _ in range(ROUNDS):
        seen.clear()
        first, whole = measure(None)
        with tempfile.TemporaryDirectory() as folder:
            second, parts = measure(live.Live(Shelf(Path(folder), b""), look=lambda moment: seen.append(moment.step)))
        seconds["whole"].append(first)
        seconds["windows"].append(second)
        for one, other in zip(whole, parts, strict=True):
            assert all(np.array_equal(one[name], other[name], equal_nan=True) for name in one), "the bits differ"
    best = {how: min(times) for how, times in seconds.items()}
    ratio = best["windows"] / best["whole"]
    windows = len(seen) + 1
    if not quiet:
        print(f"{jax.default_backend()}, {len(runs)} run(s) of {steps} steps, best of {ROUNDS}, same bits:")
        print(f"in one go {best['whole']:.2f} s", end=", ")
        print(f"in {windows} windows with names and checkpoints {best['windows']:.2f} s, ratio {ratio:.3f}", flush=True)
    return [{"runs": len(runs), "steps": steps, "windows": windows, "seconds": best, "ratio": ratio}]
