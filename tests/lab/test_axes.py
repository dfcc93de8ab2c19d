"""Axes that a user changes: values, further axes, labels, fields of named axes."""

import pytest

import lemmata as lm
from lemmata.lab.axes import change_axes, select_labels, set_axes


class Setting(lm.Setting):
    step_size: float = lm.number(1.0, "η", "step size", low=0)
    width: int = lm.size(4, "m", "width")
    output: str = lm.choice("shared", "output", "shared", "own")
    alpha: float = lm.number(0.5, "α", "share", low=0, high=1)
    rest: float = lm.number(0.5, "β", "rest", low=0, high=1)


RUNS = {f"{o} {s:g}": {"output": o, "step_size": s} for o in ("shared", "own") for s in (0.1, 0.2)}
MODES = {"shared": {"output": "shared", "step_size": 0.1}, "own": {"output": "own", "step_size": 1.0}}
ALPHAS = {0.3: {"alpha": 0.3, "rest": 0.7}, 0.4: {"alpha": 0.4, "rest": 0.6}}


def change(axes: dict, *given: str) -> dict:
    return change_axes(Setting, axes, given, "e1")


def test_an_axis_of_a_field_takes_other_values_and_any_other_field_is_one_more_axis() -> None:
    axes = {"width": [4, 8]}
    assert change(axes, "width=2,16") == {"width": [2, 16]}
    assert change(axes, "alpha=0.25") == {"width": [4, 8], "alpha": [0.25]}
    assert axes == {"width": [4, 8]}


def test_a_named_axis_keeps_the_labels_that_are_named() -> None:
    assert change({"variant": MODES}, "variant=own") == {"variant": {"own": MODES["own"]}}
    assert change({"alpha": ALPHAS}, "alpha=0.40") == {"alpha": {0.4: ALPHAS[0.4]}}


def test_a_field_that_a_named_axis_sets_becomes_an_axis_and_the_axis_keeps_its_other_settings() -> None:
    assert change({"run": RUNS}, "step_size=0.05,0.5") == {
        "run": {"shared": {"output": "shared"}, "own": {"output": "own"}},
        "step_size": [0.05, 0.5],
    }
    assert change({"variant": MODES}, "step_size=0.5")["variant"] == {
        "shared": {"output": "shared"},
        "own": {"output": "own"},
    }
    assert change({"variant": {"a": {"step_size": 1.0}, "b": {"step_size": 2.0}}}, "step_size=3") == {
        "step_size": [3.0]
    }


def test_other_values_of_a_named_axis_with_a_fields_name_leave_its_other_fields_as_an_axis() -> None:
    assert change({"alpha": ALPHAS}, "alpha=0.5") == {
        "alpha_with": {0.3: {"rest": 0.7}, 0.4: {"rest": 0.6}},
        "alpha": [0.5],
    }


def test_labels_are_selected_in_the_order_of_the_axis() -> None:
    axes = {"run": RUNS, "width": [4, 8, 16]}
    chosen = select_labels(axes, ["run=own 0.2,shared 0.1", "width=16,4"], "e1")
    assert list(chosen["run"]) == ["shared 0.1", "own 0.2"]
    assert chosen["width"] == [4, 16]


def test_a_label_with_a_comma_is_one_label() -> None:
    axes = {"problem": {"n=6, d=6": {"width": 6}, "n=10, d=5": {"width": 5}, "plain": {"width": 4}}}
    assert list(select_labels(axes, ["problem=n=10, d=5"], "e1")["problem"]) == ["n=10, d=5"]
    assert list(select_labels(axes, ["problem=plain,n=6, d=6"], "e1")["problem"]) == ["n=6, d=6", "plain"]
    assert list(change(axes, "problem=n=6, d=6,plain")["problem"]) == ["n=6, d=6", "plain"]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("run=shared 0.3", "no label 'shared 0.3' in the axis run of e1; did you mean 'shared"),
        ("rnu=shared 0.1", "no axis 'rnu' in e1; did you mean 'run'"),
        ("run", "not of the form"),
        ("run=", "not of the form"),
        ("run=own 0.1,own 0.1", "value own 0.1 is given twice"),
    ],
)
def test_a_selection_that_is_none_is_refused_with_the_nearest(given: str, sentence: str) -> None:
    with pytest.raises(lm.UserError, match=sentence):
        select_labels({"run": RUNS}, [given], "e1")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["stepsize=1"], "did you mean 'step_size'"),
        (["step_size=-1"], "step_size = -1"),
        (["width=4", "width=8"], "given twice"),
        (["output=none"], "output = none"),
    ],
)
def test_an_axis_that_is_none_is_refused(given: list[str], sentence: str) -> None:
    with pytest.raises(lm.UserError, match=sentence):
        change({"run": RUNS}, *given)


def test_setting_a_field_of_a_named_axis_is_refused_with_the_way_out() -> None:
    assert set_axes({"width": [4, 8]}, {"width": 2, "alpha": 0.1}, "e1") == {"width": [2]}
    with pytest.raises(
        lm.UserError, match=r"set by the axis run of e1 and cannot be set as well; use --axis step_size=0\.5"
    ):
        set_axes({"run": RUNS}, {"step_size": 0.5}, "e1")
