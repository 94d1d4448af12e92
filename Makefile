SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# The stages share one target directory; in parallel they would only wait for cargo's lock.
.NOTPARALLEL:

DENY := .tools/bin/cargo-deny --locked
WORKFLOWS := .tools/workflows/bin/zizmor --offline --quiet --no-progress
LOCAL := $(addprefix postrider-,receiver api poller dispatcher)
TARGET := $(or $(CARGO_TARGET_DIR),target)
# Clippy's driver is the compiler with more lints, so its output can be run. This lints the workspace while building it for
# the tests; a separate clippy run would build the dependencies a second time.
LINTED = RUSTC_WORKSPACE_WRAPPER=$$(rustc --print sysroot)/bin/clippy-driver \
	CLIPPY_ARGS=-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__
# After the rest: an installed cargo-nextest is used before the one that `make setup` builds.
export PATH := $(PATH):$(CURDIR)/.tools/bin
NEXTEST_PROFILE := $(if $(CI),ci,default)
# Property tests draw their inputs from the commit: other inputs for each commit, the same ones wherever it is tested.
export PROPTEST_RNG_SEED := $(shell printf '%d' 0x$$(git rev-parse --short=12 HEAD 2>/dev/null || echo 0))

.PHONY: help run test check quick fmt clippy deny arrows links template workflows build local stack advisories fuzz bench bench-aws bench-dispatcher costs verify-aws screenshots picture docs schema stack-at-length crash soak mutants simulate simulate-faults dist dist-check words setup clean-tools

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## run the gateway: cargo run --release -- serve
	cargo run --release -- serve

# Three tests per two cores: many spend most of their time waiting for servers.
test: setup quick build ## the gate: setup, check, build, all tests
	@echo "property tests: PROPTEST_RNG_SEED=$$PROPTEST_RNG_SEED"
	$(LINTED) cargo nextest run --locked --workspace --profile $(NEXTEST_PROFILE) --test-threads $$(( $$(nproc) * 3 / 2 ))

check: quick clippy ## everything but the tests: formatting, crate layers, dependencies, links, template, workflows, lints

quick: fmt arrows deny links template workflows

fmt: ## check the formatting
	cargo fmt --all --check

clippy: ## lint all targets, warnings denied
	cargo clippy --locked --workspace --all-targets -- -D warnings

deny: ## check bans, licences and sources of the dependencies
	@tools/setup deny
	$(DENY) check --hide-inclusion-graph bans licenses sources

arrows: ## check that the crates depend on each other in the right direction
	tools/arrows

links: ## check the links between the documents (no network)
	python3 tools/docs/links.py

# cfn-lint also checks the nested templates; sam validates the whole after its transform.
template: ## validate the AWS template (cfn-lint, sam validate) and check the pages made from it
	@tools/setup aws
	.tools/aws/bin/python tools/aws/resources --check
	.tools/aws/bin/python tools/aws/alarms
	.tools/aws/bin/python tools/aws/verify --check
	.tools/aws/bin/cfn-lint template.yaml infra/alarms.yaml infra/dashboard.yaml infra/egress.yaml
	SAM_CLI_TELEMETRY=0 .tools/aws/bin/sam validate --lint --region us-east-1

workflows: ## lint the workflows of GitHub Actions
	@tools/setup workflows
	$(WORKFLOWS) .github/workflows

# The tests start the binary. Selecting the same targets as nextest gives the same features, so nothing is built twice.
build: local ## build the binaries and the tests, with lints
	$(LINTED) cargo build --locked --workspace --all-targets

# These binaries have the same names as the deployed ones, so they are copied away before those are built. The example is
# built, though not run, to include dev-dependencies: without them the features differ and the SDK is built twice.
local: ## build the functions with the feature `local`, for `postrider dev`, into target/debug/local
	$(LINTED) cargo build --locked --workspace --bins --examples --features '$(LOCAL:%=%/local)'
	mkdir -p $(TARGET)/debug/local
	install -m 755 $(LOCAL:%=$(TARGET)/debug/%) $(TARGET)/debug/local

stack: ## run only the AWS tests: the template, and the stack deployed on the local emulator
	@tools/setup aws
	@tools/setup browser
	$(LINTED) cargo build --locked --workspace --all-targets
	$(LINTED) cargo nextest run --locked --workspace -E 'test(/^aws::/)'

advisories: ## check the dependencies for known vulnerabilities (fetches the advisory database; not in the gate)
	@tools/setup deny
	$(DENY) check advisories

fuzz: ## fuzz everything that parses untrusted input: make fuzz ARGS="--seconds 600 requests" (not in the gate)
	@tools/setup fuzz
	tools/fuzz $(ARGS)

