# Each target works alone on a clean clone with Python 3.11 or 3.12, make and git.
# Another interpreter: make test PYTHON=/path/to/python3.12

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VENV ?= .venv
DEMO ?= build/demo

# A name on the PATH may be a shim that starts nothing, and a system's Python may lack venv: each one is tried.
USABLE := import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 13))
PYTHON ?= $(shell for name in python3.11 python3.12 python3 python; do \
    "$$name" -c '$(USABLE)' >/dev/null 2>&1 && { echo "$$name"; break; }; done)

.PHONY: help demo test check format clean

help:  ## what can be made
	@sed -n "s/^\([a-z]*\):.*##/make \1\t/p" Makefile

# Each stamp carries the time of a whole install: a change of either file installs again. The demo needs .runtime, which
# is what a user installs and no more; the tests need .installed, half as much again. What stands between a package and
# its wheel comes first, at pinned versions: a package that is source alone is built in this environment, with it.
INSTALL = $(VENV)/bin/python -m pip install --quiet -c constraints.txt

$(VENV)/.runtime: pyproject.toml constraints.txt
	@if [ -z "$(PYTHON)" ]; then echo "Python 3.11 or 3.12 with venv is needed; name one with PYTHON=..." >&2; exit 2; fi
	[ -x $(VENV)/bin/pip ] || "$(PYTHON)" -m venv $(VENV)
	$(INSTALL) hatchling setuptools
	$(INSTALL) --no-build-isolation -e .
	$(VENV)/bin/corpus-sql model get
	@touch $@

$(VENV)/.installed: $(VENV)/.runtime
	$(INSTALL) --no-build-isolation -e '.[dev]'
	@touch $@

demo: $(VENV)/.runtime  ## build the demo corpus in build/demo
	[ -f $(DEMO)/corpus.toml ] || $(VENV)/bin/corpus-sql init $(DEMO) --demo
	$(VENV)/bin/corpus-sql run $(DEMO)/corpus.toml --replace
	@echo "In this checkout, corpus-sql is $(VENV)/bin/corpus-sql."

test: $(VENV)/.installed  ## run the tests
	$(VENV)/bin/python -m pytest -n auto --dist loadfile

check: $(VENV)/.installed  ## lint, and see that the code is formatted
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

format: $(VENV)/.installed  ## format the code
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

clean:  ## remove the demo and what tools left behind
	rm -rf build dist .pytest_cache .ruff_cache .hypothesis
