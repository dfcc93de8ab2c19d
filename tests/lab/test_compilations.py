"""How often things compile: numbers and seeds never, a size or a choice once per value, in the pieces that read it."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import lemmata as lm
from lemmata.lab.engines import local
from lemmata.lab.precision import numerics
from lemmata.theories import vit
from lemmata.theories.vit.training import train as train_vit


class Regression(lm.Setting):
    """Gradient descent on a quadratic."""

    step_size: float = lm.number(0.1, "η", "step size", low=0, open_ends="low")
    target: float = lm.number(1.0, "θ", "target")
    steps: int = lm.number(5, "T", "steps", low=0, integer=True)
    width: int = lm.size(3, "d", "dimension")
    start: str = lm.choice("normal", "initial weights", "normal", "zero")


@lm.piece("width", "start")
def initialise(problem: lm.Problem, key: jax.Array) -> jax.Array:
    scale = 1.0 if problem.start == "normal" else 0.0
    return scale * jax.random.normal(key, (problem.width,))


@lm.piece()
def descend(problem: lm.Problem, weights: jax.Array) -> Any:
    return lm.loop(
        lambda t, w: w - problem.step_size * (w - problem.target),
        weights,
        lambda w, previous: {"distance": jnp.max(jnp.abs(w - problem.target))},
        lm.record_steps(problem.steps, 3),
    )


@lm.simulation(lm.Variable("before", (), "", "distance at first"), lm.Variable("after", (), "", "distance at last"))
def regress(problem: lm.Problem, key: jax.Array, prepared: None = None) -> dict[str, Any]:
    run = descend(problem, initialise(problem, lm.stream(key, "init")))
    return {"before": run.records["distance"][0], "after": jnp.max(jnp.abs(run.state - problem.target))}


@pytest.fixture
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads may trace the same program at the same moment; counting needs one."""
    monkeypatch.setattr(local, "workers", lambda layout: 1)


@pytest.fixture
def fresh_counts() -> None:
    initialise.forget_programs()  # pyright: ignore[reportFunctionMemberAccess]
    descend.forget_programs()  # pyright: ignore[reportFunctionMemberAccess]


def programs(piece: Any) -> int:
    return piece.count_programs()


@pytest.mark.usefixtures("fresh_counts")
def test_sweeping_numbers_and_seeds_compiles_every_piece_once():
    axes = {"step_size": [0.1, 0.2, 0.5, 0.9], "target": [-1.0, 2.0], "steps": [0, 1, 7, 50]}
    data = lm.sweep(regress, Regression(), axes, seeds=3)
    assert (programs(initialise), programs(descend)) == (1, 1)
    expected = data.before * (1 - data.step_size) ** data.steps
    np.testing.assert_allclose(data.after, expected.transpose(*data.after.dims), rtol=1e-4, atol=1e-6)


@pytest.mark.usefixtures("fresh_counts", "one_thread")
def test_a_size_compiles_once_per_value():
    lm.sweep(regress, Regression(), {"width": [2, 3, 5], "target": [0.0, 1.0]}, seeds=2)
    assert (programs(initialise), programs(descend)) == (3, 3)


@pytest.mark.usefixtures("fresh_counts", "one_thread")
def test_a_choice_recompiles_only_the_piece_that_reads_it():
    data = lm.sweep(regress, Regression(), {"start": ["normal", "zero"]}, seeds=2)
    assert (programs(initialise), programs(descend)) == (2, 1)
    assert np.all(data.before.sel(start="zero") == 1)


TINY = {"tokens": 10, "neurons": 16, "samples": 8, "test_samples": 16, "steps": 20, "records": 21}


@pytest.mark.xdist_group("vit")
def test_the_vision_transformer_trains_with_one_program_whatever_its_numbers():
    train_vit.forget_programs()  # pyright: ignore[reportFunctionMemberAccess]
    runs = {
        "base": {},
        "fraction": {"relevant_fraction": 0.6},
        "step": {"step_size": 1.0, "steps": 7},
        "frozen": {"train_attention": 0},
    }
    data = lm.sweep(vit.simulate, vit.Setting(**TINY), {"run": runs}, seeds=1)
    assert programs(train_vit) == 1
    assert len(np.unique(data.last_loss)) == 4
    with numerics("float32"):
        vit.simulate(vit.Setting(**TINY, loss="logistic"), jax.random.key(0))
    assert programs(train_vit) == 2
