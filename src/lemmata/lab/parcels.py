"""Parcels: work that travels to other processes as bytes, and what a worker does with it.

Functions go by cloudpickle (also what was defined in a script, a notebook or a theory's own file); a store goes as its
path. A worker whose environment differs from that of the command refuses the work.
"""

from __future__ import annotations

import contextlib
import functools
import os
import pickle
import socket
import sys
from collections.abc import Callable, Mapping
from typing import Any, TextIO, cast

from lemmata.lab.ensemble import thread_variables, threads_of_xla
from lemmata.lab.errors import UserError
from lemmata.lab.interrupts import is_stopping
from lemmata.lab.machine import keep_memory
from lemmata.lab.programs import keep_programs
from lemmata.lab.sources import FILE_MODULE, digest_of_files, versions
from lemmata.lab.streams import Remarks
from lemmata.lab.work import Answer, Work


def pack_work(work: Work) -> bytes:
    """A parcel of work, with what it was made by and how many threads it is meant for."""
    variables = thread_variables(work.layout.shared_by or threads_of_xla())
    return pickle.dumps((_environment(), variables, pack(work)))


def _environment() -> dict[str, str]:
    return {**versions(), "sources": digest_of_files()}


def pack(content: Any) -> bytes:
    """A parcel for another process; modules of theories in one file go along by value, since nobody can import them."""
    import cloudpickle

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


Steps = Callable[[int, int], None]
"""Told the step of a run and its last step."""

_report: Steps = lambda step, last: None  # noqa: E731


def report_steps(report: Steps) -> None:
    """From now on, what this worker computes is reported here."""
    global _report
    _report = report


def compute_parcel(
    work: bytes,
    call: bytes,
    cache: str | None = None,
    stopping: Callable[[], bool] = is_stopping,
    report: Steps | None = None,
) -> Answer:
    """`Work.compute` on a worker; `cache` is the folder of compiled programs. What it prints goes to stderr."""
    keep_memory()
    if cache is not None:
        keep_programs(cache)
    with contextlib.redirect_stdout(cast("TextIO", Remarks(sys.stderr))):  # which somebody may have closed
        return _unpack_work(work).compute(pickle.loads(call), stopping, report or _report)
