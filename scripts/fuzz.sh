#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# fuzz.sh BUILD_DIR SECONDS - builds every tests/fuzz/fuzz_NAME.c with clang, libFuzzer and the address and
# undefined-behaviour sanitizers, linked with all core rooms, and runs them for SECONDS each, as many at once as there are
# processors. tests/fuzz/seed_NAME.py DIR, if there is one, writes first inputs. A failing input is kept in
# BUILD_DIR/NAME-crash-* and makes the run fail; BUILD_DIR/NAME FILE repeats it.
set -eu
mkdir -p "$1/obj"
build=$(cd "$1" && pwd) seconds=$2
cd "$(dirname "$0")/.."
jobs=$(nproc)
export OBJ=$build/obj
export FLAGS="-std=gnu11 -D_GNU_SOURCE -g -O1 -fno-sanitize-recover=all -fsanitize=fuzzer-no-link,address,undefined
	-Iinclude -Ibase/api -Iwire/api -Iwire/api/peek -Itransport/pds -Itransport/pds/api -Itransport/ses -Itransport/ses/api -Itransport/engine -Iwire -Itests/support -Itests/unit"

run() {
	local name=$1 corpus=$build/corpus-$1
	mkdir -p "$corpus"
	[ ! -e "tests/fuzz/seed_$name.py" ] || python3 "tests/fuzz/seed_$name.py" "$corpus"
	if "$build/$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
		-artifact_prefix="$build/$name-" "$corpus" >"$build/$name.log" 2>&1; then
		echo "fuzz/$name: $(grep -o 'number_of_executed_units: [0-9]*' "$build/$name.log"), no failure"
	else
		tail -n 40 "$build/$name.log"
		echo "fuzz/$name: FAILED, see $build/$name.log"
		return 1
	fi
}

rm -f "$OBJ"/*.o
# What libFuzzer learns of the tests themselves only slows it down.
# shellcheck disable=SC2016
printf '%s\n' {base,wire,cc,lb}/*.c transport/*/*.c tests/fuzz/*.c tests/support/{plain_pkt,duo,rma_model}.c |
	grep -v random_input |
	xargs -P "$jobs" -I{} sh -c 'case $1 in tests/*) more=-fno-sanitize=fuzzer-no-link ;; esac
	clang $FLAGS $more -c "$1" -o "$OBJ/$(echo "${1%.c}" | tr / _).o"' sh {}

# What the targets share: each takes what it needs.
shopt -s extglob
rm -f "$OBJ/libtests.a"
ar rcs "$OBJ/libtests.a" "$OBJ"/tests_support_*.o "$OBJ"/tests_fuzz_!(fuzz_*).o

names=()
for target in tests/fuzz/fuzz_*.c; do
	name=$(basename "$target" .c) name=${name#fuzz_}
	clang -fsanitize=fuzzer,address,undefined "$OBJ/tests_fuzz_fuzz_$name.o" "$OBJ/libtests.a" \
		"$OBJ"/{base,wire,cc,lb,transport}_*.o -lcmocka -lm -o "$build/$name"
	names+=("$name")
done

pids=() failed=0
for name in "${names[@]}"; do
	while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do sleep 1; done
	run "$name" &
	pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
exit $failed
