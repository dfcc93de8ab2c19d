"""The GPT-2-style causal transformer on the same prompts (3.4). No claim reads it."""
