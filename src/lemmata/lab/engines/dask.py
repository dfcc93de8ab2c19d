"""A Dask cluster: one that exists, by its address or scheduler file, or one on this machine for the run.

Dask schedules, moves calls off workers that die (a nanny starts these again) and scales; a call that kills its workers
more often than the cluster allows (`distributed.scheduler.allowed-failures`, 3) has failed.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax

from lemmata.lab.engines.processes import lose_call, share_machine
from lemmata.lab.errors import UserError
from lemmata.lab.work import Call, Ended, Work, compute_parcel, pack

CONNECT = 10
"""Seconds within which a scheduler must answer."""


class Dask:
    """The workers of a Dask cluster."""

    remote = True

    def __init__(self, address: str = "") -> None:
        try:
            import distributed
        except ImportError:
            raise UserError("The engine 'dask' needs Dask; install it with: pip install 'lemmata[cluster]'.") from None
        # what goes wrong is said in our own sentence
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        self.cluster: Any = None
        if not address:
            environments = share_machine(1 if jax.default_backend() != "cpu" else None)
            self.cluster = distributed.LocalCluster(
                n_workers=len(environments),
                threads_per_worker=1,
                env=environments[0],
                dashboard_address=None,  # pyright: ignore[reportArgumentType]
                silence_logs=logging.CRITICAL,
            )
        elif address.endswith(".json") and not Path(address).exists():
            raise UserError(f"There is no scheduler file {address}.")
        self.address = address or self.cluster.scheduler_address
        where: dict[str, Any] = {"address": self.cluster or address}
        if address.endswith(".json"):
            where = {"scheduler_file": address}
        try:
            self.client = distributed.Client(**where, timeout=CONNECT)
        except (OSError, ValueError, TimeoutError) as error:
            reason = str(error).splitlines()[0]
            raise UserError(f"No Dask scheduler answers at {address}: {reason}") from None

    def backend(self) -> str:
        return self.client.submit(jax.default_backend, pure=False).result()

    def run(self, work: Work, calls: Sequence[Call]) -> Ended:
        import distributed

        parcel, cache = pack(work), jax.config.jax_compilation_cache_dir  # pyright: ignore[reportAttributeAccessIssue]
        futures = self.client.map(
            compute_parcel, [parcel] * len(calls), [pack(call) for call in calls], [cache] * len(calls), pure=False
        )
        calls_of = {future.key: call for future, call in zip(futures, calls, strict=True)}
        try:
            for future in distributed.as_completed(futures):
                call = calls_of[future.key]
                if future.cancelled():
                    raise UserError(
                        f"The Dask scheduler at {self.address} is gone; what was finished is kept, the same command "
                        "goes on from there."
                    )
                error = future.exception()
                if isinstance(error, distributed.KilledWorker):
                    yield call, lose_call(work, call, "its Dask worker died every time")
                elif error is not None:
                    raise error
                else:
                    yield call, future.result()
        finally:
            with contextlib.suppress(Exception):
                self.client.cancel(futures)

    def forget_programs(self) -> None:
        self.client.run(jax.clear_caches)

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self.client.close(timeout=2)
        if self.cluster is not None:
            self.cluster.close(timeout=5)
