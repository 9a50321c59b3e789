# `make run` starts the product, `make test` runs every check. Both install what they need into this folder.
# `make` alone lists the tasks.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DEFAULT_GOAL := help
# The tests start hundreds of processes: without compiled modules each of them compiles everything anew.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
CHROMIUM ?= $(shell command -v chromium || command -v chromium-browser || command -v google-chrome)
PYTEST := $(BIN)/python -m pytest -q

.PHONY: help
help: ## list the tasks
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

# Setting up. A stamp file stands for "installed as the lock says".

$(VENV)/.python: backend/requirements-build.lock
	@command -v $(PYTHON) >/dev/null || { echo "Flyback needs Python 3.11 or newer as '$(PYTHON)'. Install it, or say: make PYTHON=/path/to/python3 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Flyback needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version)."; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { echo "Python's venv module is missing: install it (Debian: apt-get install python3-venv)."; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	touch $@

$(VENV)/.product: $(VENV)/.python backend/requirements.lock pyproject.toml
	$(UV) pip install --quiet --python $(BIN)/python --require-hashes -r backend/requirements.lock
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	touch $@

$(VENV)/.checks: $(VENV)/.product backend/requirements-dev.lock
	$(UV) pip install --quiet --python $(BIN)/python --require-hashes -r backend/requirements-dev.lock
	touch $@

web/node_modules/.ready: web/package-lock.json
	@command -v npm >/dev/null || { echo "The page is built with Node 20 or newer; 'npm' was not found. Install Node.js, then run this again."; exit 1; }
	cd web && npm ci --no-audit --no-fund --loglevel=error
	touch node_modules/.ready

web/dist/index.html: web/node_modules/.ready $(shell find web/src web/index.html web/public web/vite.config.ts -type f 2>/dev/null)
	cd web && npm run --silent build
	touch dist/index.html

.PHONY: setup
setup: $(VENV)/.checks web/dist/index.html ## install everything; afterwards .venv/bin/flyback is there

.PHONY: run
run: $(VENV)/.product web/dist/index.html ## start Flyback: page, API, worker; the sign-in link is printed
	$(BIN)/flyback serve --fetch-model $(ARGS)

# Checking. `make test` is what guards main; each part can be run alone.

.PHONY: test
test: lint types layers web unit browser audit ## every check

.PHONY: lint
lint: $(VENV)/.checks ## style of the Python code
	$(BIN)/ruff format --check backend bench evaluation
	$(BIN)/ruff check backend bench evaluation

.PHONY: types
types: $(VENV)/.checks ## strict types of the Python code
	$(BIN)/pyright

.PHONY: layers
layers: $(VENV)/.checks ## which part may know which
	$(BIN)/lint-imports

.PHONY: unit
unit: $(VENV)/.checks ## unit, property, API, durability and acceptance tests, SQLite and PostgreSQL
	$(PYTEST) $(ARGS)

.PHONY: faults
faults: $(VENV)/.checks ## the long search for faults: any order of events, 500 runs under kills, every failpoint
	$(PYTEST) --long backend/tests/acceptance/durability $(ARGS)

.PHONY: fuzz
fuzz: $(VENV)/.checks ## the long search for what breaks a reader: templates, graphs, files, skills, answers, positions
	$(PYTEST) --long backend/tests/fuzz backend/tests/providers/test_skill_corpus.py $(ARGS)

.PHONY: web
web: web/node_modules/.ready web/dist/index.html ## lint, types, tests and size of the page
	cd web
	npm run --silent lint
	npm run --silent typecheck
	npm run --silent test
	npm run --silent size

.PHONY: chromium
chromium:
	@if [ -z "$(CHROMIUM)" ]; then
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	    apt-get update -qq && apt-get install -y -qq chromium fonts-noto-cjk >/dev/null
	  else
	    echo "The browser checks need Chromium. Install it (Debian: apt-get install chromium), then run this again."; exit 1
	  fi
	fi

.PHONY: browser
browser: $(VENV)/.checks web/dist/index.html chromium ## journeys in a real browser against the real server
	cd web && npm run --silent e2e

.PHONY: screenshots
screenshots: $(VENV)/.checks web/dist/index.html chromium ## picture every page in both languages and themes, into web/screenshots
	cd web && npm run --silent screenshots

.PHONY: format
format: $(VENV)/.checks ## put the Python code into shape
	$(BIN)/ruff format backend bench evaluation
	$(BIN)/ruff check --fix backend bench evaluation

.PHONY: lock
lock: $(VENV)/.python ## resolve the dependencies again and write the locks
	for name in requirements-build requirements requirements-dev; do
	  $(UV) pip compile --quiet --generate-hashes --no-header --no-annotate --python-version 3.11 -c <(cat backend/requirements.lock) backend/$$name.in -o backend/$$name.lock >/dev/null
	done

.PHONY: sbom
sbom: $(VENV)/.checks ## write down what the locks install, as CycloneDX documents in dist/sbom
	$(BIN)/python backend/supply.py sbom

.PHONY: audit
audit: $(VENV)/.checks ## ask whether anything that the locks install has a known weakness; needs the network
	$(BIN)/python backend/supply.py audit

.PHONY: reference
reference: $(VENV)/.checks ## write the generated pages of docs/reference and the page's API types
	$(BIN)/python -m flyback.main.reference docs/reference
	cd web && npm run --silent api:types

.PHONY: hermes
hermes: $(VENV)/.checks ## the tests of the hermes runtime against a real Hermes Agent, in an environment of its own
	test -x .hermes/bin/python || $(UV) venv --quiet --python $(BIN)/python .hermes
	$(UV) pip install --quiet --python .hermes/bin/python 'hermes-agent==0.19.0'
	FLYBACK_TEST_HERMES=$(CURDIR)/.hermes/bin/python $(PYTEST) backend/tests/acceptance/test_hermes.py $(ARGS)

.PHONY: planner-eval
planner-eval: $(VENV)/.checks ## how often the embedded model decides well, as evaluation/report.md
	$(BIN)/python -m evaluation $(ARGS)

.PHONY: bench
bench: $(VENV)/.checks ## Flyback beside LangGraph and pydantic-graph, in one job
	$(BIN)/python -m bench $(ARGS)

.PHONY: wheel
wheel: $(VENV)/.checks web/dist/index.html ## pack the product, page included, into dist/
	$(BIN)/python -m build --wheel --no-isolation --outdir dist .

.PHONY: clean
clean: ## remove what was built and installed here
	rm -rf $(VENV) .hermes web/node_modules web/dist bench/.venvs
