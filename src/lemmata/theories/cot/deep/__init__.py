"""A three-layer causal transformer on the same prompts (3.2, figures 7.7 and F.1)."""
