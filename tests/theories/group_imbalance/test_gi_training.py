"""Training: the minimum, the descent against a loop written out, step rules, noise, alignment, baselines."""

import numpy as np
import pytest

import lemmata as lm
from lemmata.theories.group_imbalance import baselines, measures, minimum, network, training
from lemmata.theories.group_imbalance.data import draw_data, draw_sample, draw_world
from lemmata.theories.group_imbalance.setting import STARTS, Setting
from lemmata.theories.group_imbalance.studies import limits
from lemmata.theories.group_imbalance.theorem import hypotheses

SMALL = Setting(
    samples=3000, neurons=2, dimension=3, second_mean=-1.0, test_points=300, steps=30, records=24, horizon=0.0
)


def drawn(setting: Setting, seed: int = 0):
    world = draw_world(setting, seed)
    return world, draw_data(setting, world, seed)


def test_newton_finds_a_minimum_to_the_last_digit():
    world, sample = drawn(SMALL)
    found = minimum.minimise(sample.x, sample.y, world.truth, centre=world.truth)
    assert found.converged
    assert np.linalg.norm(network.gradient(found.weights, sample.x, sample.y)) < 1e-12
    assert np.linalg.eigvalsh(network.hessian(found.weights, sample.x, sample.y))[0] > 0
    assert network.risk(found.weights, sample.x, sample.y) < network.risk(world.truth, sample.x, sample.y)


def test_a_minimum_at_infinity_is_told():
    x, y = np.array([[1.0], [2.0]]), np.array([1.0, 1.0])
    found = minimum.minimise(x, y, np.ones((1, 1)))
    assert not found.converged


def test_the_minimum_approaches_the_truth():
    errors = []
    for n in (2000, 200_000):
        world, sample = drawn(SMALL.replace(samples=n))
        found = minimum.minimise(sample.x, sample.y, world.truth, centre=world.truth)
        errors.append(minimum.distance(found.weights, world.truth))
    assert errors[1] < errors[0] / 3


def test_columns_are_lined_up_by_assignment():
    W = np.random.default_rng(0).standard_normal((4, 3))
    assert minimum.distance(W, W[:, [2, 0, 1]]) == 0
    assert minimum.matching(W, W[:, [2, 0, 1]]).tolist() == [1, 2, 0]
    assert minimum.spread([W, W[:, ::-1]]) == 0
    assert minimum.spread([W, W + 1]) == pytest.approx(12**0.5 / 2)


@pytest.mark.parametrize("noise_law", ["fixed", "biased"])
def test_the_descent_is_that_of_a_loop_written_out(noise_law):
    setting = SMALL.replace(noise_level=0.01, noise_law=noise_law)
    found = {name: np.asarray(value) for name, value in training.simulate(setting, 3).items()}
    ready = training.prepare(setting, 3)
    W, x, y = ready["start"], ready["x"][:3000], ready["y"][:3000]
    path = {}
    for t in range(31):
        path[t] = np.linalg.norm(W - ready["limit"])
        W = W - ready["scalars"]["step_used"] * (network.gradient(W, x, y) + ready["noise"])
    used = found["step"] >= 0
    expected = [path[int(t)] for t in found["step"][used]]
    np.testing.assert_allclose(found["limit_distance"][used], expected, rtol=1e-10)
    assert found["last_step"] == 30
    assert found["limit_distance"].dtype == np.float64


def test_rows_that_fill_the_room_count_for_nothing():
    setting = SMALL.replace(samples=2999)
    ready = training.prepare(setting, 0)
    assert len(ready["x"]) == setting.sample_room > 2999
    assert ready["weights"].sum() == pytest.approx(1.0)
    signed = ((2 * ready["y"] - 1)[:, None] * ready["x"]).T
    whole = network.signed_gradient(ready["start"], signed, ready["weights"])
    np.testing.assert_allclose(
        whole, network.gradient(ready["start"], ready["x"][:2999], ready["y"][:2999]), atol=1e-15
    )


