"""The frame of diagnoses: kinds come from cards, options from a function's signature, sentences from intervals."""

import json
import types
from pathlib import Path
from typing import Annotated, Any

import pytest
from command import Lemmata
from matplotlib.figure import Figure

import lemmata as lm
from lemmata.lab import diagnoses, registry
from lemmata.lab.progress import told
from lemmata.lab.sweep import Progress


def toy(
    data: Annotated[Any, "A file of anything."],
    *,
    wide: Annotated[int, "How wide."] = 3,
    deep_end: Annotated[float | None, "Where it is deep."] = None,
    seed: int = 0,
    progress: diagnoses.Told = lambda share: None,
) -> lm.Diagnosis:
    """Say nothing of anything.

    More than that is not said.
    """
    progress(0.5)
    files = [Path(data)] if isinstance(data, str) else [Path(each) for each in data]
    return lm.Diagnosis(
        kind="toy",
        source="a toy",
        sizes={"bytes_read": 5},
        findings=[finding(0.1, 0.2), finding(-0.2, -0.1), finding(-0.1, 0.2), finding(None, None)],
        quantities={
            "wide": wide,
            "deep_end": deep_end,
            "seed": seed,
            "spread": float("nan"),
            "rows": [{"place": 1, "height": 2.5, "height_low": 2.0, "height_high": 3.0}],
            "reading": ["Nothing follows <from> this."],
        },
        assumptions=[lm.Assumption("toys", None, None, "toys are toys")],
        draw=Figure,
        files=files,
    )


def finding(low: float | None, high: float | None) -> lm.Finding:
    gain = None if low is None or high is None else lm.Estimate((low + high) / 2, low, high)
    return lm.Finding("play", gain, "accuracy", ("playing", "working"), 5, f"play: {gain}")


@pytest.fixture
def declared(monkeypatch: pytest.MonkeyPatch) -> None:
    """A theory whose card declares the kind `toy`."""
    room = types.SimpleNamespace(examine=toy)
    card = {"name": "toys", "diagnose": {"toy": "tools:examine"}}
    monkeypatch.setattr(registry, "cards", lambda: [card, {"name": "without"}])
    monkeypatch.setattr(registry, "load_room", lambda name, module: {("toys", "tools"): room}[name, module])


def test_a_finding_says_what_its_interval_says() -> None:
    assert [one.does for one in toy("x").findings] == ["follow", "avoid", "no difference", "no difference"]
    assert finding(0.0, 0.1).does == "no difference"


def test_every_declared_kind_names_a_function_whose_options_have_a_meaning() -> None:
    assert "graph" in diagnoses.kinds()
    for kind in diagnoses.kinds():
        data, own = diagnoses.options(diagnoses.find(kind))
        assert data.endswith(".")
        assert all(one.meaning.endswith(".") for one in own.values())


def test_no_kind_is_named_in_the_command_line() -> None:
    sources = list((Path(diagnoses.__file__).parents[1] / "cli").glob("*.py"))
    assert sources
    for kind in diagnoses.kinds():
        assert not any(f'"{kind}"' in source.read_text() for source in sources)


def test_a_kind_declared_on_a_card_is_a_command_with_its_own_options(declared: None, lemmata: Lemmata) -> None:
    Path("some.txt").write_text("hello")
    told_of = lemmata("diagnose", "toy", "--help").out
    assert "--deep-end" in told_of
    assert "How wide." in told_of
    assert "Say nothing of anything." in lemmata("diagnose", "--help").out
    done = lemmata("diagnose", "toy", "some.txt", "--deep-end", "1.5", "--seed", "7", "--out", "a/b", "--json")
    assert done.code == 0
    answer = done.json
    assert set(answer) == {
        "kind", "input", "findings", "quantities", "assumptions", "figure", "seconds", "version"
    }  # fmt: skip
    assert answer["quantities"]["deep_end"] == 1.5
    assert answer["quantities"]["wide"] == 3
    assert answer["quantities"]["seed"] == 7
    assert answer["quantities"]["spread"] is None
    digest = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
    assert answer["input"] == {"files": ["some.txt"], "sha256": [digest], "sizes": {"bytes_read": 5}}
    first = answer["findings"][0]
    assert set(first) == {"advice", "does", "gain", "low", "high", "unit", "compared", "splits", "text"}
    assert first["low"] <= first["gain"] <= first["high"]
    assert answer["findings"][3]["gain"] is None
    assert answer["assumptions"] == [{"name": "toys", "holds": None, "value": None, "text": "toys are toys"}]
    assert answer["figure"] == "a/b/figure.png"
    assert json.loads(Path("a/b/diagnosis.json").read_text()) == answer
    assert Path("a/b/figure.png").is_file()


def test_the_text_has_findings_first_then_quantities_then_assumptions(declared: None, lemmata: Lemmata) -> None:
    Path("one").write_text("1")
    Path("two").write_text("2")
    out = lemmata("diagnose", "toy", "one", "two").out
    parts = [
        "a toy: bytes read 5",
        "+ play",
        "- play",
        "= play",
        "2.5 [2, 3]",
        "Nothing follows",
        "cannot be told: toys",
    ]
    places = [out.index(part) for part in parts]
    assert places == sorted(places)
    assert "results/diagnose/one: figure.png, diagnosis.json" in out


def test_unknown_kinds_options_and_seeds_are_one_sentence(declared: None, lemmata: Lemmata) -> None:
    done = lemmata("diagnose", "toi", "x")
    assert done.code == 2
    assert done.sentences == ["There is no diagnosis 'toi'; did you mean 'toy'?"]
    with pytest.raises(lm.UserError, match="did you mean 'toy'"):
        lm.diagnose("toi", "x")
    with pytest.raises(lm.UserError, match="did you mean 'wide'"):
        lm.diagnose("toy", "x", wid=3)
    with pytest.raises(lm.UserError, match="seed = -1 is not allowed"):
        lm.diagnose("toy", "x", seed=-1)


def test_python_gives_the_same_with_text_figure_and_a_page_for_notebooks(declared: None, tmp_path: Path) -> None:
    shares: list[float] = []
    (tmp_path / "x").write_text("hello")
    found = lm.diagnose("toy", str(tmp_path / "x"), wide=4, progress=shares.append, out=tmp_path / "kept")
    assert found.quantities["wide"] == 4
    assert shares == [0.5]
    assert found.text.startswith("a toy: bytes read 5")
    assert isinstance(found.figure(), Figure)
    page = found._repr_html_()
    assert "Nothing follows &lt;from&gt; this." in page
    assert "data:image/png;base64," in page
    assert (tmp_path / "kept" / "diagnosis.json").is_file()


def test_long_work_tells_its_share() -> None:
    seen: list[Progress] = []
    told(seen.append)(0.25)
    assert seen == [Progress(0, 0, 0, 250, 1000)]
    told(None)(0.25)
