"""What this process may use of its machine, on every operating system."""

import os


def core_numbers() -> list[int]:
    """The cores this process may run on, by number; where the system does not say (macOS), all of them."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def cores() -> int:
    """How many cores this process may run on."""
    return len(core_numbers())