def test_step_rules_are_those_of_the_specification():
    world, _ = drawn(SMALL)
    step = lambda **how: training.step_of(SMALL.replace(**how), world.mixture, 2.0, 4.0)  # noqa: E731
    assert step(step_rule="hessian") == 0.5
    assert step(step_rule="limit", step_factor=2.0) == 0.5
    assert step(step_rule="fixed", step_size=0.3) == 0.3
    assert step(step_rule="theory") == pytest.approx(8 / world.mixture.moment(2))
    assert step(step_rule="theory", step_constant=1.0) == pytest.approx(1 / world.mixture.moment(2))


@pytest.mark.parametrize("start", STARTS)
def test_a_start_is_where_it_should_be(start):
    setting = SMALL.replace(start=start)
    world, sample = drawn(setting)
    limit, slowest = world.truth + 1, np.eye(6)[0]
    W = training.initialise(setting, world, sample, limit, slowest, 5)
    away = {name: np.linalg.norm(W - centre) for name, centre in (("truth", world.truth), ("limit", limit))}
    if start == "local":
        assert away["truth"] == pytest.approx(0.1)
    elif start == "ball":
        assert away["truth"] < 0.1
    elif start == "far":
        assert np.std([training.initialise(setting, world, sample, limit, slowest, s) for s in range(40)]) > 4
    elif start == "tensor":
        assert np.isfinite(W).all()
        literal = training.initialise(setting.replace(magnitudes="literal"), world, sample, limit, slowest, 5)
        assert np.linalg.norm(literal) < np.linalg.norm(W)
    else:
        assert away["limit"] == pytest.approx(0.1)
    assert W.shape == (3, 2)


def test_noise_is_bounded_and_centred_unless_it_is_biased():
    setting = SMALL.replace(noise_level=0.5)
    slowest = np.eye(6)[0]
    noise = training.mean_noise(setting, slowest, 0)
    assert np.abs(noise).max() < 5 * 0.5 / (3 * 3000) ** 0.5
    biased = training.mean_noise(setting.replace(noise_law="biased"), slowest, 0)
    np.testing.assert_allclose(biased - noise, 0.25 * np.sign(network.unflatten(slowest, 2)), atol=1e-15)
    each = training.draw_noise(np.random.default_rng(0), 0.5, 1000, (3, 2))
    assert np.abs(each).max() <= 0.5
    assert each.std() == pytest.approx(0.5 / 3**0.5, rel=0.05)
    assert not training.mean_noise(setting.replace(noise_law="fresh"), slowest, 0).any()


def test_fresh_noise_has_the_deviation_of_a_mean_of_uniforms():
    quiet = SMALL.replace(start="limit", start_distance=0.0, step_rule="fixed", step_size=1e-3, records=31, steps=30)
    runs = [
        np.asarray(training.simulate(quiet.replace(noise_law="fresh", noise_level=1.0), s)["limit_distance"])
        for s in range(20)
    ]
    moved = np.mean([run[np.isfinite(run)][-1] ** 2 for run in runs])
    assert moved == pytest.approx(6 * 30 * (1e-3) ** 2 / (3 * 3000), rel=0.5)


def test_the_risk_falls_at_every_step_below_two_over_the_largest_curvature():
    found = training.simulate(SMALL.replace(start="limit", step_rule="limit", step_factor=1.9), 1)
    loss = np.asarray(found["train_loss"])
    assert np.all(np.diff(loss[np.isfinite(loss)]) <= 1e-15)


def test_records_take_the_first_steps_and_the_last():
    at = training.record_at(1000, 80)
    used = at[at >= 0]
    assert used[:21].tolist() == list(range(21))
    assert used[-1] == 1000
    assert np.all(np.diff(used) > 0)
    assert training.record_at(5, 24).tolist()[:6] == [0, 1, 2, 3, 4, 5]


def test_a_rate_is_read_off_a_straight_line_and_not_below_its_floor():
    t = np.arange(0, 1000, 10.0)
    rate, straight = measures.fitted_rate(t, 0.1 * 0.99**t, 0.0)
    assert rate == pytest.approx(0.01)
    assert straight == pytest.approx(1.0)
    floored = np.maximum(0.1 * 0.99**t, 1e-4)
    assert measures.fitted_rate(t, floored, 2e-4)[0] == pytest.approx(0.01)
    assert np.isnan(measures.fitted_rate(t[:4], t[:4] + 1, 0.0)[0])


