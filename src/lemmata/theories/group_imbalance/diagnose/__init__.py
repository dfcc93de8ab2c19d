"""`lemmata diagnose groups`: what more data of each group would do to every group's risk, on a user's own table."""

from lemmata.theories.group_imbalance.diagnose.diagnosis import diagnose

__all__ = ["diagnose"]
