# The only entry point. Everything is set up inside the checkout, by the first target that needs it.

SHELL := /bin/sh
.SHELLFLAGS := -ec
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# Caches stay in the checkout too. A cargo configuration of the user (a mirror, a proxy) still counts:
# tools/setup links to it. Rust comes from the user; nothing here installs a toolchain behind their back.
ifndef USER_CARGO_HOME # as the outermost make found it
export USER_CARGO_HOME := $(if $(CARGO_HOME),$(CARGO_HOME),$(HOME)/.cargo)
endif
export CARGO_HOME := $(CURDIR)/.cache/cargo
export CARGO_TARGET_DIR := $(CURDIR)/target
export PIP_CACHE_DIR := $(CURDIR)/.cache/pip
export UV_CACHE_DIR := $(CURDIR)/.cache/uv
export XDG_CACHE_HOME := $(CURDIR)/.cache/xdg
export RUSTUP_AUTO_INSTALL := 0
# Where rustup puts cargo before a new shell knows of it.
export PATH := $(PATH):$(HOME)/.cargo/bin
unexport CARGO_BUILD_TARGET

comma := ,
# The packages wait for the network while the engine is built: both at once.
missing = missing=$$(tools/setup missing $(1)); [ -z "$$missing" ] || echo "netstudy: setting up in $(CURDIR)"
set_up = @$(call missing,$(1)); [ -z "$$missing" ] || $(MAKE) -j2 $$missing
say = @printf '  %s\n' "$(1)"

.PHONY: engine run-packages dev-packages programs lint-rust lint-python
.PHONY: help build run study test quick check check-slow release engine-static wheel accuracy calibration conformance
.PHONY: bench bench-peers bench-iperf3 bench-ftp bench-http bench-brokerage docs lock clean lint

help: ## print this list
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' Makefile | expand -t 15

build: ## set everything up; leaves .venv/bin/netstudy and .venv/bin/netstudy-engine
	$(call set_up,run)

engine:
	@tools/setup engine

run-packages dev-packages: %-packages:
	@tools/setup packages $*

run: build ## set up and answer the question of studies/incast, by its short form in the simulator
	@.venv/bin/netstudy run studies/incast --quick $(ARGS)
	@echo "the whole study: make study"

study: build ## the whole incast study in the simulator (ARGS="--only servers=1..6" and the like)
	@.venv/bin/netstudy run studies/incast $(ARGS)

lint: lint-rust lint-python # everything of `check` but the docs' examples, which `test` runs with the other tests

lint-rust:
	$(call say,cargo fmt)
	@cargo fmt --all --check
	$(call say,cargo clippy)
	@tools/clippy

lint-python: dev-packages
	$(call say,ruff check)
	@.venv/bin/ruff check --quiet .
	$(call say,ruff format)
	@.venv/bin/ruff format --quiet --check .
	$(call say,mypy --strict)
	@.venv/bin/mypy --no-error-summary
	$(call say,lint-imports)
	@.venv/bin/lint-imports --no-logo >.cache/lint-imports.log 2>&1 || { cat .cache/lint-imports.log; exit 1; }
	$(call say,one file a kind)
	@.venv/bin/python -m tools.one_file_a_kind
	$(call say,words)
	@.venv/bin/python -m tools.words --at-most 147

check: ## linters, types, layers, generated pages, the docs' examples
	$(call set_up,dev)
	@$(MAKE) lint
	$(call say,pages: examples$(comma) links$(comma) generated parts)
	@.venv/bin/python -m pytest -q --basetemp=.cache/pytest -m "not slow" tests/docs

test: ## set up, install what tests need, check, run every test
	@$(call missing,dev); $(MAKE) -j3 $$missing programs
	@$(MAKE) lint
	@tools/tests

programs:
	@tools/programs

quick: dev-packages ## linters and types of Python, all tests that need no engine; clippy if Rust changed
	@[ -z "$$(git status --porcelain -- crates Cargo.toml Cargo.lock)" ] || $(MAKE) lint-rust
	@$(MAKE) lint-python
	@tools/tests --quick

changed: ## the tests that changes since the last commit can break (SINCE=REVISION: since another one)
	$(call set_up,dev)
	@tools/tests --changed $(SINCE)

check-slow: ## the tests that take minutes: set-up in a fresh clone, the incast study in full, namespaces as the other user
	$(call set_up,dev)
	@tools/programs slow
	@.venv/bin/python -m pytest -q --basetemp=.cache/pytest -m slow

release: build ## the engine at its fastest, for this machine: dist/netstudy-engine (minutes)
	@tools/release

engine-static: build ## engines for any Linux on x86_64 and aarch64: dist/netstudy-engine-ARCH (minutes)
	@tools/setup portable
	@tools/release portable

wheel: engine-static ## wheels that install without Rust: dist/netstudy-*.whl
	@for arch in x86_64 aarch64; do \
		NETSTUDY_WHEEL_ARCH=$$arch .venv/bin/python -m hatchling build --target wheel --directory dist; \
	done

accuracy: build ## the incast study in full: its README and studies/incast/accuracy.md
	@.venv/bin/netstudy run studies/incast $(ARGS)
	@.venv/bin/python -m netstudy.report.readme studies/incast results/incast/latest
	@.venv/bin/python -m tools.accuracy results/incast/latest
	@.venv/bin/python -m tools.cross_validation
	@.venv/bin/python -m tools.ablation

calibration: build ## how close calibrated models come to published tables: studies/*/calibration.md
	@.venv/bin/python -m tools.calibration

conformance: build ## the simulator beside this kernel's TCP in namespaces: studies/conformance/results.md
	@.venv/bin/python -m tools.conformance --run
	@.venv/bin/python -m tools.host_effects

bench%: export NETSTUDY_ENGINE := $(CURDIR)/dist/netstudy-engine

bench: release ## how fast the engine simulates and reads counters, beside earlier commits
	@.venv/bin/python -m tools.bench

bench-peers: release ## speed and agreement beside ns-2 and ns-3, from Debian's packages
	@tools/peers
	@.venv/bin/python -m tools.bench.peers
	@.venv/bin/python -m tools.bench.queues

bench-iperf3: release ## speed and processor time of real traffic beside iperf3
	@.venv/bin/python -m tools.bench.iperf3 $(ARGS)

bench-ftp: release ## speed and processor time of files by FTP beside vsftpd and curl
	@.venv/bin/python -m tools.bench.ftp $(ARGS)

bench-http: release ## requests in a CPU second of the generator of transactions beside wrk
	@.venv/bin/python -m tools.bench.http $(ARGS)

bench-brokerage: release ## requests and processor time of the brokerage beside nginx, asked by wrk
	@.venv/bin/python -m tools.bench.brokerage $(ARGS)

docs: ## write the generated pages of docs/reference and the schemas again
	$(call set_up,dev)
	@.venv/bin/python -m tools.generate

lock: ## resolve the dependencies anew into Cargo.lock and the requirements files
	$(call set_up,dev)
	@tools/lock

clean: ## remove what was built and downloaded; results/ stays
	rm -rf .venv .cache target dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
