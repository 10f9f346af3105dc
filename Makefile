.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

help:          ## Show this help
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  %-14s %s\n", $$1, $$2}'

install: $(INSTALLED)  ## Make the virtual environment
$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

format: $(INSTALLED)  ## Format and fix what can be fixed
	$(BIN)/ruff format . && $(BIN)/ruff check --fix .

lint: $(INSTALLED)    ## Format, lint, types, layers
	$(BIN)/ruff format --check . && $(BIN)/ruff check . && $(BIN)/mypy && $(BIN)/lint-imports

test: lint     ## Everything that needs no cluster
	$(BIN)/python -m pytest -n 2 -m "not cluster"

test-cluster: $(INSTALLED)  ## Tests against a real API server, built at the first run
	$(BIN)/python -m tests.cluster.controlplane --build || true  # without it, the tests are skipped
	$(BIN)/python -m pytest -n 0 -m cluster || [ $$? -eq 5 ]  # 5: no tests

.PHONY: help install format lint test test-cluster
