"""The device follows from the work."""

from __future__ import annotations

import types
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from lemmata.lab import devices, machine
from lemmata.lab.devices import Needs
from lemmata.lab.ensemble import GPU, default_layout
from lemmata.lab.errors import UserError
from lemmata.lab.room import operations_of_step

LARGE = Needs(room=10**6, work=1e16, step=1e11)


@pytest.fixture(autouse=True)
def _sixteen_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(devices.VARIABLE, raising=False)
    monkeypatch.setattr(machine, "cores", lambda: 16)


@pytest.mark.parametrize(
    ("needs", "chosen"),
    [
        (LARGE, "gpu"),
        (LARGE._replace(work=1e12), "cpu"),  # compiled for longer than it is computed
        (LARGE._replace(step=1e8), "cpu"),  # too few runs to stack, or too small ones
        (Needs(), "cpu"),
    ],
)
def test_a_gpu_computes_what_is_worth_its_compiling(needs: Needs, chosen: str) -> None:
    assert devices.choose("gpu", needs) == chosen


def test_more_cores_do_more_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "cores", lambda: 10**5)
    assert devices.choose("gpu", LARGE) == "cpu"


def test_the_variable_overrides_the_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(devices.VARIABLE, "gpu")
    assert devices.choose("gpu", Needs()) == "gpu"
    with pytest.raises(UserError, match="has no GPU here"):
        devices.choose("cpu", LARGE)
    monkeypatch.setenv(devices.VARIABLE, "cpu")
    assert devices.choose("gpu", LARGE) == "cpu"
    monkeypatch.setenv(devices.VARIABLE, "tpu")
    with pytest.raises(UserError, match="it is cpu or gpu"):
        devices.choose("gpu", LARGE)


def test_without_a_cpu_backend_the_gpu_computes_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "device", lambda kind="": None)
    assert devices.choose("gpu", Needs()) == "gpu"


def test_seeds_multiply_work_and_runs_but_not_the_largest_run() -> None:
    assert Needs(5, 2.0, 3.0).times(4) == Needs(5, 8.0, 12.0)


@pytest.mark.parametrize(("room", "runs"), [(0, 512), (10**6, 512), (4 * 10**8, 64), (10**12, 1)])
def test_a_stack_fits_into_the_memory_of_its_device(monkeypatch: pytest.MonkeyPatch, room: int, runs: int) -> None:
    card = types.SimpleNamespace(platform="gpu", device_kind="card", memory_stats=lambda: {"bytes_limit": 10**11})
    monkeypatch.setattr(devices, "device", lambda kind="": card)
    layout = default_layout(20, 8, "gpu", room=room)
    assert (layout.kind, layout.runs, layout.platform, layout.device) == ("vmap", runs, "gpu", "card")


def test_a_device_of_workers_alone_has_a_layout_too() -> None:
    layout = default_layout(20, 8, "gpu", room=10**9)
    assert (layout.runs, layout.platform, layout.device) == (GPU.runs, "gpu", "")


def test_a_thread_computes_on_the_device_that_it_is_told() -> None:
    assert devices.platform() == jax.default_backend()
    with devices.computing(""), devices.computing("cpu"):
        assert devices.platform() == "cpu"
        assert devices.device().platform == "cpu"
    assert devices.device("no such kind") is None


def test_operations_are_those_of_a_step_and_not_of_a_record() -> None:
    """A step of an n x n matrix times a vector has 2 n^2 operations, whatever is done at records."""

    def train(matrix: Any, x: Any, steps: Any) -> Any:
        def record(carry: Any) -> Any:
            t, x = carry
            x = jax.lax.fori_loop(0, steps, lambda _, x: matrix @ x, x)
            return t + 1, x / jnp.sum(matrix @ matrix)

        return jax.lax.while_loop(lambda carry: carry[0] < steps, record, (0, x))

    traced = jax.make_jaxpr(train)(jnp.ones((50, 50)), jnp.ones(50), 3)
    assert operations_of_step(traced.jaxpr) == pytest.approx(2 * 50**2, rel=0.05)
    assert operations_of_step(jax.make_jaxpr(lambda x: x @ x)(jnp.ones((5, 5))).jaxpr) == 0
