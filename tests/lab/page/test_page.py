"""The page: it says which paper it judges, what came out, how far to trust it, and nothing that the data do not say."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from page_cases import SVG, Page, card, detail, experiment, group, line, page_of, record_of, row, words

from lemmata.lab import registry
from lemmata.lab.errors import UserError
from lemmata.lab.files import is_sealed
from lemmata.lab.page.cards import CARDS, card_of
from lemmata.lab.report import MANY, render, table, write_report
from lemmata.lab.rows import VERDICTS, Row

CORRECTED = {"source": "corrected", "corrects": "c1-first"}
REFUTED = {"outcome": "fails", "expected": "fails", "control": "holds", "control_expected": "holds", "controls": []}


def test_the_page_names_the_paper_its_question_and_where_to_read_it(tmp_path: Path) -> None:
    card(tmp_path)
    page = page_of(tmp_path, row())
    text = Page(page).text
    for said in ("A theory of toys", "A. Author, B. Author", "TOYS 2020", "Do toys learn?", "They do."):
        assert said in text
    assert "<title>Lemmata: A theory of toys</title>" in page
    assert ("a", "https://example.org/abs/1") in Page(page).links
    assert "1 of its 7 claims were examined here" in text


@pytest.mark.parametrize("link", ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", " https://x"])
def test_only_an_address_of_the_web_is_a_link(link: str, tmp_path: Path) -> None:
    card(tmp_path, link=link)
    assert link not in [address for _, address in Page(page_of(tmp_path, row())).links]


def test_three_sentences_say_what_stands_what_falls_and_what_is_undecided(tmp_path: Path) -> None:
    page = page_of(
        tmp_path, row(), row("c2-falls", **REFUTED), row("c2-falls-corrected", source="corrected", corrects="c2-falls"),
        row("c3-open", outcome="inconclusive", expected="inconclusive"), row("c4-derived", source="derived"),
    )  # fmt: skip
    answer = words(page.split('<dl class="answer">')[1].split("</dl>")[0])
    assert "2 of the 4 statements that were examined are confirmed." in answer
    assert "1 is refuted as printed (c2-falls); beside it stands a corrected statement that is confirmed." in answer
    assert "1 is undecided here (c3-open)" in answer


def test_where_nothing_falls_and_nothing_is_open_the_page_says_so(tmp_path: Path) -> None:
    text = Page(page_of(tmp_path, row(), row("c2-second"))).text
    assert "Both statements that were examined are confirmed." in text
    assert "None is refuted." in text
    assert "None is undecided." in text
    assert "Everything came out as predicted, and both controls gave the known answer" in text


def test_a_claim_stands_with_statement_rule_number_verdict_and_reference(tmp_path: Path) -> None:
    experiment(tmp_path)
    page = page_of(tmp_path, row(), row("c2-second", reads=[], formula="", statistic="worst seed", rule="every seed"))
    for claim in ("c1-first", "c2-second"):
        summary = words(line(page, claim))
        for said in (f"The statement of {claim}.", "Theorem 7", "≥ 1", "1.5 [1.25, 1.75]", "✓ confirmed"):
            assert said in summary
        evidence = words(detail(page, claim))
        assert "mean 1.5, claimed ≥ 1" in evidence
        assert f"lemmata verify toy/{claim}" in evidence
        assert "Control signs exchanged (the same evidence with sign = -1, not 1): fails, as it must" in evidence
    assert "mean over 5 seeds; rule: 95 % t interval over seeds" in words(line(page, "c1-first"))
    assert "worst of 5 seeds; rule: every seed" in words(line(page, "c2-second"))
    assert "<math" in line(page, "c1-first")
    assert "<math" not in group(page, "c2-second")


def test_a_correction_stands_in_the_card_of_what_it_corrects_and_says_whose_it_is(tmp_path: Path) -> None:
    page = page_of(tmp_path, row(**REFUTED), row("c2-second"), row("c1-first-corrected", **CORRECTED))
    assert group(page, "c1-first") == group(page, "c1-first-corrected")
    assert group(page, "c1-first") != group(page, "c2-second")
    pair = words(group(page, "c1-first"))
    assert pair.index("As printed") < pair.index("Corrected toy/c1-first-corrected")
    assert "our correction of the paper" in words(line(page, "c1-first-corrected"))
    assert "(corrects c1-first)" in words(detail(page, "c1-first-corrected"))
    assert "stated in the paper" in words(detail(page, "c1-first"))


@pytest.mark.parametrize("corrects", ["c9-absent", "c1-first-corrected"])
def test_a_correction_of_what_is_not_there_or_of_itself_has_its_own_card(corrects: str, tmp_path: Path) -> None:
    page = page_of(tmp_path, row("c1-first-corrected", source="corrected", corrects=corrects))
    assert "The statement of c1-first-corrected." in words(group(page, "c1-first-corrected"))


def test_an_expected_refutation_is_no_alarm(tmp_path: Path) -> None:
    page = page_of(tmp_path, row(**REFUTED))
    assert "refuted" in words(line(page, "c1-first"))
    assert 'class="alarm"' not in page
    assert 'class="bad"' not in page
    assert "as predicted" in words(line(page, "c1-first"))


def test_what_is_not_in_order_is_loud_at_the_top_in_the_table_and_in_its_evidence(tmp_path: Path) -> None:
    wrong = [{"case": "broken", "outcome": "holds", "expected": "fails", "measured": 2.0, "note": "", "changed": ""}]
    page = page_of(
        tmp_path, row(), row("c2-outcome", outcome="fails"), row("c3-control", control="holds", controls=wrong),
        row("c4-lost", lost=True),
    )  # fmt: skip
    alarm = words(page.split('class="alarm"')[1].split("</div>")[0])
    assert "3 claims need attention." in alarm
    assert "toy/c2-outcome: fails instead of holds" in alarm
    assert "toy/c3-control: a control came out as holds instead of fails" in alarm
    assert "toy/c4-lost: a value was lost or a cell failed" in alarm
    assert "c1-first" not in alarm
    for claim, loud in (("c1-first", False), ("c2-outcome", True), ("c3-control", True), ("c4-lost", True)):
        assert ('class="bad"' in line(page, claim)) == loud
        assert (" odd" in line(page, claim).split(">")[0]) == loud
    assert "holds instead of fails" in words(detail(page, "c3-control"))
    assert "Everything came out as predicted" not in page


def test_the_preset_smoke_decides_nothing_and_says_so(tmp_path: Path) -> None:
    page = page_of(tmp_path, row(preset="smoke", outcome="fails"))
    assert "too small to decide anything" in Page(page).text
    assert 'class="alarm"' not in page
    assert "fails at smoke" in words(line(page, "c1-first"))
    assert "refuted" not in words(line(page, "c1-first")), "no word on the paper"
    assert "1 is refuted as printed" not in Page(page).text
    assert "1 is refuted as printed" in Page(page_of(tmp_path, row(preset="quick", outcome="fails"))).text
    for part in (line, detail):
        assert "fails instead of holds" in words(part(page, "c1-first")), "it is told, quietly"
        assert "as predicted" not in words(part(page, "c1-first"))


def test_a_claim_says_in_how_many_blocks_it_was_replicated(tmp_path: Path) -> None:
    def replicated(claim: str, share: float) -> dict[str, Any]:
        return {
            "theory": "toy", "claim": claim, "expected": "holds", "control_expected": "fails", "preset": "quick",
            "blocks": 20, "seeds": [1], "as_expected": round(20 * share), "share": share,
            "share_low": 0, "share_high": 1, "measured": [1.0], "median": 1.0,
            "low": 1.0, "high": 1.0, "odd": [], "seconds": 1,
        }  # fmt: skip

    table = [replicated("c1-first", 1.0), replicated("c2-shaky", 0.8), replicated("c4-paper", 1.0)]
    (tmp_path / "replicate.json").write_text(json.dumps(table))
    page = page_of(tmp_path, row(), row("c2-shaky"), row("c3-once"), row("c4-paper", preset="paper"))
    assert "blocks" not in words(line(page, "c4-paper")), "it repeats at another preset"
    assert "20 of 20 blocks" in words(line(page, "c1-first"))
    assert 'class="bad"' not in line(page, "c1-first")
    assert 'class="bad">as expected in 16 of 20 blocks' in line(page, "c2-shaky")
    assert "blocks" not in words(line(page, "c3-once"))


def test_the_symbols_of_a_formula_are_explained_beside_it_and_all_in_a_list(tmp_path: Path) -> None:
    card(tmp_path)
    page = page_of(tmp_path, row())
    assert "η: step size" in words(detail(page, "c1-first"))
    assert "toys" not in words(detail(page, "c1-first")), "N stands in no formula here"
    assert words(page.split('<details class="symbols">')[1].split("</details>")[0]) == "Symbols η step size N toys"


def test_the_symbols_of_a_theory_are_those_of_its_fields_and_of_what_is_measured() -> None:
    symbols = card_of(registry.load("vit"))["symbols"]
    assert symbols["η"] == "step size"
    assert symbols["T_ε"] == "first step with training loss at most 0.001"
    assert not [symbol for symbol in symbols if " " in symbol], "formulas are no symbols"


def test_the_foot_says_when_with_what_where_and_by_which_commands(tmp_path: Path) -> None:
    experiment(tmp_path)
    later = row("c2-second", judged="2026-01-03T00:00:00+00:00", asked="lemmata verify toy/c2-second", seconds=100.0)
    foot = words(page_of(tmp_path, row(), later).split('<footer class="made">')[1])
    for said in (
        "2026-01-02 03:04:05 UTC to 2026-01-03 00:00:00 UTC", "Lemmata 9.8.7", "jax 0.10", "Linux x86_64, 2 cores",
        "quick", "seeds 0 to 4", "lemmata verify toy", "lemmata verify toy/c2-second", "2 min for 2 claims",
    ):  # fmt: skip
        assert said in foot


def test_a_figure_is_shown_once_in_the_gallery_and_enlarges_to_its_drawing(tmp_path: Path) -> None:
    experiment(tmp_path)
    page = page_of(tmp_path, row(), row("c2-second"))
    gallery = page.split('<div class="figures">')[1]
    (image,) = Page(gallery).images
    assert image["src"] == "toy/e1-line/figure.svg"
    assert (image["width"], image["height"]) == ("300", "200")
    assert image["alt"] == "Figure of e1-line: What does e1-line show? Over width."
    assert ("a", "toy/e1-line/figure.svg") in Page(gallery).links
    for said in ("lemmata run toy/e1-line --preset smoke", "Figure 3", "seeds 0 to 4", "m is small."):
        assert said in words(gallery)
    assert 'id="run:toy/e1-line"' in gallery


def test_a_drawing_of_very_many_lines_is_shown_as_points_until_it_is_enlarged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lemmata.lab.page.runs.LARGE", len(SVG))
    experiment(tmp_path)
    gallery = Page(page_of(tmp_path, row()).split('<div class="figures">')[1])
    assert gallery.images[0]["src"] == "toy/e1-line/figure.png"
    assert ("a", "toy/e1-line/figure.svg") in gallery.links


def test_every_experiment_that_a_claim_reads_is_there(tmp_path: Path) -> None:
    experiment(tmp_path)
    experiment(tmp_path, "e2-other")
    page = page_of(tmp_path, row(reads=["e1-line", "e2-other"]), row("c2-second", reads=["e2-other"]))
    shown = [image["src"] for image in Page(page.split('<div class="figures">')[1]).images]
    assert shown == ["toy/e1-line/figure.svg", "toy/e2-other/figure.svg"]


def test_the_page_needs_nothing_but_its_figures_and_no_network(tmp_path: Path) -> None:
    card(tmp_path)
    experiment(tmp_path)
    page = page_of(tmp_path, row(), row("c2-second", reads=["e1-line", "absent"]))
    found = Page(page)
    for tag, link in found.links:
        if link.startswith("#"):
            assert link in ("#", *(f"#{anchor}" for anchor in found.anchors)), f"{link} leads nowhere"
        elif link.startswith("https://"):
            assert (tag, link) == ("a", "https://example.org/abs/1"), "only the paper is on the web, for who clicks"
        else:
            assert (tmp_path / link).is_file()
    assert not re.search(r"(?i)url\(|@import", page)
    assert not {"link", "iframe", "object", "embed", "base"} & set(found.tags)
    assert len(found.anchors) == len(set(found.anchors))
    policy = page.split("Content-Security-Policy")[1].split(">")[0]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_special_characters_are_shown_and_not_interpreted(tmp_path: Path) -> None:
    nasty = "<script>alert('x')</script> a < b & \"c\" <img src=x onerror=alert(1)>"
    control = {"case": nasty, "outcome": "fails", "expected": "fails", "measured": 0.1, "note": nasty, "changed": nasty}
    fields = dict.fromkeys(
        ("statement", "note", "reference", "formula", "command", "rule", "kind", "asked", "version", "machine"), nasty
    )
    texts = dict.fromkeys(("title", "authors", "venue", "link", "question", "answer"), nasty)
    card(tmp_path, **texts, symbols={nasty: nasty})
    experiment(tmp_path, question=nasty, warnings=[nasty], command=nasty, reference=nasty, axes={nasty: [1]})
    plain = Page(page_of(tmp_path, row()))
    page = page_of(tmp_path, row(**fields, controls=[control]), row("c2-'><b>", reads=["<i>", "../..", "a/b"]))
    found = Page(page)
    assert found.scripts == plain.scripts
    assert not found.handlers
    assert not {"b", "i"} & (set(found.tags) - set(plain.tags))
    assert all(link.startswith(("#", "toy/e1-line/")) for _, link in found.links)
    assert nasty in found.text


def test_every_field_of_a_row_is_escaped(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>'\\\""
    ours = Page(page_of(tmp_path, row())).scripts
    for name, value in row().items():
        if isinstance(value, str) and name not in ("relation", "theory"):
            assert Page(page_of(tmp_path, row(**{name: evil}))).scripts == ours, name
    for name in ("case", "outcome", "expected", "note", "changed"):
        controls = [{**row()["controls"][0], name: evil}]
        assert Page(page_of(tmp_path, row(controls=controls))).scripts == ours, name


def test_a_table_is_a_table(tmp_path: Path) -> None:
    folder = experiment(tmp_path)
    content = {"caption": "Sizes of <graphs>", "columns": ["graph", "nodes"], "rows": [["Cora", 2708.0], ["no", 0.5]]}
    (folder / "table.json").write_text(json.dumps(content))
    for name in ("figure.png", "figure.svg"):
        (folder / name).unlink()
    record_of(folder, {})
    page = page_of(tmp_path, row())
    assert "<caption>Sizes of &lt;graphs&gt;</caption>" in page
    assert "<td>Cora</td><td>2708</td>" in page


@pytest.mark.parametrize("lost", ["run.json", "figures", "both", "broken"])
def test_a_missing_record_or_figure_leaves_a_page(lost: str, tmp_path: Path) -> None:
    folder = experiment(tmp_path)
    if lost == "broken":
        (folder / "run.json").write_text('{"question": ')
    gone = {"figures": ["figure.png", "figure.svg"], "run.json": ["run.json"], "broken": []}
    for name in gone.get(lost, ["run.json", "figure.png", "figure.svg"]):
        (folder / name).unlink()
    page = page_of(tmp_path, row())
    assert "The statement of c1-first." in page
    assert not Page(page).images, "a figure of which nothing is known is not shown"
    assert "No figure is stored" in page
    assert ("run.json was damaged or changed" in page) == (lost == "broken")
    assert ("lemmata run toy/e1-line" in page) == (lost == "figures")


@pytest.mark.parametrize("changed", ["run.json", "figure.svg", "figure.png", "table.json", "data"])
def test_what_was_changed_after_it_was_written_is_told_and_not_shown(changed: str, tmp_path: Path) -> None:
    folder = experiment(tmp_path)
    (folder / "table.json").write_text('{"caption": "Sizes", "columns": ["a"], "rows": [[1.0]]}')
    record_of(folder, {"question": "What?", "seeds": [0, 4], "data": "one"})
    assert 'class="alarm"' not in page_of(tmp_path, row())
    if changed == "data":
        (folder / "data.zarr").mkdir()
        (folder / "data.zarr" / ".zattrs").write_text('{"identity": "another"}')
    else:
        file = folder / changed
        file.write_bytes(file.read_bytes().replace(b"4]", b"999]").replace(b"Sizes", b"Lies") + b" ")
        if changed != "run.json":
            file.write_bytes(b"<script>alert(1)</script>")
    page = page_of(tmp_path, row())
    assert "seeds 0 to 999" not in page
    assert "alert(1)" not in page
    assert "Lies" not in page
    assert f"toy/e1-line/{changed}" not in page
    expected = "The data are others" if changed == "data" else f"{changed} was damaged or changed after it was written"
    if changed == "run.json":
        assert is_sealed(json.loads((folder / "run.json").read_text())) == ("seeds 0 to 4" in page)
    assert expected in page


def test_a_card_that_somebody_edited_is_told_and_not_shown(tmp_path: Path) -> None:
    card(tmp_path)
    file = tmp_path / CARDS
    file.write_text(file.read_text().replace("They do.", "They lie."))
    page = page_of(tmp_path, row())
    assert "They lie." not in page
    assert "A theory of toys" not in page
    assert "What theories.json says of toy was damaged or changed" in page


def test_verdicts_that_somebody_edited_are_a_sentence(tmp_path: Path) -> None:
    page_of(tmp_path, row())
    file = tmp_path / VERDICTS
    file.write_text(file.read_text().replace('"outcome": "holds"', '"outcome": "<script>alert(1)</script>"', 1))
    with pytest.raises(UserError, match=r"verdicts\.json was changed after it was written; remove it and run"):
        write_report(tmp_path)


@pytest.mark.parametrize("text", ["null", "[1]", "[{}]", "[[]]", '{"a": 1}', "[null]", "3", '"x"', "[" * 5000])
def test_verdicts_of_another_shape_are_a_sentence(text: str, tmp_path: Path) -> None:
    (tmp_path / VERDICTS).write_text(text)
    with pytest.raises(UserError, match=r"verdicts\.json (cannot be read|was changed)"):
        write_report(tmp_path)


def test_a_folder_without_readable_verdicts_is_refused_and_left_alone(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no verdicts"):
        write_report(tmp_path)
    (tmp_path / VERDICTS).write_text("[{")
    with pytest.raises(UserError, match="cannot be read"):
        write_report(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {VERDICTS}


def test_a_claim_that_was_not_measured_has_no_strip_but_its_note(tmp_path: Path) -> None:
    absent = {"measured": None, "low": None, "high": None, "statistic": "none", "note": "vacuous here"}
    page = page_of(tmp_path, row(outcome="inconclusive", expected="inconclusive", **absent))
    assert "vacuous here" in words(detail(page, "c1-first"))
    assert 'class="strip"' not in page
    assert "None" not in group(page, "c1-first")
    assert "nan" not in group(page, "c1-first")


def many(theory: str) -> list[dict[str, Any]]:
    return [row(f"c{number}", theory=theory, reads=["e1-line"]) for number in range(MANY // 2 + 1)]


def test_much_of_several_theories_is_an_index_and_a_page_for_each(tmp_path: Path) -> None:
    for theory in ("toy", "index"):
        experiment(tmp_path, theory=theory)
    index = page_of(tmp_path, *many("toy"), *many("index"))
    own = (tmp_path / "toy.html").read_text()
    assert {path.name for path in tmp_path.glob("*.html")} == {"index.html", "toy.html", "index-theory.html"}
    assert Page(own).anchors.count("toy/c7") == 1
    assert ("a", "toy.html#toy/c7") in Page(index).links
    assert ("a", "index.html") in Page(own).links
    for text in (index, own):
        for _, link in Page(text).links:
            file, _, anchor = link.partition("#")
            there = (tmp_path / file).read_text() if file.endswith(".html") else text if not file else ""
            assert (tmp_path / file).exists()
            assert not anchor or anchor in Page(there).anchors, link
    assert len(index) < 2 * len(own)


def test_little_of_several_theories_is_one_page(tmp_path: Path) -> None:
    page = page_of(tmp_path, row(), row(theory="other"))
    assert [path.name for path in tmp_path.glob("*.html")] == ["index.html"]
    assert {"toy/c1-first", "other/c1-first"} <= set(Page(page).anchors)


def test_the_page_is_the_same_every_time(tmp_path: Path) -> None:
    experiment(tmp_path)
    assert render([Row.read(row())], tmp_path) == render([Row.read(row())], tmp_path)


def test_a_notebook_shows_the_rows_as_a_table() -> None:
    shown = table([Row.read(row(statement="If a < b."))])
    assert "If a &lt; b." in shown
    assert "confirmed" in shown
    assert "<script" not in shown


def test_the_templates_are_part_of_the_package() -> None:
    import lemmata.lab.page

    folder = Path(lemmata.lab.page.__file__).parent / "templates"
    assert {"base.html", "page.css", "page.js"} <= {path.name for path in folder.iterdir()}
