"""`lemmata search`: by name, statement, reference and symbol, across theories."""

from __future__ import annotations

from command import Lemmata

from lemmata.lab import registry


def test_it_finds_claims_experiments_bounds_and_fields_of_all_theories(lemmata: Lemmata) -> None:
    rows = lemmata("search", "attention", "--json").json
    assert [set(row) for row in rows] == [{"theory", "type", "name", "symbol", "reference", "text"}] * len(rows)
    assert {row["type"] for row in rows} == {"claim", "experiment", "bound", "setting"}
    assert len({row["theory"] for row in rows}) >= 5
    for row in rows:
        shown = lemmata("show", f"{row['theory']}/{row['type']}:{row['name']}", "--json").json
        assert (shown["type"], shown["name"]) == (row["type"], row["name"])


def test_a_symbol_finds_the_fields_that_bear_it_in_greek_or_spelled_out(lemmata: Lemmata) -> None:
    for typed in ("η", "eta"):
        rows = lemmata("search", typed, "--json").json
        named = {(row["theory"], row["name"]) for row in rows if row["symbol"] == "η"}
        assert named >= {("vit", "step_size"), ("icl", "step_size")}


def test_all_words_must_be_there_and_case_does_not_matter(lemmata: Lemmata) -> None:
    one, two = (lemmata("search", *words, "--json").json for words in (["HEADS"], ["heads", "Attention"]))
    assert 0 < len(two) < len(one)
    assert all(row in one for row in two)


def test_what_is_named_so_comes_first_and_the_rest_is_counted(lemmata: Lemmata) -> None:
    names = [row["name"] for row in lemmata("search", "attention", "--json").json if row["theory"] == "vit"]
    named = ["attention" in name for name in names]
    assert named == sorted(named, reverse=True)
    told = lemmata("search", "attention").out
    assert f"and {len(names) - 6} more: lemmata search attention --all" in told
    everything = lemmata("search", "attention", "--all").out
    assert "more:" not in everything
    assert all(f"vit/{name}" in everything for name in names)


def test_nothing_found_is_said_and_is_no_error(lemmata: Lemmata) -> None:
    done = lemmata("search", "zzzzzz")
    assert (done.code, done.out.split(".")[0]) == (0, "Nothing mentions 'zzzzzz'")
    assert lemmata("search", "zzzzzz", "--json").json == []


def test_every_theory_is_searched(lemmata: Lemmata) -> None:
    rows = lemmata("search", "e", "--json").json
    assert {row["theory"] for row in rows} == {card["name"] for card in registry.cards()}
