# One word runs everything. The virtual environment is made on first use.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test check lint types imports pytest clean help

help:
	@echo "make demo    install, run four spoken telecom scenarios, print the table"
	@echo "make test    install, run the checks and the default test suite"
	@echo "make check   format, lint, types, import rules"

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e ".[local,dev]"
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/python run_evaluation.py --launch --demo

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

pytest: $(STAMP)
	$(BIN)/python -m pytest

test: check pytest

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache build *.egg-info
