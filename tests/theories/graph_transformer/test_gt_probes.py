"""Probes of attention and of the proof (probes 2 - 6, 11, 12), against loops over the sample; deviations (P16)."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest
from gt_slow import PARTS, Case, Weights, answer, make_case, slopes, weights

from lemmata.lab.precision import numerics
from lemmata.networks.losses import hinge
from lemmata.networks.shallow import Network
from lemmata.theories.graph_transformer import probes
from lemmata.theories.graph_transformer.network import Parameters, gradient, run_sampled, tokens_of
from lemmata.theories.graph_transformer.probes import all_tokens, masses
from lemmata.theories.graph_transformer.studies import random_samples as batch_gradients
from lemmata.theories.graph_transformer.studies.random_samples import sampled_ratios

DRAWS, ROWS = 2, 80
LABELLED = 30


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    with numerics("float64"):
        yield


class Probed(NamedTuple):
    case: Case
    before: Weights
    now: Weights
    lucky: np.ndarray
    masses: dict[str, np.ndarray]
    proof: dict[str, np.ndarray]
    run: list[list[Any]]


def moved(case: Case) -> Parameters:
    """Other weights than the initial ones, some of them far from these."""
    draws = np.random.default_rng(3)
    shift = lambda leaf, size: leaf + size * draws.normal(size=leaf.shape)  # noqa: E731
    network = Network(*(shift(leaf, 0.3) for leaf in case.parameters.network))
    encoding = np.append(draws.normal(size=case.setting.bins), np.zeros(7 - case.setting.bins))
    return Parameters(network, encoding, case.parameters.additive)


@jax.jit
def _begin(problem: Any, world: Any, parameters: Any, signs: Any, watched: Any) -> Any:
    run = run_sampled(parameters, signs, all_tokens(problem, world, watched))
    return probes.remember_start(parameters, signs, world, watched, run)


@jax.jit
def _probe(problem: Any, world: Any, start: Any, parameters: Any, signs: Any, watched: Any) -> Any:
    tokens = all_tokens(problem, world, watched)
    run = run_sampled(parameters, signs, tokens)
    attended = masses(problem, parameters, world, watched, tokens, run)
    return attended, probes.follow_proof(problem, start, parameters, signs, world, watched, run)


def probe(case: Case, now: Parameters) -> Probed:
    problem = case.problem.only(("bin_room",))
    start = _begin(problem, case.world, case.parameters, case.signs, case.watched)
    found = jax.device_get(_probe(problem, case.world, start, now, case.signs, case.watched))
    slow = [
        [answer(weights(now), case.signs, *case.watched_tokens(draw, row)) for row in range(ROWS)]
        for draw in range(DRAWS)
    ]
    return Probed(case, weights(case.parameters), weights(now), np.asarray(start.lucky), *found, slow)


CHANGED: dict[str, Any] = {
    "labelled": LABELLED, "label_noise": 0.1, "confusion": 0.2, "sample": 8, "output_scale": 0.5, "steps": 4,
}  # fmt: skip


@pytest.fixture(scope="module")
def found() -> Probed:
    with numerics("float64"):
        case = make_case(seed=1, **CHANGED)
        return probe(case, moved(case))


def by_group(case: Case, value: Any) -> np.ndarray:
    """Means over draws and labelled discriminative, other, and all nodes of value(draw, row); NaN left out."""
    rows = {"discriminative": [], "other": [], "all": []}
    for draw in range(DRAWS):
        for row in range(LABELLED):
            x = value(draw, row)
            other = case.world.pattern[case.watched.node[row]] >= 2
            rows["other" if other else "discriminative"].append(x)
            rows["all"].append(x)
    return np.array([np.nanmean(np.array(values), axis=0) for values in rows.values()])


def keys_of(case: Case, draw: int, row: int) -> tuple[int, np.ndarray]:
    """The node of a row and its keys that are used."""
    return case.watched.node[row], case.watched.keys[draw, row][case.watched.weight[draw, row] > 0]


def kinds(case: Case, draw: int, row: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which keys are class-relevant, confusing, and at the core distance."""
    node, keys = keys_of(case, draw, row)
    own = 0 if case.world.label[node] > 0 else 1
    pattern = case.world.pattern[keys]
    return pattern == own, pattern == 1 - own, case.world.table[node, keys] == case.world.core


def test_masses_are_attention_on_relevant_and_confusing_keys_of_labelled_nodes(found: Probed) -> None:
    for name, i in (("relevant_mass", 0), ("confusing_mass", 1)):
        slow = by_group(found.case, lambda d, r, i=i: found.run[d][r].alpha[kinds(found.case, d, r)[i]].sum())
        np.testing.assert_allclose(found.masses[name], slow)
        assert np.ptp(slow) > 0.02


