"""Tables: numbers and words, on the page and in a file; what is no number is absent."""

import json
import math

import lemmata as lm

TABLE = lm.Table("Sizes of <graphs>", ["graph", "nodes"], [["Cora", 2708.0], ["none", math.nan], ["all", None]])


def test_a_table_is_plain_json_without_nan() -> None:
    rows = json.loads(json.dumps(TABLE.asdict(), allow_nan=False))["rows"]
    assert rows == [["Cora", 2708.0], ["none", None], ["all", None]]


def test_a_table_is_read_as_it_is_meant() -> None:
    page = TABLE.html()
    assert "<caption>Sizes of &lt;graphs&gt;</caption>" in page
    assert "<td>Cora</td><td>2708</td>" in page
    assert page.count("<td>–</td>") == 2
