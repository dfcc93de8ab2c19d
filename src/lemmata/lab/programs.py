"""Compiled programs: how hard the compiler tries, how many there are, and the folder that keeps them.

Most programs here run for less time than XLA takes to compile them in full. So a piece is compiled with an *effort*:
`fast` where seconds matter more than speed (the preset smoke, the tests), `mid` for quick work, `full` for long work
(the preset paper). The effort is part of a layout, and so of every fingerprint.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import threading
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lemmata.lab.machine import mappings

Options = Mapping[str, int | bool]

_LIGHT: Options = {
    "xla_cpu_use_fusion_emitters": False,
    "xla_cpu_parallel_codegen_split_count": 1,
    "xla_llvm_disable_expensive_passes": True,
}
FAST: Options = {"xla_backend_optimization_level": 0, **_LIGHT}
"""A fifth of the usual compiling time; a training then runs two to four times slower."""
MID: Options = {"xla_backend_optimization_level": 1, **_LIGHT}
"""Half of the usual compiling time; a training runs within a tenth of its usual speed."""
ONCE: Options = {"xla_backend_optimization_level": 1}
"""For a piece that runs once in a run where everything else is compiled in full."""
GPU_LIGHT: Options = {"xla_gpu_autotune_level": 0, "xla_gpu_enable_triton_gemm": False}
"""On a GPU a third of the usual compiling time: candidates of a kernel are not compiled and timed against each other.
Nothing that was measured ran slower by it; level 0 or fewer LLVM passes gained nothing there."""

EFFORTS: Mapping[str, tuple[Options, Options]] = {"fast": (FAST, FAST), "mid": (MID, MID), "full": (ONCE, {})}
"""The options on a CPU of pieces that run once in a run, and of all others. At `mid` both are the same: `fast` for the
first saves two seconds of compiling an experiment and loses a tenth of a second in every run, of which there are up to
a thousand; and they must be alike in all experiments of a preset, which share trainings by what went into them."""
GPU_EFFORTS: Mapping[str, tuple[Options, Options]] = dict.fromkeys(EFFORTS, (GPU_LIGHT, GPU_LIGHT))
OF_PRESET = {"smoke": "fast", "quick": "mid", "paper": "full"}
USUAL = "mid"
"""The effort of a run that no preset speaks of: called from Python."""

PROBE = "(which options are known)"
COMPILED = "/jax/core/compile/backend_compile_duration"


class _Thread(threading.local):
    effort: str | None = None
    piece: str = ""


_here = _Thread()


def effort() -> str:
    """With which effort programs are compiled in this thread."""
    return _here.effort or USUAL


@contextlib.contextmanager
def compiling(chosen: str) -> Iterator[None]:
    """Compile with this effort."""
    before, _here.effort = _here.effort, chosen
    try:
        yield
    finally:
        _here.effort = before


def options(chosen: str, once: bool) -> dict[str, int | bool]:
    """What the compiler of this thread's device is told: of the effort's options those that it knows."""
    from lemmata.lab import devices

    efforts = EFFORTS if devices.platform() == "cpu" else GPU_EFFORTS
    dropped = _dropped_options()
    return {name: value for name, value in efforts[chosen][0 if once else 1].items() if name not in dropped}


@functools.cache
def _dropped_options() -> frozenset[str]:
    """The names of ours that this jaxlib does not know: it drops one now and then."""
    import jax
    import numpy as np

    left, dropped = {**FAST, **GPU_LIGHT}, set[str]()
    trivial = jax.jit(lambda x: x).lower(np.float32(0))
    with calling(PROBE):
        while left:
            try:
                trivial.compile(compiler_options=dict(left))  # pyright: ignore[reportArgumentType]
                break
            except jax.errors.JaxRuntimeError as error:
                refused = {name for name in left if f"'{name}'" in str(error)}
                if not refused:
                    raise
                dropped |= refused
                left = {name: value for name, value in left.items() if name not in dropped}
    return frozenset(dropped)


def describe(chosen: str) -> dict[str, Any]:
    """All that an effort says, for fingerprints."""
    named = {"cpu": EFFORTS[chosen], "gpu": GPU_EFFORTS[chosen]}
    return {name: {"once": dict(once), "often": dict(often)} for name, (once, often) in named.items()}


@contextlib.contextmanager
def calling(piece: str) -> Iterator[None]:
    """Programs that are compiled meanwhile belong to this piece."""
    before, _here.piece = _here.piece, piece
    try:
        yield
    finally:
        _here.piece = before


@dataclass
class Count:
    """Programs that were compiled, by piece (those of single operations outside pieces: ""), with their seconds."""

    pieces: dict[str, list[float]] = field(default_factory=dict)

    @property
    def programs(self) -> int:
        return sum(map(len, self.pieces.values()))

    @property
    def seconds(self) -> float:
        return sum(map(sum, self.pieces.values()))


@contextlib.contextmanager
def counting() -> Iterator[Count]:
    """Count the programs that this process compiles, or reads from its folder, meanwhile.

    Seconds are those of a clock on the wall: only where one thread computes are they a program's own.
    """
    import jax

    count, open_ = Count(), True

    def listen(event: str, duration_secs: float, **_: Any) -> None:
        if open_ and event == COMPILED and _here.piece != PROBE:
            count.pieces.setdefault(_here.piece, []).append(duration_secs)

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        yield count
    finally:
        open_ = False
        with contextlib.suppress(AttributeError, ValueError):  # an older JAX keeps its listeners
            jax.monitoring.unregister_event_duration_listener(listen)


def cache_folder() -> Path:
    """Where the command line keeps compiled programs between processes."""
    if given := os.environ.get("LEMMATA_CACHE"):
        return Path(given)
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    known = os.path.isabs(home)  # else there is no home, and nothing is kept
    return Path(home if known else os.devnull) / "lemmata" / "compiled"


def why_not_kept(folder: Path) -> str:
    """Why programs cannot be kept in this folder, which is made if it is not there; empty if they can."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return error.strerror or str(error)
    return "" if os.access(folder, os.W_OK) else os.strerror(errno.EACCES)


def programs_folder() -> str | None:
    """Where this process keeps its compiled programs, if anywhere."""
    import jax

    return jax.config.jax_compilation_cache_dir  # pyright: ignore[reportAttributeAccessIssue]


def keep_programs(folder: str) -> None:
    """Keep compiled programs in this folder between processes."""
    import jax

    # one that cannot be read, because it is damaged, is compiled again
    warnings.filterwarnings("ignore", "Error (reading|writing) persistent compilation cache entry")
    if programs_folder() != folder:
        jax.config.update("jax_compilation_cache_dir", folder)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


MANY = 30_000
"""Memory mappings of a process, of which it may have 65,530; a program has about a hundred."""


def programs_are_many() -> bool:
    """Whether programs should be dropped before more are compiled."""
    count = mappings()
    return count is None or count > MANY  # a system that does not tell may have few


def forget_programs() -> None:
    """Drop this process's compiled programs, and what was prepared for runs."""
    import jax

    from lemmata.lab.prepared import forget_prepared

    jax.clear_caches()
    forget_prepared()
