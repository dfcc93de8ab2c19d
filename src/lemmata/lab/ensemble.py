"""The ensemble: many runs of one simulation, laid out by a fixed rule.

On a GPU runs are stacked under `vmap`. On a CPU every run is its own call and one thread per core makes calls: small
steps then keep every core busy, and `vmap` there only spills the caches (docs/performance.md has the measurement).
Which of the two computes follows from the work (`lab.devices`). The layout is stored with the data and reused on
resume; within one layout results are bit-identical on every engine.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lemmata.lab import devices, live, programs
from lemmata.lab.machine import cores
from lemmata.lab.precision import numerics
from lemmata.lab.setting import Setting
from lemmata.lab.simulation import Simulation


@dataclass(frozen=True)
class Layout:
    """How runs are arranged: `threads` (one run per call) or `vmap` (up to `runs` per call); seeds come in blocks.

    `shared_by`: how many threads of XLA and BLAS may share a sum on a CPU, which decides its last bits; 0: not said.
    `effort`: how hard the compiler tries (`lab.programs`), which decides them too. `platform` and `device`: the kind of
    device and its model; empty: the usual one.
    """

    kind: str
    runs: int
    block: int
    shared_by: int = 0
    effort: str = programs.USUAL
    platform: str = ""
    device: str = ""

    def asdict(self) -> dict[str, Any]:
        return asdict(self)


CPU = Layout("threads", runs=1, block=5)
GPU = Layout("vmap", runs=512, block=64)
BLOCKS = 20
"""Blocks of seeds on a CPU, about: where seeds are hundreds, runs are short and writing them by five costs more."""
MOST = 500
"""Seeds of a block on a CPU, at most: after the first block it is known how long the others take."""
XLA_THREADS = "PJRT_NPROC"
"""The variable from which JAX's CPU backend takes its number of threads."""
TASKS = 6
"""On a CPU an experiment of few runs is cut into so many tasks at least, lest one core wait for the other."""


def default_layout(seeds: int = 1, cells: int = 1, backend: str = "", effort: str = "", room: int = 0) -> Layout:
    """The layout of this backend, or this machine's, for this many seeds in this many cells; runs that need so much
    room."""
    platform = backend or jax.default_backend()
    device = getattr(devices.device(platform), "device_kind", "")
    about: Any = {"effort": effort or programs.effort(), "platform": platform, "device": device}
    if platform != "cpu":
        return replace(GPU, runs=devices.fitting(GPU.runs, room, platform), **about)
    block = min(CPU.block, max(1, cells * seeds // TASKS))
    return replace(CPU, block=max(block, min(MOST, -(-seeds // BLOCKS))), shared_by=threads_of_xla(), **about)


@contextlib.contextmanager
def laid_out(layout: Layout, precision: str) -> Iterator[None]:
    """Compile and compute as this layout says."""
    with devices.computing(layout.platform), numerics(precision), programs.compiling(layout.effort):
        yield


def threads_of_xla() -> int:
    """How many threads XLA has on the CPU of this process."""
    return int(os.environ.get(XLA_THREADS) or cores())


def thread_variables(count: int) -> dict[str, str]:
    """The environment in which XLA and BLAS have so many threads, unless BLAS is told otherwise here."""
    blas = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return {XLA_THREADS: str(count)} | {name: os.environ.get(name) or str(count) for name in blas}


def workers(layout: Layout) -> int:
    """How many calls run at once."""
    return cores() if layout.kind == "threads" else 1


def simulate_runs(
    simulation: Simulation, runs: Sequence[tuple[Setting, int]], layout: Layout, precision: str
) -> list[dict[str, np.ndarray]]:
    """The results of these (setting, seed) runs, in order, as NumPy arrays."""
    with laid_out(layout, precision):
        if layout.kind == "vmap" and not simulation.host:
            return _stacked(simulation, runs)
        return [_single(simulation, setting, seed) for setting, seed in runs]


def foresee_runs(
    simulation: Simulation, runs: Sequence[tuple[Setting, int]], layout: Layout, precision: str
) -> list[live.Foreseen]:
    """The pieces that these runs will call, each with what compiles its program; none of a host simulation."""
    if simulation.host:
        return []
    with laid_out(layout, precision):
        if layout.kind == "threads":
            return simulation.foresee(*runs[0], precision).pieces
        with live.foreseeing() as pieces:
            jax.eval_shape(lambda: _stack(simulation, runs))
        return pieces


def compile_piece(piece: live.Foreseen, layout: Layout, precision: str) -> None:
    """Compile the program of a piece that runs of this layout will call."""
    with laid_out(layout, precision):
        piece.compile()


def _single(simulation: Simulation, setting: Setting, seed: int) -> dict[str, np.ndarray]:
    live.check()
    if simulation.host:
        return {name: np.asarray(value) for name, value in simulation.run(setting, seed).items()}
    prepared = simulation.prepared(setting, seed)
    return jax.device_get(simulation.run(setting.problem(), jax.random.key(seed), prepared))


def _stacked(simulation: Simulation, runs: Sequence[tuple[Setting, int]]) -> list[dict[str, np.ndarray]]:
    results = jax.device_get(_stack(simulation, runs))
    return [{name: value[i] for name, value in results.items()} for i in range(len(runs))]


def _stack(simulation: Simulation, runs: Sequence[tuple[Setting, int]]) -> dict[str, jax.Array]:
    """The results of these runs, stacked."""
    problems = [setting.problem() for setting, _ in runs]
    assert len({problem.static for problem in problems}) == 1, "runs of one call must share their static fields"
    keys = jax.vmap(jax.random.key)(jnp.asarray([seed for _, seed in runs]))
    # on the host: a device would be sent every number by itself
    stack = lambda *leaves: jax.device_put(np.stack([np.asarray(leaf) for leaf in leaves]))  # noqa: E731
    prepared = None
    if simulation.prepare:
        prepared = jax.tree.map(stack, *[simulation.prepared(setting, seed) for setting, seed in runs])
    batched = jax.vmap(simulation.run, in_axes=(0, 0, None if prepared is None else 0))
    return batched(jax.tree.map(stack, *problems), keys, prepared)


def result_shapes(simulation: Simulation, setting: Setting, seed: int, precision: str) -> dict[str, tuple[int, ...]]:
    """The variables that this setting returns and their shapes; only a host simulation is run for it."""
    if not simulation.host:
        return simulation.foresee(setting, seed, precision).shapes
    with numerics(precision):
        results = _single(simulation, setting, seed)
    return {v.name: tuple(results[v.name].shape) for v in simulation.variables if v.name in results}