def test_attention_per_bin_and_its_entropy(found: Probed) -> None:
    case = found.case

    def bins(d: int, r: int) -> np.ndarray:
        node, keys = keys_of(case, d, r)
        z = np.minimum(case.world.table[node, keys], case.setting.bins - 1)
        return np.array([found.run[d][r].alpha[z == i].sum() for i in range(7)])

    np.testing.assert_allclose(found.masses["bin_mass"], by_group(case, bins), atol=1e-15)
    np.testing.assert_allclose(found.masses["bin_mass"].sum(axis=1), 1)
    entropy = lambda d, r: -sum(a * np.log(a) for a in found.run[d][r].alpha)  # noqa: E731
    np.testing.assert_allclose(found.masses["entropy"], by_group(case, entropy))


def test_the_core_ratio_and_the_confusion_ratio_are_of_other_nodes_inside_the_core_shell(found: Probed) -> None:
    case = found.case
    assert case.world.core == 1

    def attended(d: int, r: int) -> float:
        star, hash_, core = kinds(case, d, r)
        alpha = found.run[d][r].alpha
        inside = alpha[star & core].sum(), alpha[hash_ & core].sum()
        return inside[0] / sum(inside) if sum(inside) else np.nan

    def counted(d: int, r: int) -> float:
        star, hash_, core = kinds(case, d, r)
        total = ((star | hash_) & core).sum()
        return (hash_ & core).sum() / total if total else np.nan

    np.testing.assert_allclose(found.masses["core_ratio"], by_group(case, attended)[1])
    np.testing.assert_allclose(found.masses["confusion_ratio"], by_group(case, counted)[1])
    undecided = by_group(case, lambda d, r: float(np.isnan(counted(d, r))))[1]
    np.testing.assert_allclose(found.masses["undecided"], undecided)
    assert undecided > 0


def test_the_predicted_mass_is_that_of_definition_b_2_3(found: Probed) -> None:
    case, w = found.case, found.now
    mu = case.world.directions[:, 0]
    square = (w.k @ mu) @ (w.q @ mu)
    for i, error in enumerate((case.setting.value_error, case.setting.key_error)):

        def p_n(d: int, r: int, error: float = error) -> float:
            node, keys = keys_of(case, d, r)
            star, hash_, _ = kinds(case, d, r)
            z = np.minimum(case.world.table[node, keys], case.setting.bins - 1)
            e_minus = np.exp(square - error * np.sqrt(square) + w.b[z])
            boosted = star | hash_ if case.world.pattern[node] >= 2 else star
            nu = 1 / (e_minus[boosted].sum() + np.exp(w.b[z])[~boosted].sum())
            return e_minus[star].sum() * nu

        np.testing.assert_allclose(found.masses["predicted_mass"][:, i], by_group(case, p_n))
    assert np.abs(np.diff(found.masses["predicted_mass"], axis=1)).min() > 1e-4


def test_without_noise_the_initial_masses_are_those_of_oracle_8_7() -> None:
    case = make_case(seed=2, **{**CHANGED, "init": "identity", "feature_noise": 0.0, "label_noise": 0.0})
    attended = probe(case, case.parameters).masses
    gcn = make_case(seed=2, **{**CHANGED, "init": "identity", "feature_noise": 0.0, "label_noise": 0.0, "model": "gcn"})
    uniform = probe(gcn, gcn.parameters).masses

    def oracle(d: int, r: int) -> float:
        node, keys = keys_of(case, d, r)
        pattern, size = case.world.pattern[keys], len(keys)
        own = (pattern == case.world.pattern[node]).sum()
        relevant = kinds(case, d, r)[0].sum()
        if case.world.pattern[node] < 2:
            assert own == relevant >= 1
            return relevant * np.e / (relevant * np.e + size - relevant)
        return relevant / (own * np.e + size - own)

    np.testing.assert_allclose(attended["relevant_mass"], by_group(case, oracle), rtol=1e-6)
    share = by_group(case, lambda d, r: kinds(case, d, r)[0].mean())
    np.testing.assert_allclose(uniform["relevant_mass"], share, rtol=1e-9)


# Neurons


def active(probed: Probed, w: Weights, row: int) -> np.ndarray:
    return answer(w, probed.case.signs, *probed.case.watched_tokens(0, row)).hidden > 0


@pytest.fixture(scope="module")
def wide() -> Probed:
    """Enough neurons for every group to have some."""
    with numerics("float64"):
        case = make_case(seed=1, **{**CHANGED, "neurons": 120})
        probed = probe(case, moved(case))
    assert (probed.lucky.sum(axis=1) > 0).all()
    assert (probed.lucky[:2].sum(axis=1) < 60).all()
    return probed


