# Everything a developer or CI does; `make help` lists it.
PYTHON ?= python3
BIN := .venv/bin
.DEFAULT_GOAL := help
.PHONY: help setup run test soak calibrate evidence bench check format i18n lock clean

help:  ## show this list
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: .venv/.ready  ## build .venv from the pinned requirements

.venv/.ready: requirements.txt requirements-dev.txt pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

run: setup  ## serve on 127.0.0.1:8000 (PORT=... HOST=... to change)
	$(BIN)/sizing serve

test: setup  ## run every test; starts the servers it needs
	$(BIN)/python -m pytest -n auto

soak: setup  ## the long runs that `make test` samples; half an hour (SOAK_SECONDS=300 of load)
	$(BIN)/python -m pytest -m soak

calibrate: setup  ## fit the speed model to config/measurements/; rewrites config/speed.yaml
	$(BIN)/python -m service.calibration

bench: setup  ## what answers cost, against a bare WSGI floor of the same run; rewrites docs/performance.md
	$(BIN)/python -m benchmarks

evidence: setup  ## compare with what engines printed in public logs; rewrites docs/accuracy.md
	$(BIN)/python -m tests.evidence.report
	$(BIN)/python -m service.calibration --check

check: setup  ## format, lint, types, imports, catalogs, translations, OpenAPI
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m service.catalog.check
	$(BIN)/python -m service.i18n.catalogs check
	$(BIN)/sizing openapi | $(BIN)/openapi-spec-validator -

format: setup  ## format and fix what can be fixed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

i18n: setup  ## regenerate messages.pot and update the catalogs
	$(BIN)/python -m service.i18n.catalogs update

lock: setup  ## compile the pinned requirements from pyproject.toml
	$(BIN)/uv pip compile --quiet --generate-hashes --no-emit-index-url --no-annotate --no-header --python-version 3.11 --universal pyproject.toml -o requirements.txt
	$(BIN)/uv pip compile --quiet --generate-hashes --no-emit-index-url --no-annotate --no-header --python-version 3.11 --universal --extra dev -c requirements.txt pyproject.toml -o requirements-dev.txt

clean:  ## remove what was built
	rm -rf .venv build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
