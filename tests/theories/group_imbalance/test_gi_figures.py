"""The figures and Table 4.1 at smoke: drawn without warnings, with labels, from the data of every experiment."""

import warnings
from typing import Any

import pytest

import lemmata as lm
from lemmata.theories import group_imbalance

EXPERIMENTS = group_imbalance.theory.experiments
CLAIMS = group_imbalance.theory.claims
FIGURES = [name for name, experiment in EXPERIMENTS.items() if experiment.plot is not None]


def test_every_experiment_has_a_figure_or_a_table():
    assert all(each.plot is not None or each.table is not None for each in EXPERIMENTS.values())


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_drawn_without_warnings_and_says_what_it_shows(name: str, smoke: Any) -> None:
    try:
        data = smoke("group_imbalance").data(name)
    except lm.UserError as absent:
        pytest.skip(str(absent))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = EXPERIMENTS[name].draw(data, CLAIMS)
        figure.set_layout_engine("none")
        figure.draw_without_rendering()
    for ax in figure.axes:
        if ax.get_label() != "<colorbar>":
            assert ax.get_title() or ax.get_ylabel()


def test_table_4_1_has_a_row_for_every_change_and_quantity(smoke: Any) -> None:
    table = EXPERIMENTS["t41-table"].table
    assert table is not None
    found = table(smoke("group_imbalance").data("t41-table"))
    assert len(found.rows) == 25
    assert all(len(row) == len(found.columns) for row in found.rows)


def test_raw_risk_floor_and_excess_stand_apart(smoke: Any) -> None:
    figure = EXPERIMENTS["f47b-fraction"].draw(smoke("group_imbalance").data("f47b-fraction"), CLAIMS)
    titles = [ax.get_title() for ax in figure.axes]
    for word in ("raw risk", "floor", "excess"):
        assert any(word in title for title in titles)
