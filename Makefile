# What the tests need: command:Debian package. The lab fetches its guest's own.
TOOLS := cc:build-essential python3:python3 qemu-system-x86_64:qemu-system-x86 qemu-img:qemu-utils \
         ldd:libc-bin setpriv:util-linux prlimit:util-linux losetup:mount mount:mount mkfs.ext4:e2fsprogs mkfs.xfs:xfsprogs fio:fio \
         zsh:zsh fish:fish mandoc:mandoc groff:groff-base \
         gzip:gzip xz:xz-utils zstd:zstd xmllint:libxml2-utils chromium:chromium chromedriver:chromium-driver openssl:openssl pg_lsclusters:postgresql

# An ordinary user's PATH may lack what administrators use.
export PATH := $(PATH):/usr/sbin:/sbin

CARGO ?= cargo
# People measure on Arm servers too: what has no C in it is compiled for them.
ARM := aarch64-unknown-linux-musl
NO_C := $(addprefix -p iodyno-,native target host fio)
TARGET := $(or $(CARGO_TARGET_DIR),target)

.PHONY: deps test unit lab lab-full fleet dist packages packages-test crates minimal release lint bench bench-sweep msrv crosscheck models profiles fio-suites examples examples-lab fuzz docs clean
# One stage after the other, also with -j.
.NOTPARALLEL:

# Installs what is missing, with Debian's packages.
deps:
	@missing=; \
	for tool in $(TOOLS); do \
	    command -v "$${tool%%:*}" >/dev/null 2>&1 || missing="$$missing $${tool#*:}"; \
	done; \
	lists=$$(find /var/lib/apt/lists -name '*_Packages*' 2>/dev/null | head -n 1); \
	if [ -z "$$missing" ] && { [ -n "$$lists" ] || ! command -v apt-get >/dev/null; }; then exit 0; fi; \
	if ! command -v apt-get >/dev/null; then \
	    echo "deps: missing here, by Debian's names:$$missing; install them and try again" >&2; exit 1; \
	fi; \
	as_root=; \
	if [ "$$(id -u)" -ne 0 ]; then \
	    command -v sudo >/dev/null || { echo "deps: run as root:  apt-get update && apt-get install$$missing" >&2; exit 1; }; \
	    as_root="sudo"; \
	fi; \
	$$as_root apt-get -qq update || exit 1; \
	if [ -n "$$missing" ]; then \
	    echo "deps: installing$$missing"; \
	    $$as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install $$missing; \
	fi

test: deps unit lab

# Tests that make devices, mount, or become another user are marked `#[ignore = "needs root"]`: root runs them
# all, others are told how many are left. Under sudo cargo stays with whoever typed it, and only tests run as root.
ROOT := $(filter 0,$(shell id -u))
ALL := $(if $(ROOT),-- --include-ignored)
ifneq ($(and $(ROOT),$(SUDO_USER)),)
AS_USER := sudo -u "$(SUDO_USER)" -H
AS_BUILDER := $(AS_USER) sh -c '[ ! -e "$$HOME/.cargo/env" ] || . "$$HOME/.cargo/env"; exec "$$@"' sh
CARGO := $(AS_BUILDER) cargo
ALL := --config 'target."cfg(unix)".runner = ["sudo", "--preserve-env"]' $(ALL)
endif

# What is built once and tested needs no incremental state, which is half of the target folder.
unit: export CARGO_INCREMENTAL = 0
# Most tests wait for a measurement.
unit: export RUST_TEST_THREADS = $(shell n=$$(nproc); echo $$((n > 4 ? n : 4)))
unit:
	@[ -n "$(ROOT)" ] || echo "unit: $$(grep -rhF '#[ignore = "needs root"]' crates | wc -l) tests need root: sudo make test runs them, too"
	$(CARGO) test --workspace --no-fail-fast $(ALL)
	@if ! ls "$$(rustc --print target-libdir --target $(ARM))"/libstd-* >/dev/null 2>&1; then \
	    echo "unit: not compiled for aarch64: rustup target add $(ARM)"; \
	else $(CARGO) check $(NO_C) --target $(ARM); fi

# The oldest Rust that Cargo.toml says suffices.
MSRV = $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
msrv:
	rustup toolchain install $(MSRV) --profile minimal
	cargo +$(MSRV) check --workspace --locked

# A machine with known drives, links and faults, and the release binary in it.
lab:
	$(CARGO) build --release
	$(AS_USER) python3 lab/lab.py --binary $(TARGET)/release/iodyno

# More than an hour of it, and what came of it in docs/explanation/lab-results.md. LAB_SEED repeats its kills and power cuts.
lab-full:
	$(CARGO) build --release
	python3 lab/lab.py --binary $(TARGET)/release/iodyno --full

