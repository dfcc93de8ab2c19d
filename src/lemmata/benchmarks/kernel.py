"""`lemmata bench kernel`: the empirical tangent kernel against the products it needs and against the Jacobian.

F(x) = sum_r a_r ReLU(<w_r, x>) with n = 256, m = 4096, d = 32 and W trained, compiled, in float32 and float64.
`products` is the least that any program computes: Z = X W^T, the gates S = a 1[Z > 0], S S^T and X X^T. `kernel` is
`empirical_kernel`, which is given the network alone. `jacobian` takes J [n, m d] by `jax.jacrev` of one input under
`vmap`, and J J^T. Rounds alternate and the best counts. Memory is measured twice: the temporary buffers that XLA plans
for the compiled program, and how far the resident memory of a fresh process rises while it runs the program once
(Linux only).
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from lemmata.benchmarks.children import ask

INPUTS, NEURONS, DIMENSION = 256, 4096, 32
PRECISIONS = ("float32", "float64")
ROUNDS = 100
"""Alternating rounds; the Jacobian, which takes many times longer, is in every tenth."""
MEASURED = ("kernel", "jacobian")
"""The programs whose memory is measured."""


def programs(inputs: int, neurons: int, dimension: int) -> tuple[dict[str, Any], tuple[Any, ...]]:
    """The jitted programs by name, and their arguments W, a, X in the precision in force."""
    import jax
    import jax.numpy as jnp

    from lemmata.networks.tangent import empirical_kernel

    keys = jax.random.split(jax.random.key(0), 3)
    w = jax.random.normal(keys[0], (neurons, dimension))
    a = jax.random.rademacher(keys[1], (neurons,), w.dtype) / jnp.sqrt(neurons)
    x = jax.random.normal(keys[2], (inputs, dimension))

    def products(w: Any, a: Any, x: Any) -> Any:
        gate = jnp.where(x @ w.T > 0, a, 0.0)
        return gate @ gate.T, x @ x.T

    def kernel(w: Any, a: Any, x: Any) -> Any:
        return empirical_kernel(lambda w, x: jax.nn.relu(x @ w.T) @ a, w, x)

    def jacobian(w: Any, a: Any, x: Any) -> Any:
        slopes = jax.vmap(lambda x: jax.jacrev(lambda w: jax.nn.relu(w @ x) @ a)(w))(x).reshape(len(x), -1)
        return slopes @ slopes.T

    return {each.__name__: jax.jit(each) for each in (products, kernel, jacobian)}, (w, a, x)


def resident(field: str) -> int:
    """Bytes of the resident memory of this process: now (VmRSS) or at its peak (VmHWM)."""
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field)]
    return 1024 * int(line.split()[1])


def rise(name: str, precision: str, sizes: tuple[int, int, int]) -> int:
    """How far the resident memory of this process rises in one run of the compiled program."""
    import jax

    from lemmata.lab.precision import numerics

    with numerics(precision):
        every, arguments = programs(*sizes)
        compiled = every[name].lower(*arguments).compile()
        jax.block_until_ready(arguments)
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew: compiling does not count
        before = resident("VmRSS")
        jax.block_until_ready(compiled(*arguments))
        return max(0, resident("VmHWM") - before)


def fresh_rise(name: str, precision: str, sizes: tuple[int, int, int]) -> int:
    """`rise` in a process of its own."""
    return json.loads(ask(__file__, name, precision, *map(str, sizes)))


def kernel(quiet: bool = False) -> list[dict[str, Any]]:
    """Measure; prints a table unless `quiet`, and returns its rows."""
    import jax
    import numpy as np

    from lemmata.lab.precision import numerics

    sizes = INPUTS, NEURONS, DIMENSION
    rows = []
    if not quiet:
        print(f"n = {INPUTS}, m = {NEURONS}, d = {DIMENSION}, best of {ROUNDS} alternating rounds", flush=True)
    for precision in PRECISIONS:
        with numerics(precision):
            every, arguments = programs(*sizes)
            compiled = {name: program.lower(*arguments).compile() for name, program in every.items()}
            found, (gates, inner), expected = (
                compiled[name](*arguments) for name in ("kernel", "products", "jacobian")
            )
            reach = (1e-4 if precision == "float32" else 1e-10) * np.abs(expected).max()
            assert max(np.abs(found - expected).max(), np.abs(gates * inner - expected).max()) < reach, "not the kernel"
            taken: dict[str, list[float]] = {name: [] for name in compiled}
            for turn in range(ROUNDS):
                for name, program in compiled.items():
                    if name == "jacobian" and turn % 10:
                        continue
                    began = time.perf_counter()
                    jax.block_until_ready(program(*arguments))
                    taken[name].append(1e3 * (time.perf_counter() - began))
        best = {name: min(times) for name, times in taken.items()}
        planned = {name: compiled[name].memory_analysis().temp_size_in_bytes / 2**20 for name in MEASURED}
        risen = {name: fresh_rise(name, precision, sizes) / 2**20 for name in MEASURED}
        ratio = best["kernel"] / best["products"]
        rows.append(
            {
                "precision": precision,
                "milliseconds": best,
                "ratio": ratio,
                "planned_MiB": planned,
                "resident_MiB": risen,
            }
        )
        if not quiet:
            print(f"{precision}: kernel takes {ratio:.2f} times the products")
            for name, milliseconds in best.items():
                memory = f"{planned[name]:8.1f} MiB planned {risen[name]:8.1f} MiB resident" if name in risen else ""
                print(f"  {name:<9}{milliseconds:9.2f} ms {memory}", flush=True)
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="The rise of the resident memory in one run of a program, in bytes.")
    parser.add_argument("name", choices=MEASURED)
    parser.add_argument("precision", choices=PRECISIONS)
    parser.add_argument("sizes", type=int, nargs=3)
    chosen = parser.parse_args()
    print(json.dumps(rise(chosen.name, chosen.precision, tuple(chosen.sizes))))
