"""The diagnosis of groups: the prediction against refits on sampled data, reading of tables, and what is refused."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lemmata as lm
from lemmata.datasets.tables import from_arrays, read_table
from lemmata.theories.group_imbalance.diagnose import diagnose
from lemmata.theories.group_imbalance.diagnose.columns import read_columns
from lemmata.theories.group_imbalance.diagnose.prediction import change, fit, fitted, losses, spread_of_changes
from lemmata.theories.group_imbalance.network import SIGMOID


def drawn(seed, counts, tilt=0.0, dimension=4):
    """Two groups of a logistic model; with `tilt` the second has another intercept, so no model serves both."""
    rng = np.random.default_rng(seed)
    members = np.repeat([0, 1], counts)
    x = rng.standard_normal((len(members), dimension)) * np.where(members == 1, 2.0, 1.0)[:, None]
    x = np.concatenate([np.ones((len(x), 1)), x], 1)
    w = np.array([0.2, *np.linspace(-1, 1, dimension)])
    y = (rng.random(len(x)) < SIGMOID.value(x @ w + tilt * members)).astype(float)
    return x, y, members


def mean_change(tilt, counts, group, more, repeats):
    """Mean measured and predicted changes of both groups' risks over independent tables."""
    measured, predicted = [], []
    test = drawn(10**6, (40_000, 40_000), tilt)
    for seed in range(repeats):
        x, y, members = drawn(seed, counts, tilt)
        extra = drawn(seed + 5000, (more, more), tilt)
        mine = extra[2] == group
        w = fit(x, y)
        after = fit(np.concatenate([x, extra[0][mine]]), np.concatenate([y, extra[1][mine]]))
        gap = losses(after, *test[:2]) - losses(w, *test[:2])
        measured.append([gap[test[2] == k].mean() for k in (0, 1)])
        predicted.append(change(fitted(w, x, y, members, 2), group, more).both)
    return np.array(measured), np.array(predicted)


@pytest.mark.parametrize("tilt", [0.0, 0.7])
@pytest.mark.parametrize("group", [0, 1])
def test_the_prediction_is_the_mean_change_of_refits(tilt, group):
    measured, predicted = mean_change(tilt, (900, 300), group, 300, 60)
    error = (measured - predicted).std(0, ddof=1) / np.sqrt(len(measured))
    assert (abs((measured - predicted).mean(0)) < 3.5 * error + 0.15 * abs(measured.mean(0))).all()


def test_where_groups_disagree_more_of_one_raises_the_risk_of_the_other_and_the_theory_alone_misses_it():
    x, y, members = drawn(0, (9000, 3000), 0.7)
    found = change(fitted(fit(x, y), x, y, members, 2), 1, 3000)
    assert (found.theory < 0).all()
    assert found.both[1] < 0 < found.both[0]


def test_one_more_sample_by_the_theory_is_the_slope_of_the_population_predictor():
    from lemmata.theories.group_imbalance import population

    x, y, members = drawn(1, (900, 300))
    at = fitted(fit(x, y), x, y, members, 2)
    slopes = population.more_samples(at.counts / at.counts.sum(), at.information, at.counts.sum())
    for group in (0, 1):
        np.testing.assert_allclose(change(at, group, 1e-3).theory / 1e-3, slopes[:, group], rtol=0.02)  # the ridge


def test_standard_errors_are_the_spread_over_tables():
    found, errors = [], []
    for seed in range(30):
        x, y, members = drawn(seed, (2000, 700), 0.7)
        w = fit(x, y)
        at = fitted(w, x, y, members, 2)
        found.append(change(at, 1, 1.0).both)
        errors.append(spread_of_changes(w, x, y, members, at, 1.0, seed, draws=60)[:2, 1])
    ratio = np.mean(errors, 0) / np.std(found, axis=0, ddof=1)
    assert ((ratio > 0.6) & (ratio < 1.8)).all()


def test_the_fit_is_that_of_scikit_learn():
    from sklearn.linear_model import LogisticRegression

    x, y, _ = drawn(3, (500, 200))
    other = LogisticRegression(C=1.0, tol=1e-10, max_iter=1000).fit(x[:, 1:], y)
    np.testing.assert_allclose(fit(x, y), np.append(other.intercept_, other.coef_[0]), atol=1e-4)


def table(rows=1200, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.normal(40, 10, rows), "job": rng.choice(["a", "b", "c"], rows, p=[0.6, 0.3, 0.1])})
    frame["twice"] = 2 * frame.age + 1
    frame["where"] = rng.choice(["north", "south"], rows, p=[0.8, 0.2])
    score = (frame.age - 40) / 10 + (frame.job == "b") - 0.5
    frame["income"] = np.where(rng.random(rows) < SIGMOID.value(score.to_numpy()), "high", "low")
    return frame


def test_columns_are_standardised_or_one_hot_and_missing_rows_are_counted():
    frame = table()
    frame.loc[3, "age"] = np.nan
    frame.loc[7, "job"] = None
    found = read_columns(frame, "income", "where", [])
    assert found.names == ["constant", "age", "job=b", "job=c"]
    assert found.groups == ["north", "south"]
    assert found.positive == "low"
    assert len(found.y) == 1198
    assert any("2 of 1200 rows have missing values" in note for note in found.notes)
    assert any("twice" in note for note in found.notes)
    np.testing.assert_allclose([found.x[:, 1].mean(), found.x[:, 1].std()], [0, 1], atol=1e-12)
    assert set(np.unique(found.x[:, 2])) == {0.0, 1.0}