# Static binaries for x86_64 and aarch64, with manual pages and completions: CONTRIBUTING.md.
dist:
	$(AS_BUILDER) dist/build dist

# Of those archives .deb, .rpm and Python wheels, beside them; then each is installed and run in a root of its own.
packages: dist
	dist/packages dist
packages-test:
	ARCHIVES=dist python3 dist/test_packages.py

# Every crate as it would be published, compiled from what is packed.
crates:
	$(CARGO) package --workspace --locked

# dist/release: VERSION, URL from where its archives will be had, DRY_RUN=1 to change nothing.
release:
	$(AS_BUILDER) dist/release $(if $(DRY_RUN),--dry-run) "$(VERSION)" "$(URL)"

# For initramfs and firmware images: no pages, pictures and Parquet.
minimal: export RUSTFLAGS := -Clink-arg=-Wl,-z,pack-relative-relocs
minimal:
	$(CARGO) build --profile dist --locked -p iodyno --no-default-features --target $(shell uname -m)-unknown-linux-musl

# Side by side with fio; T_IO_URING names a t/io_uring to compare with, too
# (bench/README.md). Takes a quarter of an hour, and a quiet machine.
bench:
	$(CARGO) build --release
	python3 bench/record.py --binary $(TARGET)/release/iodyno
	python3 bench/bench.py --binary $(TARGET)/release/iodyno --callgrind \
	    $(if $(T_IO_URING),--t-io-uring $(T_IO_URING)) --update-readme

# The same grid by bench-fio at 60 s for each point, and by us until it is known; BENCH_FIO names
# bench-fio's program, SWEEP_DIR a directory on the disk to measure. Takes two hours, and a quiet machine.
bench-sweep:
	$(CARGO) build --release
	python3 bench/sweep.py --binary $(TARGET)/release/iodyno --directory $(or $(SWEEP_DIR),.) \
	    $(if $(BENCH_FIO),--bench-fio $(BENCH_FIO)) --update-readme

# Ansible and Slurm, for real, on nodes that are network namespaces: deploy/README.md says what it needs. Root, two minutes.
fleet:
	$(CARGO) build
	python3 lab/fleet/lab.py --binary $(TARGET)/debug/iodyno

# The same job files through fio and through us.
crosscheck:
	$(CARGO) build --release
	python3 crosscheck/crosscheck.py --binary $(TARGET)/release/iodyno

# etcd and PostgreSQL beside their profiles, on the disk of PROFILES_DIR: three minutes, and a quiet machine.
profiles:
	$(CARGO) build --release
	python3 crosscheck/profiles.py --binary $(TARGET)/release/iodyno --directory $(or $(PROFILES_DIR),.)

# Models of traces beside the traces, replayed onto a file of MODELS_DIR and onto simulated drives; root records some more.
models:
	$(CARGO) build --release
	python3 crosscheck/model.py --binary $(TARGET)/release/iodyno --directory $(or $(MODELS_DIR),.)

# fio's own test suites by fio and by us, and what came of them in docs/reference/fio-suites.md: FIO_SRC is fio's source tree,
# built; SUITE names one of them. Its Python needs scipy for one suite. An hour.
fio-suites:
	$(CARGO) build --release
	python3 crosscheck/suites.py --binary $(TARGET)/release/iodyno --fio-src "$(FIO_SRC)" $(addprefix --only ,$(SUITE))

# What reads what others wrote, against noise: FUZZ_SECONDS for each target.
fuzz:
	fuzz/run $(or $(FUZZ_SECONDS),60)

# The pages of docs/examples, with what the presets print and draw here: a quarter of an hour, on a quiet machine.
# REDRAW=1 makes them of the runs that are kept, without measuring.
examples:
	$(CARGO) build --release
	docs/examples/make $(if $(REDRAW),--redraw) --binary $(TARGET)/release/iodyno

# Those of layouts, measured on drives of the laboratory, and their tables in docs/howto/layouts.md. Ten minutes.
examples-lab:
	$(CARGO) build --release
	docs/examples/make --lab --binary $(TARGET)/release/iodyno

# The book of docs/, in target/book. The first call compiles mdBook, at this version, into target/mdbook.
MDBOOK := 0.5.4
docs:
	$(CARGO) install --quiet --locked mdbook --version $(MDBOOK) --no-default-features --features search --root $(TARGET)/mdbook
	$(TARGET)/mdbook/bin/mdbook build --dest-dir $(abspath $(TARGET))/book
	$(CARGO) test --quiet -p iodyno --test cli docs::

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(CARGO) check --quiet -p iodyno --no-default-features

clean:
	$(CARGO) clean
	rm -rf lab/cache lab/out dist/*.tar.gz dist/*.deb dist/*.rpm dist/*.whl