# Builds both packages, so the gateway under test is the one in this checkout.
bench: ## measure the numbers in docs/performance.md: make bench ARGS=--quick (not in the gate)
	cargo build --locked --release -p postrider -p postrider-tests --bins
	$${CARGO_TARGET_DIR:-target}/release/bench $(ARGS)

bench-aws: ## measure the functions as deployed: zip size, and cold start compared to an empty function (not in the gate)
	@tools/setup aws
	@tools/setup lambda
	tools/bench-aws $(ARGS)

bench-dispatcher: ## measure what a batch takes in the dispatcher, by memory size (not in the gate)
	@tools/setup aws
	cargo build --locked --release -p postrider -p postrider-tests --bins
	.tools/aws/bin/python tools/bench-dispatcher $(ARGS)

costs: ## print what the stack costs on AWS, from units counted on DynamoDB Local; ARGS=--write updates the documents (not in the gate)
	@tools/setup aws
	$(LINTED) cargo build --locked --workspace --example costs
	$(TARGET)/debug/examples/costs $(ARGS)

verify-aws: ## check a deployed stack for what emulators cannot show: make verify-aws ARGS="--stack postrider-dev" (not in the gate; asks before it spends)
	@tools/setup aws
	.tools/aws/bin/python tools/aws/verify $(ARGS)

screenshots: ## take screenshots of the Inspector for docs/images (not in the gate)
	@tools/setup browser
	$(LINTED) cargo build --locked --workspace --all-targets
	node tests/inspector/screenshots.mjs $(TARGET)/debug/postrider docs/images

picture: ## film the Inspector for the README, into docs/images/tour.gif (not in the gate)
	@tools/setup browser
	$(LINTED) cargo build --locked --workspace --all-targets
	node tests/inspector/picture.mjs $(TARGET)/debug/postrider docs/images/tour.gif

docs: ## build the documentation site into target/docs/site (not in the gate)
	@tools/setup docs
	$(LINTED) cargo build --locked --workspace --all-targets
	python3 tools/docs/build.py --gateway $(TARGET)/debug/postrider

schema: ## check the API against its OpenAPI document at length: make schema ARGS="--examples 500" (not in the gate)
	@tools/setup schema
	$(LINTED) cargo build --locked --workspace --all-targets
	$(TARGET)/debug/schema $(ARGS)

stack-at-length: ## test the stack on the local emulator at length: make stack-at-length ARGS=openapi (not in the gate)
	@tools/setup aws
	@tools/setup schema
	$(LINTED) cargo build --locked --workspace --all-targets
	$(LINTED) cargo nextest run --locked --workspace --run-ignored only --no-capture -E 'test(/^aws::at_length::/)' $(ARGS)

# Starts the release binary, with the recorder loaded into it.
crash: ## kill the gateway under load and let the power fail, many times: make crash ARGS="--kills 1000 --power-losses 200" (not in the gate)
	cargo build --locked --release -p postrider -p postrider-disk-recorder -p postrider-fault-injector -p postrider-tests --lib --bins
	$(TARGET)/release/chaos $(ARGS)

soak: ## run a gateway under load for an hour and watch what it uses: make soak ARGS="--minutes 10 --kills 3" (not in the gate)
	cargo build --locked --release -p postrider -p postrider-tests --bins
	$(TARGET)/release/soak $(ARGS)

mutants: ## change the code on purpose and see whether a test notices: make mutants ARGS="--only domain" (not in the gate)
	@tools/setup mutants
	tools/mutants $(ARGS)

simulate: ## print what flow control achieves in virtual time, against its bars: make simulate ARGS="--only flaky" (not in the gate)
	cargo run --locked --release -p postrider-tests --bin simulate -- $(ARGS)

# The functions write metrics to standard output; the report goes to standard error.
simulate-faults: ## run the whole gateway in virtual time while everything fails: make simulate-faults ARGS="--minutes 60 --only embedded" (not in the gate)
	cargo build --locked --release -p postrider-simulation --bins
	$(TARGET)/release/simulate-faults $(ARGS) >/dev/null

dist: ## build a release into target/dist: make dist TARGETS=x86_64-unknown-linux-musl FUNCTIONS=none (not in the gate)
	@tools/setup dist
	TARGETS='$(TARGETS)' FUNCTIONS='$(FUNCTIONS)' tools/dist/build $(TARGET)/dist

dist-check: ## build the release again and compare it, byte by byte, with that of make dist (not in the gate)
	@tools/setup dist
	TARGETS='$(TARGETS)' FUNCTIONS='$(FUNCTIONS)' tools/dist/compare

words: ## list phrases worth another look in docs, comments and messages (not in the gate)
	@tools/words

setup: ## install what the tests need into .tools/
	@tools/setup

clean-tools: ## remove .tools/
	rm -rf .tools
