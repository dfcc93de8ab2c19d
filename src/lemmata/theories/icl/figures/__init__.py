"""The figures, by topic."""