def test_lucky_neurons_are_active_on_every_labelled_node_of_their_pattern(wide: Probed) -> None:
    case = wide.case
    pattern = case.world.pattern[case.watched.node]
    for lucky, sign, j in zip(wide.lucky, (1, -1, -1, 1), (0, 1, 0, 1), strict=True):
        rows = [row for row in range(LABELLED) if pattern[row] == j]
        assert rows
        everywhere = np.all([active(wide, wide.before, row) for row in rows], axis=0)
        np.testing.assert_array_equal(lucky, (case.signs * sign > 0) & everywhere)
    assert wide.lucky[:, case.setting.neurons :].sum() == 0
    np.testing.assert_array_equal(wide.proof["lucky_count"], wide.lucky.sum(axis=1))


def test_neurons_point_where_the_proof_says_in_the_mean_over_their_group(wide: Probed) -> None:
    case, w = wide.case, wide.now
    pattern, features = case.world.pattern, case.world.features
    for j in range(4):
        p = w.v @ features[pattern == j].mean(axis=0)
        along = w.o @ p / np.linalg.norm(p)
        for i, lucky in enumerate(wide.lucky > 0):
            np.testing.assert_allclose(wide.proof["lucky_along"][i, j], along[lucky].mean())
            np.testing.assert_allclose(wide.proof["lucky_along_size"][i, j], np.abs(along[lucky]).mean())
        for name, matrix in (("key_norm", w.k), ("query_norm", w.q)):
            np.testing.assert_allclose(
                wide.proof[name][j], np.linalg.norm(matrix @ features[pattern == j].mean(axis=0))
            )
    mu = case.world.directions
    logits = [[(w.k @ mu[:, i]) @ (w.q @ mu[:, j]) for j in range(4)] for i in range(4)]
    np.testing.assert_allclose(wide.proof["cross_logits"], logits)


def test_row_norms_compare_unlucky_with_lucky_neurons_that_are_there(wide: Probed) -> None:
    square = (wide.now.o**2).sum(axis=1)
    lucky = (wide.lucky[0] + wide.lucky[1]) > 0
    unlucky = ~lucky & (wide.case.signs != 0)
    assert unlucky.sum() + lucky.sum() == 120
    np.testing.assert_allclose(wide.proof["norm_ratio"], square[unlucky].mean() / square[lucky].mean())


def test_persistence_is_the_active_share_of_pairs_and_the_active_fraction_of_all(wide: Probed) -> None:
    case = wide.case
    pattern = case.world.pattern[case.watched.node]
    now = np.array([active(wide, wide.now, row) for row in range(ROWS)])
    for i, (lucky, j) in enumerate(zip(wide.lucky > 0, (0, 1, 0, 1), strict=True)):
        share = now[pattern == j][:, lucky].mean()
        np.testing.assert_allclose(wide.proof["persistence"][i], share)
    np.testing.assert_allclose(wide.proof["active_fraction"], now[:, :120].mean())
    means = np.array([wide.run[0][row].mean for row in range(ROWS)])
    alike = (means @ (wide.before.o[0] @ wide.before.v) > 0).mean()
    np.testing.assert_allclose(wide.proof["active_fraction_alike"], alike)


def test_before_training_lucky_neurons_are_active_on_all_their_labelled_nodes() -> None:
    case = make_case(seed=1, **{**CHANGED, "neurons": 120, "labelled": 79})
    start = probe(case, case.parameters)
    assert (start.proof["persistence"] > 0.97).all()
    assert start.proof["value_moved"].max() == start.proof["drift_ov"] == start.proof["drift_qk"] == 0


def test_values_move_as_the_matrix_does(wide: Probed) -> None:
    mu, now, before = wide.case.world.directions, wide.now, wide.before
    d = [(now.v - before.v) @ mu[:, j] for j in range(4)]
    np.testing.assert_allclose(wide.proof["value_moved"], [np.linalg.norm(x) for x in d])
    np.testing.assert_allclose(wide.proof["value_opposition"], d[0] @ d[1])
    for j in range(2):
        np.testing.assert_allclose(wide.proof["lucky_value"][j], (now.o @ d[j])[wide.lucky[j] > 0].mean())
    first = before.v @ wide.case.world.features[wide.case.world.pattern == 0].mean(axis=0)
    np.testing.assert_allclose(wide.proof["value_along_first"], now.v @ mu[:, 0] @ first)


def coefficients(probed: Probed) -> np.ndarray:
    """V_i^(j) of Lemma B.3.4, over the first B labelled nodes."""
    case = probed.case
    total = np.zeros((len(case.signs), 4))
    for row in range(case.setting.batch):
        run, y = probed.run[0][row], case.world.label[case.watched.node[row]]
        if y * run.f < 1:
            total -= y * np.outer(case.signs * (run.hidden > 0), run.mean @ case.world.directions)
    return total / case.setting.batch


