"""Building blocks that theories share, and their probes."""
