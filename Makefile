# Those that matter: `make challenge` to see what it can do, `make serve` to use it, `make test` to check
# everything. All install what is missing, and say so before they do.

SHELL := /bin/bash
# Where rustup and `cargo install` put programs, if the login shell does not know yet.
export PATH := $(PATH):$(HOME)/.cargo/bin
RELEASE := $(or $(CARGO_TARGET_DIR),target)/release

# Random sessions, for longer than as one of the product tests, and with nothing else beside them. How many there
# were is told.
DIFFERENTIAL := MYRIAD_DIFFERENTIAL_SECONDS=$(or $(MYRIAD_DIFFERENTIAL_SECONDS),300) \
	MYRIAD_DIFFERENTIAL_TESTERS=$(or $(MYRIAD_DIFFERENTIAL_TESTERS),6) \
	MYRIAD_DIFFERENTIAL_CROWD=$(or $(MYRIAD_DIFFERENTIAL_CROWD),4) \
	cargo test --package myriad --test product differential:: -- --nocapture

# All files of a suite, or those that the environment names.
SUITES := MYRIAD_SUITE_EVERY=$(or $(MYRIAD_SUITE_EVERY),1) MYRIAD_SUITE_PLAYERS=$(or $(MYRIAD_SUITE_PLAYERS),4) \
	cargo test --package myriad --test product suites:: -- --nocapture

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help challenge serve bench test setup lint test-unit test-atomics fuzz test-product test-drivers test-differential test-suites test-mysql test-mysql-if-possible

help: ## List these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

challenge: ## Climb to 100,000 connections that all execute, and write a report (CHALLENGE=--quick)
	@scripts/setup rust database
	cargo build --release --package myriad
	exec $(RELEASE)/myriad challenge $(CHALLENGE)

serve: ## Build and serve on 127.0.0.1:6033, in front of a private MariaDB under var/
	@scripts/setup rust database
	cargo build --release --package myriad
	exec $(RELEASE)/myriad serve --local

bench: ## What single parts cost, in ns: understanding a statement, relaying an answer, admission
	@scripts/setup rust
	cargo bench --package session --bench classify
	cargo bench --package wire --bench relay
	cargo bench --package admission --bench admission

test: setup lint ## Everything: setup, lint, unit tests, fuzzing, product tests on a real MariaDB and MySQL
	cargo test --workspace
	@$(MAKE) --no-print-directory test-atomics
	@$(MAKE) --no-print-directory fuzz
	@$(MAKE) --no-print-directory test-mysql-if-possible

setup: ## Install what the other targets need and the machine lacks
	@scripts/setup rust lint database clients drivers suites

lint: ## Formatting, clippy, the rules of style, licences and sources of dependencies
	@scripts/setup rust lint
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- --deny warnings
	cargo fmt --manifest-path fuzz/Cargo.toml --check
	cargo clippy --manifest-path fuzz/Cargo.toml --locked -- --deny warnings
	cargo xtask tidy
	cargo deny check bans licenses sources
	cargo deny --manifest-path fuzz/Cargo.toml --config deny.toml check bans licenses sources

test-unit: ## Only the tests that need no database
	@scripts/setup rust
	cargo test --workspace --exclude localdb --exclude myriad --exclude load

test-atomics: ## Only the atomics that workers share, in every order in which they can be seen (loom)
	@scripts/setup rust
	RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR=$(or $(CARGO_TARGET_DIR),target)/loom \
		cargo test --package admission --lib loom

fuzz: ## Fuzz each target for FUZZ_SECONDS (60), from the inputs in fuzz/corpus
	@scripts/setup rust
	scripts/fuzz

test-product: ## Only the tests that run a real MariaDB
	@scripts/setup rust database clients drivers suites
	cargo test --package localdb --package load --package myriad

test-drivers: ## Only the clients of Python, Java, Node.js, Go, Rust, PHP and C
	@scripts/setup rust database drivers
	cargo test --package myriad --test product drivers::

test-differential: ## Random sessions, directly and through, for MYRIAD_DIFFERENTIAL_SECONDS (300) on each of MariaDB and MySQL
	@scripts/setup rust database
	$(DIFFERENTIAL)
	@scripts/setup mysql; case $$? in \
	0) MYRIAD_TEST_SERVER=mysql $(DIFFERENTIAL) ;; \
	3) echo "WARNING: no random sessions on MySQL; see above" >&2 ;; \
	*) exit 1 ;; esac

test-suites: ## The servers' own test files, directly and through: the suite MYRIAD_SUITE (main) of MariaDB and of MySQL
	@scripts/setup rust database suites
	$(SUITES)
	@scripts/setup mysql; case $$? in \
	0) scripts/setup suites && MYRIAD_TEST_SERVER=mysql $(SUITES) ;; \
	3) echo "WARNING: none of MySQL's own test files; see above" >&2 ;; \
	*) exit 1 ;; esac

test-mysql: ## The same on MySQL, without and with its thread pool
	@scripts/setup rust clients drivers mysql suites
	MYRIAD_TEST_SERVER=mysql cargo test --package localdb --package myriad
	MYRIAD_DIFFERENTIAL_SECONDS=0 MYRIAD_TEST_SERVER=mysql-thread-pool cargo test --package myriad --test product

# Status 3 of setup: not on a machine of this kind.
test-mysql-if-possible:
	@scripts/setup mysql; case $$? in \
	0) $(MAKE) --no-print-directory test-mysql ;; \
	3) echo "WARNING: nothing was tested on MySQL; see above" >&2 ;; \
	*) exit 1 ;; esac
