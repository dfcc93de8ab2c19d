"""Variants of the network (3.2) in training: whole runs against NumPy, and all combinations that a setting allows."""

import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest
from vit_variant_cases import SMALL, assert_networks, by_hand, heads_of, kept_layers

from lemmata.lab.precision import numerics
from lemmata.lab.simulation import stream
from lemmata.lab.training import Run
from lemmata.networks.shallow import Network
from lemmata.theories.vit.data import Data, draw, draw_members, draw_patterns, sparsify
from lemmata.theories.vit.network import Features, draw_signs, initialise
from lemmata.theories.vit.setting import Setting
from lemmata.theories.vit.training import Watched, attend, simulate, train


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    with numerics("float64"):
        yield


# Whole runs: the package's training against NumPy


TRAINED = Setting(
    tokens=10, neurons=16, samples=9, test_samples=16, steps=60, records=61, track="neurons", stop="never",
    output_scale=0.1, step_size=0.5,
)  # fmt: skip
RUNS = {
    "heads": TRAINED.replace(heads=2, step_size=0.3),
    "skip": TRAINED.replace(skip=True),
    "classes": TRAINED.replace(classes=4, track="attention", samples=12),
    "sparsified": TRAINED.replace(keep=0.7, strategy="irrelevant", output="per_token", step_size=2.0),
}
"""All of them reach zero training loss within their 60 steps."""
runs = pytest.mark.parametrize("name", RUNS)
FOLLOWED = 10


class Pieces(NamedTuple):
    """What one run starts from."""

    network: Network
    features: Features
    signs: Any
    basis: Any
    members: Any
    data: Data
    test: Data


def pieces(setting: Setting, seed: int = 0) -> Pieces:
    problem, key = setting.problem(), jax.random.key(seed)
    basis = draw_patterns(problem, stream(key, "data"))
    members = draw_members(problem, stream(key, "data"), basis) if problem.members > 1 else basis
    data = draw(problem, stream(key, "data"), members, count=problem.drawn_room)
    test = draw(problem, stream(key, "test"), members, count=problem.drawn_test_room)
    network, features = initialise(problem, stream(key, "init"), basis)
    signs = draw_signs(problem, stream(key, "init"))
    if problem.sparsified:
        sampler = stream(key, "sampler")
        data = sparsify(problem, jax.random.fold_in(sampler, 0), data, attend(problem, network, data))
        test = sparsify(problem, jax.random.fold_in(sampler, 1), test, attend(problem, network, test))
    return Pieces(network, features, signs, basis, members, data, test)


def trained(setting: Setting) -> Run:
    p = pieces(setting)
    batch_key = stream(jax.random.key(0), "batch")
    return train(setting.problem(), batch_key, p.network, p.signs, p.data, Watched(p.test, p.features, p.basis))


@functools.cache
def simulated(setting: Setting) -> dict[str, np.ndarray]:
    with numerics("float64"):
        return jax.device_get(simulate(setting, jax.random.key(0)))


def sample_by_hand(network: Network, signs: np.ndarray, data: Data, n: int, skip: bool) -> tuple[np.ndarray, Any]:
    """F of sample n and its gradients; masked tokens are deleted, with their signs."""
    kept = np.flatnonzero(data.weight[n])
    return by_hand(network, kept_layers(signs, kept), data.tokens[n, kept], data.weight[n, kept], skip)


class Reference:
    """Full-batch (or one-pass) hinge SGD in NumPy: the network of every step."""

    def __init__(self, setting: Setting, steps: int = FOLLOWED) -> None:
        self.start = start = jax.device_get(pieces(setting))
        self.skip = setting.skip
        path = [start.network]
        for t in range(steps):
            rows = range(t * setting.batch, (t + 1) * setting.batch) if setting.batch else range(setting.samples)
            size = setting.step_size / len(rows)
            network = path[-1]
            step = jax.tree.map(np.zeros_like, network)
            for n in rows:
                f, each = sample_by_hand(network, start.signs, start.data, n, self.skip)
                y = np.atleast_1d(start.data.label[n])
                if y @ f < 1:
                    for y_c, d in zip(y, each, strict=True):
                        step = jax.tree.map(lambda s, g, c=y_c: s - c * g, step, d)
            path.append(jax.tree.map(lambda w, s, eta=size: w - eta * s, network, step))
        self.path = path

    def by_coordinate(self, t: int, data: Data, label: np.ndarray, count: int) -> np.ndarray:
        """y_c F_c of the first samples."""
        outputs = [sample_by_hand(self.path[t], self.start.signs, data, n, self.skip)[0] for n in range(count)]
        return np.reshape(label[:count], (count, -1)) * outputs

    def margins(self, t: int, count: int) -> np.ndarray:
        return self.by_coordinate(t, self.start.data, self.start.data.label, count).sum(1)

    def test(self, t: int) -> np.ndarray:
        """y_c F_c of the test samples, by their true labels."""
        return self.by_coordinate(t, self.start.test, self.start.test.vote, 16)


@functools.cache
def reference(setting: Setting) -> Reference:
    with numerics("float64"):
        return Reference(setting)


@runs
def test_training_a_variant_is_gradient_descent_on_the_mean_loss(name: str) -> None:
    setting = RUNS[name]
    expected = reference(setting)
    found = jax.device_get(trained(setting.replace(steps=FOLLOWED)))
    assert_networks(found.state.parameters, expected.path[-1], 1e-10)
    result = simulated(setting)
    for t in range(0, FOLLOWED + 1, 5):
        margin = expected.margins(t, setting.samples)
        assert result["train_loss"][t] == pytest.approx(np.maximum(1 - margin, 0).mean(), rel=1e-10)
        if setting.track == "neurons":
            assert result["margin_mean"][t] == pytest.approx(margin.mean(), rel=1e-9)
            assert result["margin_least"][t] == pytest.approx(margin.min(), rel=1e-9)
            risk = np.maximum(1 - expected.test(t).sum(1), 0).mean()
            assert result["test_loss"][t] == pytest.approx(risk, rel=1e-10)
    assert result["train_loss"][0] - result["train_loss"][FOLLOWED] > 0.05


