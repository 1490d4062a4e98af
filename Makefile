# Two commands are enough on a fresh machine: `make demo` and `make test`.
VENV   := .venv
BIN    := $(VENV)/bin
PYTHON ?= python3
UV     := $(shell command -v uv 2>/dev/null)
STAMP  := $(VENV)/.installed
RUNTIME := $(VENV)/.runtime
WORKERS ?= 2
# The tests start the program many times: without bytecode each start takes three times as long.
unexport PYTHONDONTWRITEBYTECODE
# Scripts that show how good an attack is, not how fast: alone, with --help, they say how to run them in full.
STUDIES := bench_advice bench_ica bench_inference bench_membership bench_posterior_rivals bench_projected_sample bench_subsampling
BENCHES := $(filter-out $(STUDIES),$(basename $(notdir $(sort $(wildcard benchmarks/bench_*.py)))))

.PHONY: demo test test-all lint bench results clean help

help:            ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

$(BIN)/python:
ifdef UV
	uv venv --quiet --python $(PYTHON) $(VENV)
else
	$(PYTHON) -m venv $(VENV)
endif

# The product alone, for the demo.
$(RUNTIME): pyproject.toml requirements.lock | $(BIN)/python
ifdef UV
	uv pip install --quiet --python $(BIN)/python -c requirements.lock -e .
else
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements.lock -e .
endif
	@touch $@

# The product and its development tools, for the tests.
$(STAMP): pyproject.toml papers/pyproject.toml requirements.lock | $(BIN)/python
ifdef UV
	uv pip install --quiet --python $(BIN)/python -c requirements.lock -e '.[dev]' -e papers
else
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements.lock -e '.[dev]' -e papers
endif
	@touch $@ $(RUNTIME)

demo: $(RUNTIME)  ## the main job on a table that ships with scikit-learn
	$(BIN)/veil demo

test: $(STAMP) lint  ## every check but the slow tests
	$(BIN)/python -m pytest -n $(WORKERS) -m 'not slow' -q

test-all: $(STAMP) lint  ## every check
	$(BIN)/python -m pytest -n $(WORKERS) -q

lint: $(STAMP)  ## style, types and the import fences
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy -n $(WORKERS)
	$(BIN)/lint-imports --no-logo

bench: $(STAMP)  ## ratios against baselines run in the same process; QUICK=1 for small sizes
	@failed=; for script in $(BENCHES); do echo "== $$script"; \
	  $(BIN)/python benchmarks/$$script.py $(if $(QUICK),--quick) || failed="$$failed $$script"; done; \
	for script in $(STUDIES); do echo "== $$script"; \
	  $(BIN)/python benchmarks/$$script.py --quick || failed="$$failed $$script"; done; \
	test -z "$$failed" || { echo "not kept:$$failed"; exit 1; }

results: $(STAMP)  ## docs/results.md and its pages from a full run; DATA=folder with the papers' tables
	$(BIN)/veil reproduce all $(if $(DATA),--data $(DATA)) -o build/results --page docs/results.md

clean:           ## remove the environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
