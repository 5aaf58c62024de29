# SPDX-License-Identifier: BSD-3-Clause
# A thin front door: meson does the building. BUILD may be overridden to keep several trees apart.
BUILD ?= build

# Debian 12 package names.
PACKAGES := build-essential meson ninja-build pkg-config dpdk dpdk-dev libfabric-dev libfabric-bin libnuma-dev libmnl-dev libssl-dev iproute2 \
	libcmocka-dev libjansson-dev libncurses-dev libyaml-dev libpcap-dev libpmix-dev openmpi-bin libopenmpi-dev valgrind clang \
	clang-format clang-tidy libclang-rt-14-dev python3 mypy flake8 git tshark groff-base \
	python3-yaml python3-pandas python3-scipy python3-matplotlib python3-jinja2 python3-pil python3-distributed python3-dask python3-pytest python3-prometheus-client \
	chromium qemu-system-x86 busybox-static cpio kmod ethtool bpftool libbpf-dev procps

SOAK_SECONDS ?= 1800
SECONDS ?= 120

.PHONY: all deps build demo test deb test-nic test-fabric bench bench-provider bench-mpi bench-host reproduce soak chaos chaos-real alloc fuzz \
	fuzz-coverage check format tidy clean

all: build

# Installs what is missing; does nothing (and needs no network) when everything is there.
deps:
	@scripts/deps.sh $(PACKAGES)
	@python3 tests/nic/parts.py

$(BUILD)/build.ninja:
	meson setup $(BUILD)

build: $(BUILD)/build.ninja
	ninja -C $(BUILD)

# Debian packages of the commit, in build-deb.
deb:
	@scripts/deps.sh build-essential $$(scripts/build_deps.sh)
	@scripts/deb.sh $(BUILD)-deb -b

demo: deps build
	@scripts/demo.sh $(BUILD)

# Everything: unit, sim, fabric and provider tests in release and under sanitizers, fuzzing, style and purity checks.
test: deps
	@BUILD=$(BUILD) scripts/test.sh

# Emulated NICs in virtual machines, all models and cases (doc/guide/nics.md); a quarter of an hour with KVM, hours without.
# NIC_OPTIONS='--model igb --case VLAN': only these.
test-nic: deps build
	@tests/nic/matrix.py $(BUILD) $(NIC_OPTIONS)

# The provider beside TCP on a leaf-spine of the kernel: a table, and whether the targets hold. Root; some minutes.
FABRIC_REPEATS ?= 3
test-fabric: deps build
	@tests/fabric-kernel/run.py $(BUILD)/tests/fabric-kernel/flows $(BUILD) --repeats $(FABRIC_REPEATS)

# Instruction counts, lab speed and memory, against the budgets in doc/notes/performance.md.
bench: deps build
	@scripts/bench.sh $(BUILD)

# The provider's latency, rate and bandwidth beside those of libfabric's own providers; doc/notes/performance.md has a run.
bench-provider: deps build
	@scripts/bench_provider.py $(BUILD)

# Open MPI through weft switch and over tcp;ofi_rxm, in turn.
bench-mpi: deps build
	@scripts/bench_mpi.py $(BUILD)

# Two processes through weft host and by a socket between them, in turn.
bench-host: deps build
	@scripts/bench_host.py $(BUILD)

# All publications: figures run, claims judged, pages of doc/papers and the gallery written, and a table of them at the end.
# Goes on where it was stopped.
reproduce: export PYTHONPATH := apps/weftlab
reproduce: deps build
	python3 -m weftlab papers --pages --binary $(BUILD)/weft

# Random operations through the provider for SOAK_SECONDS, under address and undefined behaviour sanitizers.
soak: deps
	@[ -f $(BUILD)-asan/build.ninja ] || \
		meson setup $(BUILD)-asan --buildtype debugoptimized -Db_sanitize=address,undefined -Db_lundef=false
	ninja -C $(BUILD)-asan
	@scripts/soak.sh $(BUILD)-asan $(SOAK_SECONDS)

# Random fabrics, workloads, algorithms, parameters and faults through `weft sim`, and hosts that crash, for SECONDS, or for so many packets:
# CHAOS_OPTIONS='--seed 7 --bytes-times 16 --packets 1e9'.
chaos: deps build
	@tests/chaos/chaos.py $(BUILD) --seconds $(SECONDS) $(CHAOS_OPTIONS)

# The same with processes in real time, through weft switch.
chaos-real: deps build
	@tests/chaos/chaos_real.py $(BUILD) --seconds $(SECONDS) $(CHAOS_OPTIONS)

# Every fuzz target for SECONDS with libFuzzer, under sanitizers.
fuzz: deps
	@scripts/fuzz.sh $(BUILD)-fuzz $(SECONDS)

# Each allocation of the provider, weft switch and weft host fails alone, then all from it on; half an hour.
alloc: deps build
	@for case in device rings keys switch host; do tests/provider/alloc_sweep.py $(BUILD) $$case $(ALLOC_OPTIONS) || exit 1; done

# Which lines of transport and wire the targets reach in FUZZ_SECONDS each, a table (tests/fuzz/README.md).
FUZZ_SECONDS ?= 60
fuzz-coverage: deps
	@scripts/deps.sh llvm
	@scripts/fuzz.sh $(BUILD)-fuzz-coverage $(FUZZ_SECONDS) coverage

# Rules about the sources, the libraries and the pages; all but clang-tidy, which takes minutes (make tidy).
check: build
	meson test -C $(BUILD) --suite check --print-errorlogs

format:
	git ls-files -co --exclude-standard '*.c' '*.h' | xargs clang-format -i

# NODES=225000: the analyzer at its own depth, which takes three times as long.
tidy: build
	scripts/tidy.sh $(BUILD) $(NODES)

# Outputs of runs (weft-out) stay.
clean:
	rm -rf $(BUILD) $(BUILD)-deb $(BUILD)-asan $(BUILD)-clang $(BUILD)-clang-debug $(BUILD)-tsan $(BUILD)-fuzz $(BUILD)-fuzz-coverage
