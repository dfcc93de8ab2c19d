"""Sources and versions: what results depend on besides the setting."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import platform
from pathlib import Path


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
