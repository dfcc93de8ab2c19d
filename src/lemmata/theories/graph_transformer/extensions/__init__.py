"""The extensions of the theory (P21): four classes, and labels of whole graphs."""
