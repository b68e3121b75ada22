# Each target sets up what it needs: a virtual environment in .venv with this package, and its tools if they are needed.
PYTHON ?= python3
VENV := .venv
INSTALLED := $(VENV)/.installed
READY := $(VENV)/.ready
LOCK := requirements-dev.lock
PYTEST := $(VENV)/bin/python -m pytest -n 2 --dist worksteal --timeout 300 --durations=20

.PHONY: help paper test test-all coverage fuzz check bench docs dist lowest lock notebooks format clean

help:
	@echo "make paper   reproduce the paper into paper-results/ (three to four minutes on two cores, seconds when run again)"
	@echo "make test    run the tests that one runs: every kind of part (six minutes on two cores, with everything to compile)"
	@echo "make test-all  run the rest: every policy, every cell of every table, faults, PostgreSQL, notebooks (fourteen minutes)"
	@echo "make coverage  run make test, and print the share of statements that it runs, file by file (ten minutes)"
	@echo "make fuzz    damage files, calls and arguments and stop commands at random times, for an hour"
	@echo "make check   check style, types and layers, and build the site"
	@echo "make bench   measure speed beside its goals (twenty minutes)"
	@echo "make docs    build the site into docs/built/ (a minute); open docs/built/index.html"
	@echo "make dist    build wheel and source archive, and try both in empty environments, with each extra (ten minutes)"
	@echo "make lowest  run telling tests with the oldest dependencies allowed (four minutes)"
	@echo "make lock    write requirements-dev.lock: the newest versions of the tools and of all that they need"
	@echo "make notebooks  run the notebooks of docs/, and keep what they print and draw"
	@echo "make format  format the sources"
	@echo "make clean   remove .venv and caches"

$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --editable ".[cli,plots]"
	@touch $@

# pip is upgraded first because dependency groups, which other targets install, need 25.1.
$(READY): pyproject.toml $(LOCK)
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	$(VENV)/bin/python -m pip install --quiet --requirement $(LOCK)
	$(VENV)/bin/python -m pip install --quiet --no-deps --editable .
	@touch $(INSTALLED) $@

paper: $(INSTALLED)
	$(VENV)/bin/bandstrap paper --out paper-results

test: $(READY)
	$(PYTEST) -m "not exhaustive"

test-all: $(READY)
	$(PYTEST) -m exhaustive

coverage: $(READY)
	$(VENV)/bin/python -m pip install --quiet --group coverage
	$(PYTEST) -m "not exhaustive" --cov bandstrap --cov-report term:skip-covered

fuzz: $(READY)
	BANDSTRAP_FUZZ=20 BANDSTRAP_STOPS=51 BANDSTRAP_BLOCKS=10000 BANDSTRAP_KILLS=200 BANDSTRAP_PAUSES=50 \
		BANDSTRAP_FAILOVERS=20 BANDSTRAP_CUTS=100 $(VENV)/bin/python -m pytest -s --timeout 7200 tests/fuzz tests/faults \
		tests/live/test_faults.py tests/live/test_pauses.py tests/live/test_failover.py tests/live/test_disks.py \
		tests/live/test_interleaving.py

check: $(READY)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(MAKE) docs

bench: $(READY)
	$(VENV)/bin/python -m pip install --quiet --group bench
	$(VENV)/bin/python -m benchmarks

# -W: whatever Sphinx warns of, such as a link that leads nowhere, stops the build.
docs: $(READY)
	$(VENV)/bin/python -m pip install --quiet --editable ".[docs]"
	$(VENV)/bin/python -m sphinx -W --keep-going -E -q -b html docs docs/built

dist: $(READY)
	$(VENV)/bin/python -m pip install --quiet --group dist
	$(VENV)/bin/python -m distribution

lowest: $(READY)
	$(VENV)/bin/python -m distribution.lowest

lock:
	rm -rf $(VENV)/lock
	$(PYTHON) -m venv $(VENV)/lock
	$(VENV)/lock/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	$(VENV)/lock/bin/python -m pip install --quiet --editable ".[all]" --group dev
	grep "^#" $(LOCK) > $(VENV)/lock/new
	$(VENV)/lock/bin/python -m pip freeze --exclude-editable >> $(VENV)/lock/new
	mv $(VENV)/lock/new $(LOCK)
	rm -rf $(VENV)/lock

notebooks: $(READY)
	$(VENV)/bin/python docs/notebooks/run.py

format: $(READY)
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

clean:
	rm -rf $(VENV) dist docs/built docs/drawn docs/jupyter_execute docs/policies
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests benchmarks distribution -name __pycache__ -type d -prune -exec rm -rf {} +
