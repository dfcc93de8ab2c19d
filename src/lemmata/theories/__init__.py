"""One package per document, the same rooms in every one."""
