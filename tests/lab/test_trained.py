"""Runs that are kept: saved and read again, and started from a given network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float

import lemmata as lm


class Toy(lm.Setting):
    neurons: int = lm.number(3, "m", "neurons", low=1, high=8, integer=True)
    steps: int = lm.number(4, "T", "steps", low=0, integer=True)
    tokens: Any = lm.array("X", "tokens")


class Network(NamedTuple):
    weights: Float[Array, "neurons 2"]
    offset: Float[Array, " neurons"]
    nothing: None = None


@lm.piece()
def draw(problem: Toy, key: jax.Array) -> Network:
    weights = jax.random.normal(key, (8, 2))
    return Network(weights, jnp.arange(8.0))


@lm.piece()
def train(problem: Toy, network: Network) -> Network:
    return jax.tree.map(lambda each: each + problem.steps, network)


@lm.simulation(lm.Variable("height", ("side",), "h", "height"), labels={"side": ("left", "right")})
def grow(problem: Toy, key: jax.Array, prepared: None = None) -> dict[str, Any]:
    used = {"neurons": problem.neurons}
    start = lm.starting(draw(problem, lm.stream(key, "init")), used)
    end = train(problem, start)
    lm.keep(used, network=end, initial=start, data={"label": np.arange(3), "name": "toy"}, late=lambda: end.offset)
    lm.keep({"neurons": lambda: np.array([0, 7])}, ends=(end.offset, "neurons"))
    return {"height": end.weights[0]}


def test_a_run_is_saved_and_read_again(tmp_path: Path) -> None:
    t = lm.trained(grow, Toy(neurons=5, tokens=np.ones((2, 2))), seed=4)
    t.save(tmp_path / "run.npz")
    again = lm.trained(tmp_path / "run.npz")
    assert (again.setting, again.seed) == (t.setting, 4)
    assert again.records.identical(t.records)
    assert dir(again) == dir(t)
    assert type(again.network) is Network
    np.testing.assert_array_equal(again.network.weights, t.network.weights)
    assert again.network.weights.dtype == t.network.weights.dtype
    assert again.network.nothing is None
    assert again.data["name"] == "toy"
    np.testing.assert_array_equal(again.data["label"], [0, 1, 2])


def test_what_is_kept_is_cut_by_counts_and_by_places() -> None:
    t = lm.trained(grow, Toy(neurons=5, steps=0))
    assert t.network.weights.shape == (5, 2)
    np.testing.assert_array_equal(t.ends, [0, 7])
    np.testing.assert_array_equal(t.late, np.arange(8))


def test_training_starts_from_a_given_network() -> None:
    once = lm.trained(grow, Toy(steps=2))
    twice = lm.trained(grow, Toy(steps=2), network=once.network)
    np.testing.assert_array_equal(twice.initial.weights[:3], once.network.weights)
    np.testing.assert_array_equal(twice.network.offset, lm.trained(grow, Toy(steps=4)).network.offset)


def test_a_network_of_another_shape_or_kind_is_refused() -> None:
    t = lm.trained(grow, Toy(neurons=5))
    with pytest.raises(lm.UserError, match=r"network.weights has shape \(5, 2\); .* is \(3, 2\)"):
        lm.trained(grow, Toy(neurons=3), network=t.network)
    with pytest.raises(lm.UserError, match="is no Network with weights, offset"):
        lm.trained(grow, Toy(), network=np.zeros((3, 2)))


def damaged(path: Path, how: str) -> None:
    content = path.read_bytes()
    if how == "cut":
        path.write_bytes(content[: len(content) // 2])
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "text":
        path.write_text("no run")
    elif how == "other arrays":
        np.savez(path, weights=np.zeros(3))
    elif how == "a pickle":
        np.save(path.open("wb"), np.array([{"a": 1}], dtype=object))
    else:
        with np.load(path) as stored:
            arrays = dict(stored)
        described = json.loads(arrays["description"].tobytes())
        if how == "another class":
            described["made"]["items"]["network"]["kind"] = "lemmata.lab.setting:Setting"
        elif how == "an array is gone":
            del arrays["made.network.weights"]
        elif how == "another format":
            described["format"] = "2"
        arrays["description"] = np.frombuffer(json.dumps(described).encode(), np.uint8)
        np.savez(path, **arrays)


@pytest.mark.parametrize(
    "how",
    ["cut", "empty", "text", "other arrays", "a pickle", "another class", "an array is gone", "another format"],
)
def test_a_damaged_file_is_one_sentence(how: str, tmp_path: Path) -> None:
    lm.trained(grow, Toy()).save(tmp_path / "run.npz")
    damaged(tmp_path / "run.npz", how)
    with pytest.raises(lm.UserError, match="is no trained run"):
        lm.trained(tmp_path / "run.npz")


def test_reading_a_file_imports_no_module_but_lemmatas(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    lm.trained(grow, Toy()).save(path)
    with np.load(path) as stored:
        arrays = dict(stored)
    arrays["description"] = np.frombuffer(
        arrays["description"].tobytes().replace(b"test_trained:Network", b"antigravity:Network"), np.uint8
    )
    np.savez(path, **arrays)
    with pytest.raises(lm.UserError, match="holds a Network of antigravity: import its module first"):
        lm.trained(path)


def test_a_setting_that_is_not_allowed_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    lm.trained(grow, Toy()).save(path)
    with np.load(path) as stored:
        arrays = dict(stored)
    described = json.loads(arrays["description"].tobytes())
    described["setting"]["values"]["items"]["neurons"] = {"value": 99}
    arrays["description"] = np.frombuffer(json.dumps(described).encode(), np.uint8)
    np.savez(path, **arrays)
    with pytest.raises(lm.UserError, match="neurons = 99 is not allowed"):
        lm.trained(path)


def test_a_folder_that_is_not_there_is_one_sentence() -> None:
    with pytest.raises(lm.UserError, match="cannot be written"):
        lm.trained(grow, Toy()).save("nowhere/run.npz")


def test_what_no_array_holds_cannot_be_saved(tmp_path: Path) -> None:
    t = lm.Trained(Toy(), 0, lm.trained(grow, Toy()).records, {"thing": object()})
    with pytest.raises(lm.UserError, match=r"made.thing is a object, which cannot be saved"):
        t.save(tmp_path / "run.npz")
    assert not list(tmp_path.iterdir())
