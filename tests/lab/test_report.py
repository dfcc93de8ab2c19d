"""The report: one page that opens from disk, says everything about every claim and needs nothing else."""

from __future__ import annotations

import base64
import html.parser
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from lemmata.lab.errors import UserError
from lemmata.lab.report import render, strip, write_report
from lemmata.lab.rows import VERDICTS, Row

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def row(claim: str = "c1-first", **changes: Any) -> dict[str, Any]:
    """A verdict as `verify` keeps it."""
    controls = [
        {
            "case": "signs exchanged",
            "outcome": "fails",
            "expected": "fails",
            "measured": 0.2,
            "note": "mean 0.2",
            "changed": "sign = -1, not 1",
        }
    ]
    return {
        "theory": "toy", "claim": claim, "reference": "Theorem 7", "kind": "bound",
        "statement": f"The statement of {claim}.", "outcome": "holds", "expected": "holds", "relation": ">=",
        "predicted": 1.0, "measured": 1.5, "low": 1.25, "high": 1.75, "note": "mean 1.5, claimed ≥ 1",
        "preset": "smoke", "seconds": 1.25, "control": "fails", "control_expected": "fails", "statistic": "mean",
        "rule": "95 % t interval over seeds", "source": "paper", "seeds": 5, "corrects": None, "formula": "T ∝ η^-1",
        "reads": ["e1-line"], "controls": controls, "sources": "abc", "lost": False,
        "command": f"lemmata verify toy/{claim} --preset smoke", **changes,
    }  # fmt: skip


def experiment(directory: Path, name: str = "e1-line", **changes: Any) -> Path:
    """What `run` leaves of an experiment, as far as the page reads it."""
    folder = directory / "toy" / name
    folder.mkdir(parents=True)
    record = {
        "question": f"What does {name} show?", "reference": "Figure 3", "seeds": [0, 4], "warnings": ["m is small."],
        "command": f"lemmata run toy/{name} --preset smoke", **changes,
    }  # fmt: skip
    (folder / "run.json").write_text(json.dumps(record))
    (folder / "figure.png").write_bytes(PNG)
    return folder


def page_of(directory: Path, *rows: dict[str, Any]) -> str:
    (directory / VERDICTS).write_text(json.dumps(rows))
    return write_report(directory).read_text()


