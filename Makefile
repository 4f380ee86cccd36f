# Every command of the project. `make demo` and `make test` need nothing but Python 3.11 (or newer) and a network.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help demo test check bench format clean

help: ## list every command
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1|\2/' | column -t -s '|'

$(VENV)/run: requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "topiccrawl needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet -r requirements.txt
	@touch $@

$(VENV)/dev: requirements-dev.txt $(VENV)/run
	$(BIN)/pip install --quiet -r requirements-dev.txt
	@touch $@

demo: $(VENV)/run ## crawl the small demo web in this repository and show what came of it
	@rm -rf demo/crawl
	@$(BIN)/python demo/serve.py --port 8480 --run \
	    $(BIN)/scrapy crawl topic -a seeds=demo/seeds/init_url.txt -s CRAWL_DIR=demo/crawl -s DOWNLOAD_DELAY=0.1
	@$(BIN)/scrapy queues demo/crawl

test: $(VENV)/dev ## run all tests
	$(BIN)/python -m pytest

check: $(VENV)/dev ## format, lint, types, floors
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/dev ## measure speed, scale and memory (a few minutes); ARGS=--write puts the table into the docs
	$(BIN)/python -m tests.bench $(ARGS)

format: $(VENV)/dev ## put the code into the project's format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean: ## remove what was built, the demo's crawl included
	rm -rf $(VENV) build dist *.egg-info demo/crawl .pytest_cache .mypy_cache .ruff_cache .hypothesis
