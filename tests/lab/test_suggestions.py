"""What is said of names that are not there."""

from __future__ import annotations

import pytest

from lemmata.lab.errors import nearest, unknown
from lemmata.lab.suggestions import wrong_item

RELATED = {
    "experiment": {"dynamics": ["c1", "c2"], "alone": []},
    "claim": {"c1": ["dynamics"], "c2": ["dynamics", "alone"], "fact": []},
    "bound": {"width": []},
    "setting": {"samples": []},
}


@pytest.mark.parametrize(
    ("kind", "name", "said"),
    [
        ("experiment", "c1", "a claim of t that reads the experiment dynamics; try: lemmata run t/dynamics"),
        ("experiment", "c2", "reads the experiments dynamics and alone; try: lemmata run t/dynamics"),
        ("experiment", "fact", "a claim of t that reads no experiment; try: lemmata verify t/fact"),
        ("claim", "dynamics", "read by the claims 'c1' and 'c2'; try: lemmata verify t/c1"),
        ("claim", "alone", "an experiment of t that no claim reads; try: lemmata run t/alone"),
        ("claim", "width", "a bound of t, not a claim; try: lemmata bound t/width"),
        ("bound", "samples", "a field of the settings of t, not a bound; try: lemmata show t/samples"),
        ("bound", "c1", "a claim of t, not a bound; try: lemmata show t/c1"),
        ("claim", "c", "There is no claim 'c' in t; did you mean 'c1' or 'c2'?"),
    ],
)
def test_a_thing_of_another_kind_is_named_with_the_command_for_it(kind: str, name: str, said: str) -> None:
    assert said in str(wrong_item(kind, name, "t", RELATED))


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("VIT", ["vit"]),
        ("v8", ["v8-a", "v8-b"]),
        ("step-size", ["step_size"]),
        ("setp_size", ["step_size"]),
        ("size", ["step_size"]),
        ("rnu", ["run"]),
        ("seed", []),
        ("nothing", []),
        ("", []),
    ],
)
def test_the_nearest_names_are_those_that_may_be_meant(typed: str, meant: list[str]) -> None:
    assert nearest(typed, ["run", "spread", "step_size", "v8-a", "v8-b", "vit"]) == meant


def test_many_names_are_not_all_told() -> None:
    names = [f"v{i:02}" for i in range(20)]
    assert str(unknown("claim", "v", names)).endswith("'v04', 'v05' or 14 more?")
    assert str(unknown("claim", "zz", names)).endswith("v11 and 8 more.")
    assert str(unknown("claim", "zz", [])) == "There is no claim 'zz'; known: none."
