"""Shared by all tests: compiled programs are kept between runs, commands write into temporary folders, and the shapes
that functions are annotated with are checked when they are called."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import jax
import jaxtyping
import pytest
import shapes

jaxtyping.install_import_hook(shapes.modules(), "shapes.check")

CACHE = os.environ.setdefault("LEMMATA_CACHE", str(Path.home() / ".cache" / "lemmata" / "tests"))
jax.config.update("jax_compilation_cache_dir", CACHE)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


@pytest.fixture(autouse=True)
def _no_stray_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands write to `results` in the working folder; tests work in a temporary one."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True, scope="module")
def _few_programs() -> Iterator[None]:
    """Compiled programs are dropped after each file: each holds memory mappings, of which a process has 65530."""
    yield
    jax.clear_caches()
    gc.collect()


@pytest.fixture(scope="module")
def hasty_programs() -> Iterator[None]:
    """For files in which compiling takes longer than running: less optimisation."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


@pytest.fixture
def thorough_programs(hasty_programs: None) -> Iterator[None]:
    """In such a file, for a test that runs for longer than it compiles or compares to the last bit: as usual."""
    jax.clear_caches()  # of hasty programs of the same shapes
    jax.config.update("jax_disable_most_optimizations", False)
    yield
    jax.config.update("jax_disable_most_optimizations", True)
