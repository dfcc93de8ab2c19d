"""Malformed texts of graphs: one sentence that says which line of which file is wrong."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from graph_writers import write_film, write_geom, write_listed, write_ogb
from hostile import little_memory, sentence


@pytest.fixture(autouse=True)
def _little_memory() -> Iterator[None]:
    with little_memory():
        yield


LISTED = {
    "letters": ("edges.csv", "0,1\n1,x\n", "line 2 should be 2 integers, not '1 x'"),
    "letters in the first line": ("edges.csv", "0,x\n1,2\n", "line 1 should be"),
    "a missing column": ("edges.csv", "source,target\n0,1\n2\n", "line 3 should be 2 integers, not '2'"),
    "a fourth column": ("edges.csv", "0,1,5,2\n", "line 1 should be 2 integers"),
    "weights in letters": ("edges.csv", "0,1,w\n", "line 1 should be 3 numbers"),
    "a fraction": ("edges.csv", "0,1.5\n", "line 1 should be 2 integers"),
    "a node out of range": ("edges.csv", "0,20\n", "names node 20, but there are 20 nodes"),
    "a negative node": ("edges.csv", "0,-1\n", "names node -1"),
    "an enormous node": ("edges.csv", f"0,{10**30}\n", "2 integers"),
    "bytes": ("edges.csv", "\udcff\udcfe", "cut short or of another format"),
    "three columns of labels": ("labels.csv", "0,1,2\n", "a class, or a node and its class"),
    "a node with two labels": ("labels.csv", "0,1\n0,2\n", "names a node twice"),
    "too few labels": ("labels.csv", "0\n1\n", "names node"),
    "no labels": ("labels.csv", "", "a class, or a node and its class"),
    "a label below -1": ("labels.csv", "-2\n" * 20, "labels must be classes"),
    "features in letters": ("features.csv", "1,2\n" * 19 + "1,b\n", "line 20 should be 2 numbers, not '1 b'"),
    "a short row of features": ("features.csv", "1,2\n" * 19 + "1\n", "line 20 should be 2 numbers, not '1'"),
    "too few rows of features": ("features.csv", "1,2\n", "one row for each of 20 nodes"),
    "features that are not finite": ("features.csv", "nan,2\n" * 20, "finite"),
    "features that are infinite": ("features.csv", "1e999,2\n" * 20, "finite"),
}


@pytest.mark.parametrize("case", LISTED)
def test_a_malformed_edge_list_says_what_is_wrong(case: str, tmp_path: Path) -> None:
    name, text, said = LISTED[case]
    folder = write_listed(tmp_path)
    (folder / name).write_bytes(text.encode(errors="surrogateescape"))
    assert said in sentence(folder)


def test_an_edge_list_without_labels_is_told_what_is_missing(tmp_path: Path) -> None:
    folder = write_listed(tmp_path)
    (folder / "labels.csv").unlink()
    assert "has no labels.csv, labels.txt or labels.npy" in sentence(folder)


GEOM = {
    "letters": ("out1_graph_edges.txt", "a\tb\n0\tx\n", "line 2 should be 2 integers"),
    "a node out of range": ("out1_graph_edges.txt", "a\tb\n0\t20\n", "names node 20"),
    "a missing column": ("out1_node_feature_label.txt", "h\n0\t1,0\n", "line 2 is not a node"),
    "letters in the features": ("out1_node_feature_label.txt", "h\n0\t1,a\t0\n", "line 2 is not a node"),
    "a negative feature": ("out1_node_feature_label.txt", "h\n0\t1,-1\t0\n", "line 2 is not a node"),
    "an enormous feature": ("out1_node_feature_label.txt", "h\n0\t10000000000\t0\n", "at most 1000000"),
    "a feature beyond all numbers": ("out1_node_feature_label.txt", f"h\n0\t{10**30}\t0\n", "line 2 is not a node"),
    "a node twice": ("out1_node_feature_label.txt", "h\n0\t1,0\t0\n0\t1,0\t0\n", "each once"),
    "a node left out": ("out1_node_feature_label.txt", "h\n0\t1,0\t0\n2\t1,0\t0\n", "each once"),
    "lists of different lengths": ("out1_node_feature_label.txt", "h\n0\t1,0,1\t0\n1\t1,0\t0\n", "different lengths"),
    "a stray value among zeros and ones": ("out1_node_feature_label.txt", "h\n0\t1,0,1,0,2\t0\n", "lists 5 features"),
    "nothing": ("out1_node_feature_label.txt", "", "no nodes"),
}


@pytest.mark.parametrize("case", GEOM)
def test_a_malformed_geom_folder_says_what_is_wrong(case: str, tmp_path: Path) -> None:
    name, text, said = GEOM[case]
    folder = write_geom(tmp_path)
    (folder / name).write_text(text)
    assert said in sentence(folder)


@pytest.mark.parametrize("name", ["out1_graph_edges.txt", "out1_node_feature_label.txt"])
def test_a_missing_geom_file_is_named(name: str, tmp_path: Path) -> None:
    folder = write_film(tmp_path)
    (folder / name).unlink()
    assert name in sentence(folder)


def test_a_geom_split_of_another_graph_is_refused(tmp_path: Path) -> None:
    folder = write_geom(tmp_path)
    mask = np.zeros(3, bool)
    np.savez(folder / "small_split_0.6_0.2_3.npz", train_mask=mask, val_mask=mask, test_mask=mask)
    assert "not one entry for every node" in sentence(folder)


OGB = {
    "letters": ("raw/edge.csv.gz", "0,x\n", "line 1 should be 2 integers"),
    "two labels": ("raw/node-label.csv.gz", "0,1\n", "line 1 should be 1 integer"),
    "a node out of range": ("raw/edge.csv.gz", "0,20\n", "names node 20"),
    "an unknown node in a split": ("split/time/valid.csv.gz", "20\n", "unknown node"),
    "features that are not finite": ("raw/node-feat.csv.gz", "nan\n" * 20, "finite"),
}


@pytest.mark.parametrize("case", OGB)
def test_a_malformed_ogb_folder_says_what_is_wrong(case: str, tmp_path: Path) -> None:
    name, text, said = OGB[case]
    folder = write_ogb(tmp_path)
    (folder / name).write_bytes(gzip.compress(text.encode()))
    assert said in sentence(folder)


@pytest.mark.parametrize("name", ["raw/node-label.csv.gz", "split/time/test.csv.gz"])
def test_a_missing_ogb_file_is_named(name: str, tmp_path: Path) -> None:
    folder = write_ogb(tmp_path)
    (folder / name).unlink()
    said = sentence(folder)
    assert name in said
    assert "no such file" in said