def test_value_coefficients_are_those_of_the_lemma(wide: Probed) -> None:
    case = wide.case

    @jax.jit
    def fast(problem: Any, now: Any, world: Any, watched: Any) -> Any:
        run = run_sampled(now, case.signs, all_tokens(problem, world, watched))
        return probes.value_coefficients(problem, case.signs, world, watched, run)

    slow = coefficients(wide)
    found = fast(case.problem.only(()), moved(case), case.world, case.watched)
    np.testing.assert_allclose(found, slow, atol=1e-15)
    for j in range(2):
        own = slow[wide.lucky[j] > 0, j]
        np.testing.assert_allclose(wide.proof["coefficient_negative"][j], (own < 0).mean())
        np.testing.assert_allclose(wide.proof["coefficient_positive"][j], (own > 0).mean())


def test_drifts_are_the_changes_of_the_conserved_matrices(wide: Probed) -> None:
    def conserved(w: Weights) -> tuple[np.ndarray, np.ndarray]:
        return w.o.T @ w.o - w.v @ w.v.T, w.q @ w.q.T - w.k @ w.k.T

    for name, now, before in zip(("drift_ov", "drift_qk"), conserved(wide.now), conserved(wide.before), strict=True):
        np.testing.assert_allclose(wide.proof[name], np.linalg.norm(now - before))


# Deviations of batch gradients


@pytest.fixture(scope="module")
def gradients(found: Probed) -> dict[str, np.ndarray]:
    """Loss gradients of all watched nodes, node by node."""
    case, rows = found.case, []
    for row in range(ROWS):
        y = case.world.taught[case.watched.node[row]]
        on = y * found.run[0][row].f < 1
        part = slopes(found.now, case.signs, *case.watched_tokens(0, row))
        rows.append([-y * on * matrix.ravel() for matrix in part])
    return {name: np.array([row[i] for row in rows]) for i, name in enumerate(PARTS)}


def test_node_gradients_are_those_of_single_nodes_and_add_up_to_the_batch_gradient(
    found: Probed, gradients: dict[str, np.ndarray]
) -> None:
    case = found.case
    now = moved(case)

    @jax.jit
    def both(problem: Any, parameters: Any, world: Any, watched: Any) -> Any:
        y = world.taught[watched.node]
        tokens = tokens_of(world, watched.node, watched.keys[0], watched.weight[0], problem.bins)
        total = gradient(parameters, case.signs, tokens, lambda f: y * hinge().slope(y * f))
        return batch_gradients.node_gradients(problem, parameters, case.signs, world, watched), total

    each, total = both(case.problem.only(()), now, case.world, case.watched)
    for name, slow in gradients.items():
        np.testing.assert_allclose(each[name], slow, atol=1e-12, err_msg=name)
    for name, whole in zip(PARTS, weights(total), strict=True):
        np.testing.assert_allclose(np.asarray(each[name]).sum(axis=0), whole.ravel(), atol=1e-10, err_msg=name)


def test_deviations_are_relative_to_the_mean_of_the_labelled_nodes(
    found: Probed, gradients: dict[str, np.ndarray]
) -> None:
    case = found.case
    key = jax.random.key(5)
    given = moved(case), case.signs, case.world, case.watched
    measured = jax.device_get(jax.jit(batch_gradients.deviate_now)(case.problem.only(()), key, *given))
    for k, size in ((0, 25), (2, 100)):
        chosen = np.asarray(jax.random.randint(jax.random.fold_in(key, size), (200, size), 0, LABELLED))
        assert chosen.max() == LABELLED - 1
        for i, g in enumerate(gradients.values()):
            mean = g[:LABELLED].mean(axis=0)
            relative = np.array([np.linalg.norm(g[rows].mean(axis=0) - mean) for rows in chosen]) / np.linalg.norm(mean)
            np.testing.assert_allclose(measured["deviation"][i, k], relative.mean(), err_msg=PARTS[i])
            np.testing.assert_allclose(measured["exceeds"][i, k], (relative > 0.5).mean(), err_msg=PARTS[i])
            single = np.linalg.norm(g[chosen[:, 0]] - mean, axis=1) / np.linalg.norm(mean)
            np.testing.assert_allclose(measured["copies"][i, k], single.mean(), err_msg=PARTS[i])


def test_the_sampled_confusion_ratio_is_counted_on_nodes_that_are_not_discriminative() -> None:
    case = make_case(**{**CHANGED, "shells": "core", "sample": 8, "label_noise": 0.0})
    ratios = np.asarray(sampled_ratios(case.problem, case.key, case.world))
    others = (case.world.pattern >= 2).sum()
    assert np.isnan(ratios[others:]).all()
    # of a non-discriminative node's 8 neighbours, all of them drawn, 2 are confusing
    np.testing.assert_allclose(ratios[:others], 2 / 8)
