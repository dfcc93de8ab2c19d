"""The figures of the experiments, by topic: the measurement, and the document's prediction beside it."""
