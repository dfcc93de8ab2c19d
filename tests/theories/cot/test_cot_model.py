"""Prompts, the one-layer model, its two simulators and inference: the oracles O2 to O8, O14 and O16."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import lemmata as lm
from lemmata.theories.cot import data, network, probes
from lemmata.theories.cot.data import Prompts, System
from lemmata.theories.cot.setting import Setting
from lemmata.theories.cot.studies import asked_trials, draw_noise
from lemmata.theories.cot.training import kept_weights, simulate, train_network
from lemmata.theories.cot.transitions import images, shift_maps, shifted_images

SMALL: dict[str, Any] = {
    **{"dimension": 12, "patterns": 6, "reasoning_steps": 2, "test_patterns": 4, "batch": 12, "examples": 6},
    **{"watch_prompts": 12, "watch_tests": 4, "records": 12, "measure_prompts": 12, "chunk": 12, "test_prompts": 40},
}


def prompts_of(setting: Setting, count: int, seed: int = 0, pool: int = 0) -> Prompts:
    problem, key = setting.problem(), jax.random.key(seed)
    return jax.jit(lambda key: data.training_prompts(problem, key, key, count, pool))(key)


def test_a_training_prompt_is_what_the_paper_defines() -> None:
    setting = Setting(**{**SMALL, "reasoning_steps": 3})
    drawn = jax.tree.map(np.asarray, prompts_of(setting, 36))
    K, room = 3, 6
    for n in range(36):
        chain = np.concatenate(
            [drawn.input[n, : K * room].reshape(K, room), drawn.label[n, : K * room].reshape(K, room)[-1:]]
        )
        assert (drawn.label[n, : K * room].reshape(K, room)[:-1] == chain[1:-1]).all()
        k, matching = drawn.query_step[n], setting.matching
        assert (chain[k, :matching] == drawn.query[n]).all()  # an example matches at every step or at none
        assert (chain[:, 0] == chain[:, :matching].T).all()
        assert not (chain[:, matching:] == chain[:, :1]).any()
        assert drawn.target[n] == chain[k + 1, 0]
        assert drawn.weight[n].sum() == K * room + k
        own = slice(K * room, K * room + k)
        assert (drawn.input[n, own] == chain[:k, 0]).all()
        assert (drawn.label[n, own] == chain[1 : k + 1, 0]).all()
        maps = {k: dict(zip(chain[k], chain[k + 1], strict=True)) for k in range(K)}
        assert all(len(set(step.values())) == len(step) for step in maps.values())
    assert np.bincount(drawn.query_step).tolist() == [12] * 3


def test_batches_are_balanced_in_pairs_or_in_both_marginals() -> None:
    step, pattern = data.balanced(jax.random.key(0), 36, 3, 6)
    assert len(set(zip(step.tolist(), pattern.tolist(), strict=True))) == 18
    step, pattern = jax.jit(lambda key: data.balanced(key, 20, 3, 6))(jax.random.key(0))
    for marginal, kinds in ((step, 3), (pattern, 6)):
        counts = np.bincount(np.asarray(marginal), minlength=kinds)
        assert counts.max() - counts.min() <= 1


def test_fresh_tasks_are_uniform_shifts_and_a_pool_has_no_more_tasks_than_its_number() -> None:
    problem, key = Setting(**{**SMALL, "patterns": 4}).problem(), jax.random.key(0)
    draw = jax.jit(lambda pool: data.draw_tasks(problem, key, key, 4000, pool))
    maps = np.asarray(draw(0))[:, 1]
    codes, counts = np.unique(maps, axis=0, return_counts=True)
    assert len(codes) == 6  # the 4-cycles: 4!/4 of them
    assert np.abs(counts / 4000 - 1 / 6).max() < 5 * np.sqrt(1 / 6 / 4000)
    assert len(np.unique(np.asarray(draw(3))[:, 1], axis=0)) <= 3


def test_equal_marks_still_give_a_permutation() -> None:
    marks = np.array([0.5, 0.1, 0.5, 0.1])
    assert sorted(np.asarray(jax.jit(data.random_order)(marks)).tolist()) == [0, 1, 2, 3]


def test_uniform_attention_has_the_masses_and_the_loss_of_the_oracle() -> None:
    @jax.jit
    def seen(drawn: Prompts) -> Any:
        attention = network.attend(jnp.zeros((60, 60)), drawn, 20, 3)
        return network.losses(attention, drawn, 20), jnp.mean(probes.training_groups(attention, drawn), axis=0)

    drawn = prompts_of(Setting(), 24_000)
    loss, groups = (np.asarray(each) for each in seen(drawn))
    np.testing.assert_allclose(groups[:3], [0.1312, 0.1968, 0.0207], atol=3e-4)
    for k, expected in enumerate((0.394081, 0.397660, 0.401065)):
        chosen = loss[np.asarray(drawn.query_step) == k]
        assert abs(chosen.mean() - expected) < 4 * chosen.std() / np.sqrt(chosen.size)


def test_forward_loss_and_slope_of_the_smallest_case_are_the_oracles() -> None:
    step, ones = np.zeros(3, int), np.ones((1, 3))
    prompts = Prompts(
        np.array([[0, 1, 0]]), np.array([[1, 0, 1]]), step, step, ones, *(np.array([n]) for n in (0, 0, 0, 1))
    )

    @jax.jit
    def case(omega: Any) -> Any:
        W = jnp.zeros((6, 6)).at[0, 0].set(omega).at[1, 1].set(omega)
        attention = network.attend(W, prompts, 2, 1)
        return network.losses(attention, prompts, 2)[0], (attention[0], network.gradient(W, prompts, 2, 1))

    (loss, (attention, G)), slope = jax.jit(jax.value_and_grad(case, has_aux=True))(1.0)
    np.testing.assert_allclose(attention, [0.42232, 0.15536, 0.42232], atol=5e-6)
    assert float(loss) == pytest.approx(0.024137, abs=5e-7)
    assert float(slope) == pytest.approx(-0.040775, abs=5e-7)
    assert float(np.asarray(G)[0, 0] + np.asarray(G)[1, 1]) == pytest.approx(-0.040775, abs=5e-7)


def test_the_closed_gradient_is_that_of_the_plain_network_by_autodiff() -> None:
    @jax.jit
    def both(W: Any, drawn: Prompts, basis: Any) -> Any:
        return network.gradient(W, drawn, 6, 2), network.plain_gradient(W, drawn, basis, 6)

    with lm.numerics("float64"):
        basis, W = data.haar(np.random.default_rng(0), 12), np.random.default_rng(1).normal(size=(24, 24))
        np.testing.assert_allclose(*both(W, prompts_of(Setting(**SMALL), 12), basis), atol=1e-12)


def weights_along(setting: Setting, precision: str = "float64") -> np.ndarray:
    with lm.numerics(precision):
        prepared = simulate.prepared(setting, 0)
        run = train_network(setting.problem(), jax.random.key(0), prepared)
        return np.asarray(jax.jit(kept_weights)(run))


def test_reduced_and_plain_training_agree_step_by_step() -> None:
    for steps in (1, 2, 3, 10):
        reduced, plain = (
            weights_along(Setting(**SMALL, steps=steps, step_size=5.0, record_every=1, simulator=simulator))[-1]
            for simulator in ("reduced", "plain")
        )
        np.testing.assert_allclose(reduced, plain, atol=1e-10)
    assert np.abs(reduced).max() > 0.05


def test_factors_are_trained_by_the_chain_rule() -> None:
    @jax.jit
    def slopes(factors: network.Factors, drawn: Prompts) -> Any:
        def loss(factors: network.Factors) -> Any:
            return jnp.mean(network.losses(network.attend(network.weights(factors), drawn, 6, 2), drawn, 6))

        return jax.grad(loss)(factors), network.gradient(network.weights(factors), drawn, 6, 2)

    with lm.numerics("float64"):
        factors = network.initialise(Setting(**SMALL, factored=True, initial_scale=0.1).problem(), jax.random.key(0))
        assert isinstance(factors, network.Factors)
        slope, G = jax.tree.map(np.asarray, slopes(factors, prompts_of(Setting(**SMALL), 12)))
    np.testing.assert_allclose(slope.key, np.asarray(factors.query) @ G.T, atol=1e-12)
    np.testing.assert_allclose(slope.query, np.asarray(factors.key) @ G, atol=1e-12)


def test_conserved_rows_and_columns_of_w_never_change() -> None:
    kept = weights_along(Setting(**SMALL, steps=40, step_size=10.0, initial_scale=0.5, record_every=5))
    start = weights_along(Setting(**SMALL, steps=0, step_size=10.0, initial_scale=0.5))[-1]
    end, M, K, d = kept[-1], 6, 2, 12
    assert np.abs(end - start).max() > 0.1
    for rows in (slice(0, M), slice(M, M + K), slice(d, d + M)):
        np.testing.assert_allclose(end[rows].sum(0), start[rows].sum(0), atol=1e-12)
    np.testing.assert_array_equal(end[:, d:], start[:, d:])  # the query's label slot is 0
    np.testing.assert_array_equal(
        end[[*range(M + K, d), *range(d + M, 2 * d)]], start[[*range(M + K, d), *range(d + M, 2 * d)]]
    )


def system_of(setting: Setting, seed: int = 0) -> System:
    return simulate.prepared(setting, seed).tested


ROOM: dict[str, Any] = {"test_prompts": 400, "test_room": 20}
"""One size of testing prompts, so that the tests below share their programs."""


def ideal(M: int, K: int, d: int, omega: float = 50.0) -> np.ndarray:
    """W = ω (Σ μ_j μ_jᵀ ⊕ 0) + ω Σ c_k c_kᵀ."""
    return omega * np.diag((np.arange(2 * d) < M + K) * 1.0)


@functools.partial(jax.jit, static_argnums=0)
def answered(patterns: int, W: Any, trials: data.Trials, tested: System) -> tuple[Any, Any]:
    table = network.trial_table(W, tested, patterns)
    return network.answer_chain(table, trials).outputs, network.answer_directly(table, trials)


def answers_of(setting: Setting, W: Any, trials: data.Trials, tested: System) -> tuple[np.ndarray, np.ndarray]:
    chains, direct = answered(setting.patterns, np.asarray(W, np.float32), trials, tested)
    return np.asarray(chains), np.asarray(direct)


@lm.piece("reasoning_steps", "test_patterns", "test_prompts", "test_capacity")
def trials_piece(problem: Setting, key: jax.Array, tested: System, noise: Any) -> data.Trials:
    return asked_trials(problem, key, tested, noise, problem.test_examples, problem.test_matching)


def trials_of(setting: Setting, seed: int = 0, fresh: int = 0) -> tuple[System, data.Trials]:
    """A system, and prompts of it as NumPy arrays."""
    tested, problem, key = system_of(setting, seed), setting.problem(), jax.random.key(fresh)
    drawn = trials_piece(problem, key, tested, draw_noise(problem, key, tested.noise))
    return tested, jax.tree.map(np.asarray, drawn)


def test_complete_attention_is_the_ideal_voter_wherever_no_vote_is_tied() -> None:
    setting = Setting(**ROOM, test_examples=9, token_noise=0.0, test_fraction=0.5)
    tested, trials = trials_of(setting)
    chains, direct = answers_of(setting, ideal(20, 3, 30), trials, tested)

    @jax.jit
    @jax.vmap
    def voted(key: jax.Array) -> Any:
        return probes.vote_chain(key, trials, 10), probes.vote_directly(key, trials, 10)

    votes, once = (np.asarray(each) for each in voted(jax.random.split(jax.random.key(0), 12)))
    clear = np.all(votes == votes[0], axis=(0, 2))
    assert clear.mean() > 0.5
    np.testing.assert_array_equal(chains[clear], votes[0][clear])
    clear = np.all(once == once[0], axis=0)
    np.testing.assert_array_equal(direct[clear], once[0][clear])


def test_examples_that_never_match_and_their_order_do_not_matter() -> None:
    setting = Setting(**ROOM, test_examples=20, token_noise=0.0)
    tested, trials = trials_of(setting)
    W = ideal(20, 3, 30)
    first = answers_of(setting, W, trials, tested)
    order = np.random.default_rng(0).permutation(20)
    mixed = trials._replace(chain=trials.chain[:, :, order], noise=trials.noise[:, :, order])
    matched = (trials.chain[:, :-1] == np.concatenate([trials.truth[:, :1], first[0][:, :-1]], 1)[:, :, None]).any(1)
    fewer = trials._replace(weight=trials.weight * matched)
    for other, direct_too in ((mixed, True), (fewer, False)):
        again = answers_of(setting, W, other, tested)
        np.testing.assert_array_equal(first[0], again[0])
        if direct_too:
            np.testing.assert_array_equal(first[1], again[1])


def test_relabelled_patterns_relabel_the_answers() -> None:
    setting = Setting(**ROOM, pattern_law="identity", test_examples=10, token_noise=0.0)
    tested, trials = trials_of(setting)
    W = np.random.default_rng(0).normal(size=(60, 60))
    sigma = np.random.default_rng(1).permutation(10)
    full = np.concatenate([sigma, np.arange(10, 20)])
    turn = np.arange(60)
    turn[full], turn[30 + full] = np.arange(20), 30 + np.arange(20)
    named = trials._replace(chain=sigma[trials.chain], truth=sigma[trials.truth])
    relabelled = answers_of(setting, W[np.ix_(turn, turn)], named, tested)
    for before, after in zip(answers_of(setting, W, trials, tested), relabelled, strict=True):
        np.testing.assert_array_equal(sigma[before], after)


def test_one_right_matching_example_is_enough_without_errors() -> None:
    maps = shift_maps(np.random.default_rng(0).permutation(10), 3)
    given: dict[str, Any] = {"transitions": "given", "given_matrices": np.eye(10)[maps], "given_maps": maps}
    setting = Setting(**ROOM, **given, test_examples=1, test_fraction=1.0, token_noise=0.0)
    tested, trials = trials_of(setting)
    chains, direct = answers_of(setting, ideal(20, 3, 30), trials, tested)
    np.testing.assert_array_equal(chains, trials.truth[:, 1:])
    np.testing.assert_array_equal(direct, trials.truth[:, -1])


def test_with_one_step_chain_of_thought_is_in_context_learning() -> None:
    setting = Setting(**ROOM, reasoning_steps=1, test_examples=15)
    tested, trials = trials_of(setting)
    W = np.random.default_rng(0).normal(size=(60, 60))
    chains, direct = answers_of(setting, W, trials, tested)
    np.testing.assert_array_equal(chains[:, 0], direct)


@pytest.mark.parametrize("nu", [0.2, 0.7])
def test_untrained_directions_make_noise_invisible(nu: float) -> None:
    G = np.zeros((60, 60))
    G[np.ix_([*range(23), *range(30, 50)], range(23))] = np.random.default_rng(0).normal(size=(43, 23))
    found = []
    for noise in (0.0, nu):
        setting = Setting(**ROOM, token_noise=noise, pattern_law="identity")
        tested, trials = trials_of(setting)
        found.append(answers_of(setting, G, trials, tested))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])


def test_testing_prompts_have_the_asked_matches_transitions_and_noise() -> None:
    setting = Setting(test_examples=25, test_fraction=0.3, token_noise=0.5, test_prompts=4000, noise_law="perp_tsr")
    tested, trials = trials_of(setting)
    chain, truth = np.asarray(trials.chain), np.asarray(trials.truth)
    assert ((chain[:, 0] == truth[:, :1]).sum(1) == 8).all()
    np.testing.assert_allclose(np.linalg.norm(np.asarray(trials.noise), axis=-1), 0.5, rtol=1e-5)
    np.testing.assert_allclose(tested.noise @ tested.patterns.T, 0, atol=1e-6)
    for k in range(3):
        counts = np.zeros((10, 10))
        np.add.at(counts, (chain[:, k].ravel(), chain[:, k + 1].ravel()), 1)
        rates, A = counts / counts.sum(1, keepdims=True), np.asarray(tested.matrices[k])
        assert np.abs(rates - A).max() < 6 * np.sqrt(0.25 / counts.sum(1).min())
    loose, loosely = trials_of(setting.replace(test_mode="iid"))
    share = (np.asarray(loosely.chain)[:, 0] == np.asarray(loosely.truth)[:, :1]).mean()
    assert abs(share - 0.3) < 5 * np.sqrt(0.21 / 1e5)
    assert loose.noise.shape == tested.noise.shape


@pytest.mark.parametrize("law", ["haar", "identity", "blind", "outside"])
def test_testing_patterns_are_orthonormal_and_where_they_should_be(law: str) -> None:
    setting = Setting(dimension=40, pattern_law=law)
    found = np.asarray(system_of(setting).patterns)
    np.testing.assert_allclose(found @ found.T, np.eye(10), atol=1e-6)
    inside = np.abs(found[:, :20]).max() > 0
    assert inside == (law != "outside")
    assert np.abs(found[:, 20:23]).max() == 0
    if law == "blind":
        np.testing.assert_allclose(np.abs(found[0, :20]), 20**-0.5, rtol=1e-5)
        np.testing.assert_allclose(found[1:, :20].sum(1), 0, atol=1e-5)
    noise = np.asarray(system_of(setting).noise)
    np.testing.assert_allclose(noise @ found.T, 0, atol=1e-6)
    np.testing.assert_allclose(noise[:, :23], 0, atol=1e-6)


def test_the_four_groups_add_up_on_training_and_testing_prompts() -> None:
    W = np.random.default_rng(0).normal(size=(60, 60)).astype(np.float32)
    tested, trials = trials_of(Setting(**ROOM))

    @jax.jit
    def seen(drawn: Prompts, tested: System, trials: data.Trials) -> Any:
        of_training = probes.training_groups(network.attend(jnp.asarray(W), drawn, 20, 3), drawn)
        return of_training, probes.testing_groups(network.trial_table(jnp.asarray(W), tested, 20), trials)

    groups, (masses, empty) = seen(prompts_of(Setting(), 60), tested, trials)
    np.testing.assert_allclose(np.sum(groups, axis=1), 1, rtol=1e-5)
    assert np.asarray(masses).sum() == pytest.approx(1, abs=1e-5)
    assert float(empty) == 0


def test_block_projections_are_those_of_w_between_tokens() -> None:
    M, K, d, rng = 5, 2, 9, np.random.default_rng(0)
    W, basis, none = rng.normal(size=(2 * d, 2 * d)), data.haar(rng, d), np.zeros((9, 9))
    upper, lower = np.concatenate([basis, none]), np.concatenate([none, basis])
    written = np.concatenate([upper, lower], axis=1) @ W @ np.concatenate([upper, lower], axis=1).T  # W on tokens
    patterns, positions, labels = upper.T[:M], upper.T[M : M + K], lower.T[:M]
    between = {
        "pattern_step": patterns @ written @ positions.T,
        "step_pattern": positions @ written @ patterns.T,
        "label_step": labels @ written @ positions.T,
    }
    found = jax.jit(lambda W: probes.gains(W, M, K))(W)
    for name, block in between.items():
        assert float(found[name]) == pytest.approx(np.sqrt(np.mean(block**2)), rel=1e-5), name
    pattern, step = patterns @ written @ patterns.T, positions @ written @ positions.T
    for name, block in (("pattern_gain", pattern), ("step_gain", step)):
        other = block[~np.eye(len(block), dtype=bool)].mean()
        assert float(found[name]) == pytest.approx(np.trace(block) / len(block) - other, rel=1e-5), name
    block = labels @ written @ patterns.T
    assert float(found["label_own"]) == pytest.approx(np.trace(block) / M, rel=1e-5)
    assert float(found["label_other"]) == pytest.approx((block.sum() - np.trace(block)) / (M * (M - 1)), rel=1e-5)


def test_images_of_shifts_are_those_of_the_maps_one_after_the_other() -> None:
    order = np.random.default_rng(0).permutation(7)
    np.testing.assert_array_equal(shifted_images(order, order.argsort(), 4), images(shift_maps(order, 4)))


def test_a_composed_task_is_its_images() -> None:
    maps = [np.array([1, 2, 0]), np.array([0, 2, 1])]
    assert [list(r) for r in images(maps)] == [[0, 1, 2], [1, 2, 0], [2, 1, 0]]
