"""The figures of the experiments, by topic: the measurement, and the paper's prediction beside it."""
