"""Symbols of the paper in `--set`, `--axis` and `--select`, and values as they were typed."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_toy import write_toy
from command import Lemmata, strict

from lemmata.lab.declarations import Declaration, find_name, parse_assignments, same_symbol, spell
from lemmata.lab.errors import UserError

DECLARED = {
    "step_size": Declaration("number", 0.1, "η", "step size", low=0, open_ends="low"),
    "relevant_fraction": Declaration("number", 0.4, "α_*", "relevant tokens", low=0, high=1),
    "samples": Declaration("number", 100, "N", "samples", low=1, integer=True),
    "first": Declaration("number", 1.0, "x", "first"),
    "second": Declaration("number", 1.0, "x", "second"),
    "x_named": Declaration("number", 1.0, "samples", "a symbol that is another's name"),
}


@pytest.mark.parametrize(
    ("typed", "values"),
    [
        ("η=0.2", {"step_size": 0.2}),
        ("eta=0.2", {"step_size": 0.2}),
        ("step_size=0.2", {"step_size": 0.2}),
        ("α_*=0.3", {"relevant_fraction": 0.3}),
        ("alpha_* = .3", {"relevant_fraction": 0.3}),
        ("N=5", {"samples": 5}),
        ("samples=5", {"samples": 5}),
    ],
)
def test_a_field_is_named_by_its_name_or_its_symbol(typed: str, values: dict[str, float]) -> None:
    assert parse_assignments("field", DECLARED, [typed]) == values


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["x=1"], "x is the symbol of first and of second; give the name."),
        (["N=5", "samples=6"], "samples is set twice; give it one value."),
        (["first=1", "first=1"], "first is set twice"),
        (["n=5"], "There is no field 'n'; known"),
        (["α=0.3"], "There is no field 'α'; did you mean 'α_*'?"),
        (["seed=3"], "Seeds are given by --seed and --seeds."),
        (
            ["η=1e400"],
            "step_size = 1e400 is not allowed: step_size (step size) is a number greater than 0, and finite.",
        ),
        (["η=-0.0"], "step_size = -0.0 is not allowed: step_size (step size) is a number greater than 0."),
        (["N=1e3000"], "samples = 1e3000 is not allowed"),
        (["η= steep"], "step_size = steep is not allowed"),
    ],
)
def test_what_is_refused_is_told_as_it_was_typed(typed: list[str], said: str) -> None:
    with pytest.raises(UserError) as refused:
        parse_assignments("field", DECLARED, typed)
    assert said in str(refused.value)


def test_greek_letters_are_the_same_in_all_their_forms() -> None:
    assert same_symbol("μ", "µ")  # the letter and the sign of micro
    assert same_symbol("epsilon", "ϵ")
    assert same_symbol("lambda", "λ")
    assert same_symbol("Lambda", "Λ")
    assert not same_symbol("Lambda", "λ")
    assert not same_symbol("", "")
    assert find_name("field", DECLARED, "α_*") == "relevant_fraction"


def test_minus_zero_is_spelled_as_it_is_typed() -> None:
    assert spell(-0.0) == "-0.0"
    assert spell(0.0) == "0"


def test_large_whole_numbers_are_spelled_short_where_nothing_is_lost() -> None:
    assert spell(int(1e300)) == "1e+300"
    assert spell(4096) == "4096"
    assert spell(10**17 + 1) == "100000000000000001"


@pytest.fixture
def toy() -> Path:
    return write_toy()


def test_symbols_name_fields_and_axes_of_a_run_and_its_record_has_their_names(lemmata: Lemmata, toy: Path) -> None:
    by_symbol = ("--axis", "a=0.5,3", "--set", "n=4", "--select", "a=3")
    done = lemmata("run", "toy.py/e1-line", "--preset", "smoke", *by_symbol, "--json")
    assert done.code == 0, done.err
    record = strict((Path(done.json["path"]) / "run.json").read_text())
    assert record["axes"] == {"slope": [3.0]}
    assert record["setting"]["points"] == 4
    assert record["changed"] == ["--set points=4", "--axis slope=0.5,3", "--select slope=3"]
    by_name = ("--axis", "slope=0.5,3", "--set", "points=4", "--select", "slope=3")
    assert lemmata("run", "toy.py/e1-line", "--preset", "smoke", *by_name, "--json").json["path"] == done.json["path"]


def test_symbols_name_parameters_of_a_bound_and_fields_to_show(lemmata: Lemmata, toy: Path) -> None:
    asked = ("--set", "α_*=0.5", "--set", "sigma=0", "--json")
    assert lemmata("bound", "vit/samples_vit", *asked).json["value"] == pytest.approx(4)
    assert lemmata("show", "vit/η", "--json").json["name"] == "step_size"