class Links(html.parser.HTMLParser):
    """Everything a page refers to, its anchors and its tags."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: list[str] = []
        self.images: list[dict[str, str | None]] = []
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.tags.append(tag)
        self.links += [
            values[key] or "" for key in ("src", "href", "srcset", "action", "data", "poster") if key in values
        ]
        self.anchors += [values["id"] or ""] if "id" in values else []
        if tag == "img":
            self.images.append(values)


def card(page: str, claim: str) -> str:
    return next(part for part in page.split("<section") if f"id='toy/{claim}'" in part.split(">")[0])


def table_row(page: str, claim: str) -> str:
    table = page.split("<table")[1].split("</table")[0]
    return next(part for part in table.split("<tr") if f"toy/{claim}<" in part)


def test_every_claim_stands_with_statement_formula_reference_command_and_control(tmp_path: Path) -> None:
    experiment(tmp_path)
    page = page_of(tmp_path, row(), row("c2-second", reads=[], formula=""))
    for claim in ("c1-first", "c2-second"):
        text = card(page, claim)
        assert f"The statement of {claim}." in text
        assert f"lemmata verify toy/{claim} --preset smoke" in text
        assert "Theorem 7" in text
        assert "mean 1.5, claimed ≥ 1" in text
        assert re.search(r"Control.*signs exchanged.*fails", text, re.DOTALL)
        summary = table_row(page, claim)
        assert "holds" in summary
        assert "≥ 1" in summary
        assert "1.5 [1.25, 1.75]" in summary
    assert "T ∝ η^-1" in card(page, "c1-first")
    assert "T ∝" not in card(page, "c2-second")


def test_the_first_reader_is_told_what_the_words_mean(tmp_path: Path) -> None:
    guide = page_of(tmp_path, row()).split("<dl")[1].split("</dl>")[0]
    for word in ("holds", "fails", "inconclusive", "expected", "control", "interval"):
        assert word in guide


def test_the_figure_is_embedded_with_a_description_and_its_own_command(tmp_path: Path) -> None:
    experiment(tmp_path)
    page = page_of(tmp_path, row(), row("c2-second"))
    found = Links(page)
    assert len(found.images) == 1, "an experiment that two claims read is drawn once"
    assert found.images[0]["alt"] == "What does e1-line show?"
    source = found.images[0]["src"] or ""
    assert base64.b64decode(source.removeprefix("data:image/png;base64,")) == PNG
    for text in ("lemmata run toy/e1-line --preset smoke", "Figure 3", "seeds 0 to 4", "m is small."):
        assert text in page


def test_every_experiment_that_a_claim_reads_is_drawn(tmp_path: Path) -> None:
    experiment(tmp_path)
    experiment(tmp_path, "e2-other")
    page = page_of(tmp_path, row(reads=["e1-line", "e2-other"]), row("c2-second", reads=["e2-other"]))
    assert [image["alt"] for image in Links(page).images] == ["What does e1-line show?", "What does e2-other show?"]


def test_the_page_refers_to_nothing_outside_itself(tmp_path: Path) -> None:
    experiment(tmp_path)
    page = page_of(tmp_path, row(), row("c2-second", reads=["e1-line", "absent"]))
    found = Links(page)
    assert found.links
    for link in found.links:
        assert link.startswith(("#", "data:image/png;base64,")), link
        assert not link.startswith("#") or link[1:] in found.anchors, f"{link} leads nowhere"
    assert not re.search(r"(?i)https?:|url\(|@import|//[a-z]", page.split("</style>")[0])
    assert not {"script", "link", "iframe", "object"} & set(found.tags)
    assert len(found.anchors) == len(set(found.anchors))


def test_special_characters_are_shown_and_not_interpreted(tmp_path: Path) -> None:
    nasty = "<script>alert('x')</script> a < b & \"c\""
    control = {"case": nasty, "outcome": "fails", "expected": "fails", "measured": 0.1, "note": nasty}
    fields = dict.fromkeys(("statement", "note", "reference", "formula", "command"), nasty)
    experiment(tmp_path, question=nasty, warnings=[nasty], command=nasty, reference=nasty)
    page = page_of(tmp_path, row(**fields, controls=[control]), row("c2-'><b>", reads=["<i>"]))
    found = Links(page)
    assert not {"script", "b"} & set(found.tags)
    assert "<i>" not in page
    assert found.images[0]["alt"] == nasty
    assert page.count("&lt;script&gt;") >= 9


def test_what_is_not_as_expected_is_marked_at_the_top_in_the_table_and_on_its_card(tmp_path: Path) -> None:
    wrong = [{"case": "broken", "outcome": "holds", "expected": "fails", "measured": 2.0, "note": ""}]
    page = page_of(
        tmp_path, row(), row("c2-outcome", outcome="fails"), row("c3-control", control="holds", controls=wrong)
    )  # fmt: skip
    alarm = page.split("class=alarm")[1].split("</p>")[0]
    assert "toy/c2-outcome" in alarm
    assert "toy/c3-control" in alarm
    assert "toy/c1-first" not in alarm
    assert [("class=odd" in table_row(page, c)) for c in ("c1-first", "c2-outcome", "c3-control")] == [
        False,
        True,
        True,
    ]
    assert "instead of holds" in card(page, "c2-outcome").split("</header>")[0]
    assert "instead of fails" in card(page, "c3-control")
    assert "instead of" not in card(page, "c1-first")
    assert "Everything came out as expected" not in page


def test_a_card_says_which_argument_a_control_changes_who_says_so_and_what_it_corrects(tmp_path: Path) -> None:
    page = page_of(tmp_path, row(), row("c1-first-corrected", source="corrected", corrects="c1-first", controls=[]))
    assert "(the same evidence with sign = -1, not 1)" in card(page, "c1-first")
    assert "stated in the paper" in card(page, "c1-first")
    assert "our correction of the paper (corrects <a href='#toy/c1-first'>c1-first</a>)" in card(
        page, "c1-first-corrected"
    )


def test_a_table_is_a_table(tmp_path: Path) -> None:
    folder = experiment(tmp_path)
    table = {"caption": "Sizes of <graphs>", "columns": ["graph", "nodes"], "rows": [["Cora", 2708.0], ["none", 0.5]]}
    (folder / "table.json").write_text(json.dumps(table))
    page = page_of(tmp_path, row())
    assert "<caption>Sizes of &lt;graphs&gt;</caption>" in page
    assert "<td>Cora</td><td>2708</td>" in page


def test_an_expected_failure_is_not_an_alarm(tmp_path: Path) -> None:
    right = [{"case": "put right", "outcome": "holds", "expected": "holds", "measured": 1.0, "note": "", "changed": ""}]
    page = page_of(
        tmp_path, row(outcome="fails", expected="fails", control="holds", control_expected="holds", controls=right)
    )  # fmt: skip
    assert "Everything came out as expected" in page
    assert "class=alarm" not in page
    assert "1 claim of 1 theory: 1 fails." in page
    assert "as expected" in card(page, "c1-first")


@pytest.mark.parametrize("lost", ["run.json", "figure.png", "both", "broken"])
def test_a_missing_record_or_figure_leaves_a_page(lost: str, tmp_path: Path) -> None:
    folder = experiment(tmp_path)
    if lost == "broken":
        (folder / "run.json").write_text('{"question": ')
    for name in ("run.json", "figure.png") if lost == "both" else (lost,):
        (folder / name).unlink(missing_ok=True)
    page = page_of(tmp_path, row())
    assert "The statement of c1-first." in page
    assert len(Links(page).images) == (0 if lost in ("figure.png", "both") else 1)
    assert ("No figure is stored" in page) == (lost in ("figure.png", "both"))
    assert ("lemmata run toy/e1-line" in page) == (lost == "figure.png")


def test_a_claim_that_was_not_measured_has_no_strip_but_its_note(tmp_path: Path) -> None:
    absent = row(
        outcome="inconclusive", expected="inconclusive", measured=None, low=None, high=None, note="vacuous here"
    )
    page = page_of(tmp_path, absent)
    assert "vacuous here" in card(page, "c1-first")
    assert "<svg" not in page
    assert "None" not in page
    assert "nan" not in page


def positions(drawing: str) -> dict[str, float]:
    """Where the strip draws the measured value, its interval, the band and the diamonds, in percent."""
    circle = re.search(r"<circle cx='([\d.]+)%'", drawing)
    band = re.search(r"<rect x='([\d.]+)%' y='\d+' width='([\d.]+)%'", drawing)
    line = re.search(r"<line x1='([\d.]+)%' y1='16' x2='([\d.]+)%' y2='16'", drawing)
    diamond = re.search(r"<svg x='([\d.]+)%'", drawing)
    assert circle
    assert band
    assert line
    start, width = float(band[1]), float(band[2])
    found = {"measured": float(circle[1]), "low": float(line[1]), "high": float(line[2])}
    found |= {"band": start, "band_end": start + width}
    return found | ({"control": float(diamond[1])} if diamond else {})


def drawn(**changes: Any) -> str:
    return strip(Row.read(row(**changes)))


def test_the_strip_puts_values_where_they_belong() -> None:
    at = positions(drawn())
    assert at["control"] < at["band"] < at["low"] < at["measured"] < at["high"] < at["band_end"]
    below = positions(drawn(relation="<=", outcome="fails"))
    assert below["band_end"] < below["low"]
    inside = positions(drawn(relation="in", accept_low=1.0, accept_high=1.6, predicted=1.3))
    assert inside["band"] < inside["measured"] < inside["band_end"] < inside["high"]
    rising = positions(drawn(relation="increasing", predicted=0.0))
    assert rising["band"] < rising["low"]


def test_a_control_far_away_does_not_squeeze_the_interval() -> None:
    near = drawn()
    control = {"case": "broken", "outcome": "fails", "expected": "fails", "measured": -1e8, "note": ""}
    far = drawn(controls=[control])
    at = positions(far)
    assert at["high"] - at["low"] > positions(near)["high"] - positions(near)["low"]
    assert at["control"] < 4, "an arrow at the left edge"
    assert "control -1e+08 (off the scale, left)" in far
    assert "off the scale" not in near


@pytest.mark.parametrize(("measured", "low", "high", "bound"), [
    (0.0, 0.0, 0.0, 0.0), (1e-9, 0.0, 2e-9, 1e-3), (1e12, 9e11, 2e12, 5.0),
    (-3.0, -3.5, -2.5, -3.0), (1.0, None, None, 1.0),
])  # fmt: skip
def test_the_strip_is_drawn_within_its_width_at_every_scale(
    measured: float, low: float | None, high: float | None, bound: float
) -> None:
    drawing = drawn(measured=measured, low=low, high=high, predicted=bound, controls=[])
    for value in re.findall(r"(?:x|x1|x2|cx)='(-?[\d.]+|nan)%'", drawing):
        assert 0 <= float(value) <= 100
    labels = re.findall(r"<text [^>]*>([^<]+)</text>", drawing)
    assert 1 <= len(labels) <= 7
    assert len(set(labels)) == len(labels)


def test_an_identity_is_told_in_numbers_without_a_strip() -> None:
    assert drawn(relation="==", predicted=1.5, low=1.5, high=1.5) == ""


def test_a_folder_without_readable_verdicts_is_refused_and_left_alone(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no verdicts"):
        write_report(tmp_path)
    (tmp_path / VERDICTS).write_text("[{")
    with pytest.raises(UserError, match="cannot be read"):
        write_report(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {VERDICTS}


def test_the_page_is_the_same_every_time(tmp_path: Path) -> None:
    experiment(tmp_path)
    assert render([Row.read(row())], tmp_path) == render([Row.read(row())], tmp_path)


def chromium(tmp_path: Path, *args: str) -> str:
    command = [str(CHROMIUM), *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", *args]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed to open the page in")
def test_the_page_opens_from_disk_in_a_browser(tmp_path: Path) -> None:
    experiment(tmp_path)
    page_of(tmp_path, row(), row("c2-second", statement="If a < b & c, it holds."))
    address = (tmp_path / "index.html").as_uri()
    seen = chromium(tmp_path, "--dump-dom", address)
    assert "<title>Lemmata report</title>" in seen
    assert seen.count('<section class="claim"') == 2
    assert "If a &lt; b &amp; c, it holds." in seen
    assert seen.count("<tr") == 3
    picture = tmp_path / "page.png"
    chromium(tmp_path, f"--screenshot={picture}", "--window-size=1000,1400", address)
    import matplotlib.image

    pixels = matplotlib.image.imread(picture)[..., :3]
    blue = (abs(pixels - (0x1F / 255, 0x5F / 255, 0xA8 / 255)) < 0.03).all(-1)
    assert blue.sum() > 200, "the measured value and its interval are drawn"
