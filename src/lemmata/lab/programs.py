"""Compiled programs: kept in a folder between processes, by JAX's compilation cache."""

from __future__ import annotations


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


def forget_programs() -> None:
    """Drop this process's compiled programs, and what was prepared for runs."""
    import jax

    from lemmata.lab.prepared import forget_prepared

    jax.clear_caches()
    forget_prepared()
