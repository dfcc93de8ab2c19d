"""Shared by the tests of this theory: the data of its experiments at smoke, computed once."""

import functools
from collections.abc import Callable
from typing import Any

import pytest
import xarray as xr

from lemmata.lab.runner import Options, run


@pytest.fixture(scope="session")
def data_of(smoke: Any) -> Callable[[str], xr.Dataset]:
    """The data of an experiment at smoke."""
    found = smoke("exp_regression")
    return functools.cache(lambda name: run(found.theory, name, Options("smoke", out=found.folder)).data.load())
