# Those that matter: `make challenge` to see what it can do, `make serve` to use it, `make test` to check
# everything. All install what is missing, and say so before they do.

SHELL := /bin/bash
# Where rustup and `cargo install` put programs, if the login shell does not know yet.
export PATH := $(PATH):$(HOME)/.cargo/bin
RELEASE := $(or $(CARGO_TARGET_DIR),target)/release

# Many tests wait for a server or a timer most of their time.
export RUST_TEST_THREADS ?= 6

# Random sessions alone, for longer than the product tests play them. The output says how many were compared.
DIFFERENTIAL := MYRIAD_DIFFERENTIAL_SECONDS=$(or $(MYRIAD_DIFFERENTIAL_SECONDS),300) \
	MYRIAD_DIFFERENTIAL_TESTERS=$(or $(MYRIAD_DIFFERENTIAL_TESTERS),6) \
	MYRIAD_DIFFERENTIAL_CROWD=$(or $(MYRIAD_DIFFERENTIAL_CROWD),4) \
	cargo test --workspace --test product differential:: -- --nocapture

# All files of a suite, or those that the environment names.
SUITES := MYRIAD_SUITE_EVERY=$(or $(MYRIAD_SUITE_EVERY),1) MYRIAD_SUITE_PLAYERS=$(or $(MYRIAD_SUITE_PLAYERS),4) \
	cargo test --workspace --test product suites:: -- --nocapture

# What depends on how a server runs its connections.
SHARED := -- carried kills kinds lanes lifecycle packets session_state sharing tracked

# Random sessions and the servers' own test files.
DEEP := --skip differential::random --skip suites::

# What is the same whatever server is behind, and is tested with this machine's MariaDB.
ONCE := --skip challenge:: --skip load:: --skip unwritable:: --skip logins::pretenders --skip tls::of_all_ciphers

# $(1): a server that scripts/setup fetches, $(2): what to run on it. Status 3 of setup: not on a machine of this kind.
define if-possible
scripts/setup $(1); case $$? in 0) $(2) ;; 3) echo "WARNING: nothing was tested on $(1); see above" >&2 ;; *) exit 1 ;; esac
endef

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help challenge serve bench test test-deep setup lint licences test-unit test-atomics fuzz test-product test-drivers test-differential test-suites test-mariadb-11.8 test-mysql

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

bench: ## What single parts cost, in ns: understanding a statement, relaying an answer, admission, whole commands
	@scripts/setup rust
	cargo bench --package session --bench classify
	cargo bench --package wire --bench relay
	cargo bench --package admission --bench admission
	cargo bench --package sim --bench engine

test: ## Before each change: setup, lint, unit tests, simulation, product tests on MariaDB
	@scripts/setup rust lint database clients
	@# Drivers are waited for, and lint is busy. A driver that is cut off is set up anew the next time.
	@scripts/setup drivers & drivers=$$!; $(MAKE) --no-print-directory lint || { kill $$drivers; exit 1; }; wait $$drivers
	cargo test --workspace --lib --bins --tests -- $(DEEP)

test-deep: ## What CI runs besides: MariaDB 11.8, MySQL, random sessions, fuzzing, atomics, licences
	@$(MAKE) --no-print-directory licences test-atomics
	@$(MAKE) --no-print-directory fuzz FUZZ_SECONDS=$(or $(FUZZ_SECONDS),15)
	@$(MAKE) --no-print-directory test-mariadb-11.8 test-mysql
	@$(MAKE) --no-print-directory test-differential MYRIAD_DIFFERENTIAL_SECONDS=$(or $(MYRIAD_DIFFERENTIAL_SECONDS),60)
	@$(MAKE) --no-print-directory test-suites MYRIAD_SUITE_EVERY=$(or $(MYRIAD_SUITE_EVERY),25)

setup: ## Install what the other targets need and the machine lacks
	@scripts/setup rust lint database clients drivers

lint: ## Formatting, clippy, the rules of style
	@scripts/setup rust lint
	cargo fmt --all --check
	cargo fmt --manifest-path fuzz/Cargo.toml --check
	cargo xtask tidy
	cargo clippy --workspace --all-targets -- --deny warnings

licences: ## Licences and sources of dependencies, and clippy of the fuzz targets
	@scripts/setup rust lint licences
	cargo deny check bans licenses sources
	cargo deny --manifest-path fuzz/Cargo.toml --config deny.toml check bans licenses sources
	cargo clippy --manifest-path fuzz/Cargo.toml --locked -- --deny warnings

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
	@scripts/setup rust database clients drivers
	cargo test --workspace --test product -- $(DEEP)
	cargo test --package localdb --package load

test-drivers: ## Only the clients of Python, Java, Node.js, Go, Rust, PHP and C
	@scripts/setup rust database drivers
	cargo test --workspace --test product drivers::

test-differential: ## Random sessions, directly and through, for MYRIAD_DIFFERENTIAL_SECONDS (300) on MariaDB, MariaDB 11.8 and MySQL
	@scripts/setup rust database
	$(DIFFERENTIAL)
	@$(call if-possible,mariadb-11.8,MYRIAD_TEST_SERVER=mariadb-11.8 $(DIFFERENTIAL))
	@$(call if-possible,mysql,MYRIAD_TEST_SERVER=mysql $(DIFFERENTIAL))

test-suites: ## The servers' own test files, directly and through: the suite MYRIAD_SUITE (main) of MariaDB and of MySQL
	@scripts/setup rust database suites
	$(SUITES)
	@$(call if-possible,mysql,scripts/setup suites && MYRIAD_TEST_SERVER=mysql $(SUITES))

test-mariadb-11.8: ## The product tests on MariaDB 11.8, without drivers
	@scripts/setup rust clients
	@$(call if-possible,mariadb-11.8,MYRIAD_TEST_SERVER=mariadb-11.8 cargo test --workspace --test product -- $(DEEP) $(ONCE) --skip drivers::)

test-mysql: ## The product tests on MySQL; with its thread pool those of what sessions share
	@scripts/setup rust clients drivers
	@$(call if-possible,mysql,MYRIAD_TEST_SERVER=mysql cargo test --workspace --test product -- $(DEEP) $(ONCE))
	@$(call if-possible,mysql,MYRIAD_TEST_SERVER=mysql-thread-pool cargo test --workspace --test product $(SHARED))
