#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# All tests, whatever fails on the way; non-zero at the end if anything did. Each result is one line in
# $BUILD/results.txt: "OK name", "FAIL name", or "SKIP name" (this machine cannot run it). BUILD names the release build
# directory, FUZZ_SECONDS the time per target, SOAK_SECONDS that of random operations through the provider, CHAOS_SECONDS that of random
# faults in the lab.
set -u
export LSAN_OPTIONS="suppressions=$(cd "$(dirname "$0")" && pwd)/lsan.supp"
export TSAN_OPTIONS="suppressions=$(cd "$(dirname "$0")" && pwd)/tsan.supp"
# Tests that ask for more memory than there is expect a refusal.
export ASAN_OPTIONS=allocator_may_return_null=1
cd "$(dirname "$0")/.." || exit 1
build=${BUILD:-build}
results=$build/results.txt
failures=$build/failures.txt # the last lines that each failed test printed

# step NAME COMMAND...: one result by itself.
step() {
	local name=$1
	shift
	echo "== $name"
	local verdict=OK
	"$@" || verdict=FAIL
	echo "$verdict $name" >>"$results.new"
	tail -n 1 "$results.new"
}

# suites DIR LABEL ARGS...: builds what these meson tests need, runs them and takes one result for each from their log.
suites() {
	local dir=$1 label=$2
	shift 2
	echo "== tests, $label"
	meson test -C "$dir" --logbase "$label" --print-errorlogs "$@"
	python3 - "$dir/meson-logs/$label.json" "$label" "$failures" >>"$results.new" <<'PY' || echo "FAIL $label: no test log" >>"$results.new"
import json, sys
for line in open(sys.argv[1]):
    t = json.loads(line)
    verdict = {"OK": "OK", "EXPECTEDFAIL": "OK", "SKIP": "SKIP"}.get(t["result"], "FAIL")
    print(verdict, sys.argv[2] + ":" + t["name"], t["result"])
    if verdict == "SKIP":
        print(*(t.get("stdout") or "").strip().splitlines()[-1:], file=sys.stderr)
    if verdict == "FAIL":
        with open(sys.argv[3], "a") as why:
            print("==", sys.argv[2] + ":" + t["name"], t["result"], file=why)
            print(*((t.get("stdout") or "") + (t.get("stderr") or "")).strip().splitlines()[-20:], sep="\n", file=why)
PY
}

# configured DIR OPTIONS...: sets a build directory up once.
configured() {
	local dir=$1
	shift
	[ -f "$dir/build.ninja" ] || meson setup "$dir" "$@"
}

configured "$build" || exit 1
: >"$results.new"
: >"$failures"
step build ninja -C "$build"

# The other builds take the time in which real-time tests leave processors idle. One digest whatever built the lab: gcc -O3, gcc with
# sanitizers, clang -O3, clang -O0 with sanitizers.
configured "$build-asan" --buildtype debugoptimized -Db_sanitize=address,undefined -Db_lundef=false
CC=clang configured "$build-clang"
CC=clang configured "$build-clang-asan" --buildtype debug -Db_sanitize=address,undefined -Db_lundef=false
configured "$build-tsan" --buildtype debugoptimized -Db_sanitize=thread -Db_lundef=false
other_builds() {
	ninja -C "$build-asan" && ninja -C "$build-clang" weft && ninja -C "$build-clang-asan" weft && ninja -C "$build-tsan"
}
export -f other_builds
export build
nice -n 19 bash -c other_builds >"$build/other-builds.log" 2>&1 &
others=$!

# Allocations that fail are tried under sanitizers alone, speed without.
suites "$build" release --no-suite alloc
step libfabric2 scripts/libfabric2.py "$build"

wait "$others"
for dir in "$build-asan" "$build-tsan"; do step "build $dir" ninja -C "$dir"; done
suites "$build-asan" asan --suite unit --suite sim --suite fabric --suite provider --no-suite speed --timeout-multiplier 4

scripts/soak.sh "$build-asan" "${SOAK_SECONDS:-120}" >"$build/soak.log" 2>&1 &
soak=$!
soaked() {
	wait "$soak"
	local status=$?
	cat "$build/soak.log"
	return $status
}

# Always the same cases, so that nobody's change fails by another one's defect. Timeouts double while a path is down, and windows
# that they made small grow slowly.
step chaos tests/chaos/chaos.py "$build" --seconds "${CHAOS_SECONDS:-120}" --seed 1 --outages 5 --healed-rtos 300

step soak soaked

for dir in "$build-asan" "$build-clang" "$build-clang-asan"; do step "build $dir/weft" ninja -C "$dir" weft; done
step digests scripts/digests.sh "$build"{,-asan,-clang,-clang-asan}/weft

suites "$build-tsan" tsan --suite threads --timeout-multiplier 4

# Twice as many at a time as there are processors: they do not hurry.
if [ -x scripts/fuzz.sh ]; then FUZZ_JOBS=${FUZZ_JOBS:-$((2 * $(nproc)))} step fuzz scripts/fuzz.sh "$build-fuzz" "${FUZZ_SECONDS:-60}"; fi

mv "$results.new" "$results"
cat "$failures"
grep -E '^(FAIL|SKIP)' "$results"
echo "$(grep -c '^OK' "$results") passed, $(grep -c '^FAIL' "$results") failed, $(grep -c '^SKIP' "$results") could not run (release, asan, clang, tsan, fuzz)"
! grep -q '^FAIL' "$results"
