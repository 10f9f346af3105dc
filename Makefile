.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
PURE_TESTS := tests/admission tests/api tests/generate tests/patch tests/sets tests/versions tests/fsm tests/mistakes tests/test_errors.py
PURE := myrmidon/webhooks/admission/*,myrmidon/errors/*,myrmidon/api/*,myrmidon/patch/*,myrmidon/sets/*,myrmidon/webhooks/versions/*,myrmidon/fsm/*
RUNNABLE := $(VENV)/.runnable
PIP := $(BIN)/python -m pip --disable-pip-version-check
# Says what to do where venv or Python 3.11 is missing, as on a fresh Debian or macOS.
define check_python
$(PYTHON) -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo "$(PYTHON) is older than 3.11, or cannot make virtual environments."; echo "  fix: install Python 3.11 or newer (on Debian and Ubuntu also python3-venv), or name one: make PYTHON=python3.13 $(MAKECMDGOALS)"; exit 1; }
endef

help:          ## Show this help
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  %-14s %s\n", $$1, $$2}'

demo: $(RUNNABLE)  ## Watch web applications walk through their states; needs no cluster
	@$(BIN)/python -m examples.demo

# The package alone, without the tools of its developers: two minutes less to wait for the demo.
$(RUNNABLE): pyproject.toml
	@$(call check_python)
	@echo "Installing myrmidon and its dependencies into $(VENV): once, less than a minute."
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --editable .
	@touch $@

install: $(INSTALLED)  ## Make the virtual environment
$(INSTALLED): pyproject.toml
	@$(call check_python)
	@echo "Installing myrmidon and the tools of its developers into $(VENV): once, two to three minutes."
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --editable '.[dev]'
	@touch $@ $(RUNNABLE)

format: $(INSTALLED)  ## Format and fix what can be fixed
	$(BIN)/ruff format . && $(BIN)/ruff check --fix .

lint: $(INSTALLED)    ## Format, lint, types, layers
	$(BIN)/ruff format --check . && $(BIN)/ruff check . && $(BIN)/mypy && $(BIN)/lint-imports

check-fast: $(INSTALLED)  ## The inner loop: lint, layers, and the tests of the pure packages with few examples
	$(BIN)/ruff format --check . && $(BIN)/ruff check . && $(BIN)/lint-imports
	HYPOTHESIS_PROFILE=fast $(BIN)/python -m pytest -q -n 2 $(filter-out tests/generate tests/mistakes,$(PURE_TESTS)) tests/test_tidy.py

docs: $(INSTALLED)    ## Build the documentation, warnings are errors
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build

test: $(INSTALLED)  ## Everything that needs no cluster
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target lint docs coverage
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not cluster and not first_day and not long and not browser" $(addprefix --ignore=,$(PURE_TESTS))

coverage: $(INSTALLED)  ## Tests of the pure packages: each branch of them is taken
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n 2 $(PURE_TESTS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --include='$(PURE)' --fail-under=100

bench: $(INSTALLED)   ## The Widget job against a bare client and kopf, on a real API server
	$(BIN)/python -m benchmarks.widgets

bench-core: $(INSTALLED)  ## What a decision and an import cost
	$(BIN)/python -m benchmarks.core

test-cluster: $(INSTALLED)  ## Tests against a real API server, built at the first run
	$(BIN)/python -m tests.cluster.controlplane --build || true  # without it, the tests are skipped
	$(BIN)/python -m pytest -n 0 -m "cluster and not long" || [ $$? -eq 5 ]  # 5: no tests

test-long: $(INSTALLED)  ## Minutes of load on a real API server: certificates that rotate all the time
	$(BIN)/python -m tests.cluster.controlplane --build
	$(BIN)/python -m pytest -n 0 -o faulthandler_timeout=0 -m long

test-browser: $(INSTALLED)  ## The live page in Chromium; skipped where there is none
	$(BIN)/python -m pytest -n 0 -m browser tests/ui || [ $$? -eq 5 ]  # 5: no tests

screenshots: $(INSTALLED)  ## The pictures of the live page in docs; needs Chromium
	$(BIN)/python docs/screenshots.py

test-first-day: $(INSTALLED)  ## From a wheel to an image that runs on a real API server; needs the network and root
	$(BIN)/python -m tests.cluster.controlplane --build
	$(BIN)/python -m pytest -n 0 -s -o faulthandler_timeout=0 -m first_day tests/first_day

test-fresh:           ## A fresh clone of the last commit: make demo, make test, with their times
	@$(call check_python)
	@$(PYTHON) tests/fresh_clone.py

soak: $(INSTALLED)    ## Faults for SOAK_MINUTES (10) on a real API server: three replicas, then a verdict
	$(BIN)/python -m tests.cluster.controlplane --build
	$(BIN)/python -m tests.soak

.PHONY: help demo install format lint check-fast docs test coverage bench bench-core test-cluster test-long test-browser screenshots test-first-day test-fresh soak
