.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
RUNNABLE := $(VENV)/.runnable

help:          ## Show this help
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  %-14s %s\n", $$1, $$2}'

demo: $(RUNNABLE)  ## Watch web applications walk through their states; needs no cluster
	@$(BIN)/python -m examples.demo

# The package alone, without the tools of its developers: two minutes less to wait for the demo.
$(RUNNABLE): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

install: $(INSTALLED)  ## Make the virtual environment
$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@ $(RUNNABLE)

format: $(INSTALLED)  ## Format and fix what can be fixed
	$(BIN)/ruff format . && $(BIN)/ruff check --fix .

lint: $(INSTALLED)    ## Format, lint, types, layers
	$(BIN)/ruff format --check . && $(BIN)/ruff check . && $(BIN)/mypy && $(BIN)/lint-imports

test: lint     ## Everything that needs no cluster
	$(BIN)/python -m pytest -n 2 -m "not cluster"

test-cluster: $(INSTALLED)  ## Tests against a real API server, built at the first run
	$(BIN)/python -m tests.cluster.controlplane --build || true  # without it, the tests are skipped
	$(BIN)/python -m pytest -n 0 -m cluster || [ $$? -eq 5 ]  # 5: no tests

.PHONY: help demo install format lint test test-cluster