def test_a_batch_of_several_classes_is_aimed_at_its_own_labels() -> None:
    setting = RUNS["classes"].replace(samples=16, batch=4, batches="one_pass", track="loss")
    found = jax.device_get(trained(setting))
    assert found.last_step == 4
    assert_networks(found.state.parameters, Reference(setting, 4).path[-1], 1e-10)


@runs
def test_the_evaluation_of_a_variant_reads_its_trained_network(name: str) -> None:
    setting = RUNS[name].replace(steps=FOLLOWED)
    expected, result = reference(RUNS[name]), simulated(setting)
    for t, prefix in ((0, "untrained_"), (-1, "")):
        by_coordinate = expected.test(t)
        hinge = np.maximum(1 - by_coordinate.sum(1), 0)
        assert result[prefix + "test_hinge"] == pytest.approx(hinge.mean(), rel=1e-10)
        assert result[prefix + "test_error"] == np.mean(np.any(by_coordinate <= 0, axis=1))
    assert result["test_hinge_error"] == pytest.approx(hinge.std(ddof=1) / 4, rel=1e-9)
    assert result["test_margin"] == pytest.approx(by_coordinate.sum(1).min(), rel=1e-9)
    assert result["untrained_test_error"] > 0


@runs
def test_parameters_of_a_variant_are_constant_to_the_bit_once_the_hinge_loss_is_zero(name: str) -> None:
    result = simulated(RUNS[name])
    arrived = int(result["reached_step"])
    assert FOLLOWED < arrived < 58
    assert np.all(result["movement"][1 : arrived + 1] > 0)
    np.testing.assert_array_equal(result["movement"][arrived + 1 :], 0)
    np.testing.assert_array_equal(result["train_loss"][arrived:], 0)


@runs
def test_concentration_in_a_variant_is_the_attention_on_kept_relevant_tokens(name: str) -> None:
    expected = reference(RUNS[name])
    data, result = expected.start.data, simulated(RUNS[name])
    for t in (0, FOLLOWED):
        found = []
        for n in range(RUNS[name].samples):
            kept = np.flatnonzero(data.weight[n])
            x = data.tokens[n, kept]
            bits = np.atleast_1d(data.vote[n]) < 0
            own = bits @ (2 ** np.arange(len(bits))[::-1])
            for query in x:
                masses = [np.exp(x @ k.T @ q @ query) for _, _, k, q in heads_of(expected.path[t])]
                found.append(np.mean([m[data.pattern[n, kept] == own].sum() / m.sum() for m in masses]))
        assert result["concentration"][t, 0] == pytest.approx(np.mean(found), rel=1e-10)
        assert result["lowest"][t] == pytest.approx(np.min(found), rel=1e-10)


def test_neurons_of_a_class_move_towards_its_pattern_and_away_from_the_opposite_one() -> None:
    setting = RUNS["classes"].replace(steps=FOLLOWED)
    expected = reference(RUNS["classes"])
    before, after = expected.path[0].output, expected.path[-1].output
    table = np.zeros((4, 4))
    code = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    signs = expected.start.signs[:, 0] * 4
    for own in range(4):
        rows = [i for i in range(16) if np.array_equal(np.round(signs[:, i]), code[own])]
        assert rows, "every class has neurons"
        for k in range(4):
            table[own, k] = np.mean([(after[i] - before[i]) @ expected.start.features.value[:, k] for i in rows])
    found = simulated(setting)["class_displacement"]
    np.testing.assert_allclose(found, table, rtol=1e-9, atol=1e-12)
    assert np.all(np.diag(found) > 0)


# Combinations


ALLOWED: list[dict[str, Any]] = [
    {"classes": 4, "track": "neurons"},
    {"classes": 4, "heads": 2},
    {"classes": 4, "heads": 2, "output": "per_token", "track": "neurons"},
    {"classes": 4, "skip": True, "keep": 0.5, "label_order": "shuffled"},
    {"heads": 2, "members": 2, "dimension": 15},
    {"skip": True, "members": 2, "dimension": 15, "value_width": 15, "track": "neurons"},
    {"heads": 2, "reduction": "patterns", "token_noise": 0.0, "track": "neurons"},
    {"skip": True, "normalise": "layer", "track": "neurons", "batch": 4},
    {"heads": 2, "loss": "logistic", "track": "neurons", "keep": 0.5, "strategy": "attention"},
]


@pytest.mark.parametrize("change", ALLOWED, ids=str)
def test_every_combination_that_a_setting_allows_can_be_simulated(change: dict[str, Any]) -> None:
    """Traced without computing: every declared dimension is there, and every output has the run's precision."""
    found = jax.eval_shape(simulate, SMALL.replace(**change).problem(), jax.random.key(0))
    assert {v.dtype.name for v in found.values()} == {"float64"}
    for name, value in found.items():
        assert len(value.shape) == len(simulate.variable(name).dims), name
    side = {"side": 2, "group": 3, "gate_group": 4, "pair": 2, "query": 4, "record": 21, "pattern": 5, "class": 4}
    for name, value in found.items():
        for dim, size in zip(simulate.variable(name).dims, value.shape, strict=True):
            assert size == side.get(dim, size), (name, dim)
