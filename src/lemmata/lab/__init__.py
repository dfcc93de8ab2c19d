"""The machinery of the laboratory; it knows no theory."""
