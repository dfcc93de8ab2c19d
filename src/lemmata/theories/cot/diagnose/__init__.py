"""`lemmata diagnose chain`: what the theory says of a user's own reasoning chain."""

from lemmata.theories.cot.diagnose.diagnosis import diagnose

__all__ = ["diagnose"]