def test_excess_risk_without_labels_is_that_with_labels_less_the_floor():
    world, _ = drawn(SMALL)
    sample = draw_sample(world.mixture, world.truth, 400_000, 9)
    W = world.truth + 0.5
    labelled = network.risk(W, sample.x, sample.y) - network.risk(world.truth, sample.x, sample.y)
    free = network.excess(W, world.truth, sample.x)
    assert free > 0
    assert free == pytest.approx(labelled, abs=5e-3)
    known = network.sides(world.truth, sample.x)
    entropy = network.cross_entropy(known, known).mean()
    assert entropy == pytest.approx(network.risk(world.truth, sample.x, sample.y), abs=5e-3)


def test_group_weights_give_every_group_its_share():
    weights = baselines.group_weights(np.array([0, 0, 0, 1]), np.array([0.5, 0.5]))
    np.testing.assert_allclose(weights, [1 / 6, 1 / 6, 1 / 6, 1 / 2])


def test_group_dro_lowers_the_worst_training_risk():
    setting = SMALL.replace(fraction=0.1, first_mean=0.0, second_mean=0.0, first_scale=3.0, samples=2000)
    world, sample = drawn(setting)
    worst = lambda W: max(network.losses(W, sample.x, sample.y)[sample.groups == g].mean() for g in range(2))  # noqa: E731
    plain = minimum.minimise(sample.x, sample.y, world.truth, centre=world.truth)
    robust, shares = baselines.group_dro(sample, world.truth, 2)
    assert worst(robust.weights) < worst(plain.weights)
    assert shares.sum() == pytest.approx(1.0)
    balanced = baselines.up_weighted(sample, world.truth, 2)
    weights = baselines.group_weights(sample.groups, np.array([0.5, 0.5]))
    assert np.linalg.norm(network.expand(balanced.weights, sample.x, sample.y, weights).gradient) < 1e-8


def test_the_hypotheses_of_the_theorem_are_told():
    told = hypotheses(SMALL)
    assert told["full rank"]
    assert not told["samples"]
    assert not told["start"]
    assert told["step"]


def test_a_trained_run_can_be_looked_at():
    found = lm.trained(training.simulate, SMALL, 0)
    assert found.records.limit_distance.sizes["record"] == 24


def test_where_no_minimum_is_found_small_steps_walk_on_past_a_lower_risk():
    setting = Setting(samples=20_000, fraction=0.2, first_mean=2.0, second_mean=-2.0)  # Figure 4.6
    world = draw_world(setting, 10)
    sample = draw_data(setting, world, 10)
    quick = minimum.minimise(sample.x, sample.y, world.truth)
    careful = minimum.minimise(sample.x, sample.y, world.truth, steps=100, longest=0.25)
    risks = [network.risk(W, sample.x, sample.y) for W in (world.truth, quick.weights, careful.weights)]
    assert quick.diverged
    assert not careful.converged
    assert risks[1] < risks[2] < risks[0]  # the further out, the lower
    sizes = np.linalg.norm(careful.weights, axis=0) / np.linalg.norm(world.truth, axis=0)
    assert np.sum(sizes > 5) == 1  # one neuron has run away, the others have stayed


def test_the_control_of_the_success_map_is_plain_gradient_descent():
    setting = Setting(samples=500, steps=7)
    world = draw_world(setting, 0)
    sample = draw_data(setting, world, 0)
    W = world.truth + 0.1
    step = 1 / np.linalg.eigvalsh(network.hessian(W, sample.x, sample.y))[-1]
    with lm.numerics("float64"):
        found = limits.descend(setting, sample, W)
    for _ in range(7):
        W = W - step * network.gradient(W, sample.x, sample.y)
    np.testing.assert_allclose(found.weights, W, atol=1e-12)
    assert not found.converged
