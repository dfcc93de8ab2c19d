"""A judge whose evidence comes with words: they stand in its note, and change nothing else."""

import xarray as xr

from lemmata.lab.judges import at_least, stating


def test_words_of_the_evidence_stand_in_the_note() -> None:
    evidence = xr.DataArray([1.0, 2.0], dims="seed")
    plain, stated = at_least(0.5, "every")(evidence), stating(at_least(0.5, "every"))((evidence, "two seeds"))
    assert stated.note == f"{plain.note}; two seeds"
    assert (stated.outcome, stated.measured, stated.predicted) == (plain.outcome, plain.measured, plain.predicted)
    assert stating(at_least(3.0, "every"))((evidence, "")).outcome == "fails"