def test_csv_parquet_npz_and_python_give_the_same_columns(tmp_path):
    frame = table()
    frame.to_csv(tmp_path / "t.csv", index=False)
    arrays: Any = {name: np.array(frame[name].tolist()) for name in frame}
    np.savez(tmp_path / "t.npz", **arrays)
    given = [tmp_path / "t.csv", tmp_path / "t.npz", frame, arrays]
    if pytest.importorskip("pyarrow", reason="the extra `tables` is not installed"):
        frame.to_parquet(tmp_path / "t.parquet")
        given.append(tmp_path / "t.parquet")
    found = [read_columns(one, "income", "where", ["twice"]) for one in given]
    for one in found[1:]:
        assert one.names == found[0].names
        np.testing.assert_allclose(one.x, found[0].x, atol=1e-9)
        np.testing.assert_array_equal(one.members, found[0].members)


def test_an_npz_may_hold_codes_with_their_words():
    columns = from_arrays(
        {
            "cat": np.array([[0, 1], [-1, 0], [1, 1]]),
            "cat_names": np.array(["a-b", "c"]),
            "cat_a_b": np.array(["x", "y"]),
        }
    )
    assert columns["a-b"].fillna("missing").tolist() == ["x", "missing", "y"]
    assert columns["c"].tolist() == [1, 0, 1]


def test_a_diagnosis_from_arrays_has_its_tables_its_figure_and_its_json():
    x, y, members = drawn(0, (800, 300), 0.5)
    found = lm.diagnose("groups", (x[:, 1:], y, members), splits=3)
    assert found.findings[0].advice.startswith("collect more of 0")
    content = found.json()
    rows = content["quantities"]["one_more_row_in_millionths_of_log_loss"]
    assert [row["risk of"] for row in rows[:3]] == ["0", "1", "average"]
    assert all(row["predicted_low"] < row["predicted"] < row["predicted_high"] for row in rows)
    assert rows[0]["predicted"] == pytest.approx(rows[0]["theory"] + rows[0]["shift"])
    names = {one["name"] for one in content["assumptions"]}
    assert {"separation", "covariance norms", "effective rank", "label noise"} <= names
    assert "doubling their count" in found.text
    assert len(found.figure().axes) == 3
    json.dumps(content, allow_nan=False)


def test_groups_that_share_a_model_are_told_so_and_others_not():
    same, other = (diagnose(_arrays(drawn(2, (4000, 2000), tilt)), splits=3) for tilt in (0.0, 1.0))
    holds = [next(one.holds for one in found.assumptions if "one network" in one.name) for found in (same, other)]
    assert holds == [True, False]


def _arrays(data):
    return data[0][:, 1:], data[1], data[2]


@pytest.mark.parametrize(
    ("change_it", "options", "sentence"),
    [
        (lambda t: t, {"label": "job", "group": "where"}, "--label job has 3 values"),
        (lambda t: t, {"label": "income"}, "--group is missing"),
        (lambda t: t, {"label": "wage", "group": "where"}, "has no column wage"),
        (lambda t: t, {"label": "income", "group": "income"}, "the same column"),
        (lambda t: t.assign(where="north"), {"label": "income", "group": "where"}, "has 1 values"),
        (lambda t: t[["income", "where"]], {"label": "income", "group": "where"}, "No column is left"),
        (
            lambda t: t.assign(income=t.income.where(t["where"] == "north", "low")),
            {"label": "income", "group": "where"},
            "same label",
        ),
        (lambda t: t, {"label": "income", "group": "where", "splits": 2}, "splits = 2 is not allowed"),
    ],
)
def test_what_cannot_be_diagnosed_is_one_sentence(change_it, options, sentence):
    with pytest.raises(lm.UserError, match=sentence):
        diagnose(change_it(table()), **options)


def test_columns_that_say_nothing_are_left_out_and_told():
    rows = np.arange(1200)
    odd = {
        "empty": np.nan,
        "same": 3,
        "typo": np.where(rows == 7, "oops", rows.astype(str)),
        "huge": np.where(rows % 3, 1e308, 0.0),
    }
    found = read_columns(table().assign(**odd), "income", "where", [])
    told = " ".join(found.notes)
    for words in ("without a value are left out: empty", "single value are left out: same", "words (oops) in 1 of its"):
        assert words in told
    assert "huge" in found.names
    assert np.isfinite(found.x).all()


@pytest.mark.parametrize("name", ["missing.csv", "damaged.npz", "damaged.parquet", "picture.png"])
def test_files_that_are_no_tables_are_one_sentence(tmp_path, name):
    if name != "missing.csv":
        (tmp_path / name).write_bytes(b"nothing of that kind")
    with pytest.raises(lm.UserError):
        read_table(tmp_path / name)


def test_arrays_of_other_shapes_are_one_sentence():
    with pytest.raises(lm.UserError, match="shapes"):
        diagnose((np.zeros((5, 2)), np.zeros(4), np.zeros(5)))
    with pytest.raises(lm.UserError, match="not as 2 of them"):
        diagnose((np.zeros((5, 2)), np.zeros(5)))
    with pytest.raises(lm.UserError, match="Give one table"):
        diagnose([1, 2])
