# Everything that can be made. Each target works alone in a fresh clone; `make help` lists them.

PYTHON ?= python3.11
VENV ?= .venv
BIN := $(VENV)/bin
PORT ?= 8000
FUZZ_SECONDS ?= 600
FUZZ_SEED ?= 1
SEED ?= $(shell date +%Y%m%d)
PAIRS ?= 5000
MINUTES ?= 30

.DEFAULT_GOAL := help
.PHONY: help demo quick quick-record test nightly fuzz lint check format golden editor docs bench playground playground-build playground-test build clean

help:  ## list what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-docs: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	@touch $@ $(VENV)/.installed

demo: $(VENV)/.installed  ## verify the example examples/netbill.cpl
	$(BIN)/cplc verify examples/netbill.cpl

quick: $(VENV)/.installed-dev  ## run a sample of all short tests, in less than 60 s of processor time
	CPLC_TEST_PROFILE=quick $(BIN)/python -m pytest -q

quick-record: $(VENV)/.installed-dev  ## measure that sample again, and list the tests that are too long for it
	CPLC_TEST_PROFILE=quick $(BIN)/python -m pytest -q --record-long-tests

test: $(VENV)/.installed-dev  ## run the whole test suite, on all cores
	$(BIN)/python -m pytest --numprocesses auto

nightly: $(VENV)/.installed-dev  ## for hours: 20 times as many random examples, fuzzing, comparisons with definitions and other tools
	CPLC_TEST_PROFILE=quick $(BIN)/python -m pytest -q
	CPLC_TEST_PROFILE=thorough $(BIN)/python -m pytest --numprocesses auto
	$(BIN)/python -m tests.fuzz --seconds $(FUZZ_SECONDS) --seed $(SEED)
	$(BIN)/python -m tests.agreement --pairs $(PAIRS) --seed $(SEED)
	$(BIN)/python -m tests.agreement --pairs $(PAIRS) --seed $(SEED) --only protocols --commitments
	$(BIN)/python -m tests.agreement --pairs $(PAIRS) --seed $(SEED) --only games
	$(BIN)/python -m tests.reference_tools.agreement --minutes $(MINUTES) --seed $(SEED)
	$(BIN)/python -m tests.same_answers $(BIN)/cplc $(BIN)/cplc --hash-seeds 1 2 --only check verify system
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	$(BIN)/python -m benchmarks --limit 2

fuzz: $(VENV)/.installed-dev  ## mutate what users write, for FUZZ_SECONDS of processor time from FUZZ_SEED on
	$(BIN)/python -m tests.fuzz --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED)

lint: $(VENV)/.installed-dev  ## form and types, of the code and of the protocols
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/cplc fmt --check examples stdlib src benchmarks $$(find tests -name '*.cpl')

check: lint test  ## everything that must be true before a change is merged

format: $(VENV)/.installed-dev  ## format the code and repair what can be repaired
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

golden: $(VENV)/.installed-dev  ## rewrite the expected outputs; read the difference before you commit it
	$(BIN)/python -m pytest --update-golden -q

editor: $(VENV)/.installed-dev  ## drive the real VS Code with the extension; what was seen is left in build/pictures
	cd vscode-extension && npm ci && npm test && npm run package
	sh vscode-extension/tests/editor/setup.sh build/editor
	CPLC_EDITOR=build/editor $(BIN)/python -m pytest -m editor tests/editor

docs: $(VENV)/.installed-docs  ## build the manual into build/manual; open index.html there
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "build/manual/index.html is the first page"

bench: $(VENV)/.installed-dev  ## measure us, Storm, and the tools that CPLC_MCMAS, CPLC_NUSMV and CPLC_NUSMV_ARCTL name
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	-$(BIN)/python -m pip install --quiet --only-binary stormpy --editable '.[storm]'
	$(BIN)/python -m benchmarks --output docs/benchmarks

playground-build: $(VENV)/.installed  ## build the playground into build/playground
	$(BIN)/python playground/build.py build/playground

playground: playground-build  ## serve the playground on this machine
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory build/playground $(PORT)

playground-test: $(VENV)/.installed-dev playground-build  ## use the playground in a headless Chromium
	cd playground && npm run --silent types && npm test --silent
	CPLC_PLAYGROUND=build/playground $(BIN)/python -m pytest -m playground tests/playground
	CPLC_PLAYGROUND=build/playground $(BIN)/python -m pytest tests/pictures

build: $(VENV)/.installed-dev  ## build the source distribution and the wheel
	$(BIN)/python -m build

clean:  ## remove everything that was made
	rm -rf $(VENV) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
