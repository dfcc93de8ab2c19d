"""Probes (section 5) against loops in NumPy and against autodiff, on networks and prompts made by hand."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.lab.precision import numerics
from lemmata.networks.shallow import Network, Pass
from lemmata.theories.icl import probes
from lemmata.theories.icl.data import Patterns, Prompts, World
from lemmata.theories.icl.network import run_forward
from lemmata.theories.icl.probes import Lucky, lucky_activity
from lemmata.theories.icl.tasks import cyclic_tasks, task_roles

FEATURES, LABELS, MU, NU, NEURONS, PROMPTS, CONTEXTS = 7, 2, 4, 3, 11, 14, 6
WIDTH, BETA = FEATURES + LABELS, 3.0
FAST: Any = {"compiler_options": {"xla_backend_optimization_level": 0}}
find_partners = jax.jit(probes.partners, **FAST)
score = jax.jit(probes.scores, **FAST)
score_by_query = jax.jit(probes.scores_by_query, static_argnames="relevant", **FAST)


class Case(NamedTuple):
    """In NumPy: a world, a network and one before it, prompts, the forward pass, all probes and autodiff gradients."""

    world: Any
    network: Any
    before: Any
    signs: Any
    prompts: Any
    run: Any
    found: dict[str, Any]
    gradient: Any
    negated_gradient: Any


def make_world(rng: np.random.Generator) -> Any:
    basis: Any = BETA * np.linalg.qr(rng.normal(size=(FEATURES, FEATURES)))[0]
    parts: Any = (basis[:, :MU], basis[:, MU:], np.asarray(0.5))
    rest: Any = (np.array([0.6, -0.8]), task_roles(cyclic_tasks(MU, 3), MU))
    return World(basis, Patterns(*parts), *rest)


def make_prompts(rng: np.random.Generator, world: Any) -> Any:
    pattern, query = rng.integers(0, MU, (PROMPTS, CONTEXTS)), rng.integers(0, MU, PROMPTS)
    pattern[0], query[0] = 1, 2  # a prompt without a match
    coin = rng.choice([-1.0, 1.0], (PROMPTS, CONTEXTS))
    inputs = lambda index: (  # noqa: E731
        world.basis.T[index]
        + rng.uniform(-0.5, 0.5, (*index.shape, 1)) * world.basis.T[rng.integers(MU, 7, index.shape)]
    )
    contexts = np.concatenate([inputs(pattern), coin[..., None] * world.q], axis=2)
    queries = np.concatenate([inputs(query), np.zeros((PROMPTS, LABELS))], axis=1)
    weight = (np.arange(CONTEXTS) < rng.integers(3, CONTEXTS + 1, PROMPTS)[:, None]) * 1.0
    label = rng.choice([-1.0, 1.0], PROMPTS)
    parts: Any = (contexts, queries, weight, label, pattern, query, coin, coin, query)
    return Prompts(*parts)


def mean_hinge(network: Any, signs: Any, prompts: Any, z: Any) -> Any:
    """The batch loss as section 3 and 4 have it, for autodiff."""
    logits = jnp.einsum("nsa,ab,nb->ns", prompts.contexts, network.key.T @ network.query, prompts.query)
    mass = jnp.exp(logits) * prompts.weight
    attention = mass / mass.sum(axis=1, keepdims=True)
    mixed = jnp.einsum("ns,nsd->nd", attention, prompts.contexts)
    output = jnp.maximum(mixed @ network.value.T @ network.output.T, 0) @ signs
    return jnp.mean(jnp.maximum(0, 1 - z * output))


@pytest.fixture(scope="module")
def case() -> Iterator[Case]:
    rng = np.random.default_rng(5)
    with numerics("float64"):
        world = make_world(rng)
        shapes = {(NEURONS, WIDTH): 0.5, (WIDTH, WIDTH): 0.5}
        draw = lambda: Network(  # noqa: E731
            *(jnp.asarray(size * rng.normal(size=shape)) for shape, size in shapes.items()),
            *(jnp.asarray(0.15 * rng.normal(size=(WIDTH, WIDTH))) for _ in range(2)),
        )
        network, before = jax.device_get((draw(), draw()))
        signs: Any = rng.choice([-1.0, 1.0], NEURONS) / NEURONS
        prompts = make_prompts(rng, world)
        lucky: Any = rng.random(NEURONS) < 0.5

        @jax.jit(**FAST)
        def everything(network: Any, prompts: Any) -> Any:
            run = run_forward(network, signs, prompts)
            z = prompts.label
            found = {
                "blocks": (blocks := probes.pattern_blocks(network, world)),
                "ratio": probes.partner_ratio(
                    jnp.stack([blocks["query_patterns"], blocks["key_patterns"]]), probes.partners(world.roles, MU)
                ),
                "projections": probes.projections(network, prompts, world.patterns),
                "updates": probes.updates(network, signs, prompts, world, False),
                "values": probes.value_coefficients(run, signs, prompts, world),
                "negated_values": probes.value_coefficients(run, signs, prompts, world, negated=True),
                "growth": probes.output_growth(before.output, network.output, signs, lucky, world),
                "planted": probes.planted_activity(network, signs, world, run),
                "lucky": lucky,
            }
            gradients = [jax.grad(mean_hinge)(network, signs, prompts, sign * z) for sign in (1, -1)]
            return run, found, *gradients

        parts = jax.device_get(everything(network, prompts))
        yield Case(world, network, before, signs, prompts, *parts)


def columns(matrix: Any) -> list[np.ndarray]:
    return list(np.asarray(matrix).T)


def padded(vector: np.ndarray) -> np.ndarray:
    """(v; 0)."""
    return np.append(vector, np.zeros(LABELS))


def test_the_mapped_sum_is_what_the_maps_do_to_the_unit_vector_along_the_sum_of_the_patterns(case: Case) -> None:
    mu = np.asarray(case.world.patterns.relevant)
    unit = np.zeros(case.network.key.shape[1])
    unit[: len(mu)] = mu.sum(axis=1) / np.linalg.norm(mu.sum(axis=1))
    for found, matrix in zip(case.found["blocks"]["mapped_sum"], (case.network.query, case.network.key), strict=True):
        mapped = np.asarray(matrix) @ unit
        along = mapped @ unit
        np.testing.assert_allclose(found, [along, np.linalg.norm(mapped - along * unit)], rtol=2e-5, atol=1e-6)


def test_pattern_blocks_are_the_maps_between_unit_patterns(case: Case) -> None:
    mu, nu = columns(case.world.patterns.relevant), columns(case.world.patterns.irrelevant)
    found = case.found["blocks"]
    for name, matrix in (("query", case.network.query), ("key", case.network.key)):
        for kind, vectors in (("patterns", mu), ("irrelevant", nu)):
            expected = [[padded(v) @ matrix @ padded(u) / BETA**2 for u in vectors] for v in vectors]
            np.testing.assert_allclose(found[f"{name}_{kind}"], expected, rtol=1e-10)
    key = case.network.key
    np.testing.assert_allclose(found["key_pattern_norm"], [np.linalg.norm(key @ padded(v)) for v in mu], rtol=1e-10)
    label = np.append(np.zeros(FEATURES), case.world.q)
    assert found["key_label_norm"] == pytest.approx(np.linalg.norm(key @ label), rel=1e-10)


def test_partners_are_the_pairs_of_the_training_tasks() -> None:
    tasks = cyclic_tasks(6, 5)
    for seen, number in ((3, None), (6, 2), (12, 4), (30, 5)):
        expected = np.zeros((6, 6))
        for a, b in tasks[:seen]:
            expected[a - 1, b - 1] = expected[b - 1, a - 1] = 1
        np.testing.assert_array_equal(find_partners(task_roles(tasks, 6), seen), expected)
        assert number is None or (expected.sum(axis=1) == number).all()


def test_the_partner_ratio_is_the_mean_entry_of_partners_over_the_own_one_of_their_row(case: Case) -> None:
    seen = case.world.roles.shape[1]  # one round of the cycle: every pattern has two partners
    ratios = []
    for matrix in (case.network.query, case.network.key):
        block = [[padded(v) @ matrix @ padded(u) for u in columns(case.world.patterns.relevant)]
                 for v in columns(case.world.patterns.relevant)]  # fmt: skip
        ratios.append(np.mean([block[j][k % seen] / block[j][j] for j in range(seen) for k in (j - 1, j + 1)]))
    np.testing.assert_allclose(case.found["ratio"], ratios, rtol=1e-10)


def test_projections_are_means_over_queries_and_contexts_on_their_own_pattern(case: Case) -> None:
    unit = [padded(v) / BETA for v in columns(case.world.patterns.relevant)]
    p, q = case.prompts, case.network
    queries = [(q.query @ token, unit[j]) for token, j in zip(p.query, p.query_pattern, strict=True)]
    keys = [(q.key @ p.contexts[n, s], unit[p.pattern[n, s]]) for n in range(PROMPTS) for s in range(CONTEXTS)]
    for name, mapped in (("query", queries), ("key", keys)):
        norm, along = case.found["projections"][f"{name}_norm"], case.found["projections"][f"{name}_projection"]
        assert norm == pytest.approx(np.mean([np.linalg.norm(v) for v, _ in mapped]), rel=1e-10)
        assert along == pytest.approx(np.mean([v @ u for v, u in mapped]), rel=1e-10)


def test_updates_are_minus_the_autodiff_gradient_of_the_batch_hinge_in_pattern_coordinates(case: Case) -> None:
    mu, nu = columns(case.world.patterns.relevant), columns(case.world.patterns.irrelevant)
    found = case.found["updates"]
    for i, name in enumerate(("query", "key")):
        down, other = getattr(case.gradient, name), getattr(case.negated_gradient, name)
        assert np.abs(down).max() > 1e-4
        expected = [[-(padded(v) @ down @ padded(u)) / BETA**2 for u in mu] for v in mu]
        np.testing.assert_allclose(found["map_update"][i], expected, rtol=1e-8, atol=1e-14)
        own = np.mean([-(padded(v) @ other @ padded(v)) / BETA**2 for v in mu])
        assert found["negated_update"][i] == pytest.approx(own, rel=1e-8)
        gained = np.mean([abs(padded(v) @ down @ padded(u)) / BETA**2 for u in mu for v in nu])
        assert found["irrelevant_update"][i] == pytest.approx(gained, rel=1e-8)
        assert found["label_gradient"][i] == pytest.approx(np.abs(down[:, FEATURES:]).max(), rel=1e-8)
    # queries have no label; keys do
    assert found["label_gradient"][0] == 0
    assert found["label_gradient"][1] > 1e-5


def coefficients(case: Case, sign: float) -> np.ndarray:
    """V_i for every neuron i and p_j = (mu_j; q), as the specification writes them."""
    found = np.zeros((NEURONS, MU))
    for n in range(PROMPTS):
        z, weight = sign * case.prompts.label[n], case.prompts.weight[n] > 0
        attention = case.run.attention[0][n, 0][weight]
        mean = attention @ case.prompts.contexts[n][weight]
        hidden = case.network.output @ case.network.value @ mean
        assert case.run.output[n] == pytest.approx(case.signs @ np.maximum(hidden, 0), rel=1e-10)
        for j, mu in enumerate(columns(case.world.patterns.relevant)):
            active = z * case.run.output[n] < 1
            found[:, j] += z * active * (hidden > 0) * (mean @ np.append(mu, case.world.q)) / PROMPTS
    return case.signs[:, None] * found


@pytest.mark.parametrize(("sign", "name"), [(1.0, "values"), (-1.0, "negated_values")])
def test_the_value_gradient_is_the_combination_of_rows_of_w_o_with_these_coefficients(
    case: Case, sign: float, name: str
) -> None:
    gradient = (case.gradient if sign > 0 else case.negated_gradient).value
    each = coefficients(case, sign)
    for j, mu in enumerate(columns(case.world.patterns.relevant)):
        moved = -gradient @ np.append(mu, case.world.q)
        np.testing.assert_allclose(moved, each[:, j] @ case.network.output, rtol=1e-9, atol=1e-13)
        assert np.abs(moved).max() > 1e-3
    groups = [each[case.signs > 0].mean(), each[case.signs < 0].mean()]
    np.testing.assert_allclose(case.found[name], groups, rtol=1e-9)


def test_output_growth_is_the_mean_change_along_the_mean_pattern_and_the_label_of_each_group(case: Case) -> None:
    mean = np.mean(columns(case.world.patterns.relevant), axis=0)
    change = case.network.output - case.before.output
    along = {sign: change @ np.append(mean, sign * case.world.q) for sign in (1, -1)}
    expected = [along[1][case.found["lucky"]].mean(), along[1][case.signs > 0].mean(), along[-1][case.signs < 0].mean()]
    np.testing.assert_allclose(case.found["growth"], expected, rtol=1e-10)


def test_planted_neurons_fire_where_the_ideal_rows_of_w_o_would(case: Case) -> None:
    mean = np.mean(columns(case.world.patterns.relevant), axis=0)
    kept = case.prompts.weight > 0
    expected = np.empty((PROMPTS, NEURONS), bool)
    for n, i in np.ndindex(PROMPTS, NEURONS):
        token = case.run.attention[0][n, 0][kept[n]] @ case.prompts.contexts[n][kept[n]]
        row = np.append(mean, math.copysign(1, case.signs[i]) * case.world.q)
        expected[n, i] = row @ case.network.value @ token > 0
    np.testing.assert_array_equal(case.found["planted"], expected)
    assert 0.1 < expected.mean() < 0.9
    assert (expected.any(axis=1) & ~expected.all(axis=1)).any()


def test_lucky_activity_is_a_share_of_own_pairs_and_of_all_pairs_with_the_label() -> None:
    label: Any = np.array([1.0, -1.0, 1.0])
    absent: Any = None
    prompts = Prompts(absent, absent, absent, label, *[absent] * 5)
    own: Any = np.array([[1, 1, 0, 0], [0, 0, 0, 1], [1, 0, 0, 0]], bool)
    union: Any = np.array([[1, 1, 0, 0], [0, 0, 0, 1]], bool)
    active: Any = np.array([[1, 0, 1, 1], [0, 1, 1, 1], [1, 1, 0, 0]], bool)
    found = lucky_activity(active, prompts, Lucky(own, own, union))
    assert found["own_active"] == pytest.approx(3 / 4)  # (0, 0) yes, (0, 1) no, (1, 3) yes, (2, 0) yes
    assert found["all_active"] == pytest.approx(4 / 5)  # and (2, 1) yes


# Scores, on attention written down


OUTPUT: Any = np.array([2.0, -0.5, 0.0, 0.25])
LABEL: Any = np.array([1.0, 1.0, -1.0, 1.0])
PATTERN: Any = np.array([[0, 1, 0], [1, 1, 2], [2, 0, 1], [0, 0, 0]])
QUERY: Any = np.array([0, 1, 1, 2])
ATTENTION: Any = np.array([[0.5, 0.2, 0.3], [0.1, 0.4, 0.5], [0.2, 0.2, 0.6], [0.6, 0.2, 0.2]])


def hand_made(weight: Any = None, query: Any = QUERY) -> tuple[Any, Any]:
    """Prompts of which the fourth has no match; on the others attention is 0.8, 0.5 and 0.6."""
    weight = np.ones((4, 3)) if weight is None else weight
    absent: Any = None
    prompts = Prompts(absent, absent, weight, LABEL, PATTERN, query, *[absent] * 3)
    first = ATTENTION[:, None] * weight[:, None]
    uniform = weight[:, None] / weight.sum(axis=1)[:, None, None]
    attention = [jnp.asarray(first / first.sum(axis=2, keepdims=True)), jnp.asarray(uniform)]
    return Pass(attention, *[absent] * 6, jnp.asarray(OUTPUT)), prompts


def test_scores_are_those_of_the_definition_with_and_without_a_match() -> None:
    found = score(*hand_made())
    assert found["error"] == pytest.approx(2 / 4)  # F = 0 is wrong
    assert found["hinge"] == pytest.approx((0 + 1.5 + 1 + 0.75) / 4)
    assert found["margin"] == pytest.approx((2 - 0.5 + 0 + 0.25) / 4)
    assert found["no_match"] == pytest.approx(1 / 4)
    assert found["error_match"] == pytest.approx(2 / 3)
    assert found["error_no_match"] == pytest.approx(0)
    np.testing.assert_allclose(found["concentration"], [(0.8 + 0.5 + 0.6) / 3, (2 / 3 + 2 / 3 + 1 / 3) / 3], rtol=1e-6)


def test_contexts_in_unused_room_are_no_match() -> None:
    weight = np.ones((4, 3))
    weight[2, 2] = 0
    found = score(*hand_made(weight))
    assert found["no_match"] == pytest.approx(2 / 4)
    assert found["error_match"] == pytest.approx(1 / 2)
    assert found["error_no_match"] == pytest.approx(1 / 2)
    assert found["concentration"][0] == pytest.approx((0.8 + 0.5) / 2)


def test_scores_of_prompts_that_do_not_occur_are_absent() -> None:
    every = score(*hand_made(query=np.array([0, 1, 0, 0])))
    assert np.isnan(every["error_no_match"])
    none = score(*hand_made(query=np.full(4, 5)))
    assert np.isnan(none["error_match"])
    assert np.isnan(none["concentration"]).all()
    assert none["error_no_match"] == none["error"]


def test_scores_by_query_split_the_prompts_by_the_pattern_of_the_query() -> None:
    found = score_by_query(*hand_made(), relevant=4)
    np.testing.assert_allclose(found["error"], [0, 1, 0, np.nan])
    np.testing.assert_allclose(found["hinge"], [0, 1.25, 0.75, np.nan])
    # the only prompt with pattern 2 has no match: an error, but no attention
    np.testing.assert_allclose(found["concentration"], [0.8, 0.55, np.nan, np.nan], rtol=1e-6)
