# Two commands do everything on a machine with Python 3.11+, make and git:
#   make demo   make .venv, install perflog, run the main job on fixtures/
#   make test   install what testing needs; lint, types, all tests but the long ones
# And, with the four frameworks installed from PyPI into runners/.environments (5 GB):
#   make campaign         train a small CNN with each, 80 runs, and report (campaign-short: 24 runs)
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The tests start hundreds of processes: where Python may not keep what it has compiled, each compiles it all anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-long lint types pytest coverage faults fuzz pythons dependencies sanitize wheels docs bench fixtures upstream campaign campaign-short clean

#: How many mutated logs `make fuzz` makes, from which seed; how long `make sanitize` runs.
COUNT ?= 20000
SEED ?= 0
SECONDS ?= 1800

$(BIN)/perflog: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "perflog needs Python 3.11 or newer: make PYTHON=python3.12 …")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[all]'
	touch $@

$(VENV)/.dev: $(BIN)/perflog pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

demo: $(BIN)/perflog
	$(BIN)/perflog --version
	$(BIN)/perflog extract fixtures/seed004/logs_fp32/mindspore/resnet50/bz128 --warmup 100 --steps 100 --quiet

# The types are checked beside the tests, which wait now and then for what they have started.
test: lint
	$(MAKE) --jobs=2 types pytest

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/perflog parsers check

types: $(VENV)/.dev
	$(BIN)/mypy

pytest: $(VENV)/.dev
	$(BIN)/perflog --version
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not long"

# What takes long: installed wheels, campaigns, hosts, many kills, hostile names through every command, large inputs. A
# small part of each is in `make test`.
test-long: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 --dist worksteal -m long

coverage: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 --dist worksteal --cov=perflog --cov-branch --cov-report=term:skip-covered

# Each command's n-th open, read, write, fsync, rename, mmap, fork and allocation fails, for all n that it makes; then
# damaged databases. STRUCK: so many calls of a kind are struck at most, spread over all, and so many of memory.
STRUCK ?= --most 1000 --mallocs 60
faults: $(VENV)/.dev
	$(BIN)/python -m tests.faults.nth $(STRUCK)
	$(BIN)/python -m tests.faults.damaged --files 200

# What `make test` tries a part of, all of it: every prefix, encoding and block size with every format's logs, more kills
# of those who save, 40 times as many examples of each property, 10,000 bad logs whose truth is known; damage of every
# line alike in every log; then mutated logs through both engines.
fuzz: $(VENV)/.dev
	PERFLOG_CAMPAIGN=1 PERFLOG_BAD_LOGS=1250 $(BIN)/python -m pytest -n 2 --dist worksteal -q tests/pipeline/test_bad_logs.py \
		tests/logs tests/matching tests/measurements tests/stats tests/history/test_writers.py tests/show/test_regions.py \
		tests/evidence/test_stamps.py tests/formats/test_path_grammar.py tests/formats/test_soundness.py
	$(BIN)/python -m tests.tools.systematic
	$(BIN)/python -m tests.tools.fuzz --count $(COUNT) --seed $(SEED)

# A part of the tests that touches every package, on each Python that perflog runs on; one that is neither here nor can be
# downloaded is skipped and said. PYTHONS="3.14" tests on that one alone, PYTHONS="--all 3.14" all of `make test`'s there.
pythons: $(VENV)/.dev
	$(BIN)/python -m tests.tools.pythons $(PYTHONS)

# All packages that perflog stands on: their ages, and whether vulnerabilities of them are known.
dependencies: $(VENV)/.dev
	$(BIN)/python -m tests.tools.dependencies

# The scanner under AddressSanitizer and UndefinedBehaviorSanitizer: with clang by a coverage-guided fuzzer, else by seed.
sanitize: $(VENV)/.dev
	$(BIN)/python -m tests.tools.sanitize --seconds $(SECONDS)

# The site of the documentation, into build/site; a link that leads nowhere is an error.
docs: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

# What a release consists of, into dist: the sdist, wheels with the compiled scanner for both kinds of Linux machines,
# cross-compiled by zig, and one without; held against what an index and a user ask of them.
wheels: $(VENV)/.dev
	rm -rf dist
	$(BIN)/python -m tests.tools.release build dist
	$(BIN)/python -m tests.tools.release check dist

bench: $(VENV)/.dev
	$(BIN)/python -m tests.tools.bench

fixtures: $(BIN)/perflog
	$(BIN)/python -m fixtures.generate
	$(BIN)/python -m fixtures.generate_parsers

# Real programs trained anew, and what perflog reads of them judged by a clock of our own (tests/found/upstream.md): 12 GB from
# PyPI and about two hours. PROGRAMS="hf_trainer keras_jax" runs these alone.
upstream: $(VENV)/.dev
	$(BIN)/python -m tests.upstream.run $(PROGRAMS)
	$(BIN)/python -m tests.upstream.table
	$(BIN)/python -m pytest -q tests/upstream

campaign campaign-short: $(VENV)/.dev
	$(BIN)/perflog run --quiet $(addprefix --make-environment ,pytorch paddle mxnet mindspore)
	$(BIN)/perflog run runners/$@.toml
	rm -f build/$@/README.md
	$(BIN)/perflog report build/$@/logs -o build/$@/README.md
	$(BIN)/perflog report build/$@/logs -o build/$@/report.html
	$(BIN)/python -m tests.tools.agreement build/$@/logs

clean:
	rm -rf $(VENV) build dist result .mypy_cache .ruff_cache .pytest_cache
