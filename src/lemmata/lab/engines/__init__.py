"""Engines: where the calls of a sweep are computed. All of them give the same data, bit for bit, for the same layout.

`local` makes the calls from threads of this process, `processes` from worker processes of this machine, `dask` on the
workers of a Dask cluster. An engine is opened once and serves any number of sweeps.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from lemmata.lab.errors import UserError, unknown

if TYPE_CHECKING:
    from lemmata.lab.devices import Needs
    from lemmata.lab.work import Call, Ended, Report, Work

ENGINES = {
    "local": "threads of this process",
    "processes[:K]": "K worker processes of this machine; default one per core, or per GPU",
    "dask[:ADDRESS]": "a Dask cluster at an address or in a scheduler file; default one on this machine for the run",
}


class Engine(Protocol):
    """What every engine does."""

    remote: bool
    """Whether calls are computed outside this process, so that the store must be a folder."""

    @property
    def lanes(self) -> int:
        """How many sweeps it can compute at once."""
        ...

    def backend(self, needs: Needs) -> str:
        """The kind of device that computes what needs this."""
        ...

    def run(self, work: Work, calls: Sequence[Call], report: Report) -> Ended:
        """Compute and write the calls; tell how far their long runs are."""
        ...

    def stop(self) -> None:
        """End the sweeps that are under way; they raise `Interrupted`."""
        ...

    def forget_programs(self) -> None:
        """Drop compiled programs: they hold memory mappings, of which a process has a limited number."""
        ...

    def close(self) -> None:
        """End the workers that this engine started."""
        ...


def check_engine(name: str) -> tuple[str, str]:
    """The kind and the argument of an engine's name, validated."""
    kind, _, argument = name.partition(":")
    kinds = [each.partition("[")[0] for each in ENGINES]
    if kind not in kinds:
        raise unknown("engine", kind, kinds)
    if kind == "local" and argument:
        raise UserError(f"The engine 'local' takes no argument, but got '{argument}'.")
    if kind == "processes" and argument and not (argument.isdecimal() and 1 <= int(argument) <= 1024):
        raise UserError(f"The engine '{name}' is not allowed: processes:K has a number of workers K from 1 to 1024.")
    return kind, argument


@contextlib.contextmanager
def open_engine(engine: str | Engine = "local", timeout: float | None = None) -> Iterator[Engine]:
    """The engine of this name, closed at the end; an open engine is handed through and stays open.

    timeout: seconds without any sign of life after which a worker is given up; default: it is waited for, and said so.
    """
    if not isinstance(engine, str):
        yield engine
        return
    kind, argument = check_engine(engine)
    if timeout is not None and not timeout > 0:
        raise UserError(f"--timeout {timeout:g} is not allowed: it is a number of seconds greater than 0.")
    if timeout is not None and kind == "local":
        raise UserError("--timeout is for workers: use it with --engine processes or dask.")
    if kind == "local":
        from lemmata.lab.engines.local import Local

        opened: Engine = Local()
    elif kind == "processes":
        from lemmata.lab.engines.processes import Processes

        opened = Processes(int(argument) if argument else None, timeout)
    else:
        from lemmata.lab.engines.dask import Dask

        opened = Dask(argument, timeout)
    try:
        yield opened
    finally:
        opened.close()
