"""Work: computing the chunks of a call and writing them, wherever that happens.

Whoever computes a chunk writes it to the store and then its status. Work travels to other processes as a parcel of
bytes (cloudpickle: also what was defined in a script, a notebook or a theory's own file); its store travels as a path.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import importlib.metadata
import os
import pickle
import platform
import socket
import sys
import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lemmata.lab.ensemble import Interrupted, Layout, simulate_runs, thread_variables, threads_of_xla
from lemmata.lab.errors import UserError
from lemmata.lab.simulation import Simulation
from lemmata.lab.store import Chunk, Store

Call = Sequence[Chunk]
"""Chunks that are computed together, in one call of a compiled program where the layout stacks runs."""

Ended = Generator[tuple[Call, list[str]], None, None]
"""Calls as they end, each with why its chunks failed (empty where they did not); closing it stops the rest."""


def versions() -> dict[str, str]:
    """The versions that results may depend on."""
    found = {name: importlib.metadata.version(name) for name in ("lemmata", "jax", "jaxlib", "numpy", "optax")}
    return {"python": platform.python_version(), **found}


@functools.cache
def package_digest() -> str:
    """A digest of the package's sources."""
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parent.parent.rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


@dataclass(frozen=True)
class Work:
    """What the calls of one sweep share."""

    simulation: Simulation
    store: Store
    layout: Layout
    precision: str

    def compute(self, call: Call, stopping: Callable[[], bool] = lambda: False) -> list[str]:
        """Compute a call, write what was not done yet; returns for every chunk why it failed, empty if it did not.

        An exception fails the chunk; the chunks of a longer call are then tried alone, so that it hits only its own.
        """
        pending = [chunk for chunk in call if not self.store.is_done(chunk)]
        if not pending:
            return [""] * len(call)
        runs = [(chunk.setting, seed) for chunk in call for seed in chunk.seeds]
        try:
            results = iter(simulate_runs(self.simulation, runs, self.layout, self.precision, stopping))
        except (Interrupted, UserError):
            # what the user must put right (a missing data file) is no result of a cell
            raise
        except (Exception, SystemExit) as error:
            if len(call) > 1:
                return [self.compute([chunk], stopping)[0] for chunk in call]
            self.store.fail(call[0], describe_error(error))
            return [describe_error(error)]
        reasons = []
        for chunk in call:
            mine = [next(results) for _ in chunk.seeds]
            reason = self._defect(mine) if chunk in pending else ""
            if reason:
                self.store.fail(chunk, reason)
            elif chunk in pending:
                self.store.write(chunk, mine)
            reasons.append(reason)
        return reasons

    def _defect(self, results: Sequence[Mapping[str, np.ndarray]]) -> str:
        """Why these results cannot be stored: a variable, a type, a shape or an unflagged NaN; empty if they can."""
        shapes = self.store.shapes()
        for name in sorted(shapes.keys() ^ results[0].keys()):
            return f"{name} is {'returned' if name in results[0] else 'not returned'}, unlike in the first cell"
        for result in results:
            for name, value in result.items():
                variable = self.simulation.variable(name)
                if value.dtype.kind != "f":
                    return f"{name} is {value.dtype}, not floating point"
                if value.shape != shapes[name]:
                    return f"{name} has shape {value.shape}, but the first cell has {shapes[name]}"
                first = value[0] if variable.dims[:1] == ("record",) else value
                if not variable.optional and np.isnan(first).any():
                    return f"{name} is NaN"
        return ""


def describe_error(error: BaseException) -> str:
    """An exception of a simulation in one line, with the place that raised it."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})"


def pack_work(work: Work) -> bytes:
    """A parcel of work, with what it was made by and how many threads it is meant for."""
    variables = thread_variables(work.layout.shared_by or threads_of_xla())
    return pickle.dumps((_environment(), variables, pack(work)))


def _environment() -> dict[str, str]:
    return {**versions(), "sources": package_digest()}


def pack(content: Any) -> bytes:
    """A parcel for another process; modules of theories in one file go along by value, since nobody can import them."""
    import cloudpickle

    from lemmata.lab.registry import FILE_MODULE

    for name in [name for name in sys.modules if name.startswith(FILE_MODULE)]:
        cloudpickle.register_pickle_by_value(sys.modules[name])
    return cloudpickle.dumps(content)


@functools.lru_cache(maxsize=1)
def _unpack_work(parcel: bytes) -> Work:
    """The work of a parcel. Kept, so that the calls of a sweep share their compiled programs."""
    made_by, meant_for, content = pickle.loads(parcel)
    mine = _environment()
    for name, version in made_by.items():
        if mine[name] != version:
            raise UserError(
                f"The worker on {socket.gethostname()} has {name} {mine[name]}, but this command has {version}: "
                "use the same environment everywhere."
            )
    os.environ.update(meant_for)
    try:
        return pickle.loads(content)
    except ImportError as error:
        raise UserError(
            f"The worker on {socket.gethostname()} cannot load this theory ({error}): use the same environment "
            "everywhere."
        ) from None


def find_backend(environment: Mapping[str, str]) -> str:
    """The JAX backend of a worker, begun with these variables if it has not begun before."""
    import jax

    os.environ.update(environment)
    return jax.default_backend()


def compute_parcel(work: bytes, call: bytes, cache: str | None = None) -> list[str]:
    """`Work.compute` on a worker; `cache` is the folder of compiled programs. What it prints goes to stderr."""
    keep_memory()
    if cache is not None:
        keep_programs(cache)
    with contextlib.redirect_stdout(sys.stderr):
        return _unpack_work(work).compute(pickle.loads(call))


@functools.cache
def keep_memory() -> None:
    """Let glibc keep freed blocks. Dask has its workers give them back, and each run then maps its arrays afresh, which
    costs a fifth of the speed."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for option, value in ((-4, 0), (-1, 2**28)):  # no mappings of their own, no trimming below 256 MiB
            mallopt(option, value)


def programs_folder() -> str | None:
    """Where this process keeps its compiled programs, if anywhere."""
    import jax

    return jax.config.jax_compilation_cache_dir  # pyright: ignore[reportAttributeAccessIssue]


def keep_programs(folder: str) -> None:
    """Keep compiled programs in this folder between processes."""
    import jax

    if programs_folder() != folder:
        jax.config.update("jax_compilation_cache_dir", folder)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
