"""The teachers: supports of S*, draws of V* and P, defects, and the native definitions (2.2, 2.3; oracle 8.8)."""

# NumPy arrays go where JAX arrays are declared
# pyright: reportArgumentType=false

import math
from collections.abc import Iterator
from typing import Any

import networkx
import numpy as np
import pytest
from scipy import stats
from ts_cases import (
    SLOPES,
    native_activation,
    native_graph,
    native_pooling,
    native_predictor,
    native_selection,
)

from lemmata.lab.precision import numerics
from lemmata.theories.teacher_student.network import respond
from lemmata.theories.teacher_student.setting import Setting
from lemmata.theories.teacher_student.teachers import Teacher, make_teacher, random_regular

PRISM = np.array(networkx.to_numpy_array(networkx.circular_ladder_graph(4)), int)
LOPSIDED = [[0, 1], [0, 2], [3, 1], [0, 3], [4, 0]]
GIVEN = np.zeros((4, 4))
GIVEN[[0, 1], 0] = GIVEN[[0, 2], 1] = GIVEN[[0, 1], 2] = GIVEN[[2, 3], 3] = 0.5


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    with numerics("float64"):
        yield


def scores_of(seed: int = 0, **fields: Any) -> np.ndarray:
    return make_teacher(Setting(**{"dimension": 3, "outputs": 3, **fields}), seed).scores


def values_of(seed: int = 0, **fields: Any) -> np.ndarray:
    return make_teacher(Setting(**fields), seed).values


def positions_of(seed: int = 0, **fields: Any) -> np.ndarray:
    return make_teacher(Setting(**{"teacher": "layer", "support": 1, "dimension": 1, "outputs": 1, **fields}), seed)[2]


def window(i: int, height: int, width: int, size: int) -> set[int]:
    """The patches that share the pooling window of patch i, found by going through the grid."""
    top, left = i // width // size * size, i % width // size * size
    return {row * width + column for row in range(top, top + size) for column in range(left, left + size)}


def ring(i: int, nodes: int, *steps: int) -> set[int]:
    return {(i + step) % nodes for step in steps}


def neighbours(i: int) -> set[int]:
    return {i, *np.flatnonzero(PRISM[i]).tolist()}


