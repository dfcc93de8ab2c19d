"""Shared by the tests of in-context learning: what its experiments leave at smoke."""

import functools
from collections.abc import Callable
from typing import Any

import pytest
import xarray as xr

from lemmata.lab.runner import Options, run


@pytest.fixture(scope="session")
def left(smoke: Any) -> Callable[[str], xr.Dataset]:
    """The data of an experiment at smoke; one that no claim reads is computed when it is first asked for."""

    @functools.cache
    def data(experiment: str) -> xr.Dataset:
        found = smoke("icl")
        return run(found.theory, experiment, Options("smoke", out=found.folder)).data.load()

    return data
