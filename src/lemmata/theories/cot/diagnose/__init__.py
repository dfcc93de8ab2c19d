"""`lemmata diagnose chain`: what the theory says of a user's own reasoning chain."""
