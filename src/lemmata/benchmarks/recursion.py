"""`lemmata bench recursion`: steps per second of the exact recursion of `teacher_student`, on one core.

The compiled recursion is the simulator's own (`follow_recursion`, float64), on run R2 with ReLU, which has the most to
compute; beside it 64 runs at once (one core, vectors), and the same recursion in plain Python floats, which is what a
short script would be. Rounds alternate and the best counts.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from typing import Any

STEPS, PLAIN_STEPS, RUNS = 2_000_000, 20_000, 64
ROUNDS = 5
TASK = {"tokens": 64.0, "support": 2.0, "strength": 4.0, "slope": 0.0, "step_size": 0.02}


def plain(steps: int) -> tuple[float, float, float]:
    """C_1, C_2, C_3 after some steps, in Python floats (6.1)."""
    D, K, M, kappa, eta = TASK.values()
    root, free = math.sqrt(D), D - K
    square, even, part = (1 + kappa**2) / 2, (1 + kappa) ** 2 / 4, (1 - kappa) ** 2 / (2 * math.pi)
    C1 = C2 = C3 = 0.0
    for _ in range(steps):
        off = free * math.exp(-(C2 + C3) / root)
        p = 1 / (K + off)
        delta = off * p
        a, b = K * p * p, delta * delta / free
        angle, mixed = math.atan2(math.sqrt(a), math.sqrt(b)), math.sqrt(a * b)
        F1, F21, F22 = square * (a + b), square * p * p, square * b / free
        F3 = even * a + part * (a * angle + mixed)
        F4 = p * p * (even + part * (angle + mixed / (a + b)))
        F5 = part * b / free * mixed / (a + b)
        moved = eta * C1 * M / root
        C2 += moved * ((F4 / p - F3) / K - C1 * (F21 - p * F1))
        C3 += moved * delta / free * ((F3 - free * F5 / delta) / (K * p) - C1 * (F1 - free * F22 / delta))
        C1 += eta * D * (F3 / (K * p) - C1 * F1)
    return C1, C2, C3


def recursion(quiet: bool = False) -> list[dict[str, Any]]:
    """Measure; prints a table unless `quiet`, and returns its rows."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    from lemmata.lab.machine import core_numbers
    from lemmata.lab.precision import numerics
    from lemmata.theories.teacher_student.dynamics.follow import follow_recursion
    from lemmata.theories.teacher_student.dynamics.reduced import Scalars, Task

    cores, can_choose = core_numbers(), hasattr(os, "sched_setaffinity")
    if can_choose:
        os.sched_setaffinity(0, cores[:1])
    try:
        with numerics("float64"):
            task, start = Task(**TASK), Scalars(0.0, 0.0, 0.0)
            many = Task(*(jnp.full(RUNS, number) for number in task))
            each = jax.jit(jax.vmap(follow_recursion, in_axes=(0, None, None)))

            def one(steps: int) -> Any:
                return jax.block_until_ready(follow_recursion(task, np.asarray([0, steps], np.int32), start).state)

            def batch(steps: int) -> Any:
                return jax.block_until_ready(each(many, np.asarray([0, steps], np.int32), start).state)

            assert np.allclose(one(PLAIN_STEPS), plain(PLAIN_STEPS), rtol=1e-9), "not the same recursion"
            ways: dict[str, tuple[Callable[[int], Any], int, int]] = {
                "compiled, one run": (one, STEPS, 1),
                f"compiled, {RUNS} runs": (batch, STEPS // 10, RUNS),
                "plain Python": (plain, PLAIN_STEPS, 1),
            }
            best = dict.fromkeys(ways, math.inf)
            batch(2)
            for _ in range(ROUNDS):
                for name, (run, steps, runs) in ways.items():
                    began = time.perf_counter()
                    run(steps)
                    best[name] = min(best[name], (time.perf_counter() - began) / (steps * runs))
    finally:
        if can_choose:
            os.sched_setaffinity(0, cores)
    rows = [{"way": name, "steps_per_second": 1 / seconds} for name, seconds in best.items()]
    if not quiet:
        print(f"recursion of D = 64, K = 2, ReLU, float64, one core, best of {ROUNDS} alternating rounds")
        for row in rows:
            rate = row["steps_per_second"]
            print(f"  {row['way']:<22}{rate / 1e6:9.2f} million steps/s {best['plain Python'] * rate:9.1f} x plain")
    return rows
