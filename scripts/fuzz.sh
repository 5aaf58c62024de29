#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# fuzz.sh BUILD_DIR SECONDS [build|run|coverage] - builds every tests/fuzz/fuzz_NAME.c with clang, libFuzzer and the address and
# undefined-behaviour sanitizers, linked with the rooms, and runs them for SECONDS each, FUZZ_JOBS at once or as many as there are
# processors; FUZZ_TARGETS="NAME...": only these. tests/fuzz/seed_NAME.py DIR, if there is one, writes first inputs. A failing input
# is kept in BUILD_DIR/NAME-crash-* and makes the run fail; BUILD_DIR/NAME FILE repeats it. `build` and `run`: the
# one without the other. `coverage`: instead of the sanitizers counts which lines are reached, also by FUZZ_PROGRAMS random programs of
# fuzz_duo, and prints a table (scripts/fuzz_coverage.py).
set -eu
mkdir -p "$1/obj"
build=$(cd "$1" && pwd) seconds=$2 mode=${3:-}
cd "$(dirname "$0")/.."
jobs=${FUZZ_JOBS:-$(nproc)}
checks=,address,undefined instrument=-fno-sanitize-recover=all
[ "$mode" != coverage ] || checks='' instrument='-fprofile-instr-generate -fcoverage-mapping'
export OBJ=$build/obj
export FLAGS="-std=gnu11 -D_GNU_SOURCE -g -O1 $instrument -fsanitize=fuzzer-no-link$checks
	-DPROV_VERSION=FI_VERSION(0,0) $(pkg-config --cflags libdpdk libfabric) -I$OBJ -Iport/ethdev -Iport/local/api -Itests/unit/port -Iinclude -Ibase/api -Iwire/api -Iwire/api/peek -Itransport/pds -Itransport/pds/api -Itransport/ses -Itransport/ses/api -Itransport/engine -Iwire -Itests/support -Itests/unit $(printf -- '-I%s ' provider{,/*,/*/api} fabric/*{,/api} fabric/route/api/model apps/switch{,/api} \
	apps/cli/api port/fault/api tests/provider tests/unit/apps/switch)"

run() {
	local name=$1 corpus=$build/corpus-$1 lengths=100 units
	mkdir -p "$corpus"
	case $name in fi | switch) lengths=0 ;; esac # opening takes long: programs of many steps at once
	[ ! -e "tests/fuzz/seed_$name.py" ] || python3 "tests/fuzz/seed_$name.py" "$corpus"
	if LLVM_PROFILE_FILE=$build/$name.profraw "$build/$name" -max_total_time="$seconds" -len_control="$lengths" -timeout=60 -rss_limit_mb=2048 \
		-print_final_stats=1 -artifact_prefix="$build/$name-" "$corpus" >"$build/$name.log" 2>&1 &&
		units=$(grep -o 'number_of_executed_units: [1-9][0-9]*' "$build/$name.log"); then
		echo "fuzz/$name: $units, no failure"
	else
		tail -n 40 "$build/$name.log"
		echo "fuzz/$name: FAILED, see $build/$name.log"
		return 1
	fi
}

shopt -s extglob
compile() {
	rm -f "$OBJ"/*.o "$OBJ"/*.a "$build"/*.profraw
	python3 scripts/bytes.py xdp_program "$OBJ/ethdev_xdp_program.h"
	# What libFuzzer learns of the tests themselves only slows it down, and what is reached of them says nothing.
	# shellcheck disable=SC2016
	printf '%s\n' {base,wire,cc,lb,plugin}/*.c transport/*/*.c port/{tss,ethdev,fault,local}/!(*.bpf).c provider{,/*}/*.c fabric/*/*.c \
		apps/switch/{assigned,binding,rtnet,rtnet_host}.c tests/fuzz/*.c tests/support/{plain_pkt,duo,rma_model,handover,port_send}.c \
		tests/provider/fixture.c tests/unit/port/{tss_pair,ethdev_fixture}.c tests/unit/apps/switch/rtnet_lab.c |
		xargs -P "$jobs" -I{} sh -c 'case $1 in tests/*) more="-fno-sanitize=fuzzer-no-link -fno-profile-instr-generate -fno-coverage-mapping" ;; esac
		clang $FLAGS $more -c "$1" -o "$OBJ/$(echo "${1%.c}" | tr / _).o"' sh {}

	# Each target takes what it needs.
	ar rcs "$OBJ/libtests.a" "$OBJ"/tests_{support,unit,provider}_*.o "$OBJ"/tests_fuzz_!(fuzz_*|random_input).o
	ar rcs "$OBJ/librooms.a" "$OBJ"/{port,plugin,provider,fabric,apps}_*.o
}

# link_target NAME PROGRAM MORE...
link_target() {
	local name=$1 program=$2
	shift 2
	[ "$name" != duo ] || set -- "$@" -Wl,--wrap=pdc_id_take
	# shellcheck disable=SC2086
	clang $instrument "$@" "$OBJ/tests_fuzz_fuzz_$name.o" -Wl,--start-group "$OBJ"/lib{tests,rooms}.a -Wl,--end-group "$OBJ"/{base,wire,cc,lb,transport}_*.o \
		-Wl,--as-needed -lcmocka -lm $(pkg-config --libs libdpdk libfabric libmnl libcrypto numa) -lrte_net_ring -o "$build/$program"
}

for name in ${FUZZ_TARGETS:-}; do
	[ -e "tests/fuzz/fuzz_$name.c" ] || {
		echo "fuzz.sh: there is no target $name (tests/fuzz/fuzz_$name.c)" >&2
		exit 2
	}
done
names=()
for target in tests/fuzz/fuzz_*.c; do
	name=$(basename "$target" .c) name=${name#fuzz_}
	[[ " ${FUZZ_TARGETS:-$name} " == *" $name "* ]] || continue
	case $mode$name in coverage@(tss|ethdev|switch|fi)) continue ;; esac # other rooms
	names+=("$name")
done
[ ${#names[@]} -gt 0 ] || {
	echo "fuzz.sh: none of these targets runs with ${mode:-build and run}" >&2
	exit 2
}
if [ "$mode" != run ]; then
	compile
	for name in "${names[@]}"; do link_target "$name" "$name" "-fsanitize=fuzzer$checks"; done
fi
[ "$mode" != build ] || exit 0

pids=() failed=0
for name in "${names[@]}"; do
	while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do sleep 1; done
	run "$name" &
	pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
[ "$mode" = coverage ] || exit $failed

# Inputs that keep libFuzzer from learning are as good as those it found.
link_target duo duo-random -fsanitize=undefined "$OBJ/tests_fuzz_random_input.o"
LLVM_PROFILE_FILE=$build/duo-random.profraw "$build/duo-random" 1 "${FUZZ_PROGRAMS:-2000}" >"$build/duo-random.log" 2>&1 || failed=1
scripts/fuzz_coverage.py "$build" "${names[@]}" duo-random || failed=1
exit $failed
