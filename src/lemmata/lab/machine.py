"""What this process may use of its machine, on every operating system: cores, locks, memory.

All that only Linux has is asked for here and nowhere else, with what is done where it is missing (macOS has no
affinities and no /proc; a system without `fcntl` has no locks of files).
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import os
import platform
from collections.abc import Sequence

try:
    import fcntl
except ImportError:  # no Unix
    fcntl = None


def core_numbers() -> list[int]:
    """The cores this process may run on, by number; where the system does not say (macOS), all of them."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def cores() -> int:
    """How many cores this process may run on."""
    return len(core_numbers())


def describe_machine() -> str:
    """This machine in words: system, processor, cores and, where JAX computes on one, the accelerator."""
    import jax

    kinds = dict.fromkeys(device.device_kind for device in jax.local_devices() if device.platform != "cpu")
    count = cores()
    said = [f"{platform.system()} {platform.machine()}", f"{count} core{'s' * (count != 1)}", *kinds]
    return ", ".join(said)


def keep_to_cores(numbers: Sequence[int]) -> None:
    """Move every thread of this process to these cores; threads that are started later follow. Else nothing is done."""
    if not hasattr(os, "sched_setaffinity"):
        return
    try:
        threads = [int(task) for task in os.listdir("/proc/self/task")]
    except OSError:
        threads = [0]
    for thread in threads:
        with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
            os.sched_setaffinity(thread, numbers)


def hold(handle: int) -> bool:
    """Lock an open file for this process until it is closed; False if another process holds it.

    Where there are no locks, or the disk has none, everybody holds everything.
    """
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def mappings() -> int | None:
    """How many memory mappings this process has; None where the system does not tell."""
    try:
        with open("/proc/self/maps", "rb") as file:
            return sum(1 for _ in file)
    except OSError:
        return None


def memory() -> int | None:
    """Bytes of memory that this process may have: the machine's, or less where it is limited; None if nobody tells."""
    limits = []
    with contextlib.suppress(OSError, ValueError, AttributeError):
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for place in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError), open(place, encoding="ascii") as file:
            limits.append(int(file.read()))
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        limits += [limit for limit in resource.getrlimit(resource.RLIMIT_AS) if limit != resource.RLIM_INFINITY]
    return min((limit for limit in limits if limit > 0), default=None)


@functools.cache
def keep_memory() -> None:
    """Let glibc keep freed blocks. Else each run maps its large arrays afresh, which costs from a fifth of the speed (a
    Dask worker) to a third (icl/p4-contexts, whose tests draw 23 MB each)."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for option, value in ((-4, 0), (-1, 2**28)):  # no mappings of their own, no trimming below 256 MiB
            mallopt(option, value)


def collect_rarely() -> None:
    """Let Python look for cyclic garbage less often: tracing makes many small objects that live on, and looking through
    them again and again is a tenth of the time of a small run (for some fifty megabytes more)."""
    gc.set_threshold(50_000, 20, 50)
