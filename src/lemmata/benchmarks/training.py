"""Timing the laboratory's own training of shallow vision transformers, apart from drawing the data."""

from __future__ import annotations

import concurrent.futures
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from lemmata.lab.ensemble import CPU, workers
from lemmata.lab.precision import numerics
from lemmata.lab.simulation import stream
from lemmata.networks.fused import route
from lemmata.theories.vit import Setting
from lemmata.theories.vit.data import draw, draw_patterns
from lemmata.theories.vit.network import draw_signs, initialise
from lemmata.theories.vit.training import train


def trainer(setting: Setting, runs: int, layout: str, gradient: str = "auto") -> Callable[[], float]:
    """A function that trains `runs` networks and returns seconds per run and step; compiled and warm.

    layout: "threads" (one run per call, a thread per core), "calls" (one call after the other), "vmap" (all at once).
    gradient: the route of `lemmata.networks.fused`, "auto" or "plain".
    """
    problem = setting.problem()

    def arguments(seed: Any) -> Any:
        key = jax.random.key(seed)
        basis = draw_patterns(problem, stream(key, "data"))
        data = draw(problem, stream(key, "data"), basis, count=setting.drawn_room)
        network, _ = initialise(problem, stream(key, "init"), basis)
        return stream(key, "batch"), network, draw_signs(problem, stream(key, "init")), data

    def check(run: Any) -> None:
        losses = run.records["train_loss"]
        assert jnp.all(losses[..., -1] < losses[..., 0]), "the training loss did not fall"

    def one(prepared: Any) -> None:
        with numerics("float32"), route(gradient):
            check(jax.block_until_ready(train(problem, *prepared)))

    with numerics("float32"):
        if layout == "vmap":
            prepared = jax.block_until_ready(jax.jit(jax.vmap(arguments))(jnp.arange(runs)))
        else:
            prepared = jax.block_until_ready([arguments(seed) for seed in range(runs)])
        together = jax.jit(jax.vmap(lambda each: train(problem, *each)))

    def measure() -> float:
        began = time.perf_counter()
        if layout == "vmap":
            with numerics("float32"), route(gradient):
                check(jax.block_until_ready(together(prepared)))
        else:
            with concurrent.futures.ThreadPoolExecutor(workers(CPU) if layout == "threads" else 1) as pool:
                list(pool.map(one, prepared))
        return (time.perf_counter() - began) / (runs * setting.steps)

    measure()
    return measure
