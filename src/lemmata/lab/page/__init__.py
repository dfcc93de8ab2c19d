"""The page: what was claimed, what was measured and how far to trust it, for a reader who has only the page."""
