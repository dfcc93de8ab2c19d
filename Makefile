# `make verify`, `make test` and `make docs` need Python 3.11+ and nothing else; each creates the environment in .venv first.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: verify test lint docs install clean

verify: install
	$(BIN)/lemmata verify

test: install
	$(BIN)/pytest --numprocesses 2 --dist loadgroup

docs: install
	$(BIN)/python tools/docs build/docs

lint: install
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/basedpyright

install: $(VENV)/installed

$(VENV)/installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("Lemmata needs Python 3.11 or newer; set PYTHON=python3.12 or similar." if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) results build
