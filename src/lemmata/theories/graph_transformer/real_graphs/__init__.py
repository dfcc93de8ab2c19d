"""The paper's tables and figures about real graphs (appendix B): discriminative nodes, margins, balance, sizes."""
