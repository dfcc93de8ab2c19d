"""The calculators of section 4 as a user meets them: notes, vacuity, plain JSON, the command line."""

import json
import math
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lemmata import cli
from lemmata.lab.bounds import bound, option, parameter
from lemmata.lab.errors import UserError
from lemmata.theories.exp_regression import bounds


def test_a_width_that_nobody_can_run_is_vacuous_and_says_what_is_usable_instead() -> None:
    answer = bounds.required_width.evaluate()
    assert answer["vacuous"]
    assert answer["log10"] == pytest.approx(40.9735, abs=5e-5)
    assert "vacuous in practice: about 10^41.0, and more than 1e+07 cannot be run" in answer["note"]
    assert "on orthonormal data 17152 neurons" in answer["note"]
    assert bounds.width_for_kernel.evaluate()["value"] == 17152
    small = bounds.required_width.evaluate(projection_source="empirical", B=0.1)
    assert not small["vacuous"]
    assert "vacuous" not in small["note"]
    steps = bounds.iterations.evaluate()
    assert steps["vacuous"]
    assert f"at most {math.ceil(4 * math.log(10 / 1e-3))} steps" in steps["note"]


def test_the_explicit_width_is_a_whole_number_and_says_what_decides() -> None:
    answer = bounds.required_width_explicit.evaluate(n=2, lam=math.exp(0.005), sigma=0.05, projection_source="union")
    assert answer["value"] == 18588
    assert not answer["vacuous"]
    for said in ("decided by Lemma 6.7's printed proof", "B = 0.266574", "D < R: yes", "R < 1e-3: no"):
        assert said in answer["note"]


def test_a_width_that_asks_for_less_than_itself_is_found() -> None:
    """At m = 2 the conditions ask for 4, at m = 4 for 2: the search from below ends at 4."""
    found = bounds.explicit_width(
        n=1, lam=912.582200087726, delta=0.9612399359634796, sigma=0.0596890520469463, projection_source="union"
    )
    assert math.exp(found.ln_m) == pytest.approx(4)


@settings(deadline=None, max_examples=150)
@given(st.sampled_from(bounds.BOUNDS), st.data())
def test_every_calculator_answers_in_plain_json(calculator, data) -> None:
    inputs = {}
    for name, declared in calculator.parameters.items():
        low = max(-1e3, declared.low if declared.low is not None else -1e3)
        high = min(1e3, declared.high if declared.high is not None else 1e3)
        ends = {"exclude_min": "low" in declared.open_ends, "exclude_max": "high" in declared.open_ends}
        if declared.choices:
            inputs[name] = data.draw(st.sampled_from(declared.choices), label=name)
        elif declared.integer:
            inputs[name] = data.draw(st.integers(int(low), int(high)), label=name)
        else:
            # a subnormal λ is nobody's kernel
            inputs[name] = data.draw(st.floats(low, high, **ends, allow_subnormal=False), label=name)
    answer = calculator.evaluate(**inputs)
    json.dumps(answer, allow_nan=False)
    assert answer["value"] is not None or answer["vacuous"] or answer["log10"] > 308


# What the laboratory's calculators can say since


@bound(
    "(1)",
    "a note",
    logarithmic=True,
    limit=1e4,
    remark=lambda size, shape: f"{shape} of {size:g}",
    size=parameter(10.0, "m", "size", low=0),
    shape=option("ball", "shape", "ball", "cube"),
)
def volume(size: Any, shape: str) -> Any:
    """log10 of size³."""
    return 3 * math.log10(size) if size and shape == "cube" else -math.inf if not size else math.inf


def test_an_option_is_one_of_several_words() -> None:
    assert volume.parse(["shape=cube"]) == {"shape": "cube"}
    assert volume.evaluate(shape="cube")["inputs"] == {"size": 10.0, "shape": "cube"}
    for wrong in ("shape=ring", "shape=1"):
        with pytest.raises(UserError, match="one of ball, cube"):
            volume.parse([wrong])
    with pytest.raises(UserError, match="one of ball, cube"):
        volume.evaluate(shape="ring")


def test_beyond_its_limit_a_bound_is_vacuous_in_practice() -> None:
    for size, vacuous in ((21.5, False), (21.6, True)):
        answer = volume.evaluate(size=size, shape="cube")
        assert answer["vacuous"] is vacuous
        assert answer["value"] == pytest.approx(size**3, rel=1e-12)
        assert ("vacuous in practice: about 10^4.0, and more than 1e+04 cannot be run" in answer["note"]) is vacuous
        assert answer["note"].startswith("a note")
        assert answer["note"].endswith(f"cube of {size:g}")
    endless = volume.evaluate(shape="ball")
    assert endless["vacuous"]
    assert "not finite" in endless["note"]


def test_a_whole_number_survives_its_logarithm_and_others_are_left_alone() -> None:
    for size in (3.0, 7.0, 11.0, 1234.0):
        assert volume.evaluate(size=size, shape="cube")["value"] == size**3
    assert volume.evaluate(size=1.1, shape="cube")["value"] == pytest.approx(1.331, rel=1e-12)
    assert volume.evaluate(size=0.1, shape="cube")["value"] == pytest.approx(1e-3, rel=1e-12)


def test_a_logarithm_of_zero_is_a_zero_and_not_vacuous() -> None:
    answer = volume.evaluate(size=0.0, shape="cube")
    assert (answer["value"], answer["log10"], answer["vacuous"]) == (0.0, None, False)


# The command line


def command(monkeypatch: pytest.MonkeyPatch, *args: str) -> int:
    monkeypatch.setattr(sys, "argv", ["lemmata", "bound", *args])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert isinstance(left.value.code, int)
    return left.value.code


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("required_width", "lam=0", "lam = 0 is not allowed"),
        ("required_width", "projection_source=guess", "projection_source = guess is not allowed"),
        ("required_width", "delta=.2", "delta = .2 is not allowed"),
        ("step_size", "n=0", "n = 0 is not allowed"),
        ("iterations", "epsilon=.1", "epsilon = .1 is not allowed"),
        ("tail_width", "C=0", "C = 0 is not allowed"),
        ("width_for_kernel", "p=0", "p = 0 is not allowed"),
        ("width_for_kernel", "p=1.5", "p = 1.5 is not allowed"),
        ("crossing", "sigma=0", "sigma = 0 is not allowed"),
        ("crossing", "n=5", "There is no parameter 'n' in crossing"),
    ],
)
def test_bad_input_leaves_with_two_and_one_sentence(name, change, said, monkeypatch, capsys) -> None:
    assert command(monkeypatch, f"exp_regression/{name}", "--set", change) == 2
    streams = capsys.readouterr()
    assert said in streams.err
    assert "Traceback" not in streams.err + streams.out


@pytest.mark.parametrize("calculator", bounds.BOUNDS, ids=lambda calculator: calculator.name)
def test_every_calculator_answers_on_the_command_line(calculator, monkeypatch, capsys) -> None:
    assert command(monkeypatch, f"exp_regression/{calculator.name}") == 0
    plain = " ".join(capsys.readouterr().out.split())
    assert plain.startswith(f"{calculator.name} = ")
    assert command(monkeypatch, f"exp_regression/{calculator.name}", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["value"] is None or f"= {answer['value']:.10g} " in plain
    assert answer["note"][1:] in plain  # as a sentence, it begins with a capital
