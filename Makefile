# Everything runs in .venv, made once and set up again only when the dependency files change.
PYTHON ?= python3
PY := .venv/bin/python
DEPENDENCIES := pyproject.toml course_utils/pyproject.toml constraints.txt

.PHONY: help demo test landing soak breaks matrix lowest build lab mark setup clean
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
	@mkdir -p .venv/share/jupyter/labextensions .venv/etc/jupyter/jupyter_server_config.d
	@cp -R autograder/marking/jupyter/attention-marking-desk .venv/share/jupyter/labextensions/
	@cp autograder/marking/jupyter/attention-marking-desk.json .venv/etc/jupyter/jupyter_server_config.d/
	@touch $@

demo: .venv/.ready    ## play a small class through the whole flow
	@$(PY) -m autograder demo

build: .venv/.ready   ## notebooks/ -> source/ and release/
	@$(PY) -m autograder build

# Two workers with a thread each. One that dies ends the run, and so does the limit in minutes;
# tests/ending.py then names the test.
TEST_MINUTES ?= 40
PYTEST := OMP_NUM_THREADS=1 $(PY) -m pytest -q --run-limit $(TEST_MINUTES)
# Groups in the order of collection: what is marked `long` is collected first.
SIDE_BY_SIDE := -n 2 --dist loadgroup --no-loadscope-reorder --max-worker-restart=0

test: .venv/.ready    ## lint, check what is built, run all tests a contributor needs
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m deptry . && cd course_utils && ../$(PY) -m deptry .
	@$(PYTEST) $(SIDE_BY_SIDE) -m "not soak and not landing"

landing: .venv/.ready ## whole notebooks, the second assignment, the demo: what a change passes beside `make test`
	@$(PYTEST) $(SIDE_BY_SIDE) -m landing

soak: .venv/.ready    ## the long tests
	@$(PYTEST) --run-limit 240 -m "soak or landing"

matrix: .venv/.ready  ## everything under lowest, pinned and newest versions, on each Python found (hours)
	@$(PY) -m autograder.bench.matrix --resume --write docs/matrix.md

lowest: .venv/.ready  ## the matrix in short: one Python, the lowest versions, without the tests
	@$(PY) -m autograder.bench.matrix --short --sets lowest \
	  --python $$($(PY) -c 'import sys; print("%d.%d" % sys.version_info[:2])')

breaks: .venv/.ready  ## break the product in small ways, and count what the tests notice
	@$(PY) tests/breaks.py

lab: .venv/.ready     ## open JupyterLab, with formgrader and the marking desk (at /desk)
	@.venv/bin/jupyter lab --ServerApp.root_dir=. --LabApp.default_url=/lab/tree/source/attention

mark: .venv/.ready    ## open the marking desk for written answers
	@$(PY) -m autograder mark

clean:           ## remove .venv and caches (never grading/)
	@rm -rf .venv .matrix .pytest_cache .ruff_cache
