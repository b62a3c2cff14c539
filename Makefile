# Every command a person types. `make` alone lists them.
#
# Builds and the Python environment live outside the checkout and are shared by all of them; both places can be moved:
#   CARGO_TARGET_DIR (default ~/.cache/ebb/target)    EBB_VENV (default ~/.cache/ebb/venv)
# To add a command: a target with a `## text` behind it, in the section where a reader looks for it.

CARGO_TARGET_DIR ?= $(HOME)/.cache/ebb/target
EBB_VENV ?= $(HOME)/.cache/ebb/venv
export CARGO_TARGET_DIR EBB_VENV

PYTHON := $(EBB_VENV)/bin/python -B
PYTEST := $(PYTHON) -m pytest -p no:cacheprovider
REQUIREMENTS := tests/bed/requirements.txt

SCENARIO ?=
SUITE ?=
ROUNDS ?= 2
SEED ?=
ONLY ?=
APP ?= ebb
BUCKET ?=
REGION ?=
PARAMS ?=

.DEFAULT_GOAL := help
.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^##@/ { printf "\n%s\n", substr($$0, 5) } /^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo

##@ Try and test

.PHONY: setup
setup: ## check the toolchains, make the Python environment (done by the others when it is needed)
	@.ci/setup $(REQUIREMENTS)

.PHONY: demo
demo: setup binaries ## tear a stack down on an emulated AWS and watch it; SCENARIO=stuck|held|expired|stop
	@$(PYTHON) tests/demo $(SCENARIO)

.PHONY: test
test: setup binaries ## everything a change must pass: cargo test, the test bed's own tests, end to end
	cargo test --workspace --quiet
	$(PYTEST) -q tests/bed/tests tests/e2e

.PHONY: e2e
e2e: setup binaries ## end-to-end tests only; SUITE=stop runs tests/e2e/test_stop.py
	$(PYTEST) -v $(if $(SUITE),tests/e2e/test_$(SUITE).py,tests/e2e)

.PHONY: types
types: setup ## every resource type: how it goes away, why, and what proves it; writes docs/supported-types.md
	@$(PYTHON) tests/coverage

.PHONY: chaos
chaos: setup binaries ## teardowns with faults: throttling, kills, stops, a starved keeper, lost replies; ROUNDS=2 SEED=<a seed to replay>
	@$(PYTHON) tests/chaos --rounds $(ROUNDS) $(if $(SEED),--seed $(SEED)) $(SCENARIO)

SEEDS ?= 20000
.PHONY: soak
soak: ## many lives of the whole system in a modelled world that fails in every way: SEEDS=20000
	@cargo run --quiet --package ebb-tests --bin soak -- --seeds $(SEEDS)

.PHONY: model
model: ## the lock, model-checked: every order of two runs, keeper, cdkd and operator
	@cargo run --quiet --package ebb-tests --bin model

PROFILE ?= dev
BUILT = $(CARGO_TARGET_DIR)/$(if $(filter dev,$(PROFILE)),debug,$(PROFILE))
.PHONY: bench
bench: setup ## makespan, planner time, S3 requests, start of the functions, overhead on the emulator: tables, and bench/*.json beside the builds; PROFILE=release
	@cargo build --quiet --profile $(PROFILE) $(addprefix --bin ,planner worker lock-keeper finalizer bench bare)
	@"$(BUILT)/bench"
	@$(PYTHON) tests/start "$(BUILT)"
	@$(PYTHON) tests/overhead "$(BUILT)"

.PHONY: mutants
mutants: setup ## rules of a teardown broken on purpose, one by one: a test must notice each; ONLY=<names from tests/mutants/mutants.toml>
	@$(PYTHON) tests/mutants $(ONLY)

.PHONY: lint
lint: setup ## formatting, clippy, state machines, templates, policies, events
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	$(PYTHON) infra/inline_policies.py --check
	$(PYTHON) infra/check.py

.PHONY: binaries
binaries: # what demo and tests run, in the profile that the unit tests share
	@cargo build --quiet --workspace --bins

.PHONY: clean
clean: ## remove what the commands have made: build results and the Python environment
	rm -rf "$(CARGO_TARGET_DIR)" "$(EBB_VENV)"

##@ Build and deploy

.PHONY: build
build: ## zips to deploy, for arm64 when cargo-lambda and zig are there, else for this machine
	@infra/build

.PHONY: deploy
deploy: build ## create or update the app: BUCKET=<bucket for the code> [APP=ebb] [PARAMS="StateBucket=… AllowStacks=Dev*"]
	@APP="$(APP)" infra/deploy "$(BUCKET)" $(PARAMS)

.PHONY: undeploy
undeploy: ## remove the app, unless a teardown or its keeper is running: [APP=ebb]
	@infra/undeploy "$(APP)"

.PHONY: policies
policies: ## the delete policies of worker and target role, from the actions that the resource types declare
	@cargo run --quiet --package ebb-providers --bin delete-policies -- infra/policies
	$(PYTHON) infra/inline_policies.py

.PHONY: selftest
selftest: ## whether a bucket does what the lock needs (writes and removes objects under ebb/selftest/): BUCKET=… [REGION=…]
	@test -n "$(BUCKET)" || { echo "make selftest BUCKET=<state bucket>" >&2; exit 2; }
	@cargo run --quiet --package ebb-store --bin selftest -- "$(BUCKET)" $(REGION)