KNOWN: list[tuple[dict[str, Any], Any]] = [
    ({"teacher": "cnn", "tokens": 12, "support": 3}, lambda i: {3 * (i // 3), 3 * (i // 3) + 1, 3 * (i // 3) + 2}),
    ({"teacher": "cnn", "tokens": 6, "support": 6}, lambda i: set(range(6))),
    ({"teacher": "cnn_2d", "tokens": 24, "support": 4, "height": 4}, lambda i: window(i, 4, 6, 2)),
    ({"teacher": "cnn_2d", "tokens": 27, "support": 9, "height": 9}, lambda i: window(i, 9, 3, 3)),
    ({"teacher": "cnn_2d", "tokens": 16, "support": 4}, lambda i: window(i, 4, 4, 2)),
    ({"teacher": "gcn", "graph": "cycle", "tokens": 7, "support": 3}, lambda i: ring(i, 7, -1, 0, 1)),
    ({"teacher": "gcn", "graph": "circulant", "tokens": 9, "support": 5}, lambda i: ring(i, 9, -2, -1, 0, 1, 2)),
    ({"teacher": "gcn", "graph": "circulant", "tokens": 8, "support": 4}, lambda i: ring(i, 8, -1, 0, 1, 4)),
    ({"teacher": "gcn", "graph": "circulant", "tokens": 6, "support": 6}, lambda i: set(range(6))),
    ({"teacher": "gcn", "graph": "circulant", "tokens": 5, "support": 5}, lambda i: set(range(5))),
    ({"teacher": "gcn", "graph": "blocks", "tokens": 8, "support": 4}, lambda i: ring(i - i % 4, 8, 0, 1, 2, 3)),
    ({"teacher": "gcn", "graph": "given", "tokens": 8, "support": 4, "adjacency": PRISM}, neighbours),
    ({"teacher": "layer", "tokens": 5, "support": 1}, lambda i: {i}),
    ({"teacher": "supports", "tokens": 5, "support": 2, "supports": LOPSIDED}, lambda i: set(LOPSIDED[i])),
    ({"teacher": "scores", "tokens": 4, "support": 2, "given_scores": GIVEN},
     lambda i: [{0, 1}, {0, 2}, {0, 1}, {2, 3}][i]),
]  # fmt: skip
DRAWN: list[dict[str, Any]] = [
    {"teacher": "gcn", "graph": "regular", "tokens": 10, "support": 4},
    {"teacher": "gcn", "graph": "regular", "tokens": 7, "support": 1},
    {"teacher": "sts", "tokens": 9, "support": 4},
    {"teacher": "gslp", "tokens": 9, "support": 1, "outputs": 1},
    {"teacher": "supports", "tokens": 9, "support": 4},
]


@pytest.mark.parametrize(("fields", "support"), KNOWN)
def test_every_column_averages_the_tokens_of_its_own_support(fields, support) -> None:
    expected = np.zeros((fields["tokens"], fields["tokens"]))
    for i in range(fields["tokens"]):
        for token in support(i):
            expected[token, i] = 1 / fields["support"]
    np.testing.assert_allclose(scores_of(**fields), expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("fields", [fields for fields, _ in KNOWN] + DRAWN)
def test_every_column_of_the_scores_has_k_entries_one_over_k_and_adds_to_one(fields) -> None:
    for seed in range(3):
        scores = scores_of(seed, **fields)
        assert scores.shape == (fields["tokens"], fields["tokens"])
        assert ((scores > 0).sum(axis=0) == fields["support"]).all()
        assert (scores[scores != 0] == 1 / fields["support"]).all()
        np.testing.assert_allclose(scores.sum(axis=0), 1, rtol=1e-14)


@pytest.mark.parametrize("fields", [DRAWN[0], *DRAWN[2:]])
def test_drawn_scores_depend_on_the_seed_alone(fields) -> None:
    found = [scores_of(seed, **fields).tobytes() for seed in (0, 0, *range(1, 9))]
    assert found[0] == found[1]
    assert len(set(found)) > 4


@pytest.mark.parametrize(("fields", "columns"), [(DRAWN[2], 1), (DRAWN[3], 1), (DRAWN[4], 9)])
def test_selected_tokens_are_uniform_and_the_same_for_all_columns_only_of_token_selection(fields, columns) -> None:
    seeds, share = 600, fields["support"] / 9
    chosen = np.stack([scores_of(seed, **fields) > 0 for seed in range(seeds)])
    assert ((chosen == chosen[:, :, :1]).all(axis=(1, 2)).mean() == 1) == (columns == 1)
    by_token = chosen[:, :, :columns].mean(axis=(0, 2))
    assert abs(by_token - share).max() < 4 * math.sqrt(share * (1 - share) / (seeds * columns))
    if columns > 1:
        by_entry = chosen.mean(axis=0)
        assert abs(by_entry - share).max() < 4.5 * math.sqrt(share * (1 - share) / seeds)


# Random regular graphs


@pytest.mark.parametrize(("nodes", "degree"), [(6, 0), (6, 2), (6, 3), (7, 4), (12, 3), (8, 7), (20, 5)])
def test_a_random_regular_graph_is_regular_symmetric_and_without_loops(nodes, degree) -> None:
    for seed in range(3):
        adjacency = random_regular(nodes, degree, np.random.default_rng(seed))
        assert adjacency.dtype == bool
        assert (adjacency == adjacency.T).all()
        assert not np.diag(adjacency).any()
        assert (adjacency.sum(axis=0) == degree).all()


def test_random_two_regular_graphs_on_six_nodes_are_uniform() -> None:
    # 60 hexagons and 10 pairs of triangles
    draws = 700
    found = np.stack([random_regular(6, 2, np.random.default_rng(seed)) for seed in range(draws)])
    edge = found.mean(axis=0)[np.triu_indices(6, 1)]
    assert abs(edge - 2 / 5).max() < 4 * math.sqrt(0.4 * 0.6 / draws)
    triangles = np.mean([np.trace(np.linalg.matrix_power(a.astype(int), 3)) == 12 for a in found])
    assert abs(triangles - 1 / 7) < 4 * math.sqrt(6 / 49 / draws)
    graphs, counts = np.unique(found.reshape(draws, -1), axis=0, return_counts=True)
    assert len(graphs) == 70
    assert stats.chisquare(counts).pvalue > 1e-4


# Values


def test_gaussian_values_are_standard_normal_and_positive_ones_their_sizes() -> None:
    size = {"outputs": 6, "dimension": 5}
    drawn = np.stack([values_of(seed, **size) for seed in range(300)])
    assert drawn.shape == (300, 6, 5)
    for moment, mean, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert abs(np.mean(drawn**moment) - mean) < 4 * math.sqrt(variance / drawn.size)
    assert abs(drawn.mean(axis=0)).max() < 4 / math.sqrt(300)
    assert abs(np.corrcoef(drawn.reshape(300, -1).T) - np.eye(30)).max() < 5 / math.sqrt(300)
    np.testing.assert_array_equal(values_of(7, value_law="gaussian", **size), drawn[7])
    np.testing.assert_array_equal(values_of(7, value_law="positive", **size), abs(drawn[7]))


def test_values_are_the_same_whatever_the_scores_and_positions_are() -> None:
    plain = values_of(3)
    other = values_of(3, teacher="supports", support=2, positions="dct", tokens=8)
    np.testing.assert_array_equal(plain, other)
    assert (values_of(4) != plain).all()


def test_token_selection_has_the_identity_unless_told_otherwise() -> None:
    np.testing.assert_array_equal(values_of(teacher="sts"), np.eye(10))
    np.testing.assert_array_equal(values_of(value_law="identity"), np.eye(10))
    np.testing.assert_array_equal(values_of(2, teacher="sts", value_law="gaussian", outputs=4), values_of(2, outputs=4))


def test_scaled_rows_are_a_half_one_and_two_times_gaussian_ones_in_turn() -> None:
    plain = values_of(1, outputs=4)
    np.testing.assert_allclose(values_of(1, outputs=4, value_law="scaled_rows"), plain * [[0.5], [1], [2], [0.5]])


@pytest.mark.parametrize("strength", [0.0, 26.0])
def test_equal_rows_keep_the_sum_of_the_norms_of_scaled_rows_and_their_directions(strength) -> None:
    fields = {"outputs": 3, "dimension": 5, "strength": strength}
    scaled, equal = (values_of(2, value_law=kind, **fields) for kind in ("scaled_rows", "equal_rows"))
    norms = np.linalg.norm(equal, axis=1)
    np.testing.assert_allclose(norms, np.linalg.norm(scaled, axis=1).sum() / 3, rtol=1e-14)
    np.testing.assert_allclose(equal / norms[:, None], scaled / np.linalg.norm(scaled, axis=1)[:, None], rtol=1e-13)
    assert np.sum(equal**2) < 0.95 * np.sum(scaled**2)
    if strength:
        assert np.sum(scaled**2) == pytest.approx(strength, rel=1e-14)


def test_two_rows_are_orthogonal_with_nine_tenths_and_one_tenth_of_the_strength() -> None:
    rows = values_of(value_law="two_rows", outputs=2, dimension=3, strength=40.0)
    np.testing.assert_allclose(rows @ rows.T, np.diag([36.0, 4.0]), atol=1e-13)
    rows = values_of(value_law="two_rows", outputs=2, dimension=2)
    np.testing.assert_allclose(rows @ rows.T, np.diag([0.9, 0.1]), atol=1e-15)


def test_rows_are_normalised_first_and_rescaled_to_the_strength_then() -> None:
    plain = values_of(5, outputs=4)
    unit = values_of(5, outputs=4, normalise_rows=True)
    np.testing.assert_allclose(unit, plain / np.linalg.norm(plain, axis=1)[:, None], rtol=1e-14)
    np.testing.assert_allclose(values_of(5, outputs=4, normalise_rows=True, strength=36.0), 3 * unit, rtol=1e-14)
    strong = values_of(5, outputs=4, strength=36.0)
    assert np.sum(strong**2) == pytest.approx(36)
    np.testing.assert_allclose(strong / strong[0, 0], plain / plain[0, 0], rtol=1e-13)


def test_given_values_are_taken_as_they_are() -> None:
    given = [[3, 0, 4], [0, 1, 0]]
    fields = {"value_law": "given", "given_values": given, "outputs": 2, "dimension": 3}
    np.testing.assert_array_equal(values_of(**fields), np.array(given, float))
    np.testing.assert_allclose(values_of(normalise_rows=True, **fields), [[0.6, 0, 0.8], [0, 1, 0]])


# Positions


@pytest.mark.parametrize(
    ("kind", "tokens"),
    [("haar", 7), ("identity", 5), ("hadamard", 8), ("dct", 7), ("dct", 8), ("fourier", 7), ("fourier", 8)],
)
def test_positions_are_orthogonal(kind, tokens) -> None:
    P = positions_of(3, positions=kind, tokens=tokens)
    np.testing.assert_allclose(P.T @ P, np.eye(tokens), atol=1e-14)
    np.testing.assert_allclose(P @ P.T, np.eye(tokens), atol=1e-14)


def test_fixed_positions_are_the_bases_they_are_named_after() -> None:
    t = np.arange(6)
    cosines = np.stack([np.cos(math.pi * (t + 0.5) * k / 6) for k in range(6)]) * math.sqrt(2 / 6)
    cosines[0] /= math.sqrt(2)
    np.testing.assert_allclose(positions_of(positions="dct", tokens=6), cosines, atol=1e-14)
    np.testing.assert_allclose(abs(positions_of(positions="hadamard", tokens=4)), 0.5)
    waves = positions_of(positions="fourier", tokens=6)
    np.testing.assert_allclose(waves[0], 1 / math.sqrt(6), rtol=1e-14)
    for k, rows in ((1, [1, 2]), (2, [3, 4]), (3, [5])):
        heights = abs(np.fft.fft(waves[rows], axis=1))
        assert heights[:, [j for j in range(6) if j not in (k, 6 - k)]].max() < 1e-14
    np.testing.assert_array_equal(positions_of(positions="identity", tokens=4), np.eye(4))
    given = np.eye(4)[[2, 0, 3, 1]]
    np.testing.assert_array_equal(positions_of(positions="given", given_positions=given, tokens=4), given)


def test_drawn_positions_are_distributed_by_the_haar_measure() -> None:
    draws = 800
    P = np.stack([positions_of(seed, tokens=3) for seed in range(draws)])

    def expect(sample: np.ndarray, mean: float) -> None:
        assert abs(sample.mean(axis=0) - mean).max() < 4 * sample.std(axis=0).max() / math.sqrt(draws)

    expect(P, 0)
    expect(P**2, 1 / 3)
    expect(P**4, 3 / 15)
    expect(P[:, 0, 0] * P[:, 1, 1] * P[:, 0, 1] * P[:, 1, 0], -1 / 30)
    expect(np.linalg.det(P), 0)
    expect(np.trace(P, axis1=1, axis2=2) ** 2, 1)


# Defects

DEFECTIVE: dict[str, Any] = {"teacher": "supports", "tokens": 8, "support": 3, "dimension": 5, "outputs": 2}


def defective(defect: str) -> tuple[Teacher, Teacher]:
    return make_teacher(Setting(**DEFECTIVE), 4), make_teacher(Setting(defect=defect, **DEFECTIVE), 4)


@pytest.mark.parametrize(
    ("defect", "broken"),
    [
        ("row_softmax", ()),
        ("skew_positions", ("positions",)),
        ("extra_support", ("scores",)),
        ("uneven_weights", ("scores",)),
        ("coloured_inputs", ("covariance",)),
    ],
)
def test_a_defect_breaks_one_thing_and_leaves_the_rest_of_the_teacher(defect, broken) -> None:
    whole, other = defective(defect)
    changed = tuple(name for name in Teacher._fields if (getattr(whole, name) != getattr(other, name)).any())
    assert changed == broken
    assert (whole.covariance == 1).all()


def test_defects_are_the_ones_of_the_specification() -> None:
    whole, _ = defective("row_softmax")
    P = defective("skew_positions")[1].positions
    assert abs(P.T @ P - np.eye(8)).max() > 0.3
    many = [make_teacher(Setting(defect="skew_positions", **DEFECTIVE), seed).positions for seed in range(50)]
    assert abs(np.square(many).mean() - 1 / 8) < 4 * math.sqrt(2 / 3200) / 8
    extra = defective("extra_support")[1].scores
    np.testing.assert_array_equal(extra[:, 1:], whole.scores[:, 1:])
    assert sorted(extra[:, 0]) == [0] * 4 + [0.25] * 4
    assert (extra[whole.scores[:, 0] > 0, 0] == 0.25).all()
    uneven = defective("uneven_weights")[1].scores
    np.testing.assert_array_equal(uneven > 0, whole.scores > 0)
    np.testing.assert_array_equal(np.sort(uneven, axis=0)[-3:].T, [[0.2, 0.3, 0.5]] * 8)
    np.testing.assert_allclose(defective("coloured_inputs")[1].covariance, [0.5, 0.875, 1.25, 1.625, 2.0])


# Native definitions


def draw(seed: int, slope: float, **fields: Any) -> tuple[Teacher, np.ndarray, np.ndarray]:
    """A teacher, one input and σ(V* X S*)."""
    teacher = make_teacher(Setting(negative_slope=slope, **fields), seed)
    X = np.random.default_rng(seed).normal(size=(teacher.values.shape[1], len(teacher.scores)))
    z = teacher.values @ X @ teacher.scores
    output = np.maximum(z, 0) + slope * np.minimum(z, 0)
    np.testing.assert_allclose(respond(teacher.values, teacher.scores, X, slope), output, rtol=1e-12, atol=1e-14)
    return teacher, X, output


@pytest.mark.parametrize("slope", SLOPES)
def test_pooling_is_its_own_teacher_with_outputs_repeated_over_the_group(slope) -> None:
    teacher, X, output = draw(1, slope, teacher="cnn", tokens=12, support=4, dimension=5, outputs=3)
    native = native_pooling(teacher.values, X, 4, slope)
    assert native.shape == (3, 3)
    np.testing.assert_allclose(np.repeat(native, 4, axis=1), output, rtol=1e-12, atol=1e-14)


def test_pooling_averages_before_it_activates() -> None:
    native = native_pooling(np.array([[1.0]]), np.array([[1.0, -3, 2, 2]]), 2, 0.0)
    np.testing.assert_array_equal(native, [[0, 2]])


@pytest.mark.parametrize("slope", SLOPES)
def test_a_graph_convolution_is_its_own_teacher(slope) -> None:
    teacher, X, output = draw(2, slope, graph="regular", tokens=10, support=4, dimension=5, outputs=3)
    adjacency = (teacher.scores > 0) & ~np.eye(10, dtype=bool)
    np.testing.assert_allclose(native_graph(teacher.values, X, adjacency, slope), output, atol=1e-13)


@pytest.mark.parametrize("slope", SLOPES)
def test_token_selection_copies_the_mean_of_the_chosen_tokens_into_every_column(slope) -> None:
    teacher, X, output = draw(3, slope, teacher="sts", tokens=9, support=4, dimension=5, outputs=5)
    native = native_selection(X, np.flatnonzero(teacher.scores[:, 0]))
    activated = native_activation(native, slope)
    np.testing.assert_allclose(np.tile(activated[:, None], 9), output, atol=1e-13)


@pytest.mark.parametrize("slope", SLOPES)
def test_a_group_sparse_predictor_reads_one_token_only(slope) -> None:
    teacher, X, output = draw(4, slope, teacher="gslp", tokens=9, support=1, dimension=5, outputs=1)
    native = native_predictor(teacher.values[0], X, int(teacher.scores[:, 0].argmax()))
    activated = native_activation(np.array(native), slope)
    np.testing.assert_allclose(output, np.full((1, 9), activated), atol=1e-13)


def test_a_layer_is_a_network_without_attention() -> None:
    teacher, X, output = draw(5, 0.1, teacher="layer", tokens=4, support=1, dimension=5, outputs=3)
    np.testing.assert_allclose(output, np.where(teacher.values @ X > 0, 1, 0.1) * (teacher.values @ X), rtol=1e-13)
