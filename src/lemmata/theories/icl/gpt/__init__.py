"""The GPT-2-style causal transformer on the same prompts (3.4): figures 6.3(A) and 6.3(B)."""
