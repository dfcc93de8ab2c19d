"""`lemmata bench layout`: the measurement behind the layout rule (threads, single calls or `vmap`), at three sizes."""

from __future__ import annotations

from typing import Any

LAYOUTS = ("calls", "threads", "vmap")
SIZES: dict[str, Any] = {
    "m=100, L=20, N=40, full batch": {"neurons": 100, "tokens": 20, "samples": 40},
    "m=100, L=50, N=64, full batch": {"neurons": 100, "tokens": 50, "samples": 64},
    "m=1000, L=50, N=100, B=20": {"neurons": 1000, "tokens": 50, "samples": 100, "batch": 20},
}
RUNS, STEPS, ROUNDS = 8, 200, 5


def layout(quiet: bool = False) -> list[dict[str, Any]]:
    """Measure; prints a table unless `quiet`, and returns its rows."""
    import jax

    from lemmata.benchmarks.training import trainer
    from lemmata.theories.vit import Setting

    rows = []
    if not quiet:
        print(f"{jax.default_backend()}, {RUNS} runs, ms per run and step, best of {ROUNDS} alternating rounds")
        print(f"{'':<32}" + "".join(f"{name:>10}" for name in LAYOUTS), flush=True)
    for name, sizes in SIZES.items():
        setting = Setting(**sizes, steps=STEPS, record_every=STEPS, records=2, stop="never")
        trainers = {how: trainer(setting, RUNS, how) for how in LAYOUTS}
        rounds = [{how: measure() for how, measure in trainers.items()} for _ in range(ROUNDS)]
        best = {how: 1e3 * min(times[how] for times in rounds) for how in LAYOUTS}
        rows.append({"size": name, "milliseconds": best})
        if not quiet:
            print(f"{name:<32}" + "".join(f"{best[how]:>10.3f}" for how in LAYOUTS), flush=True)
    return rows
