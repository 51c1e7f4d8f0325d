# Everything on a fresh machine: `make demo`, `make test`. Needs python3.11+ with venv, and make.

# The first Python that will do; give PYTHON=... for another.
PYTHON ?= $(shell for p in python3 python3.15 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo $$p && break; done)
VENV   ?= .venv
BIN     = $(VENV)/bin
# A process per core, as many as 8: each collects all tests, some 8 s. Who has none left takes over
# tests of another: those of one file take from microseconds to a minute.
SPREAD  = --numprocesses auto --maxprocesses 8 --dist worksteal
PYTEST  = $(BIN)/python -m pytest $(SPREAD)

.PHONY: demo core wasm test smoke test-all test-blas lint docs man bench clean help

help:
	@echo "make demo      calibrate this machine, predict, really run, compare: demo-output/"
	@echo "make core      the compiled core, after its sources have changed"
	@echo "make wasm      the same as WebAssembly, for pages that replay in a browser"
	@echo "make test      style, types and the fast tests, with few cases of what is drawn: minutes"
	@echo "make smoke     the tests of what differs between installations"
	@echo "make test-all  the same with the slow tests and the pages: what CI runs"
	@echo "make test-blas the numeric tests as older and newer processors run them"
	@echo "make docs      these pages, figures, notebooks and the API reference as HTML: build/docs/"
	@echo "make man       a man page of each command: build/man/"
	@echo "make bench     speed and fidelity beside the last release, or AGAINST=wheel or revision"

# The demo needs the package with its extras, half of what tests, checks and pages need.
$(VENV)/.package: pyproject.toml
	@test -n "$(PYTHON)" || { echo "tasksim needs Python 3.11 or newer with venv; none found" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[all]'
	touch $@

$(VENV)/.installed: $(VENV)/.package
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group dev
	touch $@

# Installing builds it already; where there is no compiler it says so, and all works without.
CORE = tasksim/core/libtasksim_core.so
$(CORE): $(shell find tasksim/core tasksim/recording -name '*.cpp' -o -name '*.h') tasksim/core/build.py \
		tasksim/core/compiler.py | $(VENV)/.package
	$(BIN)/python -m tasksim.core.build --optional

core: $(CORE)

# By Zig's compiler, which only this needs: 100 MB to download, two minutes.
WASM = tasksim/core/libtasksim_core.wasm
$(WASM): $(shell find tasksim/core -name '*.cpp' -o -name '*.h') tasksim/core/build.py \
		tasksim/core/compiler.py | $(VENV)/.package
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group wasm \
		|| echo "no compiler for WebAssembly to be had: its tests are skipped"
	$(BIN)/python -m tasksim.core.build --target wasm --optional

wasm: $(WASM)

demo: $(VENV)/.package $(CORE)
	$(BIN)/tasksim demo --output demo-output --force

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint $(CORE)
	$(PYTEST) -m "not slow"

# What holds with the compiled core and without: engines, schedulers, native runs, commands.
SMOKE = tests/core tests/engine tests/schedulers tests/native tests/cli tests/test_package.py
smoke: $(VENV)/.installed $(CORE)
	$(PYTEST) -m "not slow" $(SMOKE)

test-all: lint docs $(CORE) $(WASM)
	$(PYTEST) --durations=15 --durations-min=1

# OpenBLAS, NumPy and others told to take the code that they have for other processors.
test-blas: $(VENV)/.installed $(CORE)
	$(BIN)/python -m tests.any_processor $(SPREAD)

# Warnings are errors: a link that leads nowhere, a docstring that does not parse.
docs: $(VENV)/.installed $(CORE) $(WASM)
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet -j auto docs build/docs

man: $(VENV)/.package
	$(BIN)/python docs/manpages.py build/man

bench: $(VENV)/.installed $(CORE)
	$(BIN)/python benchmarks/compare_builds.py $(if $(AGAINST),--against $(AGAINST))
	$(BIN)/python benchmarks/fidelity_native.py

clean:
	rm -rf $(VENV) demo-output .pytest_cache .mypy_cache .ruff_cache
