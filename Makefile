# SPDX-License-Identifier: BSD-3-Clause
# A thin front door: meson does the building. BUILD may be overridden to keep several trees apart.
BUILD ?= build

# Debian 12 package names.
PACKAGES := build-essential meson ninja-build pkg-config dpdk dpdk-dev libfabric-dev libfabric-bin libnuma-dev \
	libcmocka-dev libjansson-dev libyaml-dev libpcap-dev libpmix-dev openmpi-bin libopenmpi-dev valgrind clang \
	clang-format clang-tidy libclang-rt-14-dev gnuplot-nox python3 mypy flake8 git tshark groff-base \
	python3-yaml python3-pandas python3-scipy python3-matplotlib python3-jinja2 python3-distributed python3-dask python3-pytest \
	chromium

SOAK_SECONDS ?= 1800

.PHONY: all deps build demo test bench bench-provider soak check format tidy clean

all: build

# Installs what is missing; does nothing (and needs no network) when everything is there.
deps:
	@scripts/deps.sh $(PACKAGES)

$(BUILD)/build.ninja:
	meson setup $(BUILD)

build: $(BUILD)/build.ninja
	ninja -C $(BUILD)

demo: deps build
	@scripts/demo.sh $(BUILD)

# Everything: unit, sim, fabric and provider tests in release and under sanitizers, fuzzing, style and purity checks.
test: deps
	@BUILD=$(BUILD) scripts/test.sh

# Instruction counts, lab speed and memory, against the budgets in doc/notes/performance.md.
bench: deps build
	@scripts/bench.sh $(BUILD)

# The provider's latency, rate and bandwidth beside those of libfabric's own providers; doc/notes/performance.md has a run.
bench-provider: deps build
	@scripts/bench_provider.py $(BUILD)

# Random operations through the provider for SOAK_SECONDS, under address and undefined behaviour sanitizers.
soak: deps
	@[ -f $(BUILD)-asan/build.ninja ] || \
		meson setup $(BUILD)-asan --buildtype debugoptimized -Db_sanitize=address,undefined -Db_lundef=false
	ninja -C $(BUILD)-asan
	@scripts/soak.sh $(BUILD)-asan $(SOAK_SECONDS)

# Rules about the sources, the libraries and the pages; all but clang-tidy, which takes minutes (make tidy).
check: build
	meson test -C $(BUILD) --suite check --print-errorlogs

format:
	git ls-files -co --exclude-standard '*.c' '*.h' | xargs clang-format -i

tidy: build
	scripts/tidy.sh $(BUILD)

# Outputs of runs (weft-out) stay.
clean:
	rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-clang $(BUILD)-clang-asan $(BUILD)-tsan $(BUILD)-fuzz
