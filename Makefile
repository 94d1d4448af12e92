SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# The stages share one target directory and both cores; side by side they would only wait for cargo's lock.
.NOTPARALLEL:

DENY := .tools/bin/cargo-deny --locked
NEXTEST_PROFILE := $(if $(CI),ci,default)

.PHONY: help run test check fmt clippy deny arrows build advisories bench setup clean-tools

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## run the gateway: cargo run --release -- serve
	cargo run --release -- serve

test: setup check build ## everything that gates a change: setup, check, build, all tests
	cargo nextest run --locked --workspace --profile $(NEXTEST_PROFILE)

check: fmt arrows deny clippy ## the quick part: formatting, arrows, dependencies, lints

fmt: ## is everything formatted?
	cargo fmt --all --check

clippy: ## lints of all targets, warnings denied
	cargo clippy --locked --workspace --all-targets -- -D warnings

deny: ## bans, licences and sources of the dependencies
	@tools/setup deny
	$(DENY) check --hide-inclusion-graph bans licenses sources

arrows: ## do the crates depend on each other in the right direction?
	tools/arrows

# The tests start the binary. Selecting exactly what nextest selects gives the same features, so nothing is built twice.
build: ## the binaries and the tests
	cargo build --locked --workspace --bins --tests

advisories: ## known vulnerabilities of the dependencies (fetches the advisory database; not in the gate)
	@tools/setup deny
	$(DENY) check advisories

# Both are selected, so that the gateway which is measured is the one of this checkout.
bench: ## the figures to stand by, printed: make bench ARGS=--quick (not in the gate)
	cargo build --locked --release -p postrider -p postrider-tests --bins
	$${CARGO_TARGET_DIR:-target}/release/bench $(ARGS)

setup: ## install what the tests need into .tools/
	@tools/setup

clean-tools: ## remove .tools/
	rm -rf .tools
