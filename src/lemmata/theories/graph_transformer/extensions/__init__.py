"""The paper's extensions (P21): absolute encodings and GAT, labels of whole graphs (3.8), four classes (3.9)."""
