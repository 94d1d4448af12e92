SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# The stages share one target directory and both cores; side by side they would only wait for cargo's lock.
.NOTPARALLEL:

DENY := .tools/bin/cargo-deny --locked
LOCAL := $(addprefix postrider-,receiver api poller dispatcher)
TARGET := $(or $(CARGO_TARGET_DIR),target)
# Clippy's driver is the compiler with more lints, so what it builds can be run. What a change is made of is linted as it is
# built for the tests, and the crates it depends on are built once instead of once more for the lints.
LINTED = RUSTC_WORKSPACE_WRAPPER=$$(rustc --print sysroot)/bin/clippy-driver \
	CLIPPY_ARGS=-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__
NEXTEST_PROFILE := $(if $(CI),ci,default)

.PHONY: help run test check quick fmt clippy deny arrows template build local stack advisories fuzz bench bench-aws costs screenshots simulate words setup clean-tools

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## run the gateway: cargo run --release -- serve
	cargo run --release -- serve

# Three tests for two cores: many wait for servers most of their time.
test: setup quick build ## everything that gates a change: setup, check, build, all tests
	$(LINTED) cargo nextest run --locked --workspace --profile $(NEXTEST_PROFILE) --test-threads $$(( $$(nproc) * 3 / 2 ))

check: quick clippy ## all that needs no test: formatting, arrows, dependencies, the template, lints

quick: fmt arrows deny template

fmt: ## is everything formatted?
	cargo fmt --all --check

clippy: ## lints of all targets, warnings denied
	cargo clippy --locked --workspace --all-targets -- -D warnings

deny: ## bans, licences and sources of the dependencies
	@tools/setup deny
	$(DENY) check --hide-inclusion-graph bans licenses sources

arrows: ## do the crates depend on each other in the right direction?
	tools/arrows

# cfn-lint reads the parts that the template includes, too; sam looks at what it would make of the whole.
template: ## is the AWS template sound? (cfn-lint, sam validate)
	@tools/setup aws
	.tools/aws/bin/cfn-lint template.yaml infra/alarms.yaml infra/dashboard.yaml
	SAM_CLI_TELEMETRY=0 .tools/aws/bin/sam validate --lint --region us-east-1

# The tests start the binary. Selecting exactly what nextest selects gives the same features, so nothing is built twice.
build: local ## the binaries and the tests, with lints
	$(LINTED) cargo build --locked --workspace --all-targets

# They have the names of the deployed ones, so they are put aside before those are built. With the one example, although
# nobody runs it: a selection without anything for developers has other features, and the SDK would be built twice.
local: ## the functions with the feature `local`, for `postrider dev`, in target/debug/local
	$(LINTED) cargo build --locked --workspace --bins --examples --features '$(LOCAL:%=%/local)'
	mkdir -p $(TARGET)/debug/local
	install -m 755 $(LOCAL:%=$(TARGET)/debug/%) $(TARGET)/debug/local

stack: ## only the tests of the AWS stack: the template, and all of it deployed on the local emulator
	@tools/setup aws
	@tools/setup browser
	$(LINTED) cargo build --locked --workspace --all-targets
	$(LINTED) cargo nextest run --locked --workspace -E 'test(/^aws::/)'

advisories: ## known vulnerabilities of the dependencies (fetches the advisory database; not in the gate)
	@tools/setup deny
	$(DENY) check advisories

fuzz: ## hostile input for all that reads what anybody may send: make fuzz ARGS="--seconds 600 requests" (not in the gate)
	@tools/setup fuzz
	tools/fuzz $(ARGS)

# Both are selected, so that the gateway which is measured is the one of this checkout.
bench: ## the figures to stand by, printed: make bench ARGS=--quick (not in the gate)
	cargo build --locked --release -p postrider -p postrider-tests --bins
	$${CARGO_TARGET_DIR:-target}/release/bench $(ARGS)

bench-aws: ## the functions as deployed: size of each zip, cold start beside an empty function's (not in the gate)
	@tools/setup aws
	@tools/setup lambda
	tools/bench-aws $(ARGS)

costs: ## what a million deliveries cost on AWS, from units counted on DynamoDB Local (not in the gate)
	@tools/setup aws
	cargo run --locked --quiet -p postrider-adapter-aws --example costs

screenshots: ## pictures of the Inspector into docs/images (not in the gate)
	@tools/setup browser
	$(LINTED) cargo build --locked --workspace --all-targets
	node tests/inspector/screenshots.mjs $(TARGET)/debug/postrider docs/images

simulate: ## in virtual time: a receiver back after a day, retries at once, ten million waiting rows (not in the gate)
	cargo run --locked --release -p postrider-tests --bin simulate

words: ## list phrases worth another look in docs, comments and messages (not in the gate)
	@tools/words

setup: ## install what the tests need into .tools/
	@tools/setup

clean-tools: ## remove .tools/
	rm -rf .tools
