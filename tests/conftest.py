"""Shared by all tests: compiled programs are kept between runs, and commands write into temporary folders."""

from __future__ import annotations

import os
from pathlib import Path

import jax
import pytest

CACHE = os.environ.setdefault("LEMMATA_CACHE", str(Path.home() / ".cache" / "lemmata" / "tests"))
jax.config.update("jax_compilation_cache_dir", CACHE)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


@pytest.fixture(autouse=True)
def _no_stray_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands write to `results` in the working folder; tests work in a temporary one."""
    monkeypatch.chdir(tmp_path)
