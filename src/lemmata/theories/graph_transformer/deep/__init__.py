"""Deep graph transformers and GCNs on real graphs (3.10): figures 3.8, 3.9, B.7 and B.8."""
