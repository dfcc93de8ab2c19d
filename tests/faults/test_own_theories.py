"""A user's theory is the user's: its error is one sentence with file and line, and nothing else suffers from it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from cli_toy import THEORY
from command import Lemmata

HEIGHT = "return factor * data.height.sel(slope=slope, drop=True)"
RETURN = 'return {"height": np.float64(setting.slope * setting.points + 0.01 * np.sin(seed))}'
C1 = 'claim("c1-high", high, lm.at_least(4.0), low)'
CARD_NAME = '"name": "toy"'


def line_of(text: str, part: str) -> int:
    return 1 + text[: text.index(part)].count("\n")


FUNCTIONS = {"evidence": line_of(THEORY, '@lm.evidence("e1-line")'), "simulation": line_of(THEORY, "@lm.simulation")}
"""Where the functions begin that are at fault for what they return."""
CLAIMS = {
    "evidence raises": ((HEIGHT, 'raise KeyError("evidence boom")'), "KeyError: 'evidence boom' (toy.py:{})"),
    "evidence has a typo": ((HEIGHT, "return data.heigth"), "has no attribute 'heigth' (toy.py:{})"),
    "evidence is a text": ((HEIGHT, 'return "x"'), "the evidence height gives 'x', no values (toy.py:{evidence})"),
    "evidence is nothing": ((HEIGHT, "pass"), "the evidence height gives None, no values (toy.py:{evidence})"),
    "evidence exits": ((HEIGHT, "sys.exit('over')"), "SystemExit: over (toy.py:{})"),
    "evidence interrupts": ((HEIGHT, "raise KeyboardInterrupt"), "KeyboardInterrupt: no message (toy.py:{})"),
    "evidence is complex": (
        (HEIGHT, "return data.height.sel(slope=slope, drop=True) * 1j"),
        "the evidence height gives values of type complex64, no real numbers (toy.py:{evidence})",
    ),
    "evidence changes numbers": (
        (HEIGHT, "data.height.values[:] = 9; " + HEIGHT),
        "ValueError: assignment destination is read-only (toy.py:{})",
    ),
    "evidence raises what is no Exception": (
        (HEIGHT, 'raise type("Odd", (BaseException,), {})("boom")'),
        "Odd: boom (toy.py:{})",
    ),
    "evidence raises what cannot be said": (
        (HEIGHT, 'raise type("Mute", (Exception,), {"__str__": lambda self: 1 / 0})'),
        "Mute: no message (toy.py:{})",
    ),
    "a judge raises": (
        (C1, 'claim("c1-high", high, lambda evidence: 1 / 0, low)'),
        "ZeroDivisionError: division by zero (toy.py:{})",
    ),
}


@pytest.mark.parametrize("mistake", CLAIMS)
def test_a_claim_in_error_is_inconclusive_and_the_others_go_on(mistake: str, lemmata: Lemmata) -> None:
    (before, after), said = CLAIMS[mistake]
    text = THEORY.replace(before, after, 1)
    assert text != THEORY
    Path("toy.py").write_text(text)
    done = lemmata("verify", "toy.py", "--preset", "smoke", "--json", "--out", "out")
    assert done.code == 1, done.err
    assert "Traceback" not in done.err
    rows = {row["claim"]: row for row in done.json}
    assert rows["c4-other"]["outcome"] == "holds", "it reads something else"
    assert rows["c1-high"]["outcome"] == "inconclusive"
    assert said.format(line_of(text, after.splitlines()[0]), **FUNCTIONS) in rows["c1-high"]["note"]
    assert any("toy/c1-high: " in line and rows["c1-high"]["note"] in line for line in done.sentences)
    assert "c1-high" in Path("out/index.html").read_text()


RUNS = {
    "raises": ((RETURN, 'raise ValueError("sim \\x1b[31mboom")'), "ValueError: sim  [31mboom (toy.py:{})"),
    "raises our own error": ((RETURN, 'raise lm.UserError("boom")'), "UserError: boom (toy.py:{})"),
    "asks for what there is not": ((RETURN, "setting.replace(slop=1)"), "UserError: There is no field 'slop'"),
    "raises in one cell": ((RETURN, "1 / (setting.slope - 2); " + RETURN), "slope=2, seed block 0: ZeroDivisionError"),
    "interrupts": ((RETURN, "raise KeyboardInterrupt"), "KeyboardInterrupt: no message (toy.py:{})"),
    "is NaN": ((RETURN, 'return {"height": np.float64("nan")}'), "height is NaN (toy.py:{simulation})"),
    "returns more": ((RETURN, RETURN[:-1] + ', "zzz": np.float64(0)}'), "undeclared variables: zzz"),
    "returns a text": (
        (RETURN, 'return {"height": "x"}'),
        "height = 'x', which is not floating point (toy.py:{simulation})",
    ),
    "returns nothing": ((RETURN, "return None"), "returned None, no dictionary of arrays (toy.py:{simulation})"),
    "has another shape": (
        (RETURN, 'return {"height": np.zeros(2)}'),
        "has shape (2,), its dimensions are () (toy.py:{simulation})",
    ),
    "exits": ((RETURN, 'sys.exit("over")'), "SystemExit: over (toy.py:{})"),
    "raises what is no Exception": ((RETURN, "raise GeneratorExit"), "GeneratorExit: no message (toy.py:{})"),
}


@pytest.mark.parametrize("mistake", RUNS)
def test_a_run_in_error_says_why_in_run_and_in_verify(mistake: str, lemmata: Lemmata) -> None:
    (before, after), said = RUNS[mistake]
    text = THEORY.replace(before, after, 1)
    assert text != THEORY
    Path("toy.py").write_text(text)
    said = said.format(line_of(text, after), **FUNCTIONS)
    run = lemmata("run", "toy.py/e1-line", "--preset", "smoke")
    assert run.code == 1, run.err
    assert said in run.err
    assert "Traceback" not in run.err
    assert "\x1b" not in run.err
    verified = lemmata("verify", "toy.py", "--preset", "smoke", "--json", "--out", "out")
    assert verified.code == 1
    assert "Traceback" not in verified.err
    row = verified.json[0]
    assert row["outcome"] == "inconclusive"
    assert said in row["note"]
    assert Path("out/index.html").exists()


PLANS = {
    "an axis of no field": (
        '{"slope": slopes}, 3', '{"slop" if name == "e1-line" else "slope": slopes}, 3',
        "There is no field 'slop'; did you mean 'slope'? (toy.py:{})",
    ),
    "an axis without values": (
        '{"slope": slopes}, 3', '{"slope": [] if name == "e1-line" else slopes}, 3',
        "The axis slope has no values. (toy.py:{})",
    ),
    "an axis that no data set can have": (
        '{"slope": slopes}, 3', '{"slope": slopes} | ({"../x": {"a": {"points": 3}}} if name == "e1-line" else {}), 3',
        "'../x' is not allowed as the name of an axis: it has letters, digits and '_'. (toy.py:{})",
    ),
    "an axis that is called like a result": (
        '{"slope": slopes}, 3', '{"slope": slopes} | ({"height": {"a": {"points": 3}}} if name=="e1-line" else {}), 3',
        "An axis cannot be called height, which simulate returns. (toy.py:{})",
    ),
    "a warning that is no text": (
        'if self.slope > 1 else []', 'if self.slope > 2 else [3] if self.slope == 2 else []',
        "A warning of the setting is 3, no text. (toy.py:{})",
    ),
    "a warning that exits": (
        'if self.slope > 1 else []', 'if self.slope > 2 else sys.exit(0) if self.slope == 2 else []',
        "SystemExit: 0 (toy.py:{})",
    ),
    "a rule that raises": (
        "    def warnings",
        "    def refusals(self, given):\n        yield from [1 / (self.slope - 2)][:0]\n\n    def warnings",
        "ZeroDivisionError: float division by zero (toy.py:{})",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", PLANS)
def test_an_experiment_in_error_ends_its_own_claims_alone(mistake: str, lemmata: Lemmata) -> None:
    Path("good.py").write_text(THEORY.replace(CARD_NAME, '"name": "good"'))
    before, after, said = PLANS[mistake]
    text = THEORY.replace(before, after)
    assert text != THEORY
    Path("toy.py").write_text(text)
    done = lemmata("verify", "toy.py", "good.py", "--preset", "smoke", "--json", "--out", "out")
    assert done.code == 1, done.err
    rows = {f"{row['theory']}/{row['claim']}": row for row in done.json}
    at = {"rule": "1 / (self", "exits": "sys.exit(0)", "no text": 'experiment("e1-line"'}
    where = line_of(text, next((part for word, part in at.items() if word in mistake), '"e1-line"'))
    assert rows["toy/c1-high"]["outcome"] == "inconclusive"
    assert f"e1-line: {said.format(where)}" in rows["toy/c1-high"]["note"]
    assert rows["good/c1-high"]["outcome"] != "inconclusive"
    assert Path("out/index.html").exists()
    assert "Traceback" not in done.err


def test_what_the_user_asks_for_and_is_not_there_is_refused_before_anything_is_written(lemmata: Lemmata) -> None:
    Path("toy.py").write_text(THEORY)
    done = lemmata("verify", "toy.py", "--preset", "smoke", "--seed", str(2**32 - 1), "--out", "out")
    assert (done.code, len(done.sentences)) == (2, 1)
    assert not Path("out").exists()


LOADS = {
    "raises": ("raise ValueError('boom')", "ValueError: boom (toy.py:1)"),
    "interrupts": ("raise KeyboardInterrupt", "KeyboardInterrupt: no message (toy.py:1)"),
    "is no theory": ("theory = 3", "does not define `theory`"),
    "is no text": ("\x00\x01", "cannot be loaded"),
    "is no Python": ("import jax\ntheory = = 3", "SyntaxError: invalid syntax (toy.py:2)"),
    "leaves its folder": (
        THEORY.replace(CARD_NAME, '"name": "../../escape"'),
        "'../../escape' is not allowed as a name",
    ),
    "has an empty name": (THEORY.replace(CARD_NAME, '"name": ""'), "'' is not allowed as a name"),
    "is called like one of ours": (THEORY.replace(CARD_NAME, '"name": "vit"'), "choose another name"),
    "is called like one of ours, in other letters": (THEORY.replace(CARD_NAME, '"name": "ViT"'), "choose another name"),
    "is called like a file of the results": (
        THEORY.replace(CARD_NAME, '"name": "verdicts.json"'),
        "'verdicts.json' is not allowed as a name of theories",
    ),
    "is called like a folder of the results": (
        THEORY.replace(CARD_NAME, '"name": "Replicate"'),
        "'Replicate' is not allowed as a name of theories",
    ),
    "has a variable that every data set has": (
        THEORY.replace('lm.Variable("height"', 'lm.Variable("seed"'),
        "A variable cannot be called seed, which every data set has.",
    ),
    "has a variable outside": (
        THEORY.replace('lm.Variable("height"', 'lm.Variable("../height"'),
        "'../height' is not allowed as the name of a variable",
    ),
    "has a variable twice": (
        THEORY.replace('lm.Variable("height"', 'lm.Variable("height", (), "", ""), lm.Variable("height"'),
        "simulate has two variables or dimensions that are called height.",
    ),
    "has a field that every setting has": (
        THEORY.replace("    points: int", '    replace: int = lm.size(3, "n", "points")\n    points: int'),
        "A field cannot be called replace",
    ),
    "has no card": (THEORY.replace("    CARD, Setting", "    [CARD], Setting"), "give a dictionary"),
    "has no setting": (THEORY.replace("    CARD, Setting", "    CARD, int"), "give a class derived from lm.Setting"),
    "has no simulation": (
        THEORY.replace("    CARD, Setting, simulate", "    CARD, Setting, 3"),
        "The simulation of this theory cannot be 3",
    ),
    "has no claims": (THEORY.replace("], CLAIMS,", "], [3],"), "One of the claims of this theory cannot be 3"),
    "has a name that no folder can have": (
        THEORY.replace(CARD_NAME, f'"name": "{"x" * 101}"'),
        "not longer than 100",
    ),
    "has an experiment outside": (
        THEORY.replace('"e1-line"', '"../e1"'),
        "'../e1' is not allowed as a name of experiments",
    ),
    "has a claim twice": (THEORY.replace('"c2-range"', '"c1-high"'), "Two claims of this theory share a name"),
    "lacks a title": (
        THEORY.replace('"title": "A toy", ', ""),
        f"lacks title. (toy.py:{line_of(THEORY, 'theory = lm.Theory(')})",
    ),
    "has a reference that is no text": (
        THEORY.replace('"Theorem 1", "bound"', '1, "bound"'),
        "claim c1-high is 1, no text",
    ),
    "has a case that is no text": (
        THEORY.replace('lm.Control("the low slope", slope', "lm.Control(5, slope"),
        "is 5, no",
    ),
    "has a title that is no text": (
        THEORY.replace('"title": "A toy"', '"title": None'),
        "title on the card is None, no",
    ),
    "has no seeds": (THEORY.replace('{"slope": slopes}, 3', '{"slope": slopes}, 0'), "seeds = 0 is not allowed"),
    "has no judge": (THEORY.replace("high, lm.at_least(4.0)", 'high, "within"'), "no judge"),
    "has an unknown kind": (
        THEORY.replace('"Theorem 1", "bound"', '"Theorem 1", "limt"'),
        f"limit, comparison. (toy.py:{line_of(THEORY, 'made = lm.Claim')})",
    ),
    "sets no field": (THEORY.replace("Setting(points=30)", "Setting(pionts=30)"), "did you mean 'points'?"),
}


@pytest.mark.parametrize("mistake", LOADS)
def test_a_file_that_is_no_theory_is_one_sentence_and_nothing_is_written(mistake: str, lemmata: Lemmata) -> None:
    text, said = LOADS[mistake]
    assert text != THEORY
    Path("toy.py").write_text(text)
    done = lemmata("verify", "toy.py", "--preset", "smoke", "--out", "deep/out")
    assert done.code == 2, done.err
    (sentence,) = done.sentences
    assert said in sentence
    assert sentence.startswith("toy.py ")
    assert {path.name for path in Path().iterdir()} - {"__pycache__"} == {"toy.py"}


def test_two_theories_of_one_name_are_refused_and_one_file_that_is_named_twice_is_one(lemmata: Lemmata) -> None:
    Path("toy.py").write_text(THEORY)
    Path("more.py").write_text(THEORY)
    done = lemmata("verify", "toy.py", "more.py", "--preset", "smoke", "--out", "out")
    assert (done.code, done.sentences) == (2, ["toy.py and more.py are both called toy; name one of them."])
    assert not Path("out").exists()
    assert len(lemmata("verify", "toy.py", "./toy.py", "--preset", "smoke", "--json", "--out", "out").json) == 4


def test_a_file_that_goes_to_its_own_folder_moves_no_results(lemmata: Lemmata) -> None:
    """It may read its data from there; the command stays where it was."""
    Path("own").mkdir()
    Path("own/toy.py").write_text("import os\nos.chdir(os.path.dirname(os.path.abspath(__file__)))\n" + THEORY)
    done = lemmata("run", "own/toy.py/e1-line", "--preset", "smoke", "--out", "out")
    assert done.code == 0, done.err
    assert Path("out/toy/e1-line/data.zarr").is_dir()


@pytest.mark.parametrize("mistake", ["sys.exit(0)", "raise KeyboardInterrupt", "raise EOFError", "raise GeneratorExit"])
def test_an_error_of_any_kind_before_a_run_begins_is_the_theory_s(mistake: str, lemmata: Lemmata) -> None:
    text = THEORY.replace("    def warnings(self):\n", f"    def warnings(self):\n        {mistake}\n")
    Path("toy.py").write_text(text)
    done = lemmata("run", "toy.py/e1-line", "--preset", "smoke", "--out", "out")
    assert done.code == 1
    (sentence,) = done.sentences
    assert sentence.endswith(f"(toy.py:{line_of(text, mistake)})")
    assert not Path("out").exists()


def test_what_is_infinite_and_not_declared_so_is_flagged(lemmata: Lemmata) -> None:
    Path("toy.py").write_text(THEORY.replace(RETURN, 'return {"height": np.float64("inf")}', 1))
    done = lemmata("run", "toy.py/e1-line", "--preset", "smoke", "--out", "out")
    assert "e1-line: height is infinite at 6 of 6 places, which it is not declared to be." in done.sentences
    assert "height is infinite" in json.loads(Path("out/toy/e1-line/run.json").read_text())["warnings"][-1]
    declared = THEORY.replace('"height at the end")', '"height at the end", never=True)')
    Path("toy.py").write_text(declared.replace(RETURN, 'return {"height": np.float64("inf")}', 1))
    done = lemmata("run", "toy.py/e1-line", "--preset", "smoke", "--out", "out", "--overwrite")
    assert "infinite" not in done.err


def test_what_is_declared_and_not_returned_is_told(lemmata: Lemmata) -> None:
    more = '"height at the end"), lm.Variable("depth", (), "d", "depth")'
    Path("toy.py").write_text(THEORY.replace('"height at the end")', more))
    done = lemmata("run", "toy.py/e1-line", "--preset", "smoke", "--out", "out")
    assert done.code == 0
    assert "e1-line: depth is declared, and simulate does not return it." in done.sentences


def test_what_one_evidence_does_with_its_data_is_not_seen_by_another(lemmata: Lemmata) -> None:
    """Nor by the control of its own claim; and a figure draws a copy."""
    Path("toy.py").write_text(THEORY)
    right = lemmata("verify", "toy.py", "--preset", "smoke", "--json", "--out", "right").json
    text = THEORY.replace(HEIGHT, f"data['height'] = 0 * data.height if factor < 0 else data.height; {HEIGHT}")
    text = text.replace("height(0.5), lm.within(5.0, 7.0", "height(0.5, -1.0), lm.within(5.0, 7.0")
    text = text.replace("    return Figure(", "    data.height.values[:] = -1\n    return Figure(")
    Path("toy.py").write_text(text)
    found = lemmata("verify", "toy.py", "--preset", "smoke", "--json", "--out", "out").json
    numbers = [{row["claim"]: row["measured"] for row in rows if row["claim"] != "c2-range"} for rows in (right, found)]
    assert numbers[0] == numbers[1]


def test_what_a_theory_prints_is_no_result(lemmata: Lemmata) -> None:
    text = THEORY.replace(HEIGHT, f"print('from evidence'); {HEIGHT}")
    text = text.replace(
        "    def warnings",
        "    def refusals(self, given):\n        print('a rule')\n        return []\n\n    def warnings",
    )
    Path("toy.py").write_text("print('loaded')\n" + text)
    done = lemmata("verify", "toy.py", "--preset", "smoke", "--json", "--out", "out")
    assert len(done.json) == 4
    assert {"loaded", "a rule", "from evidence"} <= set(done.sentences)
    assert lemmata("run", "toy.py/e1-line", "--preset", "smoke", "--json", "--out", "out").json["failed"] == 0
    assert lemmata("bound", "toy.py/samples", "--json").json["value"] == 20
    assert lemmata("show", "toy.py", "--json").json["name"] == "toy"


@pytest.mark.parametrize("mistake", ["sys.exit(3)", "raise KeyboardInterrupt"])
def test_a_figure_that_exits_is_said_and_the_default_one_is_drawn(mistake: str, lemmata: Lemmata) -> None:
    Path("toy.py").write_text(THEORY.replace("    return Figure(figsize=(1, 1))", f"    {mistake}"))
    done = lemmata("run", "toy.py/e1-line", "--preset", "smoke", "--out", "out")
    assert done.code == 0
    assert any("its own figure could not be drawn" in line and "toy.py:" in line for line in done.sentences)
    assert Path("out/toy/e1-line/figure.png").exists()


def test_control_characters_of_names_and_texts_reach_no_terminal(
    lemmata: Lemmata, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = THEORY.replace("The statement of", "\\x1b]0;title\\x07The \\x1b[2J statement \\x9b31m of")
    Path("toy.py").write_text(text.replace('"A toy"', '"A \\x1b[2Jtoy"'))
    for forced in ("", "1"):
        if forced:
            monkeypatch.setenv("FORCE_COLOR", forced)
        for arguments in (("verify", "toy.py", "--preset", "smoke", "--out", "out"), ("show", "toy.py")):
            done = lemmata(*arguments)
            assert "statement" in done.out or arguments[0] == "show"
            left = re.sub(r"\x1b\[[\d;]*m", "", done.out) if forced else done.out
            assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", left)


def test_a_figure_in_error_is_said_and_the_default_one_is_drawn(lemmata: Lemmata) -> None:
    text = THEORY.replace("return Figure(figsize=(1, 1))", "return data.nothing")
    Path("toy.py").write_text(text)
    done = lemmata("run", "toy.py/e1-line", "--preset", "smoke", "--out", "out")
    assert done.code == 0
    where = f"(toy.py:{line_of(text, 'return data.nothing')})"
    assert any("its own figure could not be drawn" in line and where in line for line in done.sentences)
    assert Path("out/toy/e1-line/figure.png").exists()
