# Everything runs in .venv, made once and set up again only when the dependency files change.
PYTHON ?= python3
PY := .venv/bin/python
DEPENDENCIES := pyproject.toml course_utils/pyproject.toml constraints.txt

.PHONY: help demo test soak build lab setup clean
.DEFAULT_GOAL := help

help:            ## say what there is
	@grep -E '^[a-z]+: .*##' Makefile | sed -E 's/:[^#]*## /\t/' | expand -t 12

setup: .venv/.ready   ## install everything into .venv

.venv/.ready: $(DEPENDENCIES)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "This course needs Python 3.11 or newer; say PYTHON=/path/to/python3.11 make ..."; exit 1; }
	@echo "Setting up .venv (once; a few minutes) ..."
	@test -x $(PY) || $(PYTHON) -m venv .venv
	@$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt torch
	@$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ./course_utils -e '.[dev]'
	@.venv/bin/jupyter kernelspec install --sys-prefix --name attention-warm --log-level=ERROR autograder/kernel/spec
	@touch $@

demo: .venv/.ready    ## play a small class through the whole flow
	@$(PY) -m autograder demo

build: .venv/.ready   ## notebooks/ -> source/ and release/
	@$(PY) -m autograder build

test: .venv/.ready    ## lint, check what is built, run all tests a contributor needs
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m autograder build --check
	@OMP_NUM_THREADS=1 $(PY) -m pytest -q -n 2 --dist loadgroup -m "not soak and not browser"  # one thread a worker
	@$(PY) -m pytest -q -m "browser and not soak"  # alone: a person has the machine to themselves

soak: .venv/.ready    ## the long tests
	@$(PY) -m pytest -q -m soak

lab: .venv/.ready     ## open the instructor's notebooks in JupyterLab
	@.venv/bin/jupyter lab source/attention

clean:           ## remove .venv and caches (never grading/)
	@rm -rf .venv .pytest_cache .ruff_cache
